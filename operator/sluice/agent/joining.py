"""Where a batch begins in the partitions of Kafka that it reads for the first time: Spark tells no start of those.

It reads them from their earliest row on, whatever `startingOffsets` says. In a topic that was read before, that is row
0 of a partition which has just been made. Another topic has joined those that are read, because it matches a pattern.
It is new itself, and begins at row 0, too, if Spark has read about as many rows as it has offsets: then its rows have
arrived since the batch before. Else it is older, and came in sight only now, as one does that the user may read at
last, or that was restored with its offsets. Its earliest row, which nobody tells, is the first that retention has left
(with `failOnDataLoss`, Spark ends the query instead). What is left of it must be read, so that it is backlog; but none
of that has arrived just now, and the offsets before it are no rows at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sluice.agent.offsets import Offsets

_FEWEST_ROWS = 0.5
"""The share of its offsets that a batch has as rows where nothing was lost before it: a topic that was compacted has
gaps, and one with transactions has markers.
"""


@dataclass(frozen=True)
class Joined:
    """Older topics that a batch is the first to read: their offsets until its end, until the newest, and its rows."""

    end: float = 0.0
    latest: float = 0.0
    rows: float = 0.0


NONE = Joined()


def of_topics(offsets: Offsets, read: Iterable[str]) -> Offsets:
    """Return the offsets of those partitions whose topics the partitions that are read belong to."""
    topics = {_topic(name) for name in read}
    return {name: offset for name, offset in offsets.items() if _topic(name) in topics}


def starts(told: Offsets, ends: Offsets, rows: float) -> Offsets:
    """Return where partitions begin in a batch of so many rows; those of older topics that have joined are left out."""
    new = {name: 0 for name in ends if name not in told}
    if not told or not new:  # The first batch of a query tells none.
        return told
    if rows >= _FEWEST_ROWS * sum(end - told.get(name, 0) for name, end in ends.items()):
        return {**told, **new}
    return {**told, **of_topics(new, told)}


def joined(begun: Offsets, ends: Offsets, latest: Offsets, rows: float) -> Joined:
    """Return what has joined with a batch of so many rows that has begun there."""
    names = [name for name in ends if name not in begun]
    if not begun or not names:
        return NONE
    others = sum(end - begun[name] for name, end in ends.items() if name in begun)
    end = sum(ends[name] for name in names)
    return Joined(
        end=end,
        latest=sum(latest.get(name, ends[name]) for name in names),
        rows=min(max(0.0, rows - others), end),
    )


def _topic(partition: str) -> str:
    return partition.rpartition("-")[0]
