"""How many rows the batches of a copy may have, so that they tell its capacity soon.

Batches of two lengths tell the overhead from the rows. Rows are first guessed, and then come from the last batch: from
what it took beyond the overhead, as soon as that is known. A query with much state has one of many seconds, of which
fewer rows take nothing away. Where a topic was compacted, or has markers of transactions, a limit of rows counts the
gaps, too.

Of several queries each would run as fast as the others let it, and those with cheap rows would run ahead: what all do
then says little of what they do in production, where each has the rows that arrive for it. So they go in rounds: their
triggers have one period, at whose multiples Spark begins the batches of all, and each batch gets its query's share of
the rows in production.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sluice.core.learning.batches import BatchReport
from sluice.core.learning.cycles import told_as_one
from sluice.core.learning.overheads import fitted_overhead
from sluice.core.observations import AgentReport, QueryReport

SHORT, LONG = 2.0, 8.0
"""Seconds that batches are to work on their rows, beside their overhead."""

OUTWEIGHS = 3.0
"""The longer batches are to work for so many times their overhead at least. With an overhead of 12 s, and batches that
scatter by a twentieth, a measurement is certain to 5 % after 270 s; after 420 s with 2.0, and after 580 s with 1.0.
"""

RECENT = 12
"""Batches by which the overhead is judged."""

KNOWN = 0.25
"""An overhead is known if its standard error is below this share of it. Until then batches seem to be all work."""

LEAST_WORK = 0.25
"""That share of a batch is taken for work at least, however much of it seems to be overhead."""

STEP = 8.0
"""A limit is raised by this factor at most: a batch of an hour would tell nothing in time."""

FIRST_ROWS = 1000
"""Rows per task slot in the first batches, which are cold, where nothing better is known."""

MOST_ROWS = 10_000_000
"""Rows of a batch, whatever was seen."""

ROUND = 12.0
"""Seconds from round to round, of several queries: the longer batches have to fit in."""

NEAR = 0.25
"""A limit that is right within this share stays: to change it costs a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The rows of the next batches of a query, and its trigger if that would make it wait; None keeps that."""

    query: str
    rows: int
    trigger_seconds: float | None = None


def first_rows(executors: int, cores: int, production: AgentReport | None) -> int:
    """The limit that a copy starts with: what production does in a short batch, where that is more than a guess.

    An idle job says little of what it could do, and a batch that is too long cannot be cut.
    """
    seen = sum(_rate_of_one(query) for query in production.queries) if production else 0.0
    rows = max(FIRST_ROWS * executors * cores, round(seen * executors * SHORT))
    return min(rows, MOST_ROWS)


def limits(report: AgentReport, production: AgentReport | None) -> tuple[Limit, ...]:
    """The limits that are to be changed; of several queries, production tells the share of each."""
    queries = [
        query
        for query in report.queries
        if query.active and query.most_rows is not None and any(map(_has_rows, query.batches))
    ]
    if len(queries) > 1:
        return _round(queries, _shares(queries, production), report.at.timestamp())
    return tuple(limit for query in queries if (limit := _limit(query)) is not None)


def _rate_of_one(query: QueryReport) -> float:
    """The most rows per second that an executor was seen to process, as a limit counts them."""
    rates = (
        batch.read / batch.seconds / batch.executors
        for batch in query.batches
        if batch.seconds > 0 and batch.executors > 0
    )
    return max(rates, default=0.0)


def _has_rows(batch: BatchReport) -> bool:
    return batch.rows > 0


def _limit(query: QueryReport) -> Limit | None:
    rows = _wanted([batch for batch in query.batches if _has_rows(batch)])
    waits = bool(query.trigger_seconds)
    if _is_near(query, rows) and not waits:
        return None
    return Limit(query=query.name, rows=_whole(rows), trigger_seconds=0.0 if waits else None)


def _round(
    queries: Sequence[QueryReport], shares: Mapping[str, float], at: float
) -> tuple[Limit, ...]:
    told = told_as_one(queries, since=-math.inf, at=at)
    full = [batch for batch in told if _has_rows(batch)]
    if not full:
        return ()
    rows = {query.name: shares[query.name] * _wanted(full) for query in queries}
    if all(
        query.trigger_seconds == ROUND and _is_near(query, rows[query.name]) for query in queries
    ):
        return ()
    return tuple(
        Limit(query=query.name, rows=_whole(rows[query.name]), trigger_seconds=ROUND)
        for query in queries
    )


def _shares(queries: Sequence[QueryReport], production: AgentReport | None) -> Mapping[str, float]:
    """Of the rows that arrive in production; equal ones as long as that is not known of all."""
    told = {query.name: query.arrival_rate for query in production.running} if production else {}
    rates = {query.name: told.get(query.name) or 0.0 for query in queries}
    if min(rates.values()) <= 0:
        return dict.fromkeys(rates, 1 / len(rates))
    total = sum(rates.values())
    return {name: rate / total for name, rate in rates.items()}


def _wanted(batches: Sequence[BatchReport]) -> float:
    last, overhead = batches[-1], _overhead(batches)
    work = max(last.seconds - overhead, LEAST_WORK * last.seconds, 0.01)
    rows = last.read * min(_target(work, overhead) / work, STEP)
    # What is too long even with a single row is no work on rows.
    return rows if rows >= 1 else last.read * STEP


def _overhead(batches: Sequence[BatchReport]) -> float:
    """The seconds of a batch without rows; 0 until batches of two lengths have told them."""
    last = batches[-1]
    alike = [
        batch
        for batch in batches[-RECENT:]
        if not batch.cold and batch.executors == last.executors and batch.seconds > 0
    ]
    found = fitted_overhead(alike)
    return found.seconds if found.error < KNOWN * found.seconds else 0.0


def _target(work: float, overhead: float) -> float:
    """The seconds of work that come after the last ones: the lengths take turns."""
    long = max(LONG, OUTWEIGHS * overhead)
    return long if work <= (SHORT + long) / 2 else SHORT


def _is_near(query: QueryReport, rows: float) -> bool:
    return abs(rows - (query.most_rows or 0.0)) < NEAR * (query.most_rows or 0.0)


def _whole(rows: float) -> int:
    return min(max(1, round(rows)), MOST_ROWS)
