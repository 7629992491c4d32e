"""Numbers over time, with gaps: what was measured and when, cut into equal slices of time.

A slice in which nothing was measured has no value. Nothing is interpolated and nothing is carried over: what a
gap means is for `objectives` to say.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class NoData:
    """The expected lack of a number, and why."""

    reason: str


Measured = float | NoData


@dataclass(frozen=True, slots=True, kw_only=True)
class Slices:
    """Equal slices of time, one after the other, counted from `start`."""

    start: datetime
    step: timedelta
    count: int

    def __post_init__(self) -> None:
        if self.step <= timedelta(0) or self.count < 0:
            raise ValueError(f"{self.count} slices of {self.step}: both must be positive")

    @property
    def end(self) -> datetime:
        """The moment after the last slice."""
        return self.start + self.count * self.step

    def index(self, at: datetime) -> int | None:
        """The slice that a moment is in; a slice has its start and not its end."""
        place = (at - self.start) // self.step
        return place if 0 <= place < self.count else None


def last_slices(window: timedelta, step: timedelta, now: datetime) -> Slices:
    """The whole slices of a window that ends now.

    They begin at multiples of the step, so that the same moment is in the same slice whenever it is looked at.
    """
    end = EPOCH + (now - EPOCH) // step * step
    count = window // step
    return Slices(start=end - count * step, step=step, count=count)


@dataclass(frozen=True, slots=True)
class Series:
    """Samples in the order of time, one for each moment, all finite."""

    samples: tuple[tuple[datetime, float], ...] = ()

    def merged(self, other: "Series") -> "Series":
        """Both together, as of two servers with different gaps; where both measured, this one counts."""
        return series((*other.samples, *self.samples))

    def sliced(self, slices: Slices) -> tuple[Measured, ...]:
        """The last number of each slice."""
        values: list[Measured] = [NoData("nothing was measured")] * slices.count
        for at, value in self.samples:
            index = slices.index(at)
            if index is not None:
                values[index] = value
        return tuple(values)


def series(samples: Iterable[tuple[datetime, float]]) -> Series:
    """Order samples; of several at one moment the last counts, and what is not finite is no measurement."""
    known = {at: value for at, value in samples if math.isfinite(value)}
    return Series(tuple(sorted(known.items())))
