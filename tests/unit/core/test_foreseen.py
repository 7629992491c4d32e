"""The few numbers that are kept of a forecast and of a model."""

from dataclasses import replace
from typing import Any

import pytest

from sluice.core.autoscaling import pause_of
from sluice.core.deciding.policies.sluice import Sluice
from sluice.core.deciding.situation import Forecast, Models
from sluice.core.failures import backoff
from sluice.core.foreseen import AHEAD, Band, Foreseen, foreseen, likely_recovery
from sluice.core.modelling.downtime import Cause, Downtimes
from sluice.core.series import NoData
from tests.support.jobs import job
from tests.unit.core.deciding.situations import MODELS, PER_EXECUTOR, flat, steady


def growing(*times: float) -> Forecast:
    """A load that is as many rows per second as seconds have gone by."""
    return Forecast(
        times=times,
        rates=times,
        low=tuple(0.9 * at for at in times),
        high=tuple(1.1 * at for at in times),
        model="growing",
    )


@pytest.mark.parametrize(
    ("times", "rate"),
    [((60, 300, 900), AHEAD), ((60, 240, 360), 360), ((60, 120), 120)],
)
def test_the_load_is_that_of_five_minutes_later_or_the_nearest_that_is_forecast(
    times: tuple[float, ...], rate: float
) -> None:
    load = foreseen(steady(forecast=growing(*times))).load
    assert load == Band(rate=rate, low=0.9 * rate, high=1.1 * rate)


def test_the_capacity_is_that_of_the_executors_that_there_are() -> None:
    capacity = foreseen(steady(executors=10)).capacity
    assert capacity is not None
    assert capacity.rate == pytest.approx(10 * PER_EXECUTOR, rel=0.01)
    assert capacity.low < capacity.rate < capacity.high


def test_what_is_not_known_is_left_out() -> None:
    unknown = steady(forecast=NoData("nothing was measured"), models=Models())
    assert foreseen(unknown) == Foreseen()


def recovery(**changes: Any) -> float:
    found = likely_recovery(steady(**changes), Cause.DRIVER_LOSS)
    assert not isinstance(found, NoData), found
    return found


def test_a_likely_recovery_has_the_downtimes_that_were_seen_and_all_that_no_batch_has_taken() -> (
    None
):
    # c(n) = rho^(n+1) (I + D) (phoebe.md 2.1), until no more than 5 s of arrivals wait: c(n) + c(n+1).
    batches = sum((60 + 5 + 5) * 0.5**n for n in range(1, 6))
    assert recovery(rate=8 * PER_EXECUTOR, executors=16) == pytest.approx(60 + batches, abs=1)


def test_after_one_loss_of_a_driver_the_prior_is_forgotten() -> None:
    quick = replace(MODELS, downtimes=Downtimes().with_observation(Cause.DRIVER_LOSS, 25.0))
    never = replace(MODELS, downtimes=Downtimes())
    assert recovery(models=quick) < 0.5 * recovery(models=never)


def test_a_job_that_starts_quickly_is_likely_to_recover_quickly_before_it_has_lost_a_driver() -> (
    None
):
    started = replace(MODELS, downtimes=Downtimes().with_start(10.0).with_excess(7.0))
    never = replace(MODELS, downtimes=Downtimes())
    assert recovery(models=started) < 0.5 * recovery(models=never)
    assert recovery(models=started) == recovery(
        models=replace(MODELS, downtimes=Downtimes().with_observation(Cause.DRIVER_LOSS, 32.0))
    )


def test_a_likely_recovery_has_the_pause_that_is_declared() -> None:
    of = job(restart={"initialBackoff": "60s"})
    started = Downtimes().with_start(10.0)
    declared = replace(MODELS, downtimes=started.with_pause(pause_of(of)))
    assert 45 <= pause_of(of) == backoff(of.restart, 1, of.uid).total_seconds() <= 75
    at_once = replace(MODELS, downtimes=started.with_pause(0.0))
    assert recovery(models=declared) > pause_of(of) + recovery(models=at_once)


def test_a_policy_plans_with_more_than_is_likely() -> None:
    planned = Sluice()(steady(forecast=flat(100_000, margin=0.2))).expected_recovery
    assert planned is not None
    assert planned > 1.2 * recovery(forecast=flat(100_000, margin=0.2))


def test_a_recovery_that_would_never_end_is_not_foreseen() -> None:
    never = likely_recovery(steady(rate=20 * PER_EXECUTOR, executors=14), Cause.DRIVER_LOSS)
    assert isinstance(never, NoData)
