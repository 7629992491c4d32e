"""Acceptance checks 5.1 to 5.7, 5.14 and 5.18 of the specification, and the laws of a recovery time."""

import math
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sluice.core.modelling.load import constant_load, load
from sluice.core.modelling.recovery import (
    Never,
    Outage,
    Pace,
    Recovered,
    Recovery,
    largest_utilisation,
    measured_recovery,
    needed_capacity,
    predicted_recovery,
    recovery_limit,
)
from sluice.core.series import NoData

HALF = [70 / 2 ** (n + 1) for n in range(7)]

rates = st.floats(0, 1e6)
spans = st.floats(0, 600)
overheads = st.sampled_from([0.0, 0.1, 0.8, 5.0])
growths = st.floats(1.001, 1000)


def recovered(found: Recovery) -> Recovered:
    assert isinstance(found, Recovered), found
    return found


def seconds(found: Recovery) -> float:
    return found.seconds if isinstance(found, Recovered) else math.inf


def constant(
    rate: float, capacity: float, *, interval: float, downtime: float, **pace: float
) -> Recovery:
    outage = Outage(downtime=downtime, interval=interval)
    return predicted_recovery(constant_load(rate), outage, Pace(capacity=capacity, **pace))


@pytest.mark.parametrize(
    ("utilisation", "downtime", "batches", "expected", "limit"),
    [
        pytest.param(0.5, 60, HALF, 129.453125, 130, id="5.1"),
        pytest.param(0.25, 110, [30, 7.5, 1.875, 0.46875], 149.84375, 150, id="5.2"),
    ],
)
def test_a_constant_load_is_a_geometric_series(
    utilisation: float, downtime: float, batches: list[float], expected: float, limit: float
) -> None:
    found = recovered(constant(1e5 * utilisation, 1e5, interval=10, downtime=downtime))
    assert found.batches == pytest.approx(batches)
    assert found.seconds == pytest.approx(expected)
    outage = Outage(downtime=downtime, interval=10)
    assert seconds(recovery_limit(1e5 * utilisation, outage, 1e5)) == pytest.approx(limit)


def test_5_3_a_high_utilisation_takes_many_batches() -> None:
    found = recovered(constant(90_000, 100_000, interval=10, downtime=90))
    assert len(found.batches) == 44
    assert found.seconds == pytest.approx(981.272, abs=1e-3)
    outage = Outage(downtime=90, interval=10)
    assert seconds(recovery_limit(90_000, outage, 100_000)) == pytest.approx(990)


def test_5_4_without_load_the_recovery_is_the_downtime() -> None:
    assert recovered(constant(0, 100, interval=10, downtime=60)).seconds == 60


@pytest.mark.parametrize("rate", [100, 101, 1e9], ids=["5.4 equal", "5.4 above", "5.4 far above"])
def test_5_4_a_load_of_all_capacity_is_never_recovered_from(rate: float) -> None:
    found = constant(rate, 100, interval=10, downtime=60)
    assert found == Never(f"{rate:.0f} rows/s arrive and 100 rows/s can be processed")


def test_5_4_a_short_outage_takes_one_batch() -> None:
    found = recovered(constant(50, 100, interval=0.3, downtime=0.4))
    assert found.batches == pytest.approx([0.35])


def test_5_5_a_linear_load() -> None:
    rising = load([(-10, 9_900), (110, 11_100)])
    assert not isinstance(rising, NoData)
    outage = Outage(downtime=60, interval=10)
    found = recovered(predicted_recovery(rising, outage, Pace(capacity=40_000)))
    assert found.batches == pytest.approx([17.9375, 4.793657, 1.294688, 0.350659], abs=1e-5)
    assert found.seconds == pytest.approx(84.376504, abs=1e-5)


