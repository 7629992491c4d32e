"""What the CPU that the autoscaler aims at means in rows.

Executors need some CPU without rows, too, so it is not the same share of the capacity as of the CPU. A straight line
through the samples of all runs says which (the median of the slopes between them; Theil, 1950): the autoscaler's own
have little of executors that stay. What new ones take to compile their code, several times as much, is not in the lab.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from statistics import median

import numpy as np

from bench.closed_loop.courses import held
from bench.closed_loop.measurements import Cpu, Measurement
from bench.closed_loop.scene import Scene
from sluice.core.simulation.plant import Plant

LEAST_SLOPES = 6

STEADY = 300.0
"""Seconds without another number of executors after which their CPU is that of work, and not of starts."""


def aimed_utilisation(
    plant: Plant, scene: Scene, aim: float | None, measured: Iterable[Measurement]
) -> float:
    """The share of the capacity at which executors need the CPU, in millicores, that the autoscaler aims at.

    Where too few samples tell, it is taken to be the same share as of the CPU.
    """
    if aim is None:
        return scene.utilisation
    steady = [one for run in measured for one in _steady(run)]
    loads = [scene.rate(one.at) / one.executors for one in steady]
    slope = _slope(loads, [one.millicores for one in steady])
    if slope is None or slope <= 0:
        return scene.utilisation
    alone = median(one.millicores - slope * load for one, load in zip(steady, loads, strict=True))
    each = plant.capacity(1)
    return float(np.clip((aim - alone) / slope / each, 0.05, 1.0))


def _steady(measured: Measurement) -> Iterator[Cpu]:
    """The samples of executors that have been as many for a while."""
    times, running = measured.course.times, held(measured.course.running)
    for one in measured.cpu:
        recent = {
            count
            for at, count in zip(times, running, strict=True)
            if one.at - STEADY <= at <= one.at
        }
        if recent == {one.executors} and one.at > 0:
            yield one


def _slope(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    slopes = [
        (one_y - y) / (one_x - x)
        for (x, y), (one_x, one_y) in combinations(zip(xs, ys, strict=True), 2)
        if abs(one_x - x) > 1
    ]
    return median(slopes) if len(slopes) >= LEAST_SLOPES else None
