"""Which numbers of executors to measure: those that tell most about the capacity in between.

Both bounds come first, because a model is surest between measurements. Then comes, one at a time, the number about
which the shapes that fit so far (`modelling.shapes`) contradict each other most: a committee of models whose
disagreement says where a measurement decides (query by committee; Seung, Opper and Sompolinsky, 1992). Where tasks
run in waves over slots, only the fewest executors of each number of waves are worth measuring. It ends after
MOST measurements, or when the capacity is known well enough everywhere.
"""

import math
from collections.abc import Collection, Iterable, Sequence

from sluice.core.deciding.policies import phoebe
from sluice.core.deciding.situation import Bounds
from sluice.core.modelling.capacity import CapacityModel
from sluice.core.modelling.shapes import Curve, Slots, fit_curve, possible_shapes
from sluice.core.series import NoData

MOST = 4
"""Scale-outs that are measured unless others are declared (phoebe.md 2.2)."""

SURE = 0.1
"""The capacity is known where its range is within this share."""

CANDIDATES = 64
"""Numbers of executors that are compared; of thousands, evenly spaced ones."""

Measured = Sequence[tuple[int, float]]
"""Pairs of executors and rows per second."""


def scale_outs(bounds: Bounds, count: int = MOST) -> tuple[int, ...]:
    """Equally spaced numbers of executors, both bounds included (phoebe.md 2.2, 5.9)."""
    return phoebe.scale_outs(bounds.smallest, bounds.largest, max(2, count))


def first_scale_outs(bounds: Bounds, slots: Slots) -> tuple[int, ...]:
    """The numbers of executors to begin with, those first that tell most: the bounds, then wave boundaries between."""
    spaced = scale_outs(bounds)
    inner = (_first_of_wave(one, bounds, slots) for one in spaced[1:-1])
    return tuple(dict.fromkeys((spaced[0], spaced[-1], *inner)))


def next_scale_out(
    bounds: Bounds,
    slots: Slots,
    measured: Measured,
    *,
    under_way: Collection[int] = (),
    failed: Collection[int] = (),
) -> int | None:
    """The next number of executors to measure; None when enough are known, or what is under way tells first.

    What has failed does not come again.
    """
    tried = {executors for executors, _ in measured} | {*under_way, *failed}
    for bound in (bounds.smallest, bounds.largest):
        if bound not in tried:
            return bound
    if under_way or len(tried) >= MOST or is_sure(bounds, slots, measured):
        return None
    if not measured:
        # What has failed at both bounds would fail between them, too.
        return None
    candidates = [one for one in _candidates(bounds, slots) if one not in tried]
    if not candidates:
        return None
    curves = _fitting(slots, measured)
    return max(candidates, key=lambda one: (_doubt(curves, one), _distance(one, tried), -one))


def is_sure(bounds: Bounds, slots: Slots, measured: Measured) -> bool:
    """Whether the range of the capacity is narrow enough for every allowed number of executors."""
    model = CapacityModel(slots=slots, points=tuple(measured)).fitted()
    if isinstance(model, NoData):
        return False
    ends = (model.estimate(executors) for executors in (bounds.smallest, bounds.largest))
    return all(one.high <= (1 + SURE) * one.value for one in ends)


def _candidates(bounds: Bounds, slots: Slots) -> tuple[int, ...]:
    every = range(bounds.smallest, bounds.largest + 1)
    if slots.tasks is not None:
        # More executors for as many waves wait for the slowest slot all the same.
        firsts = {slots.waves(executors): executors for executors in reversed(every)}
        return tuple(sorted(firsts.values()))
    step = max(1, math.ceil(len(every) / CANDIDATES))
    return tuple(every[::step])


def _first_of_wave(executors: int, bounds: Bounds, slots: Slots) -> int:
    """The fewest executors that need no more waves than these."""
    if slots.tasks is None:
        return executors
    return max(one for one in _candidates(bounds, slots) if one <= executors)


def _fitting(slots: Slots, measured: Measured) -> list[Curve]:
    curves = (fit_curve(shape, slots, measured) for shape in possible_shapes(slots, measured))
    return [curve for curve in curves if curve is not None]


def _doubt(curves: Sequence[Curve], executors: int) -> float:
    """By how much the curves contradict each other, as a logarithm; hundredths that noise makes do not count."""
    rates = [curve.rate(executors) for curve in curves]
    if not rates or min(rates) <= 0:
        return math.inf
    return round(math.log(max(rates) / min(rates)), 2)


def _distance(executors: int, tried: Iterable[int]) -> float:
    return min(abs(math.log(executors / other)) for other in tried)
