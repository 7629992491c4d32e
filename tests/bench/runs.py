"""Runs that nobody has measured: steady ones with what a test changes, so that their figures are known by hand."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from bench.closed_loop import simulating
from bench.closed_loop.courses import Course, DriverCourse, Samples
from bench.closed_loop.figures import Struck
from bench.closed_loop.measurements import Account, Measurement
from bench.closed_loop.scene import Scene
from bench.closed_loop.simulating import Entry
from sluice.core.deciding.situation import Bounds
from sluice.core.simulation.plant import Plant

SCENE = Scene()
STEP = 5.0

Span = tuple[float, float]

CALM = Plant(
    name="calm",
    bounds=Bounds(smallest=SCENE.smallest, largest=SCENE.largest),
    peak=SCENE.highest,
    latency=SCENE.bound,
    recovery=SCENE.target,
    task_rate=110.0,
    tasks=SCENE.partitions,
    contention=0.02,
    overhead=0.4,
    period=SCENE.period,
    most_rows=float(SCENE.most_rows),
    pending=0.0,
    start=20.0,
    cold=5.0,
    driver_loss=60.0,
    executor_loss=8.0,
    spread=0.0,
    noise=0.0,
    scrape_interval=STEP,
    scrape_delay=1.0,
)
"""A plant without chance, looked at as often as Prometheus does."""


def steady(
    scene: Scene = SCENE,
    *,
    executors: float = 6.0,
    silent: Sequence[Span] = (),
    late: Sequence[Span] = (),
    waiting: Callable[[float], float] = lambda _: 0.0,
) -> Course:
    """A job that commits what comes, two batches in five seconds, at 0.4 s for each and 600 rows/s beside that.

    In a silent span nothing is committed; the rows of a late one are all too late. `waiting` is the backlog.
    """
    times = _times(scene)
    works = [not _within(at, silent) for at in times]
    rows = [scene.rate(at) * STEP * work for at, work in zip(times, works, strict=True)]
    prompt = [0.0 if _within(at, late) else count for at, count in zip(times, rows, strict=True)]
    commits: list[float] = []
    for at, work in zip(times, works, strict=True):
        commits.append(at if work or not commits else commits[-1])
    driver = DriverCourse(
        rows=_counted(rows),
        batches=_counted([2.0 * work for work in works]),
        seconds=_counted(
            [0.8 * work + count / 600 for work, count in zip(works, rows, strict=True)]
        ),
        timed=_counted(rows),
        within=_counted(prompt),
        backlog=tuple(waiting(at) for at in times),
        committed=tuple(commits),
        registered=(executors,) * len(times),
    )
    all_the_time = (executors,) * len(times)
    return Course(
        start=times[0], step=STEP, wanted=all_the_time, running=all_the_time, drivers=(driver,)
    )


def _times(scene: Scene) -> list[float]:
    first = -60.0
    return [first + STEP * place for place in range(int((scene.seconds + 120) / STEP) + 1)]


def _within(at: float, spans: Sequence[Span]) -> bool:
    return any(start < at <= end for start, end in spans)


def _counted(numbers: Sequence[float]) -> Samples:
    total, found = 0.0, []
    for number in numbers:
        total += number
        found.append(round(total, 3))
    return tuple(found)


def measurement(
    contender: str = "static", course: Course | None = None, **changes: Any
) -> Measurement:
    """A run in which nothing was lost."""
    found = Measurement(
        contender=contender,
        taken="2026-11-22T10:00:00+00:00",
        versions={"python": "3.11", "sluice": "abc"},
        course=course or steady(),
        struck=tuple(
            Struck(fault=one.fault, at=one.at, executors=6, predicted=None) for one in SCENE.strikes
        ),
        account=Account(expected=720_000, lost=0, duplicated=12),
        restarts=0,
    )
    return replace(found, **changes)


def from_the_lab(scene: Scene, plant: Plant, contender: str) -> Measurement:
    """What would be measured of a contender on a plant, if the lab were the cluster."""
    struck = tuple(
        Struck(fault=one.fault, at=one.at, executors=1, predicted=None) for one in scene.strikes
    )
    entry = Entry(contender=contender, struck=struck)
    found = simulating.simulated(scene, plant, entry, seed=1)
    course = simulating.course_of(found, scene, simulating.prelude_seconds(scene, plant))

    def wanted(at: float) -> int:
        before = [
            count for moment, count in zip(course.times, course.wanted, strict=True) if moment <= at
        ]
        return int(before[-1] or 0)

    known = tuple(replace(one, executors=wanted(one.at)) for one in struck)
    return measurement(contender, course, struck=known)
