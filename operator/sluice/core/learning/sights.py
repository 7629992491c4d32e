"""From what an agent told, and what it told before, to what is seen of the job at that moment.

A program may have several queries, which share the executors: the one with most rows stands for all. Its batches are
taken to have the rows of all, and where it waits, all wait. Batches that last as long as a trigger says tell nothing.
What does not run is left out, also if it has failed: its rows are no work for executors.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise

from sluice.core.learning.batches import BatchReport
from sluice.core.learning.scrapes import NOT_TOLD, Scrape
from sluice.core.learning.starts import Start
from sluice.core.observations import AgentReport, Processing, QueryReport
from sluice.core.series import Measured, NoData

NO_QUERY = NoData("no query has told of a batch yet")
FIRST_LOOK = NoData("a rate needs two looks")


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
    main = _busiest(report)
    batches = _new_batches(report, main, before)
    since = before.scrape.at if before is not None else None
    return Sight(
        scrape=Scrape(
            at=at,
            arrival=_total([query.arrival_rate for query in report.running]),
            processing=_rate(batches, since, at),
            lag=_total([query.backlog_rows for query in report.running]),
            running=report.registered or 0,
            cpu=_cpu(report, before, cores),
            busy=_busy(main, since, at),
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


def _busiest(report: AgentReport) -> QueryReport | None:
    queries = [query for query in _batched(report) if query.batches]
    return max(queries, key=_rows, default=None)


def _batched(report: AgentReport) -> list[QueryReport]:
    return [query for query in report.running if query.processing is Processing.BATCHES]


def _rows(query: QueryReport) -> float:
    return sum(batch.rows for batch in query.batches)


def _new_batches(
    report: AgentReport, main: QueryReport | None, before: Sight | None
) -> tuple[BatchReport, ...]:
    if main is None:
        return ()
    rows = _rows(main)
    share = sum(map(_rows, report.running)) / rows if rows else 1.0
    last = before.upto if before is not None else 0.0
    # Where the driver's clock was set back, a batch may seem to have taken no time, or less.
    begun = [batch.start for batch in main.batches]
    intervals = [None, *(after - start for start, after in pairwise(begun))]
    return tuple(
        replace(batch, rows=share * batch.rows, interval=interval)
        for batch, interval in zip(main.batches, intervals, strict=True)
        if batch.end > last and batch.seconds > 0
    )


def _start(report: AgentReport) -> Start | None:
    if report.start is None or report.running_at is None:
        return None
    return Start(began=_seconds(report.running_at) - report.start, seconds=report.start)


def _rate(batches: tuple[BatchReport, ...], since: float | None, at: float) -> Measured:
    if since is None or at <= since:
        return FIRST_LOOK
    return sum(batch.rows for batch in batches) / (at - since)


def _busy(main: QueryReport | None, since: float | None, at: float) -> Measured:
    if main is None:
        return NO_QUERY
    if since is None or at <= since:
        return FIRST_LOOK
    spans = [(batch.start, batch.end) for batch in main.batches]
    if main.in_batch_since is not None:
        spans.append((_seconds(main.in_batch_since), at))
    worked = sum(max(0.0, min(end, at) - max(begun, since)) for begun, end in spans)
    return min(1.0, worked / (at - since))


def _in_flight(report: AgentReport, at: float) -> float:
    """Of several queries, the one whose batch runs for the longest time keeps the others waiting."""
    begun = [query.in_batch_since for query in _batched(report) if query.in_batch_since is not None]
    return max((at - _seconds(since) for since in begun), default=0.0)


def _state(report: AgentReport) -> Measured:
    """A batch tells of all state there is; without one, nobody knows whether there will be some."""
    told = [query.state_rows or 0 for query in report.running if query.batches]
    return float(sum(told)) if told and len(told) == len(report.running) else NO_QUERY


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


def _seconds(moment: datetime) -> float:
    return moment.astimezone(UTC).timestamp()
