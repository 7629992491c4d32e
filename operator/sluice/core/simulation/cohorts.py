"""Which rows were committed when, and so their latencies: exact, because nothing is sampled.

Rows are numbered in the order of their arrival. A trace says when each number arrives, a batch from which number to
which it goes and when it was committed. Cut at every second and at every batch, the rows fall into slices in which
arrival is even and the commit one moment: the latency within a slice is uniform between that of its last row and that
of its first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sluice.core.series import Measured, NoData
from sluice.core.simulation.trace import Trace

Numbers = NDArray[np.float64]

NOTHING = 1e-6
"""Slices with fewer rows come from rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Arrivals:
    """How many rows have arrived by each second of a trace, whose last rate holds for ever after."""

    rates: Numbers
    rows: Numbers

    def seconds(self, numbers: Numbers) -> NDArray[np.int64]:
        """The seconds in which the rows of these numbers arrived."""
        found = np.searchsorted(self.rows, numbers, "right") - 1
        return np.minimum(found, len(self.rates) - 1)

    def times(self, numbers: Numbers, seconds: NDArray[np.int64] | None = None) -> Numbers:
        """When the rows of these numbers arrived; the second is given where a number is the end of one."""
        within = self.seconds(numbers) if seconds is None else seconds
        rates = np.maximum(self.rates[within], NOTHING)
        return np.asarray(within + np.clip((numbers - self.rows[within]) / rates, 0.0, 1.0))


def arrivals(trace: Trace) -> Arrivals:
    """Add up the rates of a trace to whole rows: a part of one is none that could wait, or be late."""
    rows = np.floor(np.concatenate([[0.0], np.cumsum(trace.rates)]))
    return Arrivals(rates=np.diff(rows), rows=rows)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Commits:
    """Batches in their order: the number after their last row, and when they were committed."""

    upto: Numbers
    at: Numbers


class Committed(Protocol):
    """What a batch has to tell: the number after its last row, and when it was committed."""

    @property
    def upto(self) -> float: ...
    @property
    def end(self) -> float: ...


def commits(batches: Sequence[Committed]) -> Commits:
    """The commits of batches, in their order."""
    return Commits(
        upto=np.array([batch.upto for batch in batches], dtype=float),
        at=np.array([batch.end for batch in batches], dtype=float),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Latencies:
    """Slices of rows: how many, the second in which they arrived, and the ends of their uniform latency."""

    rows: Numbers
    seconds: NDArray[np.int64]
    least: Numbers
    most: Numbers

    def mean(self) -> Measured:
        """The mean over the rows."""
        total = float(self.rows.sum())
        if not total:
            return NoData("no row was committed")
        return float(((self.least + self.most) / 2 * self.rows).sum()) / total

    def share_above(self, bound: float) -> Measured:
        """The share of the rows that are later than a bound."""
        total = float(self.rows.sum())
        if not total:
            return NoData("no row was committed")
        late = np.clip((self.most - bound) / np.maximum(self.most - self.least, 1e-12), 0, 1)
        return float((late * self.rows).sum()) / total

    def quantile(self, share: float) -> Measured:
        """The latency that `share` of the rows do not exceed."""
        total = float(self.rows.sum())
        if not total:
            return NoData("no row was committed")
        # Between two neighbouring ends of slices the number of rows grows evenly.
        density = self.rows / np.maximum(self.most - self.least, 1e-12)
        ends = np.concatenate([self.least, self.most])
        order = np.argsort(ends, kind="stable")
        slope = np.cumsum(np.concatenate([density, -density])[order])
        ends = ends[order]
        counted = np.concatenate([[0.0], np.cumsum(np.maximum(slope[:-1], 0) * np.diff(ends))])
        return float(np.interp(share * counted[-1], counted, ends))


def latencies(
    arrived: Arrivals, commits: Commits, *, start: float, end: float, floor: float = 0.0
) -> Latencies:
    """The latencies of the rows from one number to another, all committed; `floor` is added to each."""
    first, last = np.searchsorted(arrived.rows, [start, end])
    of_batches = commits.upto[
        np.searchsorted(commits.upto, start, "right") : np.searchsorted(commits.upto, end)
    ]
    edges = np.unique(np.concatenate([[start, end], arrived.rows[first:last], of_batches]))
    edges = edges[(edges >= start) & (edges <= end)]
    rows = np.diff(edges)
    middle = edges[:-1] + rows / 2
    seconds = arrived.seconds(middle)
    committed = commits.at[np.minimum(np.searchsorted(commits.upto, middle), len(commits.at) - 1)]
    kept = rows > NOTHING
    return Latencies(
        rows=rows[kept],
        seconds=seconds[kept],
        least=(committed - arrived.times(edges[1:], seconds) + floor)[kept],
        most=(committed - arrived.times(edges[:-1], seconds) + floor)[kept],
    )
