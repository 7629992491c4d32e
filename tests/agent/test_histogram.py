import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.agent.histogram import LONG_BOUNDS, Histogram

durations = st.floats(min_value=0, max_value=10_000)


def test_a_point_falls_into_the_bucket_whose_bound_it_does_not_pass() -> None:
    counts = Histogram().observed(1.0, 1.0).counts

    assert counts[LONG_BOUNDS.index(1.0)] == 1


def test_rows_spread_evenly_over_the_buckets_they_cross() -> None:
    counts = Histogram().observed(1.0, 3.0, 100).counts

    shares = [counts[LONG_BOUNDS.index(bound)] for bound in (1.5, 2.0, 3.0)]
    assert shares == pytest.approx([25, 25, 50])


@given(low=durations, width=durations, rows=st.floats(min_value=0.001, max_value=1e9))
def test_no_row_is_lost_or_made_up(low: float, width: float, rows: float) -> None:
    histogram = Histogram().observed(low, low + width, rows)

    assert histogram.count == pytest.approx(rows, rel=1e-6)
    assert histogram.sum == pytest.approx(rows * (low + width / 2), rel=1e-6)


def test_a_quantile_is_interpolated_in_its_bucket() -> None:
    histogram = Histogram().observed(0.0, 10.0, 1000)

    assert histogram.quantile(0.5) == pytest.approx(5.0)
    assert histogram.quantile(0.95) == pytest.approx(9.5)


def test_a_quantile_past_the_last_bound_is_that_bound() -> None:
    assert Histogram().observed(99_999, 99_999).quantile(0.5) == LONG_BOUNDS[-1]


def test_nothing_observed_has_no_quantile() -> None:
    assert Histogram().quantile(0.5) is None


def test_what_came_since_leaves_out_what_was_there() -> None:
    earlier = Histogram().observed(1, 1, 5)

    assert earlier.observed(7, 7, 2).since(earlier) == Histogram().observed(7, 7, 2)
