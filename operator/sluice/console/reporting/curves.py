"""Numbers over time as they are drawn, and the moments at which they change."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise

from sluice.console.trends import trend
from sluice.core.series import Slices
from sluice.ports import Labelled


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Numbers at the beginnings of equal slices of time; what is not known is None, never 0."""

    slices: Slices
    values: tuple[float | None, ...]

    def later(self, by: timedelta) -> "Curve":
        """The same numbers at later moments."""
        return replace(self, slices=replace(self.slices, start=self.slices.start + by))

    def at(self, index: int) -> datetime:
        """The beginning of a slice."""
        return self.slices.start + index * self.slices.step

    @property
    def points(self) -> Iterator[tuple[datetime, float | None]]:
        """Each moment with its number."""
        return ((self.at(index), value) for index, value in enumerate(self.values))

    @property
    def known(self) -> list[tuple[int, float]]:
        """The slices of which a number is known."""
        return [(index, value) for index, value in enumerate(self.values) if value is not None]

    @property
    def changes(self) -> Iterator[tuple[int, float, float]]:
        """The slices whose number is another one than the last that was known, with both."""
        for (_, former), (index, value) in pairwise(self.known):
            if value != former:
                yield index, former, value


Tagged = tuple[Mapping[str, str], Curve]
"""A curve with the labels of its series."""


def curve(answer: Iterable[Labelled], slices: Slices) -> Curve:
    """The one series of an answer; there may be none."""
    return Curve(slices=slices, values=trend(answer, slices).values)


def tagged(answer: Iterable[Labelled], slices: Slices) -> tuple[Tagged, ...]:
    """Each series of an answer."""
    return tuple((one.labels, curve([one], slices)) for one in answer)
