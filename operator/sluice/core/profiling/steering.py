"""How many rows the batches of a copy may have, so that they tell its capacity soon.

Batches of two lengths tell the overhead from the rows. Rows are first guessed, and then come from the last batch. Where
a topic was compacted, or has markers of transactions, a limit of rows counts the gaps, too.

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
from sluice.core.observations import AgentReport, QueryReport

SHORT, LONG = 2.0, 8.0
"""Seconds that batches are to take."""

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
    rows = _wanted([batch for batch in query.batches if _has_rows(batch)][-1])
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
    rows = {query.name: shares[query.name] * _wanted(full[-1]) for query in queries}
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


def _wanted(last: BatchReport) -> float:
    return last.read * min(_target(last) / max(last.seconds, 0.01), STEP)


def _is_near(query: QueryReport, rows: float) -> bool:
    return abs(rows - (query.most_rows or 0.0)) < NEAR * (query.most_rows or 0.0)


def _whole(rows: float) -> int:
    return min(max(1, round(rows)), MOST_ROWS)


def _target(last: BatchReport) -> float:
    """The length that comes after the last: they take turns."""
    return LONG if last.seconds <= (SHORT + LONG) / 2 else SHORT
