"""What a rescale was, by what is observed when it has settled."""

from dataclasses import replace

import pytest

from sluice.core.deciding.judging import (
    PATIENCE,
    Growth,
    Outcome,
    Reading,
    Trial,
    Verdict,
    judged,
    lag_growth,
)
from sluice.core.series import Measured, NoData

MISSING = NoData("no batch was committed in two minutes")
BOUND = 10.0
SETTLING = 300.0

GOOD, HARMFUL, INCONCLUSIVE = Outcome.GOOD, Outcome.HARMFUL, Outcome.INCONCLUSIVE


def reading(
    latency: Measured = 4.0,
    arrival: Measured = 1000.0,
    growth: Measured = 0.0,
    *,
    error: float = 0.0,
) -> Reading:
    """A job that keeps up."""
    known = (
        growth if isinstance(growth, NoData) else Growth(low=growth - error, high=growth + error)
    )
    return Reading(arrival=arrival, latency=latency, growth=known)


def trial(former: int, executors: int, before: Reading | None = None, **changes: object) -> Trial:
    """A rescale at second zero."""
    found = Trial(
        at=0.0,
        decision="20260101T000000Z",
        former=former,
        executors=executors,
        before=before or reading(),
    )
    return replace(found, **changes)  # type: ignore[arg-type]  # tests name the fields they change


def verdict(
    of: Trial, now: Reading | NoData, at: float = SETTLING, bound: float | None = BOUND
) -> Verdict | None:
    return judged(of, now, at, settling=SETTLING, bound=bound)


def shrunk(now: Reading, before: Reading | None = None, **changes: object) -> Outcome | None:
    """What a shrink from 10 to 8 executors was; without a bound if a test says so."""
    bound = changes.pop("bound", BOUND)
    found = verdict(trial(10, 8, before, **changes), now, bound=bound)  # type: ignore[arg-type]  # a number or None
    return None if found is None else found.outcome


def grown(now: Reading, before: Reading | None = None, bound: float | None = BOUND) -> Outcome:
    """What a growth from 8 to 12 executors was."""
    found = verdict(trial(8, 12, before), now, bound=bound)
    assert found is not None
    return found.outcome


def test_nothing_is_judged_before_it_has_settled() -> None:
    assert verdict(trial(10, 8), reading(99.0), at=SETTLING - 1) is None
    assert verdict(trial(10, 8), reading(99.0), at=SETTLING) is not None


def test_a_job_that_is_not_steady_is_waited_for_and_given_up_after_ten_minutes() -> None:
    restless = NoData("the job is recovering")
    assert verdict(trial(10, 8), restless, at=SETTLING + PATIENCE - 1) is None
    found = verdict(trial(10, 8), restless, at=SETTLING + PATIENCE)
    assert found == Verdict(INCONCLUSIVE, "not to be judged within 900 s: the job is recovering")


@pytest.mark.parametrize("missing", [{"arrival": MISSING}, {"latency": MISSING}])
@pytest.mark.parametrize("executors", [6, 12])
def test_missing_numbers_are_waited_for_and_make_a_trial_inconclusive(
    missing: dict[str, Measured], executors: int
) -> None:
    blind = replace(reading(growth=MISSING), **missing)  # type: ignore[arg-type]  # the names are above
    assert verdict(trial(8, executors), blind, at=SETTLING) is None
    found = verdict(trial(8, executors), blind, at=SETTLING + PATIENCE)
    assert found is not None
    assert found.outcome is INCONCLUSIVE
    assert "no batch was committed in two minutes" in found.reason


@pytest.mark.parametrize("arrival", [790.0, 1210.0])
@pytest.mark.parametrize("executors", [6, 12])
def test_another_load_explains_everything(arrival: float, executors: int) -> None:
    found = verdict(trial(8, executors), reading(99.0, arrival=arrival))
    assert found is not None
    assert found.outcome is INCONCLUSIVE
    assert f"from 1,000 to {arrival:,.0f} rows/s" in found.reason


@pytest.mark.parametrize(
    ("before", "now", "outcome"),
    [
        pytest.param(4.0, 9.9, GOOD, id="slower, but within the bound"),
        pytest.param(4.0, 10.1, HARMFUL, id="beyond the bound that was kept"),
        pytest.param(11.0, 14.0, INCONCLUSIVE, id="the bound was broken before"),
        pytest.param(11.0, 9.0, GOOD, id="the bound is kept again"),
    ],
)
def test_a_smaller_job_must_keep_the_bound(before: float, now: float, outcome: Outcome) -> None:
    assert shrunk(reading(now), reading(before)) is outcome


