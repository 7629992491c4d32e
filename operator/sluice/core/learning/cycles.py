"""The batches of a program with several queries, told as those of one.

The queries share the executors, and each has a rhythm of its own. So one of them beats time (`leading`), and what is
told as a batch is all that was done from the end of its one batch to the end of the next: the rows of all queries, and
the seconds in which any of them worked. Batches that reach beyond count in part, as if their rows had been done evenly.

Of the queries with many rows the slowest one leads. Under a faster one some cycles would have batches of the slow query
in them and some not, and how cheap its rows are would be taken for how cheap all are.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from sluice.core.learning.batches import BatchReport
from sluice.core.observations import QueryReport

MANY = 0.25
"""A query has many rows if it has such a share of those of the query that has most."""

LONGEST = 60.0
"""Seconds; in a slower rhythm nothing would be learned in time, if there is a faster one."""


def leading(queries: Iterable[QueryReport]) -> QueryReport | None:
    """The query whose batches the others are told with; None before the first batch."""
    known = [query for query in queries if query.batches]
    most = max(map(_rows_per_second, known), default=0.0)
    many = [query for query in known if _rows_per_second(query) >= MANY * most]
    quick = [query for query in many if _rhythm(query) <= LONGEST]
    return max(quick or many, key=lambda query: (_rhythm(query), query.name), default=None)


def told_as_one(
    queries: Sequence[QueryReport], *, since: float, at: float
) -> tuple[BatchReport, ...]:
    """The batches of all queries as those of the one that leads; none before its first one. See `cycles`."""
    main = leading(queries)
    if main is None:
        return ()
    return cycles(main, [query for query in queries if query is not main], since=since, at=at)


def cycles(
    main: QueryReport, others: Sequence[QueryReport], *, since: float, at: float
) -> tuple[BatchReport, ...]:
    """The batches of the leading query after `since`, each with what was done beside it, as it is known `at` a moment.

    All are seconds by the driver's clock. A batch that is not committed yet is taken to be as fast as the last one.
    """
    batches = _with_intervals(main.batches)
    beside = [span for query in others for span in _spans(query, at)]
    if beside:
        ends = (main.batches[0].start, *(batch.end for batch in main.batches))
        remembered = _remembered(main, others)
        batches = [
            _cycle(batch, beside, begin=max(begin, since))
            for begin, batch in zip(ends, batches, strict=False)
            if begin >= remembered and batch.seconds > 0
        ]
    # Where the driver's clock was set back, a batch may seem to have taken no time, or less.
    return tuple(batch for batch in batches if batch.end > since and batch.seconds > 0)


def seconds_worked(queries: Sequence[QueryReport], since: float, at: float) -> float:
    """Of the time between two moments, the seconds in which a batch of any query ran."""
    ran = [(batch.start, batch.end) for query in queries for batch in query.batches]
    flying = [query.in_batch_since for query in queries if query.in_batch_since is not None]
    spans = [*ran, *((moment.timestamp(), at) for moment in flying)]
    return _covered((max(begin, since), min(end, at)) for begin, end in spans)


@dataclass(frozen=True, slots=True)
class _Span:
    """When a batch ran, or one that is as fast as that."""

    begin: float
    end: float
    like: BatchReport

    @property
    def share(self) -> float:
        """What part of such a batch was done in it."""
        return (self.end - self.begin) / self.like.seconds

    def within(self, begin: float, end: float) -> "_Span":
        """The part of it in that time; its end is not after its begin if there is none."""
        return replace(self, begin=max(begin, self.begin), end=min(end, self.end))


def _spans(query: QueryReport, at: float) -> list[_Span]:
    told = [batch for batch in query.batches if batch.seconds > 0]
    spans = [_Span(batch.start, batch.end, batch) for batch in told]
    if told and query.in_batch_since is not None:
        spans.append(_Span(query.in_batch_since.timestamp(), at, told[-1]))
    return spans


def _cycle(main: BatchReport, beside: Iterable[_Span], *, begin: float) -> BatchReport:
    within = (span.within(begin, main.end) for span in beside)
    parts = [_Span(main.start, main.end, main), *(part for part in within if part.end > part.begin)]
    worked = _covered((part.begin, part.end) for part in parts)
    return replace(
        main,
        # As if all of it had been done in one go: its end is that of the leading query's batch.
        start=main.end - worked,
        seconds=worked,
        rows=sum(part.share * part.like.rows for part in parts),
        offsets=sum(part.share * part.like.read for part in parts),
        cold=any(part.like.cold for part in parts),
    )


def _covered(spans: Iterable[tuple[float, float]]) -> float:
    """The seconds that lie in any of the spans."""
    total, upto = 0.0, -math.inf
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, upto))
        upto = max(upto, end)
    return total


def _with_intervals(batches: Sequence[BatchReport]) -> list[BatchReport]:
    """Each with the seconds since the one before began, where that is known."""
    between = [after.start - before.start for before, after in pairwise(batches)]
    return [
        replace(batch, interval=interval)
        for batch, interval in zip(batches, [None, *between], strict=True)
    ]


def _remembered(main: QueryReport, others: Iterable[QueryReport]) -> float:
    """Since when the batches of all queries are known.

    An agent keeps as many of each. A query whose first one is cold has told of all, and so has one of fewer batches
    than the leading one's.
    """
    full = [query for query in others if len(query.batches) >= len(main.batches)]
    return max(
        (query.batches[0].start for query in full if not query.batches[0].cold),
        default=-math.inf,
    )


def _rows_per_second(query: QueryReport) -> float:
    if query.arrival_rate is not None:
        return query.arrival_rate
    seconds = query.batches[-1].end - query.batches[0].start
    return sum(batch.rows for batch in query.batches) / seconds if seconds > 0 else 0.0


def _rhythm(query: QueryReport) -> float:
    """Seconds from batch to batch, as the trigger has it or as long as they take."""
    return max(query.trigger_seconds or 0.0, median(batch.seconds for batch in query.batches))