@pytest.mark.parametrize(
    ("downtime", "utilisation", "capacity"),
    [
        pytest.param(60, 0.6316, 1.583, id="5.6 D=60"),
        pytest.param(90, 0.4737, 2.111, id="5.6 D=90"),
        pytest.param(110, 0.3684, 2.714, id="5.6 D=110"),
        pytest.param(120, 0.3158, 3.167, id="5.6 D=120"),
    ],
)
def test_headroom_for_a_target_of_180_seconds(
    downtime: float, utilisation: float, capacity: float
) -> None:
    outage = Outage(downtime=downtime, interval=10)
    largest = largest_utilisation(180, outage)
    assert largest == pytest.approx(utilisation, abs=5e-5)
    assert needed_capacity(1, 180, outage) == pytest.approx(capacity, abs=5e-4)
    assert not isinstance(largest, NoData)
    assert seconds(recovery_limit(largest, outage, 1)) == pytest.approx(180)


@pytest.mark.parametrize("downtime", [180, 200])
def test_5_6_a_target_within_the_downtime_is_impossible(downtime: float) -> None:
    outage = Outage(downtime=downtime, interval=10)
    assert largest_utilisation(180, outage) == NoData(
        f"a recovery target of 180 s is impossible: the downtime alone is {downtime} s"
    )
    assert isinstance(needed_capacity(1, 180, outage), NoData)


@pytest.mark.parametrize(
    ("executors", "expected"),
    [
        pytest.param(13, 182.59, id="5.7 s=13 misses 180 s"),
        pytest.param(14, 170.65, id="5.7 s=14 meets 180 s"),
        pytest.param(24, 125.21, id="5.7 s=24 misses 120 s"),
    ],
)
def test_the_recovery_of_scale_outs(executors: int, expected: float) -> None:
    outage = Outage(downtime=90, interval=10)
    found = recovery_limit(100_000, outage, 16_000 * executors)
    assert seconds(found) == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize(
    ("executors", "logged", "expected"),
    [
        pytest.param(8, 138.38, 138.30, id="5.14 s=8"),
        pytest.param(10, 126.63, 126.54, id="5.14 s=10"),
        pytest.param(12, 119.54, 119.38, id="5.14 s=12"),
        pytest.param(16, 111.15, 111.11, id="5.14 s=16"),
        pytest.param(20, 106.62, 106.48, id="5.14 s=20"),
        pytest.param(24, 103.52, 103.51, id="5.14 s=24"),
    ],
)
def test_a_published_log_line_is_reproduced(executors: int, logged: float, expected: float) -> None:
    capacity = 23_692 + 19_520.5 * executors
    limit = recovery_limit(58_576, Outage(downtime=90, interval=10), capacity)
    assert seconds(limit) == pytest.approx(expected, abs=0.01)
    assert seconds(limit) == pytest.approx(logged, abs=0.3)
    batches = constant(58_576, capacity, interval=10, downtime=90)
    assert seconds(batches) == pytest.approx(logged, abs=0.3)


def test_5_14_a_hopeless_scale_out_is_not_made_better_by_the_end_of_the_forecast() -> None:
    """The artefact logged 653.74 s."""
    capacity = 23_692 + 19_520.5 * 2
    utilisation = 58_576 / capacity
    limit = recovery_limit(58_576, Outage(downtime=90, interval=10), capacity)
    assert seconds(limit) == pytest.approx(1498.9, abs=0.3)
    found = recovered(constant(58_576, capacity, interval=10, downtime=90))
    series = 1 - utilisation ** len(found.batches)
    assert found.seconds == pytest.approx(90 + 100 * utilisation * series / (1 - utilisation))
    assert found.batches[-1] < 1


def test_5_18_overhead_per_batch_ends_at_the_ordinary_batch() -> None:
    found = recovered(constant(50, 100, interval=10, downtime=60, overhead=0.8))
    assert found.batches[:6] == pytest.approx([35.8, 18.7, 10.15, 5.875, 3.7375, 2.6688], abs=1e-4)
    assert len(found.batches) == 10
    assert found.batches[-1] == pytest.approx(1.6668, abs=1e-4)
    assert Pace(capacity=100, overhead=0.8).ordinary(50) == pytest.approx(1.6)


