"""What the lab's profile tells of a plant."""

from dataclasses import replace

import pytest

from sluice.core.deciding.situation import Bounds
from sluice.core.modelling.downtime import Cause
from sluice.core.profiling.measuring import LONG_ENOUGH, SETTLING
from sluice.core.series import NoData
from sluice.core.simulation.copies import DEADLINE, SimulatedCopy
from sluice.core.simulation.metrics import Metrics
from sluice.core.simulation.plant import PARTITIONED, PLANTS, STATEFUL, Plant
from sluice.core.simulation.profiling import profiled
from tests.simulation.plants import job, plant

HOUR = 3600

CERTAIN = replace(STATEFUL, spread=0.0)


SLOWLY_WARM = replace(
    PARTITIONED, name="slowly warm", task_cost=0.023, state_reload=50.0, period=15.0
)
"""Its latency rises, and then falls slowly, before it settles."""


@pytest.mark.parametrize("named", [*PLANTS.values(), SLOWLY_WARM], ids=lambda named: named.name)
def test_a_profile_tells_the_latency_of_a_job_that_has_settled(named: Plant) -> None:
    experience, _ = profiled(named, seed=1)
    points = experience.models.latency.profiled
    assert len(points) == 2
    for point in points:
        settled = job(named, point.rate, point.executors, seconds=HOUR)
        settled.advance(HOUR)
        scrape = Metrics(settled, seed=1).scrape()
        assert scrape
        assert not isinstance(scrape.latency, NoData)
        assert point.seconds == pytest.approx(scrape.latency, rel=0.2)


def test_a_latency_that_falls_for_as_long_as_it_is_looked_at_is_not_told() -> None:
    slower = replace(SLOWLY_WARM, task_cost=PARTITIONED.task_cost)
    experience, _ = profiled(slower, seed=1)
    (point,) = experience.models.latency.profiled
    assert point.rate < slower.capacity(point.executors) / 2


@pytest.mark.parametrize("name", sorted(PLANTS))
def test_a_profile_tells_the_capacity_of_what_it_measures(name: str) -> None:
    named = PLANTS[name]
    points = profiled(named, seed=1)[0].models.capacity.points
    measured = {executors for executors, _ in points}
    assert {named.bounds.smallest, named.bounds.largest} <= measured
    for executors, rate in points:
        assert rate == pytest.approx(named.capacity(executors), rel=0.12)


def test_a_copy_is_paid_from_the_start_of_its_pods_until_it_is_certain() -> None:
    sure = SimulatedCopy(plant=plant(start=10.0), executors=4, seed=1)
    point = sure.measured()
    assert point
    assert point.rate == pytest.approx(sure.plant.capacity(4), rel=0.01)
    assert point.overhead == pytest.approx(sure.plant.overhead, rel=0.1)
    ended = point.at.timestamp()
    assert SETTLING + LONG_ENOUGH < ended < DEADLINE
    assert sure.executor_seconds == pytest.approx(4 * (10.0 + ended))


def test_a_copy_that_never_gets_warm_tells_nothing_at_the_price_of_its_deadline() -> None:
    cold = plant(cold=2 * DEADLINE)
    copy = SimulatedCopy(plant=cold, executors=2, seed=1)
    assert copy.measured() is None
    assert copy.executor_seconds == pytest.approx(2 * (DEADLINE + cold.start))
    _, spent = profiled(cold, seed=1)
    assert spent > (cold.bounds.smallest + cold.bounds.largest) * DEADLINE


def test_where_one_number_of_executors_is_allowed_that_one_is_measured() -> None:
    points = profiled(plant(bounds=Bounds(smallest=3, largest=3)), seed=1)[0].models.capacity.points
    (first, *_) = points
    assert first[0] == 3
    assert first[1] == pytest.approx(3_000, rel=0.01)


@pytest.mark.parametrize(
    "slow", [replace(CERTAIN, driver_loss=600.0), replace(CERTAIN, state_reload=200.0)]
)
def test_a_profile_waits_for_a_job_that_is_away_for_long(slow: Plant) -> None:
    experience, _ = profiled(slow, seed=1)
    away = slow.driver_loss + slow.cold + slow.state_reload
    (observed,) = experience.models.downtimes.causes[Cause.DRIVER_LOSS].observed
    assert observed == pytest.approx(away, rel=0.2)


def test_an_outage_without_end_is_left_to_the_copy() -> None:
    odd = replace(STATEFUL, spread=3.0, driver_loss=600.0)
    profiles = [profiled(odd, seed)[0] for seed in range(5)]
    assert all(found.outage is None for found in profiles)
