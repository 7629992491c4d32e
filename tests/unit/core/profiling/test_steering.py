"""How many rows the next batches of a copy may have."""

import pytest

from sluice.core.learning.batches import BatchReport
from sluice.core.profiling.steering import LONG, MOST_ROWS, SHORT, STEP, first_rows, limits
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
    assert limits(told(batches, most_rows=7500.0)) == ()


def test_a_copy_does_not_wait_for_its_trigger() -> None:
    batches = [batch(0, LONG, 8000), batch(8, SHORT, 2000)]
    (limit,) = limits(told(batches, most_rows=8000.0, trigger_seconds=30.0))
    assert limit.trigger_seconds == 0.0


def test_nothing_is_asked_of_a_query_that_has_told_nothing_or_takes_no_limit() -> None:
    assert limits(told([], most_rows=100.0)) == ()
    assert limits(told([batch(0, 0.1, 100)])) == ()
    ended = query(active=False, batches=(batch(0, 0.1, 100),), most_rows=100.0)
    assert limits(report(ended)) == ()


def test_the_first_limit_grows_with_the_slots() -> None:
    assert first_rows(4, 2, None) == 8 * first_rows(1, 1, None) > 0


def test_what_production_does_is_a_better_first_guess_if_it_is_more() -> None:
    busy = told([batch(0, 2.0, 40_000), batch(2, 4.0, 40_000)])
    assert first_rows(1, 1, busy) == 10_000 * SHORT
    assert first_rows(3, 1, busy) == 30_000 * SHORT
    idle = told([batch(0, 2.0, 10)])
    assert first_rows(1, 1, idle) == first_rows(1, 1, None)


def test_no_limit_is_beyond_all_reason() -> None:
    wild = told([batch(0, 0.001, 1e12)], most_rows=1e9)
    assert first_rows(1, 1, wild) == MOST_ROWS
    (limit,) = limits(wild)
    assert limit.rows == MOST_ROWS


@pytest.mark.parametrize("share", [1.0, 0.05, 0.001])
def test_a_topic_that_was_compacted_gets_batches_of_both_lengths_all_the_same(share: float) -> None:
    """A limit counts offsets, and of these only a share are rows."""
    limit, lengths = 2000.0, list[float]()
    for number in range(12):
        rows = share * limit
        last = batch(100.0 * number, 0.4 + rows / 2000, rows, offsets=limit)
        lengths.append(last.seconds)
        for found in limits(told([last], most_rows=limit)):
            limit = float(found.rows)
    assert sorted(lengths[-2:]) == pytest.approx([SHORT, LONG], rel=0.4)


def test_what_production_reads_of_a_compacted_topic_is_guessed_in_offsets() -> None:
    busy = told([batch(0, 2.0, 40_000, offsets=400_000)])
    assert first_rows(1, 1, busy) == 100_000 * SHORT
