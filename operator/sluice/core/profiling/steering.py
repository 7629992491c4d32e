"""How many rows the batches of a copy may have, so that they tell its capacity soon.

Batches of two lengths tell the overhead from the rows. Rows are first guessed, and then come from the last batch. Where
a topic was compacted, or has markers of transactions, a limit of rows counts the gaps, too.
"""

from dataclasses import dataclass

from sluice.core.learning.batches import BatchReport
from sluice.core.observations import AgentReport, QueryReport

SHORT, LONG = 2.0, 8.0
"""Seconds that batches are to take."""

STEP = 8.0
"""A limit is raised by this factor at most: a batch of an hour would tell nothing in time."""

FIRST_ROWS = 1000
"""Rows per task slot in the first batches, which are cold, where nothing better is known."""

MOST_ROWS = 10_000_000
"""Rows of a batch, whatever was seen."""

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


def limits(report: AgentReport) -> tuple[Limit, ...]:
    """The limits that are to be changed."""
    found = (_limit(query) for query in report.queries if query.active)
    return tuple(limit for limit in found if limit is not None)


def _rate_of_one(query: QueryReport) -> float:
    """The most rows per second that an executor was seen to process, as a limit counts them."""
    rates = (
        batch.read / batch.seconds / batch.executors
        for batch in query.batches
        if batch.seconds > 0 and batch.executors > 0
    )
    return max(rates, default=0.0)


def _limit(query: QueryReport) -> Limit | None:
    batches = [batch for batch in query.batches if batch.rows > 0]
    if not batches or query.most_rows is None:
        return None
    last = batches[-1]
    wanted = last.read * min(_target(last) / max(last.seconds, 0.01), STEP)
    waits = bool(query.trigger_seconds)
    if abs(wanted - query.most_rows) < NEAR * query.most_rows and not waits:
        return None
    rows = min(max(1, round(wanted)), MOST_ROWS)
    return Limit(query=query.name, rows=rows, trigger_seconds=0.0 if waits else None)


def _target(last: BatchReport) -> float:
    """The length that comes after the last: they take turns."""
    return LONG if last.seconds <= (SHORT + LONG) / 2 else SHORT
