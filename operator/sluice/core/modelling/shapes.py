"""How capacity may depend on the number of executors. Each shape is a straight line after a change of variables.

    linear       rate = a + b s                  each executor adds the same (Phoebe, phoebe.md 2.3)
    staircase    rate = a + b p / ceil(p / c)    p equal tasks on c = s x cores slots go in waves (phoebe.md 4.3)
    contention   w / rate = a + b (s - 1)        sub-linear: a part of the work is serial (Amdahl)
    crosstalk    w / rate = a + b s (s - 1)      negative returns: executors wait for each other (Gunther)
    proportional rate = b c                      where a line would pass below the origin, or is of near scale-outs

w are the slots that work: all c, or as many as p tasks keep busy, p / ceil(p / c). Contention and crosstalk are the
terms of Gunther's universal scalability law, one at a time: profiles have too few points for both. Rates that grow
faster than executors tell of noise more often than of a line, which would leave few executors with nothing. Which shape
fits is for `capacity` to say.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean


class Shape(StrEnum):
    """The name of a shape."""

    STAIRCASE = "Staircase"
    LINEAR = "Linear"
    CONTENTION = "Contention"
    CROSSTALK = "Crosstalk"
    PROPORTIONAL = "Proportional"


def part_of_each(executors: int) -> float:
    """What each executor has of the tasks that all share; a driver that works alone has all of them."""
    return 1 / max(1, executors)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """Where tasks run: how many an executor runs at once, one for each core unless a task takes several, and how many a
    stage has where that number is fixed.
    """

    cores: int = 1
    tasks: int | None = None

    def __post_init__(self) -> None:
        if self.cores < 1 or (self.tasks is not None and self.tasks < 1):
            raise ValueError(f"{self}: an executor has a core, and a stage a task")

    def waves(self, executors: int) -> int:
        """How many tasks a slot has to run one after the other; 1 where their number is not fixed."""
        return 1 if self.tasks is None else -(-self.tasks // (executors * self.cores))

    def busy(self, executors: int) -> float:
        """Slots that are busy on average over the waves."""
        return executors * self.cores if self.tasks is None else self.tasks / self.waves(executors)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A shape with its two coefficients."""

    shape: Shape
    slots: Slots
    intercept: float
    slope: float

    def rate(self, executors: int) -> float:
        """Rows per second; never negative."""
        line = self.intercept + self.slope * _variable(self.shape, self.slots, executors)
        if self.shape in _INVERSE:
            return self.slots.busy(executors) / line
        return max(0.0, line)


NEAR = 1.5
"""Scale-outs that differ by less tell no slope."""

_INVERSE = frozenset({Shape.CONTENTION, Shape.CROSSTALK})


def possible_shapes(slots: Slots, rates: Sequence[tuple[int, float]]) -> list[Shape]:
    """The shapes that (executors, rate) may have."""
    line = fit_curve(Shape.STAIRCASE, slots, rates)
    is_possible = {
        Shape.STAIRCASE: slots.tasks is not None,
        Shape.PROPORTIONAL: line is not None and (line.intercept < 0 or _is_near(rates)),
        Shape.CONTENTION: _hinders(fit_curve(Shape.CONTENTION, slots, rates)),
    }
    return [shape for shape in Shape if is_possible.get(shape, True)]


def _hinders(curve: Curve | None) -> bool:
    """Whether executors hinder each other at all; else their rates are in proportion."""
    return curve is not None and curve.slope > 0


def _is_near(rates: Sequence[tuple[int, float]]) -> bool:
    sizes = [executors for executors, _ in rates]
    return max(sizes) < NEAR * min(sizes)


def fit_curve(shape: Shape, slots: Slots, rates: Sequence[tuple[int, float]]) -> Curve | None:
    """The least squares fit to (executors, rate); None if the shape contradicts them."""
    xs = [_variable(shape, slots, executors) for executors, _ in rates]
    inverse = shape in _INVERSE
    ys = [slots.busy(executors) / rate if inverse else rate for executors, rate in rates]
    intercept, slope = _straight_line(xs, ys)
    if shape is Shape.PROPORTIONAL:
        intercept, slope = 0.0, fmean(ys) / fmean(xs)
    elif shape is Shape.CONTENTION and slope < 0:
        # That executors help each other is noise: at best they do not hinder each other. Of crosstalk that is not
        # said: it makes more executors worse far out, so no part of the measurements may contradict it.
        intercept, slope = fmean(ys), 0.0
    if slope < 0 or (inverse and intercept <= 0):
        return None
    return Curve(shape=shape, slots=slots, intercept=intercept, slope=slope)


def _variable(shape: Shape, slots: Slots, executors: int) -> float:
    match shape:
        case Shape.LINEAR:
            return executors
        case Shape.STAIRCASE | Shape.PROPORTIONAL:
            return slots.busy(executors)
        case Shape.CONTENTION:
            return executors - 1
        case Shape.CROSSTALK:
            return executors * (executors - 1)


def _straight_line(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float]:
    """Intercept and slope; through the origin where all points are at one place."""
    middle_x, middle_y = fmean(xs), fmean(ys)
    # The mean of equal numbers may be another one by its rounding, which no line must be drawn through.
    if min(xs) == max(xs):
        return (0.0, middle_y / middle_x) if middle_x else (middle_y, 0.0)
    spread = sum((x - middle_x) ** 2 for x in xs)
    slope = sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True)) / spread
    return middle_y - slope * middle_x, slope
