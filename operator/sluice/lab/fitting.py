"""A simulated job with the capacity of a real one: what was measured at a few sizes, on a plant for all the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sluice.core.quantities import format_executors
from sluice.core.simulation.plant import Plant
from sluice.errors import InvalidSpec, Problem

Numbers = NDArray[np.float64]

Capacities = Mapping[int, float]
"""Rows per second of numbers of executors."""


NEAR, FAR = 1.1, 2.0
"""By so many times a simulated capacity is told to be another one than was measured, and is refused."""


def capacities(words: Sequence[str]) -> Capacities:
    """Read `executors=rows per second`. Raises InvalidSpec."""
    found: dict[int, float] = {}
    for word in words:
        executors, rate = _capacity(word)
        if found.setdefault(executors, rate) != rate:
            remedy = (
                f"give one number for each size: {executors}={found[executors]:g} is another one"
            )
            raise InvalidSpec([Problem("capacity", word, remedy)])
    return found


def _capacity(word: str) -> tuple[int, float]:
    name, _, number = word.partition("=")
    try:
        executors, rate = int(name), float(number)
    except ValueError:
        executors, rate = 0, 0.0
    if executors < 1 or not 0 < rate < float("inf"):
        remedy = "write executors=rows per second, such as 8=120000"
        raise InvalidSpec([Problem("capacity", word, remedy)])
    return executors, rate


def fitted(plant: Plant, measured: Capacities, peak: float) -> Plant:
    """The plant with a measured capacity, for a load with such a peak. Raises InvalidSpec.

    Slots that hinder each other do n / (a + b (n - 1)) rows per second: a straight line through n / capacity. What a
    batch may take at most stays as many seconds of work.
    """
    plain = replace(plant, task_rate=1.0, contention=0.0)
    busy = np.array([plain.capacity(executors) for executors in measured])
    others = np.array([executors * plant.cores - 1 for executors in measured])
    alone, hindrance = _line(others, busy / np.array(list(measured.values())))
    if alone <= 0:
        remedy = "measure again: more executors can hardly be so much slower than fewer"
        raise _refusal(measured, remedy)
    found = replace(plain, task_rate=1 / alone, contention=hindrance / alone, peak=peak)
    if plant.most_rows is None:
        return found
    largest = plant.bounds.largest
    work = plant.most_rows / plant.capacity(largest)
    return replace(found, most_rows=work * found.capacity(largest))


def missed(plant: Plant, measured: Capacities) -> tuple[str, ...]:
    """Tells where a fitted plant has another capacity than was measured. Raises InvalidSpec where that is far off."""
    told: list[str] = []
    for executors, rate in measured.items():
        found = plant.capacity(executors)
        off = round(max(found / rate, rate / found), 6)
        if off >= FAR:
            remedy = (
                f"leave out the sizes that contradict the others: with all of them, {found:.0f} rows/s "
                f"would be simulated on {format_executors(executors)}"
            )
            raise _refusal(measured, remedy)
        if off > NEAR:
            told.append(
                f"capacity: {rate:.0f} rows/s were measured on {format_executors(executors)}, "
                f"and {found:.0f} are simulated"
            )
    return tuple(told)


def _refusal(measured: Capacities, remedy: str) -> InvalidSpec:
    told = ", ".join(f"{executors}={rate:g}" for executors, rate in measured.items())
    return InvalidSpec([Problem("capacity", told, remedy)])


def _line(xs: Numbers, ys: Numbers) -> tuple[float, float]:
    """Intercept and slope of relative least squares; slots never help each other, so the slope is not negative."""
    if len(set(xs.tolist())) > 1:
        slope, intercept = np.polyfit(xs, ys, 1, w=1 / ys)
        if slope >= 0:
            return float(intercept), float(slope)
    return float(np.exp(np.log(ys).mean())), 0.0
