"""The CPU of executors, from what the metrics API told of them, as shares of that of one with a backlog.

    share = resting + (1 - resting) x work + compiling x newness

`work` is the share of their capacity that they have used in the minute before, `newness` how much of their warming is
still to come, 1 for one that has just begun; means over all of them. By least squares; neither number is negative.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bench.closed_loop.courses import Course
from bench.closed_loop.measurements import Measurement
from sluice.core.simulation.plant import Plant

WINDOW = 60.0
"""Seconds of work that a sample of the CPU is of."""

LEAST_SAMPLES = 6

MOST_RESTING = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """A sample: what executors did, how new they were, and the share of the CPU that they took."""

    work: float
    newness: float
    share: float


def with_usage(plant: Plant, measured: Sequence[Measurement]) -> Plant:
    """The plant with the CPU of executors that explains the samples of all runs; as it is, if there are too few."""
    found = list(usages(plant, measured))
    if len(found) < LEAST_SAMPLES:
        return plant
    columns = np.array([[1 - one.work, one.newness] for one in found])
    beside = np.array([one.share - one.work for one in found])
    (resting, compiling), *_ = np.linalg.lstsq(columns, beside, rcond=None)
    return replace(
        plant,
        resting=float(np.clip(resting, 0, MOST_RESTING)),
        compiling=max(0.0, float(compiling)),
    )


def usages(plant: Plant, measured: Sequence[Measurement]) -> Iterator[Usage]:
    """All samples; without the CPU of an executor with a backlog there are none."""
    busy = next((run.saturated for run in measured if run.saturated), None)
    if busy is None:
        return
    for run in measured:
        newness = dict(zip(run.course.times, _newness(plant, run.course), strict=True))
        for one in run.cpu:
            near = max((at for at in newness if at <= one.at), default=None)
            if near is not None and one.executors > 0:
                capacity = plant.capacity(one.executors)
                yield Usage(
                    work=min(1.0, _processed(run.course, one.at) / capacity),
                    newness=newness[near],
                    share=one.millicores / busy,
                )


def _processed(course: Course, until: float) -> float:
    """Rows per second in the window before a moment."""
    rows = zip(course.times, course.grown("rows"), strict=True)
    return sum(count for at, count in rows if until - WINDOW < at <= until) / WINDOW


def _newness(plant: Plant, course: Course) -> Iterator[float]:
    """At each sample, the mean of all registered executors."""
    began: list[float] = []
    wanted_before: float | None = None
    counts = zip(course.times, course.known("registered"), course.wanted, strict=True)
    for at, count, wanted in counts:
        began = present(began, at, int(count or 0), is_chosen=wanted != wanted_before)
        wanted_before = wanted
        fading = [math.exp((first - at) / plant.warming) for first in began]
        yield sum(fading) / len(fading) if fading else 0.0


def present(began: Iterable[float], at: float, count: int, *, is_chosen: bool) -> list[float]:
    """Since when each of so many is there: the newest leave by choice, the oldest are those that are lost."""
    known = sorted(began)
    gone = max(0, len(known) - count)
    left = known[: len(known) - gone] if is_chosen else known[gone:]
    return [*left, *[at] * (count - len(left))]
