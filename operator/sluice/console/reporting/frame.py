"""The time axis that all parts of a picture share: where a moment is, and at which round times it is marked."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from sluice.console.reporting.curves import Curve
from sluice.core.series import EPOCH
from sluice.drawing import Point

WIDTH = 900.0
"""Of the whole picture, in pixels of a page that shows it as it is."""

MARGIN = 24.0
LEFT, RIGHT = 76.0, 806.0
"""The edges of what is drawn over time; numbers stand before it, names behind it."""

MOST_TICKS = 9
_MINUTES = (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 4320, 10080)
_STEPS = tuple(timedelta(minutes=minutes) for minutes in _MINUTES)
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """From the first moment to the last. `now` is before the last where something is foreseen."""

    start: datetime
    now: datetime
    end: datetime

    def x(self, at: datetime) -> float:
        """Where a moment is; one outside is at the edge."""
        share = (at - self.start) / (self.end - self.start)
        return LEFT + (RIGHT - LEFT) * min(max(share, 0.0), 1.0)

    def holds(self, at: datetime) -> bool:
        """Whether a moment is inside."""
        return self.start <= at <= self.end

    def placed(self, curve: Curve) -> list[Point | None]:
        """The numbers of a curve that are inside, each behind where its moment is; None is a gap."""
        return [
            None if value is None else (self.x(at), value)
            for at, value in curve.points
            if self.holds(at)
        ]

    @property
    def ticks(self) -> Iterator[tuple[float, str]]:
        """Where round times of UTC are, and how they are told: by the hour, or by the date where a day begins."""
        span = self.end - self.start
        step = next((one for one in _STEPS if span / one <= MOST_TICKS), _STEPS[-1])
        first = EPOCH + -((EPOCH - self.start) // step) * step
        count = (self.end - first) // step + 1
        for at in (first + number * step for number in range(count)):
            begins = (at - EPOCH) % _DAY == timedelta(0)
            yield self.x(at), f"{at:%d %b}".lstrip("0") if begins else f"{at:%H:%M}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Heights between a bottom, which is 0, and a top, which is the ceiling."""

    top: float
    bottom: float
    ceiling: float

    def y(self, value: float) -> float:
        """Where a number is; a larger one than the ceiling is cut there."""
        return self.bottom - (self.bottom - self.top) * min(value, self.ceiling) / self.ceiling

    def heights(self, placed: Iterable[Point | None]) -> list[Point | None]:
        """Where the numbers of a curve are."""
        return [None if one is None else (one[0], self.y(one[1])) for one in placed]
