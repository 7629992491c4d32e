"""The batches of a program with several queries, told as those of one."""

import math
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.core.learning.batches import BatchReport
from sluice.core.learning.cycles import cycles, leading, seconds_worked
from sluice.core.observations import QueryReport
from tests.support.jobs import NOW, query

T = NOW.timestamp()
FOR_EVER = -math.inf


def batch(start: float, seconds: float, rows: float, *, cold: bool = False) -> BatchReport:
    return BatchReport(start=T + start, seconds=seconds, rows=rows, executors=2, cold=cold)


def ran(name: str, *batches: BatchReport, trigger: float = 0.0, rate: float = 100.0) -> QueryReport:
    return query(name=name, batches=batches, trigger_seconds=trigger, arrival_rate=rate)


def told(main: QueryReport, *others: QueryReport, at: float = 100.0) -> tuple[BatchReport, ...]:
    return cycles(main, others, since=FOR_EVER, at=T + at)


def steady(name: str, *, every: float, takes: float, rate: float) -> QueryReport:
    """Two minutes of batches, each with what arrived in one period, the first one of a new driver."""
    count = int(120 / every)
    batches = [batch(every * place, takes, rate * every) for place in range(count)]
    return ran(name, replace(batches[0], cold=True), *batches[1:], trigger=every, rate=rate)


def test_one_query_is_told_as_it_is_with_the_time_between_its_batches() -> None:
    alone = ran("one", batch(0, 2, 100), batch(6, 3, 200))
    first, second = told(alone)
    assert (first, second) == (alone.batches[0], replace(alone.batches[1], interval=6.0))


def test_the_rows_of_all_count_and_the_seconds_in_which_any_ran() -> None:
    slow = ran("slow", batch(0, 4, 400), batch(10, 4, 400), trigger=10)
    # One overlaps with the slow one's second batch by a second, one runs beside it, one comes after it.
    quick = [batch(0, 4, 50), batch(5, 2, 100), batch(9, 2, 60), batch(12, 1, 40), batch(15, 2, 70)]
    _, second = told(slow, ran("quick", *quick))
    assert second.rows == pytest.approx(400 + 100 + 60 + 40)
    assert second.seconds == pytest.approx(2 + 1 + 4)
    assert second.end == pytest.approx(T + 14)
    assert second.interval == 10


def test_a_batch_that_reaches_beyond_counts_in_part_and_the_rest_in_the_next_cycle() -> None:
    slow = ran("slow", batch(0, 4, 0, cold=True), batch(10, 4, 0), batch(20, 4, 0))
    reaching = ran("other", batch(0, 1, 0, cold=True), batch(12, 8, 800))
    _, second, third = told(slow, reaching)
    assert [found.rows for found in (second, third)] == pytest.approx([200, 600])
    assert [found.seconds for found in (second, third)] == pytest.approx([4, 6 + 4])


def test_a_batch_in_flight_counts_as_if_it_were_as_fast_as_the_last_one() -> None:
    slow = ran("slow", batch(0, 4, 0, cold=True), batch(10, 4, 400))
    other = ran("other", batch(0, 2, 100, cold=True))
    flying = replace(other, in_batch_since=NOW + timedelta(seconds=9))
    assert told(slow, flying, at=30)[-1].rows == pytest.approx(400 + 5 * 50)
    assert told(slow, flying, at=30)[-1].seconds == pytest.approx(5)


def test_a_cycle_is_cold_if_a_batch_in_it_is() -> None:
    slow = ran("slow", batch(0, 4, 10), batch(10, 4, 10))
    assert not told(slow, ran("other", batch(-9, 1, 10), batch(11, 1, 10)))[-1].cold
    assert told(slow, ran("other", batch(-9, 1, 10), batch(11, 1, 10, cold=True)))[-1].cold


