"""From what an agent told, and what it told before, to what is seen of the job at that moment.

A program may have several queries, which share the executors: their batches are told as those of one (`cycles`).
Batches that last as long as a trigger says tell nothing. What does not run is left out, also if it has failed: its rows
are no work for executors.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sluice.core.learning.batches import BatchReport
from sluice.core.learning.cycles import seconds_worked, told_as_one
from sluice.core.learning.scrapes import NOT_TOLD, Scrape
from sluice.core.learning.starts import Start
from sluice.core.observations import AgentReport, Processing, QueryReport
from sluice.core.series import Measured, NoData

NO_QUERY = NoData("no query has told of a batch yet")
FIRST_LOOK = NoData("a rate needs two looks")
UNTOLD = NoData("a query does not tell")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What was seen, and what the next look is compared with."""

    scrape: Scrape
    incarnation: int
    upto: float = 0.0
    """The end of the newest batch, by the driver's clock."""
    executor_seconds: float | None = None
    staff: frozenset[str] = frozenset()
    """The executors that can be given tasks, by their ids; none where the agent does not tell."""


def look(report: AgentReport, before: Sight | None, *, percentile: float, cores: int) -> Sight:
    """See a job by its agent's report; `before` is the last look at the same driver, if there is one."""
    if before is not None and before.incarnation != report.incarnation:
        before = None
    at = report.at.timestamp()
    batches = _new_batches(report, before)
    since = before.scrape.at if before is not None else None
    return Sight(
        scrape=Scrape(
            at=at,
            arrival=_total([query.arrival_rate for query in report.running]),
            processing=_rate(batches, since, at),
            lag=_waiting(report),
            running=report.registered or 0,
            cpu=_cpu(report, before, cores),
            busy=_busy(report, since, at),
            latency=latency(report, percentile),
            batches=batches,
            start=_start(report),
            in_flight=_in_flight(report, at),
            queued=NOT_TOLD if report.waiting_tasks is None else report.waiting_tasks / cores,
            state=_state(report),
        ),
        incarnation=report.incarnation,
        upto=max((batch.end for batch in batches), default=before.upto if before else 0.0),
        executor_seconds=report.executor_seconds,
        staff=frozenset(one.id for one in report.work or ()),
    )


def _batched(report: AgentReport) -> list[QueryReport]:
    return [query for query in report.running if query.processing is Processing.BATCHES]


def _new_batches(report: AgentReport, before: Sight | None) -> tuple[BatchReport, ...]:
    last = before.upto if before is not None else 0.0
    queries = [
        replace(query, batches=tuple(map(_counted_once, query.batches)))
        for query in _batched(report)
    ]
    return told_as_one(queries, since=last, at=report.at.timestamp())


def _counted_once(batch: BatchReport) -> BatchReport:
    """The batch with each of its rows once, as they arrive.

    Spark counts the rows of a source again for each time that the plan reads it, or that `foreachBatch` does. No offset
    has more than one row.
    """
    return replace(batch, rows=min(batch.rows, batch.read))


def _start(report: AgentReport) -> Start | None:
    if report.start is None or report.running_at is None:
        return None
    return Start(began=_seconds(report.running_at) - report.start, seconds=report.start)


def _rate(batches: tuple[BatchReport, ...], since: float | None, at: float) -> Measured:
    if since is None or at <= since:
        return FIRST_LOOK
    return sum(batch.rows for batch in batches) / (at - since)


def _busy(report: AgentReport, since: float | None, at: float) -> Measured:
    queries = _batched(report)
    if not any(query.batches for query in queries):
        return NO_QUERY
    if since is None or at <= since:
        return FIRST_LOOK
    return min(1.0, seconds_worked(queries, since, at) / (at - since))


def _in_flight(report: AgentReport, at: float) -> float:
    """Of several queries, the one whose batch runs for the longest time keeps the others waiting."""
    begun = [query.in_batch_since for query in _batched(report) if query.in_batch_since is not None]
    return max((at - _seconds(since) for since in begun), default=0.0)


def _state(report: AgentReport) -> Measured:
    """A batch tells of all state there is; without one, nobody knows whether there will be some."""
    told = [_state_of(query) for query in report.running if query.batches]
    known = [rows for rows in told if rows is not None]
    return float(sum(known)) if known and len(known) == len(report.running) else NO_QUERY


def _state_of(query: QueryReport) -> int | None:
    """The rows of its state: none without a state, and who knows how many where its store does not count them."""
    return 0 if query.state_partitions is None and query.state_rows is None else query.state_rows


def _cpu(report: AgentReport, before: Sight | None, cores: int) -> Measured:
    now, slots = report.executor_seconds, cores * (report.registered or 0)
    if now is None or not slots:
        return NoData("the agent does not tell how busy the executors are")
    if before is None or before.executor_seconds is None:
        return FIRST_LOOK
    elapsed = report.at.timestamp() - before.scrape.at
    worked = now - before.executor_seconds
    return min(1.0, max(0.0, worked / elapsed / slots)) if elapsed > 0 else FIRST_LOOK


def latency(report: AgentReport, percentile: float) -> Measured:
    """The nearest percentile that is told and not below the one that is asked for."""
    told = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    name = next((name for name, share in told.items() if share >= percentile), "p99")
    known = [query.latency[name] for query in report.running if name in query.latency]
    return max(known) if known else NoData("no batch was committed in two minutes")


def _total(numbers: list[float | None]) -> Measured:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else NO_QUERY


def _waiting(report: AgentReport) -> Measured:
    """All that waits for the executors: where a query does not tell, nobody knows whether fewer would keep up."""
    told = [query.backlog_rows for query in report.running]
    return UNTOLD if None in told and any(rows is not None for rows in told) else _total(told)


def _seconds(moment: datetime) -> float:
    return moment.astimezone(UTC).timestamp()
