"""When rows arrived at a source, from samples of its newest offset.

Each trigger of a query samples how many rows the source has, which is told when its batch is committed; looks at
the source itself (`timing`) tell more of the time since then. Between two samples rows are taken to arrive evenly,
so a row's arrival time is read off the line between them. The alternative, an `observe` of the record's timestamp
in the user's plan, was tried and rejected: Spark refuses it in continuous queries ("Continuous processing does not
support CollectMetrics operations"), so legal programs would fail.

Partitions are added up: with uneven lag among partitions the mixed arrival time is right on average only.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

RATE_WINDOW_SECONDS = 15.0
"""Who wants it smoother takes the mean of several; what is smoothed here comes late to everybody."""

_MOST_SAMPLES = 512

_MOST_DISORDER_SECONDS = 5.0
"""By how much of two samples the later one may know of fewer rows: brokers take their time to answer."""


@dataclass(frozen=True)
class Stretch:
    """Rows that arrived evenly between two instants."""

    begin: float
    end: float
    rows: float


@dataclass(frozen=True)
class ArrivalCurve:
    """Samples (time, rows so far), growing in both."""

    samples: tuple[tuple[float, float], ...] = ()

    def with_sample(self, time: float, rows: float, needed_from: float | None) -> ArrivalCurve:
        """Add a sample; drop what neither the rate nor the rows from `needed_from` on ask for."""
        if not self.samples or rows < self.samples[-1][1]:  # the source is new, or was made anew
            return ArrivalCurve(((time, rows),))
        if time <= self.samples[-1][0]:
            return (
                ArrivalCurve(((time, rows),)) if self._tells_of_clock_set_back(time, rows) else self
            )
        return ArrivalCurve(_thinned(_needed((*self.samples, (time, rows)), needed_from)))

    def raised(self, rows: float) -> ArrivalCurve:
        """Return the curve with so many more rows from its beginning on: none of these has arrived since."""
        return ArrivalCurve(tuple((time, known + rows) for time, known in self.samples))

    def _tells_of_clock_set_back(self, time: float, rows: float) -> bool:
        """Whether a sample that knows of more rows is much older by its time: then the clock was set back."""
        newest, most = self.samples[-1]
        return rows > most and time < newest - _MOST_DISORDER_SECONDS

    def with_look(self, time: float, rows: float, needed_from: float | None) -> ArrivalCurve:
        """Add what was seen outside of a trigger; only a trigger tells that the source was made anew."""
        is_old = bool(self.samples) and rows < self.samples[-1][1]
        return self if is_old else self.with_sample(time, rows, needed_from)

    def with_looks_of(self, other: ArrivalCurve, needed_from: float | None) -> ArrivalCurve:
        """Add the samples of another curve that are later."""
        if not self.samples:
            return self
        found = self
        later = bisect_right(other.samples, (self.samples[-1][0], math.inf))
        for time, rows in other.samples[later:]:
            found = found.with_look(time, rows, needed_from)
        return found

    def rows(self) -> float | None:
        """Return how many rows the source had at the last sample."""
        return self.samples[-1][1] if self.samples else None

    def rate(self) -> float | None:
        """Return rows per second over the window, or over the last two samples where it has fewer."""
        if len(self.samples) < 2:
            return None
        newest = self.samples[-1]
        within = [s for s in self.samples[:-1] if s[0] >= newest[0] - RATE_WINDOW_SECONDS]
        oldest = within[0] if within else self.samples[-2]
        return (newest[1] - oldest[1]) / (newest[0] - oldest[0])

    def time_of(self, row: float) -> float | None:
        """Return when that row arrived; None if it was there before the first sample, or is yet to come."""
        for (begin, rows_before), (end, rows_after) in _pairs(self.samples):
            if rows_before <= row < rows_after:
                return begin + (end - begin) * (row - rows_before) / (rows_after - rows_before)
        return None

    def stretches(self, start: float, stop: float) -> tuple[Stretch, ...]:
        """Split the rows from start until stop by when they arrived; leave out what is unknown."""
        found = []
        for (begin, rows_before), (end, rows_after) in _pairs(self.samples):
            if rows_after <= start:
                break
            first, last = max(start, rows_before), min(stop, rows_after)
            if first < last:
                pace = (end - begin) / (rows_after - rows_before)
                found.append(
                    Stretch(
                        begin=begin + (first - rows_before) * pace,
                        end=begin + (last - rows_before) * pace,
                        rows=last - first,
                    )
                )
        return tuple(reversed(found))


_Sample = tuple[float, float]
_Samples = tuple[_Sample, ...]


def _pairs(samples: _Samples) -> Iterator[tuple[_Sample, _Sample]]:
    """Return neighbours, the newest first, which are what most rows are between."""
    return ((samples[index - 1], samples[index]) for index in range(len(samples) - 1, 0, -1))


def _needed(samples: _Samples, needed_from: float | None) -> _Samples:
    """Keep the window of the rate, and the stretch that holds the first needed row."""
    horizon = samples[-1][0] - RATE_WINDOW_SECONDS
    first = 0
    while first + 1 < len(samples) and samples[first + 1][0] < horizon:
        if needed_from is not None and samples[first + 1][1] > needed_from:
            break
        first += 1
    return samples[first:]


def _thinned(samples: _Samples) -> _Samples:
    """Halve the resolution of the older half when a long backlog holds many samples."""
    if len(samples) <= _MOST_SAMPLES:
        return samples
    half = len(samples) // 2
    return samples[:half:2] + samples[half:]
