"""How fast a job works, from what its batches took.

    seconds = overhead + waiting + rows x (1 + contention (n - 1)) / (task rate x busy slots)

by least squares of relative errors, over windows in which n executors did not change and were warm. None of the three
numbers is negative; how long tasks wait for rows is known, by the plant. Where a batch takes hardly longer than the
shortest one, it is making its tasks ready that takes the time, and not the rows: those windows say nothing of what
executors can do.

An executor that has just begun to work lacks a share of that speed, which fades:

    speed = 1 - slowness x exp(-time since its first batch / warming)
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice, takewhile

import numpy as np
from numpy.typing import NDArray

from bench.closed_loop.courses import Course, DriverCourse, growth
from sluice.core.series import NoData
from sluice.core.simulation.plant import Plant

FITTED = 30.0
"""Seconds of batches that are summed up to one equation."""

WARM = 90.0
"""Seconds in which executors must not have changed."""

LEAST_WINDOWS = 4

LONG = 1.5
"""So many times the shortest batches that were seen is one that the rows make long."""

FULL = 0.9
"""A batch with so much of the limit of rows has a backlog behind it."""

WARMED_UP = 180.0
"""Seconds after which an executor is as fast as it will be."""

WARMINGS = tuple(range(10, 125, 5))
"""Seconds of which the best is taken."""

MOST_SLOWNESS = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What a number of warm executors has done in FITTED seconds: batches, their rows and their seconds.

    `arrived` are the rows that came meanwhile, `left` those that waited at the end.
    """

    executors: int
    batches: float
    rows: float
    seconds: float
    arrived: float
    left: float

    def is_full(self, plant: Plant) -> bool:
        """Whether all batches were as large as they may be."""
        return plant.most_rows is not None and self.rows >= FULL * plant.most_rows * self.batches

    def ends_backlog(self, plant: Plant) -> bool:
        """Whether nobody knows which of the batches had one behind it."""
        assert plant.most_rows is not None
        return self.is_full(plant) and self.left < FULL * plant.most_rows

    def waiting(self, plant: Plant) -> float:
        """Seconds of these batches in which tasks waited for rows; behind a backlog they need not."""
        if self.is_full(plant):
            return 0.0
        more = plant.fixed(self.executors, self.arrived / FITTED) - plant.fixed(self.executors)
        return self.batches * more


def windows(course: Course) -> Iterator[Window]:
    """The windows in which the executors were as many as registered, warm, and committed something."""
    size, warm = round(FITTED / course.step), round(WARM / course.step)
    for driver in course.drivers:
        columns = [growth(counter) for counter in (driver.batches, driver.rows, driver.seconds)]
        registered = driver.registered
        for first in range(warm, len(registered) - size + 1, size):
            around = set(registered[first - warm : first + size])
            count = registered[first]
            if len(around) > 1 or not count:
                continue
            batches, rows, seconds = (sum(column[first : first + size]) for column in columns)
            if batches > 0 and rows > 0 and seconds > 0:
                before, left = (driver.backlog[at - 1] or 0.0 for at in (first, first + size))
                yield Window(
                    executors=int(count),
                    batches=batches,
                    rows=rows,
                    seconds=seconds,
                    arrived=max(0.0, rows + left - before),
                    left=left,
                )


def with_pace(plant: Plant, found: Sequence[Window]) -> Plant | NoData:
    """The plant with the overhead, the task rate and the contention that explain these windows."""
    found = [one for one in found if not one.ends_backlog(plant)]
    if len(found) < LEAST_WINDOWS:
        return NoData(
            f"{len(found)} windows of warm batches, and at least {LEAST_WINDOWS} must tell"
        )
    shortest = min(one.seconds / one.batches for one in found)
    long = [one for one in found if one.seconds >= LONG * shortest * one.batches]
    found = long if len(long) >= LEAST_WINDOWS else found
    plain = replace(plant, task_rate=1.0, contention=0.0)
    busy = np.array([plain.capacity(one.executors) for one in found])
    rows = np.array([one.rows for one in found])
    others = np.array([one.executors - 1.0 for one in found])
    seconds = np.array([one.seconds for one in found])
    worked = 1 - np.array([one.waiting(plant) for one in found]) / seconds
    columns = np.stack(
        [np.array([one.batches for one in found]), rows / busy, rows / busy * others], axis=1
    )
    overhead, work, hindrance = _not_negative(columns / seconds[:, None], worked)
    if work <= 0:
        return NoData("batches of more rows took no longer: their capacity cannot be told")
    return replace(
        plant,
        task_rate=float(1 / work),
        overhead=float(overhead),
        contention=float(hindrance / work),
    )


def with_warming(plant: Plant, courses: Iterable[Course]) -> Plant:
    """The plant with the slowness of new executors that explains the full batches after each start of a driver."""
    found = [
        one
        for course in courses
        for driver in course.drivers
        for one in _slow_batches(plant, course.times, driver)
    ]
    if len(found) < LEAST_WINDOWS:
        return plant
    since = np.array([one.since for one in found])
    missing = np.array([one.missing for one in found])

    def slowness(warming: float) -> float:
        fading = np.exp(-since / warming)
        return float(np.clip(fading @ missing / (fading @ fading), 0, MOST_SLOWNESS))

    def misses(warming: float) -> float:
        errors = missing - slowness(warming) * np.exp(-since / warming)
        return float(errors @ errors)

    warming = float(min(WARMINGS, key=misses))
    return replace(plant, slowness=slowness(warming), warming=warming)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowBatch:
    """A full batch, so many seconds after the first one of its driver, and the share of its speed that was missing."""

    since: float
    missing: float


def _slow_batches(
    plant: Plant, times: Sequence[float], driver: DriverCourse
) -> Iterator[SlowBatch]:
    """Those of a driver whose executors are all as new as it is, and as many as there can be."""
    assert plant.most_rows is not None
    most = plant.bounds.largest
    counters = map(growth, (driver.batches, driver.rows, driver.seconds))
    samples = zip(times, driver.registered, *counters, strict=True)
    working = [sample for sample in samples if sample[2] > 0]
    began = working[0][0] if working else 0.0
    young = takewhile(lambda one: one[1] == most and one[0] - began <= WARMED_UP, working)
    for at, _, batches, rows, seconds in islice(young, 1, None):
        if rows >= FULL * plant.most_rows * batches:
            usual = rows / plant.capacity(most)
            missing = 1 - usual / (seconds - plant.overhead * batches)
            yield SlowBatch(since=at - began - seconds / batches, missing=missing)


def _not_negative(columns: NDArray[np.float64], sought: NDArray[np.float64]) -> list[float]:
    """The least squares solution without a negative number: the best of all subsets of three columns.

    The last of them is of no use where it is a multiple of the one before, as of one number of executors.
    """
    best, least = [0.0] * columns.shape[1], np.inf
    names = range(columns.shape[1])
    subsets = [kept for size in names for kept in combinations(names, size + 1)]
    for kept in subsets:
        solved, _, rank, _ = np.linalg.lstsq(columns[:, kept], sought, rcond=None)
        misses = float(np.sum((columns[:, kept] @ solved - sought) ** 2))
        # What is no better but for rounding explains no more, with as many numbers or with more.
        if rank == len(kept) and (solved >= 0).all() and misses < least * (1 - 1e-9):
            best, least = [0.0] * columns.shape[1], misses
            for place, value in zip(kept, solved.tolist(), strict=True):
                best[place] = value
    return best
