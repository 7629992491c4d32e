"""When the records of a Kafka source were written, from the offsets that its partitions had at chosen instants.

For an instant the brokers look up, in their index and without reading records, the first offset of each
partition whose timestamp is not older. For the instants that lie a bucket's bound before the commit of a
batch this tells exactly how many of its rows are older than the bound; for an instant in between, rows are
taken to have been written evenly. Two alternatives were rejected: reading sampled records moves whole
record batches over the network for one timestamp each, and an `observe` in the user's plan is refused by
Spark in continuous queries.

A row counts as old as the newest record before it in its partition. That is its own age where timestamps
rise (always with LogAppendTime), and the time of its arrival where a producer sends old records late. A
record from the future would make all rows behind it look new: those are left out, as are rows from before
the oldest instant, for the caller to time in another way. `timing` chooses when to ask, `kafka` asks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from sluice.agent.histogram import LONG_BOUNDS, Histogram
from sluice.agent.latency import Committed
from sluice.agent.offsets import Offsets

_Range = tuple[str, int, int]

_DOUBLINGS = 14  # of the longest bound: an hour becomes two years
AGES = (0.0, *LONG_BOUNDS, *(LONG_BOUNDS[-1] * 2**n for n in range(1, _DOUBLINGS + 1)))
"""The ages at which a batch wants to know how many of its rows are older, ending with the oldest backlog."""

_NEAR = 0.05
_MOST_INSTANTS = 512


@dataclass(frozen=True)
class Timeline:
    """Instants in order, and the offset of each partition at each of them."""

    instants: tuple[float, ...] = ()
    offsets: tuple[Offsets, ...] = ()

    def with_offsets(self, instant: float, offsets: Offsets) -> Timeline:
        """Add what the brokers said of an instant."""
        at = bisect_left(self.instants, instant)
        return Timeline(
            (*self.instants[:at], instant, *self.instants[at:]),
            (*self.offsets[:at], offsets, *self.offsets[at:]),
        )

    def knows(self, instant: float, age: float, spacing: float) -> bool:
        """Tell whether an instant is known well enough: old ones need not be as close as new ones."""
        near = max(spacing, _NEAR * age)
        at = bisect_left(self.instants, instant)
        return any(abs(known - instant) < near for known in self.instants[max(0, at - 1) : at + 1])

    def is_older_than(self, batch: Committed, age: float) -> bool:
        """Tell whether the batch may have rows older than that; yes where it is not known."""
        instant = batch.committed_at - age
        if not self.instants or instant < self.instants[0]:
            return True
        return self._rows_before(instant, batch.ranges) > 0

    def ages(self, batch: Committed) -> Histogram:
        """Return how old the rows of the batch were when it was committed; leave out what is unknown."""
        if not self.instants:
            return Histogram()
        ranges = batch.ranges
        counting = _Counting()
        for age in self._grid(batch.committed_at):
            instant = max(batch.committed_at - age, self.instants[0])
            counting.add(age, self._rows_before(instant, ranges))
            if counting.is_complete:
                break
        return counting.histogram().scaled(batch.weight())

    def behind(self, ends: Offsets) -> Timeline:
        """Drop the instants that rows behind these offsets do not need."""
        first = 0
        for index, offsets in enumerate(self.offsets):
            if any(offsets.get(partition, 0) > end for partition, end in ends.items()):
                break
            first = index
        return Timeline(*_thinned(self.instants[first:], self.offsets[first:]))

    def until(self, instant: float) -> Timeline:
        """Drop what is known of later instants."""
        known = bisect_left(self.instants, instant)
        return Timeline(self.instants[:known], self.offsets[:known])

    def _grid(self, committed_at: float) -> list[float]:
        """Return the bounds of the histogram, and the ages between which rows are spread evenly."""
        known = (committed_at - instant for instant in self.instants)
        return sorted({0.0, *LONG_BOUNDS, *(age for age in known if age > 0)})

    def _rows_before(self, instant: float, ranges: Iterable[_Range]) -> float:
        """Return the rows of the ranges that are older than an instant."""
        before, after, share = self._around(instant)
        rows = 0.0
        for partition, start, end in ranges:
            offset = before.get(partition, 0) * (1 - share) + after.get(partition, 0) * share
            if offset > start:
                rows += (offset if offset < end else end) - start
        return rows

    def _around(self, instant: float) -> tuple[Offsets, Offsets, float]:
        """Return the known offsets on both sides of an instant, and how far between them it is."""
        at = bisect_left(self.instants, instant)
        if at == len(self.instants):
            return self.offsets[-1], self.offsets[-1], 0.0
        if at == 0 or self.instants[at] == instant:
            return self.offsets[at], self.offsets[at], 0.0
        begin, end = self.instants[at - 1], self.instants[at]
        return self.offsets[at - 1], self.offsets[at], (instant - begin) / (end - begin)


class _Counting:
    """Turns the rows that are older than each of some rising ages into a histogram."""

    def __init__(self) -> None:
        self._counts = [0.0] * (len(LONG_BOUNDS) + 1)
        self._sum = 0.0
        self._last: tuple[float, float] | None = None

    def add(self, age: float, rows: float) -> None:
        """Say how many rows are older than an age; more than at the last age is taken for as many."""
        if self._last is not None:
            younger, more = self._last
            rows = min(rows, more)
            self._counts[bisect_left(LONG_BOUNDS, age)] += more - rows
            self._sum += (more - rows) * (younger + age) / 2
        self._last = age, rows

    @property
    def is_complete(self) -> bool:
        """Whether no row is older than the last age."""
        return self._last is not None and self._last[1] <= 0

    def histogram(self) -> Histogram:
        """Return what was counted."""
        return Histogram(counts=tuple(self._counts), sum=self._sum)


def _thinned(
    instants: tuple[float, ...], offsets: tuple[Offsets, ...]
) -> tuple[tuple[float, ...], tuple[Offsets, ...]]:
    """Halve the resolution of the older half when a long backlog holds many instants."""
    if len(instants) <= _MOST_INSTANTS:
        return instants, offsets
    half = len(instants) // 2
    return instants[:half:2] + instants[half:], offsets[:half:2] + offsets[half:]
