"""How many rows the batches of a copy may have, so that they tell its capacity soon.

Batches of two lengths tell the overhead from the rows. Rows are first guessed, and then come from the last batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sluice.core.learning.batches import BatchReport
from sluice.core.observations import AgentReport, QueryReport

SHORT, LONG = 2.0, 8.0
"""Seconds that batches are to take."""

STEP = 8.0
"""A limit is raised by this factor at most: a batch of an hour would tell nothing in time."""

FIRST_ROWS = 5000
"""Rows per task slot in the first batches, which are cold."""

NEAR = 0.25
"""A limit that is right within this share stays: to change it costs a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The rows of the next batches of a query, and its trigger if that would make it wait; None keeps that."""

    query: str
    rows: int
    trigger_seconds: float | None = None


def first_rows(slots: int) -> int:
    """The limit that a copy starts with."""
    return FIRST_ROWS * slots


def limits(report: AgentReport) -> tuple[Limit, ...]:
    """The limits that are to be changed."""
    found = (_limit(query) for query in report.queries if query.active)
    return tuple(limit for limit in found if limit is not None)


def _limit(query: QueryReport) -> Limit | None:
    batches = [batch for batch in query.batches if batch.rows > 0]
    if not batches or query.most_rows is None:
        return None
    last = batches[-1]
    wanted = last.rows * min(_target(batches) / max(last.seconds, 0.01), STEP)
    waits = bool(query.trigger_seconds)
    if abs(wanted - query.most_rows) < NEAR * query.most_rows and not waits:
        return None
    rows = max(1, round(wanted))
    return Limit(query=query.name, rows=rows, trigger_seconds=0.0 if waits else None)


def _target(batches: Sequence[BatchReport]) -> float:
    """The length of which there are fewer among the warm batches."""
    warm = [batch.seconds for batch in batches if not batch.cold]
    short = sum(seconds <= (SHORT + LONG) / 2 for seconds in warm)
    return LONG if 2 * short > len(warm) else SHORT
