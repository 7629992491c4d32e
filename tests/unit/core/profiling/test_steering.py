"""How many rows the next batches of a copy may have."""

from dataclasses import replace
from datetime import timedelta

import pytest

from sluice.core.learning.batches import BatchReport
from sluice.core.observations import AgentReport, QueryReport
from sluice.core.profiling.measuring import Batches
from sluice.core.profiling.steering import (
    LONG,
    MOST_ROWS,
    OUTWEIGHS,
    ROUND,
    SHORT,
    STEP,
    Limit,
    first_rows,
    limits,
)
from tests.support.jobs import NOW, query, report
from tests.unit.core.profiling.profiles import batch, told


def rows_after(batches: list[BatchReport], most_rows: float) -> int:
    (limit,) = limits(told(batches, most_rows=most_rows), None)
    return limit.rows


def test_a_fast_batch_is_followed_by_larger_ones_step_by_step() -> None:
    assert rows_after([batch(0, 0.1, 1000)], 1000.0) == 1000 * STEP


def test_batches_of_two_lengths_take_turns() -> None:
    rate = 1000.0
    short = [batch(0, SHORT, rate * SHORT)]
    assert rows_after(short, rate * SHORT) == pytest.approx(rate * LONG, rel=0.01)
    both = [*short, batch(2, LONG, rate * LONG)]
    assert rows_after(both, rate * LONG) == pytest.approx(rate * SHORT, rel=0.01)


@pytest.mark.parametrize("first", [10.0, 100_000.0])
@pytest.mark.parametrize("overhead", [3.8, 12.0])
def test_a_job_whose_batches_are_nearly_all_overhead_is_measured_by_its_rows(
    overhead: float, first: float
) -> None:
    """As with the state of 200 partitions, on two executors."""
    rate, limit, seconds = 20_000.0, first, 0.0
    done, batches = list[BatchReport](), Batches()
    for number in range(30):
        cold = number < 3
        took = overhead + limit / rate + (60.0 if cold else 0.0)
        done.append(batch(seconds, took, limit, cold=cold))
        seconds = done[-1].end
        report = told(done, waiting=1e9, most_rows=limit)
        batches = batches.with_report(report)
        for found in limits(report, None):
            limit = float(found.rows)
    works = [found.seconds - overhead for found in done[-3:]]
    ends = [SHORT, max(LONG, OUTWEIGHS * overhead)]
    assert [min(works), max(works)] == pytest.approx(ends, rel=0.2)
    reading = batches.reading(2)
    assert reading is not None
    assert not reading.is_lower_bound
    assert reading.rate == pytest.approx(rate, rel=0.01)


def test_a_cold_batch_that_took_long_makes_the_next_one_smaller() -> None:
    assert rows_after([batch(0, 60, 6000, cold=True)], 6000.0) == 6000 * SHORT / 60


def test_a_cold_batch_or_one_on_fewer_executors_tells_no_overhead() -> None:
    warm = batch(80, 12.5, 30)
    for other in (batch(0, 72.0, 1000, cold=True), batch(0, 72.0, 1000, executors=1)):
        assert rows_after([other, warm], 30.0) == round(30 * SHORT / 12.5)
    assert rows_after([batch(0, 72.0, 1000), warm], 30.0) > 30


def test_a_limit_that_is_right_stays() -> None:
    batches = [batch(0, LONG, 8000), batch(8, SHORT, 2000)]
    assert limits(told(batches, most_rows=7500.0), None) == ()


def test_a_copy_does_not_wait_for_its_trigger() -> None:
    batches = [batch(0, LONG, 8000), batch(8, SHORT, 2000)]
    (limit,) = limits(told(batches, most_rows=8000.0, trigger_seconds=30.0), None)
    assert limit.trigger_seconds == 0.0


def test_nothing_is_asked_of_a_query_that_has_told_nothing_or_takes_no_limit() -> None:
    assert limits(told([], most_rows=100.0), None) == ()
    assert limits(told([batch(0, 0.1, 100)]), None) == ()
    ended = query(active=False, batches=(batch(0, 0.1, 100),), most_rows=100.0)
    assert limits(report(ended), None) == ()


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
    (limit,) = limits(wild, None)
    assert limit.rows == MOST_ROWS