@pytest.mark.parametrize(
    ("before", "expected", "now", "outcome"),
    [
        pytest.param(4.0, None, 6.0, GOOD, id="half more"),
        pytest.param(4.0, None, 6.1, HARMFUL, id="more than half more"),
        pytest.param(0.2, None, 0.9, GOOD, id="less than a second more is noise"),
        pytest.param(4.0, 8.0, 11.0, GOOD, id="about what was expected and accepted"),
        pytest.param(4.0, 8.0, 12.1, HARMFUL, id="much more than was expected"),
        pytest.param(MISSING, None, 5.0, GOOD, id="nobody knows what it was"),
    ],
)
def test_without_a_bound_a_smaller_job_may_be_slower_by_half(
    before: Measured, expected: float | None, now: float, outcome: Outcome
) -> None:
    found = shrunk(reading(now), reading(before), expected_latency=expected, bound=None)
    assert found is outcome


@pytest.mark.parametrize("latency", [4.0, MISSING])
@pytest.mark.parametrize(
    ("before", "now", "outcome"),
    [
        pytest.param(0.0, 51.0, HARMFUL, id="the lag grows since then"),
        pytest.param(0.0, 49.0, GOOD, id="hardly"),
        pytest.param(60.0, 70.0, INCONCLUSIVE, id="it did before"),
    ],
)
def test_a_smaller_job_must_keep_up_whatever_its_latency(
    latency: Measured, before: float, now: float, outcome: Outcome
) -> None:
    assert shrunk(reading(latency, growth=now), reading(growth=before)) is outcome


@pytest.mark.parametrize(
    ("before", "now", "outcome"),
    [
        pytest.param(reading(8.0), reading(12.0), HARMFUL, id="worse by half, beyond the bound"),
        pytest.param(reading(8.0), reading(11.9), GOOD, id="not by half"),
        pytest.param(reading(4.0), reading(9.0), GOOD, id="worse, but within the bound"),
        pytest.param(reading(4.0), reading(9.0, growth=60.0), HARMFUL, id="and the lag grows"),
        pytest.param(
            reading(8.0), reading(12.0, arrival=1101.0), INCONCLUSIVE, id="the load has risen"
        ),
        pytest.param(
            reading(8.0, growth=60.0),
            reading(20.0, growth=70.0),
            INCONCLUSIVE,
            id="it fell behind before",
        ),
        pytest.param(
            reading(8.0, growth=60.0), reading(20.0, growth=90.0), HARMFUL, id="now it does faster"
        ),
        pytest.param(
            reading(8.0, growth=MISSING), reading(20.0), INCONCLUSIVE, id="nobody knows if it did"
        ),
        pytest.param(
            reading(8.0, error=60.0), reading(20.0), INCONCLUSIVE, id="batches hide if it did"
        ),
    ],
)
def test_more_executors_are_harmful_only_if_they_made_it_worse(
    before: Reading, now: Reading, outcome: Outcome
) -> None:
    assert grown(now, before) is outcome


def test_without_a_bound_a_growth_is_harmful_only_where_the_lag_grows() -> None:
    assert grown(reading(20.0), bound=None) is GOOD
    assert grown(reading(20.0, growth=60.0), bound=None) is HARMFUL


def test_a_verdict_tells_what_was_before_expected_and_promised() -> None:
    found = verdict(
        trial(10, 8, expected_latency=7.0, expected_capacity=1200.0), reading(14.2, growth=80.0)
    )
    assert found is not None
    assert found.reason == (
        "with 8 executors instead of 10 the latency is 14.2 s (4.0 s before, 7.0 s expected, the bound is 10.0 s) "
        "at 1,000 rows/s, and 80 rows/s are left lying, 1,200 rows/s expected as capacity"
    )


def every(seconds: float, count: int, rate: float) -> list[tuple[float, float]]:
    """A lag that grows evenly."""
    return [(index * seconds, 500.0 + index * seconds * rate) for index in range(count)]


@pytest.mark.parametrize("rate", [100.0, -100.0])
def test_a_lag_grows_by_the_slope_of_its_line_give_or_take_a_batch(rate: float) -> None:
    assert lag_growth(every(15, 9, rate), wave=0.0) == Growth(low=rate, high=rate)
    assert lag_growth(every(15, 9, rate), wave=6000.0) == Growth(low=rate - 50, high=rate + 50)


def test_batches_that_come_and_go_are_no_growing_lag() -> None:
    """Fourteen seconds a batch, seen every fifteen: the samples climb slowly through the wave."""
    wave = [(15.0 * index, 1000.0 * (14 + (15 * index) % 14)) for index in range(9)]
    growth = lag_growth(wave, wave=14_000.0)
    assert isinstance(growth, Growth)
    assert growth.low < 0 < growth.high


@pytest.mark.parametrize("samples", [[], every(15, 5, 1.0), [(0.0, 1.0)] * 9])
def test_few_samples_tell_nothing_of_a_lag(samples: list[tuple[float, float]]) -> None:
    assert isinstance(lag_growth(samples, 0.0), NoData)