def test_5_18_a_limit_of_rows_per_batch_limits_the_capacity() -> None:
    assert Pace(capacity=8_000, period=10, most_rows=50_000).sustained == 5_000


def test_a_rate_limit_for_normal_load_removes_all_headroom() -> None:
    limited = Pace(capacity=8_000, period=10, most_rows=50_000)
    outage = Outage(downtime=60, interval=10)
    assert isinstance(predicted_recovery(constant_load(5_000), outage, limited), Never)
    free = predicted_recovery(constant_load(5_000), outage, Pace(capacity=8_000, period=10))
    assert recovered(free).seconds < 180


def test_a_job_that_a_limit_keeps_behind_has_not_caught_up_when_a_batch_fits_its_period() -> None:
    short = Outage(downtime=1, interval=1)
    limited = Pace(capacity=8_000, period=10, most_rows=50_000)
    overload = load([(0, 6_000), (900, 6_000)])
    assert not isinstance(overload, NoData)
    found = predicted_recovery(overload, short, limited)
    assert found == Never("6000 rows/s arrive and 5000 rows/s can be processed")
    free = predicted_recovery(overload, short, Pace(capacity=8_000, period=10))
    assert recovered(free).seconds < 10


@pytest.mark.parametrize("rate", [5_000, 5_001, 50_000])
def test_how_short_the_batches_are_of_a_job_that_a_limit_keeps_behind_is_no_matter(
    rate: float,
) -> None:
    overload = load([(0, rate), (3_600, rate), (3_601, 20)])
    assert not isinstance(overload, NoData)
    limited = Pace(capacity=100_000, most_rows=50_000, period=10)
    found = recovered(predicted_recovery(overload, Outage(downtime=0, interval=1e-6), limited))
    assert len(found.batches) <= 3_602


def test_a_backlog_is_worked_off_no_faster_than_the_limit() -> None:
    limited = Pace(capacity=8_000, period=10, most_rows=50_000)
    outage = Outage(downtime=60, interval=10)
    found = recovered(predicted_recovery(constant_load(2_500), outage, limited))
    assert found.batches == pytest.approx([35, 17.5, 8.75])


def test_a_limit_above_what_a_period_needs_costs_nothing() -> None:
    outage = Outage(downtime=60, interval=10)
    roomy = Pace(capacity=8_000, period=10, most_rows=80_000)
    free = Pace(capacity=8_000, period=10)
    assert predicted_recovery(constant_load(4_000), outage, roomy) == predicted_recovery(
        constant_load(4_000), outage, free
    )


def test_small_batches_pay_their_overhead_each() -> None:
    assert Pace(capacity=100, overhead=1, most_rows=100).sustained == 50


def test_a_job_with_a_trigger_has_caught_up_when_a_batch_fits_its_period() -> None:
    found = recovered(constant(50, 100, interval=10, downtime=60, period=10))
    assert found.batches == pytest.approx([35, 17.5, 8.75])


def test_a_load_that_falls_later_is_recovered_from_later() -> None:
    falling = load([(0, 150), (200, 150), (210, 20)])
    assert not isinstance(falling, NoData)
    outage = Outage(downtime=60, interval=10)
    found = recovered(predicted_recovery(falling, outage, Pace(capacity=100)))
    # 70 s x 150 and the 140 s until the fall: 50 rows/s more than can be worked off.
    assert 400 < found.seconds < 500


def test_after_an_outage_of_nothing_an_overload_that_passes_is_none_of_its_business() -> None:
    overload = load([(0, 150), (3_600, 150), (3_601, 20)])
    assert not isinstance(overload, NoData)
    found = predicted_recovery(overload, Outage(downtime=0, interval=1e-6), Pace(capacity=100))
    assert len(recovered(found).batches) == 1


def test_the_longest_recovery_is_predicted_in_less_batches_than_a_day_has_seconds() -> None:
    found = constant(0.999999, 1, interval=1, downtime=0.1, overhead=0.5)
    assert found == Never("it would take longer than 24 hours")


