"""Numbers by hand: a histogram of 100 rows with 40 up to 1 s, 80 up to 2 s, 95 up to 4 s."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.agent.histogram import LONG_BOUNDS, Histogram
from sluice.core.objectives import indicators
from sluice.core.objectives.indicators import LatencyBound, weights
from sluice.core.objectives.verdicts import Tally, Verdict
from sluice.core.series import NoData

GOOD, BAD, UNKNOWN = Verdict.GOOD, Verdict.BAD, Verdict.UNKNOWN
NOTHING = NoData("not measured")
BUCKETS = ((1.0, 40.0), (2.0, 80.0), (4.0, 95.0))
P95 = LatencyBound(share=0.95, seconds=10)


@pytest.mark.parametrize(
    ("seconds", "within"),
    [(0.5, 20), (1, 40), (1.5, 60), (2, 80), (3, 87.5), (4, 95), (60, 95)],
    ids=["first bucket", "bound", "middle", "bound", "middle", "last bound", "beyond"],
)
def test_rows_within_a_bound(seconds: float, within: float) -> None:
    found = indicators.rows_within(BUCKETS, 100, LatencyBound(share=0.9, seconds=seconds))
    assert found == Tally(good=within, bad=100 - within)


def test_rows_of_unknown_arrival_are_unknown() -> None:
    found = indicators.rows_within(BUCKETS, 100, LatencyBound(share=0.9, seconds=2), untimed=25)
    assert found == Tally(good=80, bad=20, unknown=25)
    assert found.unknown_share == 0.2


@given(
    st.lists(st.tuples(st.floats(0, 4000), st.integers(1, 50)), min_size=1, max_size=30),
    st.floats(0.01, 3599),
    st.floats(0.01, 0.99),
)
def test_the_share_is_met_exactly_when_the_quantile_is_within_the_bound(
    rows: list[tuple[float, int]], seconds: float, share: float
) -> None:
    histogram = Histogram()
    for latency, count in rows:
        histogram = histogram.observed(latency, latency, count)
    cumulative = [
        (bound, sum(histogram.counts[: index + 1])) for index, bound in enumerate(LONG_BOUNDS)
    ]
    bound = LatencyBound(share=share, seconds=seconds)
    attained = indicators.rows_within(cumulative, histogram.count, bound).attainment()
    quantile = histogram.quantile(share)

    assert quantile is not None
    assert not isinstance(attained, NoData)
    if abs(quantile - seconds) > 1e-9 * seconds and quantile < LONG_BOUNDS[-1]:
        assert (quantile <= seconds) == (attained >= share - 1e-12)


@given(st.floats(0.01, 10_000))
def test_buckets_are_weighted_with_one_row_for_each_row(seconds: float) -> None:
    found = weights(LONG_BOUNDS, seconds)
    assert {bound for bound, _ in found} <= set(LONG_BOUNDS)
    assert all(0 < weight <= 1 for _, weight in found)
    if seconds >= LONG_BOUNDS[0]:
        assert sum(weight for _, weight in found) == pytest.approx(1)


@pytest.mark.parametrize(
    ("within", "waiting", "verdict"),
    [
        (0.95, NOTHING, GOOD),
        (0.949, 0.0, BAD),
        (NOTHING, 0.0, GOOD),
        (NOTHING, 10.0, GOOD),
        (NOTHING, 10.1, BAD),
        (NOTHING, NOTHING, UNKNOWN),
    ],
    ids=["share met", "share missed", "idle", "nothing late yet", "hangs", "not measured"],
)
def test_latency(within: float | NoData, waiting: float | NoData, verdict: Verdict) -> None:
    assert indicators.latency(within, waiting, P95) is verdict


@pytest.mark.parametrize(
    ("processed", "arrived", "verdict"),
    [
        (1000.0, NOTHING, GOOD),
        (950.0, 5000.0, GOOD),
        (949.0, 5000.0, BAD),
        (400.0, 400.0, GOOD),
        (0.0, 0.0, GOOD),
        (0.0, 400.0, BAD),
        (400.0, NOTHING, UNKNOWN),
        (NOTHING, 400.0, UNKNOWN),
    ],
)
def test_throughput_with_a_minimum_of_1000_rows_a_second(
    processed: float | NoData, arrived: float | NoData, verdict: Verdict
) -> None:
    assert indicators.throughput(processed, arrived, 1000) is verdict


@pytest.mark.parametrize(
    ("age", "waiting", "verdict"),
    [
        (60.0, 80.0, GOOD),
        (61.0, 80.0, BAD),
        (61.0, 60.0, GOOD),
        (61.0, 0.0, GOOD),
        (61.0, NOTHING, UNKNOWN),
        (59.0, NOTHING, GOOD),
        (NOTHING, 61.0, UNKNOWN),
        (NOTHING, 5.0, GOOD),
    ],
)
def test_freshness_of_a_minute(
    age: float | NoData, waiting: float | NoData, verdict: Verdict
) -> None:
    assert indicators.freshness(age, waiting, 60) is verdict


@pytest.mark.parametrize(("active", "verdict"), [(2.0, GOOD), (0.0, BAD), (NOTHING, UNKNOWN)])
def test_availability(active: float | NoData, verdict: Verdict) -> None:
    assert indicators.availability(active) is verdict


@pytest.mark.parametrize(("share", "seconds"), [(1.0, 10), (0.0, 10), (0.95, 0)])
def test_a_bound_that_cannot_be_met_or_missed_is_refused(share: float, seconds: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        LatencyBound(share=share, seconds=seconds)