@pytest.mark.parametrize("share", [1.0, 0.05, 0.001])
def test_a_topic_that_was_compacted_gets_batches_of_both_lengths_all_the_same(share: float) -> None:
    """A limit counts offsets, and of these only a share are rows."""
    limit, lengths = 2000.0, list[float]()
    for number in range(12):
        rows = share * limit
        last = batch(100.0 * number, 0.4 + rows / 2000, rows, offsets=limit)
        lengths.append(last.seconds)
        for found in limits(told([last], most_rows=limit), None):
            limit = float(found.rows)
    assert sorted(lengths[-2:]) == pytest.approx([SHORT, LONG], rel=0.4)


def test_what_production_reads_of_a_compacted_topic_is_guessed_in_offsets() -> None:
    busy = told([batch(0, 2.0, 40_000, offsets=400_000)])
    assert first_rows(1, 1, busy) == 100_000 * SHORT


PRODUCTION = report(query(name="dear", arrival_rate=300.0), query(name="cheap", arrival_rate=100.0))


def copied(name: str, *batches: BatchReport, rows: float, trigger: float = ROUND) -> QueryReport:
    """A query of a copy, of which more rows wait than it can process."""
    return query(name=name, batches=batches, most_rows=rows, trigger_seconds=trigger, left_rows=1e6)


def test_several_queries_go_in_rounds_with_the_shares_that_they_have_in_production() -> None:
    dear = copied("dear", batch(0, 1.0, 1000), rows=1000.0, trigger=2.0)
    cheap = copied("cheap", batch(0, 1.0, 1000), rows=1000.0, trigger=7.0)
    rows = 2000 * LONG
    assert limits(report(dear, cheap), PRODUCTION) == (
        Limit(query="dear", rows=round(0.75 * rows), trigger_seconds=ROUND),
        Limit(query="cheap", rows=round(0.25 * rows), trigger_seconds=ROUND),
    )


@pytest.mark.parametrize(
    "production", [None, report(), report(query(name="dear", arrival_rate=300.0))]
)
def test_as_long_as_production_does_not_tell_of_all_queries_they_share_alike(
    production: AgentReport | None,
) -> None:
    dear = copied("dear", batch(0, LONG, 1000), rows=1000.0)
    cheap = copied("cheap", batch(0, LONG, 3000), rows=3000.0)
    assert [limit.rows for limit in limits(report(dear, cheap), production)] == [500, 500]


def test_a_round_that_is_right_stays() -> None:
    dear = copied("dear", batch(0, LONG, 3000), rows=800.0)
    cheap = copied("cheap", batch(0, SHORT, 1000), rows=240.0)
    assert limits(report(dear, cheap), PRODUCTION) == ()
    waiting = replace(cheap, trigger_seconds=2.0)
    assert len(limits(report(dear, waiting), PRODUCTION)) == 2


def test_of_several_queries_the_capacity_is_measured_at_the_shares_of_production() -> None:
    """Rows of one take ten times as long as those of the other: alone with its like, each would tell another rate."""
    seconds = {"dear": 0.004, "cheap": 0.0004}
    overhead = 0.5
    rows = dict.fromkeys(seconds, 1000.0)
    done: dict[str, list[BatchReport]] = {name: [] for name in seconds}
    batches = Batches()
    for number in range(30):
        # On one core: the tasks of both take turns until the cheap rows are done.
        each = {name: rows[name] * cost for name, cost in seconds.items()}
        both = 2 * min(each.values())
        for name, alone in each.items():
            took = overhead + (both if alone == min(each.values()) else sum(each.values()))
            done[name].append(batch(number * ROUND, took, rows[name], executors=1))
        queries = [copied(name, *done[name][-20:], rows=rows[name]) for name in seconds]
        told = report(*queries, at=NOW + timedelta(seconds=(number + 1) * ROUND - 0.1))
        batches = batches.with_report(told)
        rows |= {limit.query: float(limit.rows) for limit in limits(told, PRODUCTION)}
    reading = batches.reading(1)
    assert reading is not None
    assert reading.rate == pytest.approx(1 / (0.75 * 0.004 + 0.25 * 0.0004), rel=0.05)
    assert reading.overhead == pytest.approx(overhead, rel=0.2)
    assert not reading.is_lower_bound