def test_an_outage_of_nothing_is_over_at_once() -> None:
    assert recovered(constant(50, 100, interval=0, downtime=0)).seconds == 0


def test_without_capacity_nothing_recovers() -> None:
    assert constant(0, 0, interval=10, downtime=60) == Never("there is no capacity")


def test_what_takes_longer_than_a_day_is_no_recovery() -> None:
    found = constant(99_999, 100_000, interval=10, downtime=60)
    assert found == Never("it would take longer than 24 hours")


@pytest.mark.parametrize(("downtime", "interval"), [(-1, 0), (0, -1), (math.nan, 0), (0, math.inf)])
def test_an_outage_of_no_length_is_refused(downtime: float, interval: float) -> None:
    with pytest.raises(ValueError, match="seconds"):
        Outage(downtime=downtime, interval=interval)


@pytest.mark.parametrize(
    "numbers", [{"capacity": -1}, {"capacity": math.nan}, {"capacity": 1, "most_rows": 0}]
)
def test_an_impossible_pace_is_refused(numbers: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="Pace"):
        Pace(**numbers)


@given(rates, spans, spans, overheads, growths)
def test_more_load_never_recovers_sooner(
    rate: float, interval: float, downtime: float, overhead: float, growth: float
) -> None:
    less = constant(rate, 1e5, interval=interval, downtime=downtime, overhead=overhead)
    more = constant(rate * growth, 1e5, interval=interval, downtime=downtime, overhead=overhead)
    assert seconds(more) >= seconds(less) * (1 - 1e-9)


@given(rates, spans, spans, overheads, growths)
def test_more_capacity_never_recovers_later(
    rate: float, interval: float, downtime: float, overhead: float, growth: float
) -> None:
    less = constant(rate, 1e5, interval=interval, downtime=downtime, overhead=overhead)
    more = constant(rate, 1e5 * growth, interval=interval, downtime=downtime, overhead=overhead)
    assert seconds(more) <= seconds(less) * (1 + 1e-9)


@given(rates, spans, spans, overheads, st.floats(0.01, 600))
def test_a_longer_outage_never_recovers_sooner(
    rate: float, interval: float, downtime: float, overhead: float, longer: float
) -> None:
    base = seconds(constant(rate, 1e5, interval=interval, downtime=downtime, overhead=overhead))
    later = constant(rate, 1e5, interval=interval, downtime=downtime + longer, overhead=overhead)
    older = constant(rate, 1e5, interval=interval + longer, downtime=downtime, overhead=overhead)
    assert seconds(later) >= base * (1 - 1e-9)
    assert seconds(older) >= base * (1 - 1e-9)


@given(st.floats(0.01, 0.95), st.floats(1, 600), st.floats(1, 600), st.floats(1.01, 1.04))
def test_5_4_the_recovery_time_is_strictly_monotone(
    utilisation: float, interval: float, downtime: float, growth: float
) -> None:
    base = seconds(constant(utilisation, 1, interval=interval, downtime=downtime))
    assert seconds(constant(utilisation * growth, 1, interval=interval, downtime=downtime)) > base
    assert seconds(constant(utilisation, growth, interval=interval, downtime=downtime)) < base
    assert seconds(constant(utilisation, 1, interval=interval * growth, downtime=downtime)) > base
    assert seconds(constant(utilisation, 1, interval=interval, downtime=downtime * growth)) > base


@given(
    st.lists(st.floats(0, 0.9), min_size=2, max_size=20), st.floats(1.01, 1.1), st.floats(1, 120)
)
def test_more_of_any_load_within_the_capacity_recovers_no_sooner_than_a_batch(
    shape: list[float], growth: float, downtime: float
) -> None:
    """Batches end at other moments, so two loads of one shape may differ by the last batch."""
    assume(max(shape) * growth < 0.99)
    base = load((60.0 * index, rate) for index, rate in enumerate(shape))
    assert not isinstance(base, NoData)
    outage, pace = Outage(downtime=downtime, interval=10), Pace(capacity=1)
    more = predicted_recovery(base.scaled(growth), outage, pace)
    assert seconds(more) >= seconds(predicted_recovery(base, outage, pace)) - 1


