"""What pictures of numbers over time are made of, as parts of an SVG: the path of a line, and the numbers of its axis.

Where a line is, and how it looks, is for each picture to say.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

Point = tuple[float, float]
"""A place in a picture: to the right, and down."""

ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
"""What the numbers of an axis are multiples of."""

MOST_LEVELS = 4
"""Above zero."""


def path(points: Iterable[Point | None], *, steps: bool = False) -> str:
    """A line through points, as the `d` of a path; None is a gap.

    `steps` keeps each height until the next point. A point between two gaps becomes a line of no length, which round
    caps show as a dot.
    """
    return "".join(_line(run, steps) for run in _runs(points))


def area(points: Iterable[Point | None], floor: float, *, steps: bool = False) -> str:
    """What is between the same line and a floor; a point between two gaps has none."""
    return "".join(
        f"{_line(run, steps)}V{floor:.1f}H{run[0][0]:.1f}Z" for run in _runs(points) if len(run) > 1
    )


def levels(ceiling: float, *, whole: bool = False) -> list[float]:
    """A few round numbers from zero to a ceiling above it; where they count things they are `whole`."""
    least = max(ceiling, 1.0) if whole else ceiling
    power = 10.0 ** math.floor(math.log10(least / MOST_LEVELS))
    steps = (power * part for part in ROUND)
    step = next(
        step
        for step in steps
        if _times(step, least) <= MOST_LEVELS and (step.is_integer() or not whole)
    )
    return [step * number for number in range(_times(step, least) + 1)]


def _times(step: float, ceiling: float) -> int:
    """How many steps there are up to a ceiling; a last one that lacks a rounding error counts."""
    return int(ceiling / step + 1e-9)


def short(value: float) -> str:
    """A number as an axis shows it."""
    if value >= 1e6:
        return f"{value / 1e6:.3g}M"
    return f"{value / 1000:.3g}k" if value >= 1000 else f"{value:.3g}"


def _runs(points: Iterable[Point | None]) -> Iterator[list[Point]]:
    """What lies between gaps."""
    run: list[Point] = []
    for point in points:
        if point is not None:
            run.append(point)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _line(run: Sequence[Point], steps: bool) -> str:
    (x, y), *others = _corners(run)
    parts = [f"M{x:.1f} {y:.1f}"]
    parts += [f"H{x:.1f}V{y:.1f}" if steps else f"L{x:.1f} {y:.1f}" for x, y in others]
    return "".join(parts) if others else f"{parts[0]}h0"


def _corners(run: Sequence[Point]) -> list[Point]:
    """Without what is in the midst of a level stretch: a line that rests for hours is two points."""
    inner = (
        here
        for before, here, after in zip(run, run[1:], run[2:], strict=False)
        if not before[1] == here[1] == after[1]
    )
    return [run[0], *inner, *run[-1:]] if len(run) > 1 else list(run)
