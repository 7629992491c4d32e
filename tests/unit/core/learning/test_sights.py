"""What is seen of a job by its agent's reports, one after the other."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from sluice.core.learning.batches import BatchReport
from sluice.core.learning.sights import Sight, look
from sluice.core.learning.starts import Start
from sluice.core.observations import AgentReport, Processing, QueryFailure, QueryReport
from sluice.core.series import NoData
from tests.support.jobs import NOW, query, report

T = NOW.timestamp()


def batch(start: float, seconds: float, rows: float, executors: int = 2) -> BatchReport:
    return BatchReport(start=T + start, seconds=seconds, rows=rows, executors=executors)


def seen(told: AgentReport, before: Sight | None = None, percentile: float = 0.95) -> Sight:
    return look(told, before, percentile=percentile, cores=2)


def at(seconds: float, *queries: QueryReport, **changes: Any) -> AgentReport:
    return report(*queries, at=NOW + timedelta(seconds=seconds), **changes)


def test_a_first_look_knows_no_rates() -> None:
    scrape = seen(at(0, query(batches=(batch(-5, 2, 100),), arrival_rate=50.0))).scrape
    assert isinstance(scrape.processing, NoData)
    assert isinstance(scrape.busy, NoData)
    assert scrape.arrival == 50.0
    assert len(scrape.batches) == 1


def test_rates_are_those_of_the_batches_since_the_look_before() -> None:
    first = seen(at(0, query(batches=(batch(-5, 2, 100),))))
    both = (batch(-5, 2, 100), batch(1, 4, 300), batch(6, 2, 200))
    second = seen(at(10, query(batches=both)), first).scrape
    assert [found.rows for found in second.batches] == [300, 200]
    assert second.processing == pytest.approx(50)
    assert second.busy == pytest.approx(0.6)


def test_rows_that_spark_counts_again_for_each_time_they_are_read_count_once() -> None:
    first = seen(at(0, query(batches=(batch(-5, 2, 100),))))
    twice = replace(batch(1, 4, 600), offsets=300.0)
    with_gaps = replace(batch(6, 2, 200), offsets=250.0)
    second = seen(at(10, query(batches=(batch(-5, 2, 100), twice, with_gaps))), first).scrape
    assert [found.rows for found in second.batches] == [300, 200]
    assert second.processing == pytest.approx(50)


def test_a_batch_in_flight_keeps_the_job_busy() -> None:
    first = seen(at(0, query(batches=(batch(-5, 2, 100),))))
    flying = query(batches=(batch(-5, 2, 100),), in_batch_since=NOW + timedelta(seconds=2))
    assert seen(at(10, flying), first).scrape.busy == pytest.approx(0.8)


def test_a_batch_has_the_time_since_the_one_before_also_if_that_was_told_by_an_earlier_look() -> (
    None
):
    first = seen(at(0, query(batches=(batch(-5, 2, 100),))))
    assert [found.interval for found in first.scrape.batches] == [None]
    both = (batch(-5, 2, 100), batch(1, 4, 300), batch(6, 2, 200))
    told = seen(at(10, query(batches=both)), first).scrape.batches
    assert [found.interval for found in told] == [6, 5]


def test_the_batch_that_runs_for_the_longest_time_is_told_also_before_any_is_committed() -> None:
    assert seen(at(10, query())).scrape.in_flight == 0
    flying = [query(in_batch_since=NOW + timedelta(seconds=since)) for since in (4, 2)]
    assert seen(at(10, query(), *flying)).scrape.in_flight == pytest.approx(8)


def test_the_state_is_that_of_all_queries_once_each_has_told_of_a_batch() -> None:
    told = (batch(-5, 2, 100),)
    without, with_state = query(batches=told), query(batches=told, state_rows=70)
    assert seen(at(10, without)).scrape.state == 0
    assert seen(at(10, without, with_state, with_state)).scrape.state == 140
    assert isinstance(seen(at(10, with_state, query())).scrape.state, NoData)
    assert isinstance(seen(at(10)).scrape.state, NoData)


def test_a_state_whose_rows_are_not_counted_is_not_taken_for_none() -> None:
    uncounted = query(batches=(batch(-5, 2, 100),), state_partitions=4, state_rows=None)
    assert isinstance(seen(at(10, uncounted)).scrape.state, NoData)


def test_tasks_that_wait_are_counted_in_executors() -> None:
    assert seen(at(10, query(), waiting_tasks=5)).scrape.queued == 2.5
    assert isinstance(seen(at(10, query())).scrape.queued, NoData)


@pytest.mark.parametrize("failure", [None, QueryFailure("Boom", "it broke")])
def test_what_does_not_run_is_no_load(failure: QueryFailure | None) -> None:
    main = query(arrival_rate=100.0, backlog_rows=5.0, latency={"p95": 2.0})
    ended = query(
        name="backfill",
        active=False,
        failure=failure,
        arrival_rate=5000.0,
        backlog_rows=58_000.0,
        latency={"p95": 900.0},
        batches=(batch(-5, 2, 100),),
    )
    scrape = seen(at(0, main, ended)).scrape
    assert (scrape.arrival, scrape.lag, scrape.latency, scrape.batches) == (100, 5, 2, ())
    assert isinstance(seen(at(0, ended)).scrape.lag, NoData)


def test_the_busiest_query_stands_for_all_and_has_the_rows_of_all() -> None:
    busy = query(name="busy", batches=(batch(0, 2, 300),), arrival_rate=30.0)
    idle = query(name="idle", batches=(batch(0, 1, 100),), arrival_rate=10.0)
    scrape = seen(at(5, idle, busy)).scrape
    (found,) = scrape.batches
    assert found.seconds == 2
    assert found.rows == pytest.approx(400)
    assert scrape.arrival == pytest.approx(40)


def test_another_driver_is_looked_at_anew() -> None:
    first = seen(at(0, query(batches=(batch(-5, 2, 100),)), executor_seconds=500.0))
    told = at(60, query(batches=(batch(50, 2, 100),)), incarnation=2, executor_seconds=1.0)
    second = seen(told, first)
    assert isinstance(second.scrape.processing, NoData)
    assert isinstance(second.scrape.cpu, NoData)
    assert second.incarnation == 2


def test_a_start_is_seen_with_the_moment_at_which_the_program_began() -> None:
    told = at(60, start=20.0, running_at=NOW + timedelta(seconds=50))
    assert seen(told).scrape.start == Start(began=T + 30, seconds=20.0)


@pytest.mark.parametrize("told", [{"start": 20.0}, {"running_at": NOW}, {}])
def test_a_start_that_is_not_told_in_full_is_not_seen(told: dict[str, Any]) -> None:
    assert seen(at(60, **told)).scrape.start is None


def test_processors_are_busy_by_the_share_of_all_slots() -> None:
    first = seen(at(0, executor_seconds=100.0))
    second = seen(at(10, executor_seconds=120.0), first)
    assert second.scrape.cpu == pytest.approx(20 / 10 / (2 * 2))


@pytest.mark.parametrize(
    ("percentile", "seconds"), [(0.5, 1.0), (0.9, 2.0), (0.95, 2.0), (0.99, 3.0), (0.999, 3.0)]
)
def test_the_latency_is_that_of_the_nearest_percentile_that_is_told_and_not_below(
    percentile: float, seconds: float
) -> None:
    told = query(latency={"p50": 1.0, "p95": 2.0, "p99": 3.0})
    assert seen(at(0, told), percentile=percentile).scrape.latency == seconds


def test_what_no_query_tells_is_no_zero() -> None:
    scrape = seen(at(0, query())).scrape
    assert isinstance(scrape.arrival, NoData)
    assert isinstance(scrape.lag, NoData)
    assert isinstance(scrape.latency, NoData)


def test_what_waits_for_some_queries_is_not_all_that_waits() -> None:
    """They share the executors: one of which nobody knows may be most of the work."""
    told = query(backlog_rows=5.0)
    assert isinstance(seen(at(0, told, query(name="files"))).scrape.lag, NoData)
    ended = query(name="files", active=False)
    assert seen(at(0, told, ended)).scrape.lag == 5.0


@pytest.mark.parametrize("seconds", [0.0, -3.0])
def test_a_batch_that_took_no_time_because_a_clock_was_set_back_is_none(seconds: float) -> None:
    told = at(5, query(batches=(batch(0, 2, 100), batch(2, seconds, 100))))
    assert [found.seconds for found in seen(told).scrape.batches] == [2]


def test_batches_that_last_as_long_as_a_trigger_says_tell_nothing() -> None:
    slow = query(processing=Processing.REAL_TIME, batches=(batch(0, 30, 100),))
    flying = replace(slow, in_batch_since=NOW + timedelta(seconds=30))
    told = seen(at(90, flying), seen(at(20, slow)))
    assert told.scrape.batches == ()
    assert told.scrape.in_flight == 0
    assert isinstance(told.scrape.busy, NoData)