@given(st.floats(0.01, 0.98), st.floats(0, 600), st.floats(0, 600))
def test_the_recursion_stays_below_its_limit_and_lacks_little_of_it(
    utilisation: float, interval: float, downtime: float
) -> None:
    outage = Outage(downtime=downtime, interval=interval)
    found = recovered(predicted_recovery(constant_load(utilisation), outage, Pace(capacity=1)))
    limit = seconds(recovery_limit(utilisation, outage, 1))
    lacking = found.batches[-1] * utilisation / (1 - utilisation)
    assert found.seconds == pytest.approx(limit - lacking, rel=1e-6, abs=1e-6)


@given(
    st.floats(0, allow_nan=False, allow_infinity=False),
    st.floats(0, allow_nan=False, allow_infinity=False),
    st.floats(0, allow_nan=False, allow_infinity=False),
    st.floats(0, 1e6),
    st.one_of(st.none(), st.floats(0, exclude_min=True)),
)
def test_extreme_numbers_give_a_result(
    rate: float, capacity: float, downtime: float, overhead: float, most_rows: float | None
) -> None:
    outage = Outage(downtime=downtime, interval=10)
    pace = Pace(capacity=capacity, overhead=overhead, most_rows=most_rows)
    found = predicted_recovery(constant_load(rate), outage, pace)
    assert isinstance(found, Never) or math.isfinite(found.seconds)


def test_a_thousandfold_spike_is_a_recovery_or_a_reason() -> None:
    spike = load([(0, 100), (59, 100), (60, 100_000), (61, 100)])
    assert not isinstance(spike, NoData)
    found = predicted_recovery(spike, Outage(downtime=60, interval=10), Pace(capacity=400))
    assert 60 + 250 < recovered(found).seconds < 1000


@pytest.mark.parametrize(
    ("pace", "waiting"),
    [
        pytest.param(Pace(capacity=100), 0.0, id="no overhead"),
        pytest.param(Pace(capacity=100, overhead=2), 2 * 2 / 0.5, id="batches of 4 s"),
        pytest.param(Pace(capacity=100, overhead=2, period=10), 10 + 2 + 5, id="a trigger of 10 s"),
    ],
)
def test_what_waits_in_ordinary_times_is_from_one_batch_and_the_wait_for_the_next(
    pace: Pace, waiting: float
) -> None:
    assert pace.ordinary_lag(50) == pytest.approx(waiting)


@pytest.mark.parametrize("overhead", [0.0, 0.5, 4.0, 16.0])
@pytest.mark.parametrize("period", [0.0, 10.0])
@pytest.mark.parametrize("rate", [20.0, 60.0, 85.0])
def test_a_measured_recovery_ends_with_the_batch_after_which_no_more_waits_than_usual(
    overhead: float, period: float, rate: float
) -> None:
    pace = Pace(capacity=100, overhead=overhead, period=period)
    case = constant_load(rate), Outage(downtime=60, interval=10), pace
    all_, found = recovered(predicted_recovery(*case)), recovered(measured_recovery(*case))
    count, batches = len(found.batches), all_.batches
    assert found.seconds == pytest.approx(60 + sum(batches[:count]))
    most = max(5.0, 1.25 * pace.ordinary_lag(rate))
    waiting = [one + other for one, other in pairwise(batches)]
    assert all(lag > most for lag in waiting[: count - 1])
    assert all(lag <= most for lag in waiting[count - 1 : count])


def test_an_overload_is_measured_for_ever() -> None:
    outage = Outage(downtime=60, interval=10)
    assert isinstance(measured_recovery(constant_load(110), outage, Pace(capacity=100)), Never)
