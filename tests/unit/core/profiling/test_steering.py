"""How many rows the next batches of a copy may have."""

import pytest

from sluice.core.learning.batches import BatchReport
from sluice.core.profiling.steering import LONG, SHORT, STEP, first_rows, limits
from tests.support.jobs import query, report
from tests.unit.core.profiling.profiles import batch, told


def rows_after(batches: list[BatchReport], most_rows: float) -> int:
    (limit,) = limits(told(batches, most_rows=most_rows))
    return limit.rows


def test_a_fast_batch_is_followed_by_larger_ones_step_by_step() -> None:
    assert rows_after([batch(0, 0.1, 1000)], 1000.0) == 1000 * STEP


def test_batches_of_two_lengths_take_turns() -> None:
    rate = 1000.0
    short = [batch(0, SHORT, rate * SHORT)]
    assert rows_after(short, rate * SHORT) == pytest.approx(rate * LONG, rel=0.01)
    both = [*short, batch(2, LONG, rate * LONG)]
    assert rows_after(both, rate * LONG) == pytest.approx(rate * SHORT, rel=0.01)


def test_a_cold_batch_that_took_long_makes_the_next_one_smaller() -> None:
    assert rows_after([batch(0, 60, 6000, cold=True)], 6000.0) == 6000 * SHORT / 60


def test_a_limit_that_is_right_stays() -> None:
    batches = [batch(0, LONG, 8000), batch(8, SHORT, 2000)]
    assert limits(told(batches, most_rows=2100.0)) == ()


def test_a_copy_does_not_wait_for_its_trigger() -> None:
    batches = [batch(0, LONG, 8000), batch(8, SHORT, 2000)]
    (limit,) = limits(told(batches, most_rows=2000.0, trigger_seconds=30.0))
    assert limit.trigger_seconds == 0.0


def test_nothing_is_asked_of_a_query_that_has_told_nothing_or_takes_no_limit() -> None:
    assert limits(told([], most_rows=100.0)) == ()
    assert limits(told([batch(0, 0.1, 100)])) == ()
    ended = query(active=False, batches=(batch(0, 0.1, 100),), most_rows=100.0)
    assert limits(report(ended)) == ()


def test_the_first_limit_grows_with_the_slots() -> None:
    assert first_rows(4) == 4 * first_rows(1) > 0