def test_what_is_not_remembered_of_all_queries_is_not_told() -> None:
    slow = ran("slow", *(batch(10 * place, 4, 400) for place in range(4)))
    recent = [batch(21 + place, 1, 10) for place in range(4)]
    assert [found.end - T for found in told(slow, ran("quick", *recent))] == [34]
    first = replace(recent[0], cold=True)
    assert len(told(slow, ran("began then", first, *recent[1:]))) == 4


def test_nothing_is_told_twice_also_if_another_query_leads_from_now_on() -> None:
    slow = ran("slow", batch(0, 4, 400, cold=True), batch(10, 4, 400))
    quick = ran("quick", *(batch(2 * place, 1.5, 10, cold=place == 0) for place in range(8)))
    before = cycles(slow, [quick], since=FOR_EVER, at=T + 16)
    (after,) = cycles(quick, [slow], since=before[-1].end, at=T + 16)
    assert after.end - T == 15.5
    assert after.rows == pytest.approx(10), "the end of the slow batch has been told"


@pytest.mark.parametrize("seconds", [0.0, -3.0])
def test_a_batch_that_took_no_time_because_a_clock_was_set_back_is_none(seconds: float) -> None:
    slow = ran("slow", batch(0, 4, 400, cold=True), batch(10, seconds, 400))
    other = ran("other", batch(0, 1, 10, cold=True), batch(5, seconds, 10))
    assert [found.rows for found in told(slow, other)] == [410]


@given(rate=st.floats(1, 1e4), share=st.floats(0.3, 1.0), every=st.floats(2, 20))
def test_of_queries_of_any_rhythm_a_cycle_has_what_arrives_in_it(
    rate: float, share: float, every: float
) -> None:
    first = steady("first", every=2.0, takes=0.5, rate=rate)
    second = steady("second", every=every, takes=0.5, rate=share * rate)
    main = leading([first, second])
    assert main is not None
    other = second if main is first else first
    inside = told(main, other)[2:-2]
    arrived = (1 + share) * rate * max(2.0, every) * len(inside)
    assert sum(found.rows for found in inside) == pytest.approx(arrived, rel=0.25)


def test_the_slowest_query_with_many_rows_leads() -> None:
    quick = ran("quick", batch(0, 1, 100), trigger=2)
    slow = ran("slow", batch(0, 1, 100), trigger=7)
    few = ran("few", batch(0, 1, 100), trigger=30, rate=10)
    assert leading([quick, slow, few]) == slow
    assert leading([few]) == few
    assert leading([ran("new")]) is None


def test_a_batch_that_takes_longer_than_the_trigger_is_the_rhythm() -> None:
    quick = ran("quick", batch(0, 1, 100), trigger=5)
    slow = ran("slow", batch(0, 9, 100), trigger=2)
    assert leading([quick, slow]) == slow


def test_a_query_that_comes_each_hour_leads_only_where_all_are_as_slow() -> None:
    hourly = ran("hourly", batch(0, 50, 100_000), trigger=3600)
    quick = ran("quick", batch(0, 1, 100), trigger=2)
    assert leading([hourly, quick]) == quick
    assert leading([hourly]) == hourly


def test_where_nobody_knows_what_arrives_the_rows_of_batches_tell() -> None:
    many = query(name="many", batches=(batch(0, 1, 500), batch(9, 1, 500)), trigger_seconds=2)
    few = query(name="few", batches=(batch(0, 1, 20), batch(9, 1, 20)), trigger_seconds=30)
    assert leading([many, few]) == many


def test_seconds_in_which_several_ran_count_once() -> None:
    one = ran("one", batch(0, 4, 10), batch(10, 4, 10))
    other = replace(ran("other", batch(2, 4, 10)), in_batch_since=NOW + timedelta(seconds=13))
    assert seconds_worked([one, other], T, T + 20) == pytest.approx(6 + 10)
    assert seconds_worked([one, other], T + 3, T + 11) == pytest.approx(3 + 1)
