"""The load of a job over two weeks, the newer the finer: what repeats itself each day or week is seen no sooner.

    the newest hour       each look
    two days              the mean of each minute
    fifteen days          the mean of each five minutes

Minutes are those of the clock. A mean is made once, when all of its time is old enough. Numbers lie in arrays, a sixth
of what they would take otherwise: an operator remembers hundreds of jobs.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from statistics import fmean

from sluice.core.deciding.compacting import OLDEST

HOUR, DAY = 3600.0, 86_400.0

MINUTE, COARSE = 60.0, 300.0
"""Seconds that a mean is of."""

FINE = OLDEST
"""Seconds that are remembered by the minute: decisions look no further back, only forecasts do."""

LONGEST = 15 * DAY
"""Seconds that are remembered: two weeks for a weekly season, and a day to judge it by."""


@dataclass
class Samples:
    """Moments in seconds, ascending, and the rows per second at each."""

    times: "array[float]" = field(default_factory=lambda: array("d"))
    rates: "array[float]" = field(default_factory=lambda: array("d"))

    def since(self, at: float) -> Iterator[tuple[float, float]]:
        """Those at a moment and after it."""
        first = bisect_left(self.times, at)
        return zip(self.times[first:], self.rates[first:], strict=True)

    def add(self, at: float, rate: float) -> None:
        """One that is newer than all others."""
        self.times.append(at)
        self.rates.append(rate)

    def forget(self, *, until: float) -> None:
        """Drop what was before a moment."""
        self._drop(slice(bisect_left(self.times, until)))

    def forget_from(self, at: float) -> None:
        """Drop what was at a moment and after it."""
        self._drop(slice(bisect_left(self.times, at), None))

    def means(self, width: float, *, until: float) -> Iterator[tuple[float, float]]:
        """Take out the oldest slices of time that end before a moment, and give the mean of each."""
        while self.times and (end := (self.times[0] // width + 1) * width) <= until:
            ended = slice(bisect_left(self.times, end))
            yield fmean(self.times[ended]), fmean(self.rates[ended])
            self._drop(ended)

    def _drop(self, place: slice) -> None:
        del self.times[place], self.rates[place]


@dataclass
class History:
    """What was seen of the load."""

    coarse: Samples = field(default_factory=Samples)
    minutes: Samples = field(default_factory=Samples)
    looks: Samples = field(default_factory=Samples)

    def add(self, at: float, rate: float) -> None:
        """Take in rows per second at a moment. If the clock was set back, what it told since then is forgotten."""
        for samples in self._levels:
            samples.forget_from(at)
        self.looks.add(at, rate)
        for mean in self.looks.means(MINUTE, until=at - HOUR):
            self.minutes.add(*mean)
        for mean in self.minutes.means(COARSE, until=at - FINE):
            self.coarse.add(*mean)
        self.coarse.forget(until=at - LONGEST)

    def since(self, at: float) -> Iterator[tuple[float, float]]:
        """What is known from a moment on, the oldest first."""
        return chain.from_iterable(samples.since(at) for samples in self._levels)

    @property
    def _levels(self) -> tuple[Samples, ...]:
        return self.coarse, self.minutes, self.looks
