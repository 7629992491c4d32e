"""From the course of a run to what is told of it; the same for a run on a cluster and for one in the lab.

time above the bound   share of the windows of ten seconds in which too few of the committed rows were within the bound,
                       or nothing was committed and the last commit is older than the bound
recovery               from a failure to the first moment after a commit from which on, for ten seconds, no more rows
                       waited than usual, rows were in time, and commits went on; the operator's own rule for the lag
price                  running executor pods over time, and the executors of the profile
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from bench.closed_loop.courses import Course, Samples, held
from bench.closed_loop.scene import Scene
from sluice.core.modelling.recovery import most_usual
from sluice.core.recoveries import CALM

WINDOW = 10.0
"""Seconds."""

BEFORE = 60.0
"""Seconds before a failure that say how many rows usually wait, in seconds of arrivals."""

_NOTHING = 1e-6
"""Shares of rows are counted in histograms, and so never quite exactly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Struck:
    """A failure as it was done: when, to how many executors, and the recovery that the operator predicted then.

    The prediction is of its models in the last decision before; None where they have none for such a failure.
    """

    fault: str
    at: float
    executors: int
    predicted: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiled:
    """What a profile has told: pairs of executors and rows per second, the overhead of a batch, and its price."""

    points: tuple[tuple[int, float], ...]
    overhead: float
    executor_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """A failure: when it struck, the seconds until it was over, and the seconds that were predicted then."""

    fault: str
    at: float
    seconds: float | None
    predicted: float | None = None

    def keeps(self, target: float) -> bool:
        """Whether it was over in time."""
        return self.seconds is not None and self.seconds <= target

    @property
    def error(self) -> float | None:
        """(predicted - measured) / measured, if both are known."""
        if self.seconds is None or self.predicted is None or not self.seconds:
            return None
        return (self.predicted - self.seconds) / self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What is told of a run. `late` is a share; `executor_hours` include those of the profile."""

    late: float
    recoveries: tuple[Recovery, ...]
    executor_hours: float
    profile_hours: float
    live: float
    restarts: float

    def kept(self, target: float) -> int:
        """Recoveries within the target."""
        return sum(recovery.keeps(target) for recovery in self.recoveries)


def told(
    course: Course,
    scene: Scene,
    struck: Sequence[Struck],
    *,
    restarts: int,
    profile: Profiled | None,
) -> Figures:
    """The figures of one run, of which so many rescales were restarts."""
    price = profile.executor_seconds / 3600 if profile is not None else 0.0
    return Figures(
        late=late_share(course, scene),
        recoveries=tuple(
            Recovery(
                fault=one.fault,
                at=one.at,
                seconds=recovery_seconds(course, scene, one.at),
                predicted=one.predicted,
            )
            for one in struck
        ),
        executor_hours=executor_hours(course, scene) + price,
        profile_hours=price,
        live=max(0, rescales(course, scene) - restarts),
        restarts=restarts,
    )


def late_share(course: Course, scene: Scene) -> float:
    """The share of the time under load in which the latency's bound was not kept."""
    stride = max(1, round(WINDOW / course.step))
    places = _under_load(course, scene)
    windows = [places[first : first + stride] for first in range(0, len(places), stride)]
    timed, within = course.grown("timed"), course.grown("within")
    commits = held(course.known("committed"))
    late = [_is_late(course, scene, window, timed, within, commits) for window in windows]
    return fmean(late) if late else 0.0


def _is_late(
    course: Course,
    scene: Scene,
    window: Sequence[int],
    timed: Sequence[float],
    within: Sequence[float],
    commits: Samples,
) -> bool:
    rows = sum(timed[place] for place in window)
    if rows > _NOTHING:
        return sum(within[place] for place in window) < scene.share * rows - _NOTHING
    return _is_silent(course, scene, window[-1], commits)


def _is_silent(course: Course, scene: Scene, place: int, commits: Samples) -> bool:
    """Whether the last commit is older than the bound."""
    last = commits[place]
    return last is None or course.times[place] - last > scene.bound


def _under_load(course: Course, scene: Scene) -> list[int]:
    times = course.times
    return [place for place, at in enumerate(times) if 0 < at <= scene.seconds + _NOTHING]


def recovery_seconds(course: Course, scene: Scene, at: float) -> float | None:
    """The seconds of a recovery from a failure at a moment; None if the course does not show its end."""
    times, commits = course.times, held(course.known("committed"))
    usual = _usual(course, scene, at, commits)
    calm = round(CALM.total_seconds() / course.step)
    for place, moment in enumerate(times):
        committed = commits[place]
        if moment < at or committed is None or committed <= at:
            continue
        ahead = usual[place : place + calm + 1]
        if len(ahead) == calm + 1 and all(ahead):
            return moment - at
    return None


def _usual(course: Course, scene: Scene, at: float, commits: Samples) -> list[bool]:
    """At which samples all was as before a failure."""
    times, backlog = course.times, held(course.known("backlog"))
    before = [
        rows / scene.rate(moment)
        for moment, rows in zip(times, backlog, strict=True)
        if rows is not None and at - BEFORE <= moment < at and scene.rate(moment)
    ]
    most = max(before, default=0.0)
    timed, within = course.grown("timed"), course.grown("within")
    return [
        (backlog[place] or 0.0) <= most_usual(most) * scene.rate(moment)
        and within[place] >= scene.share * timed[place] - _NOTHING
        and not _is_silent(course, scene, place, commits)
        for place, moment in enumerate(times)
    ]


def executor_hours(course: Course, scene: Scene) -> float:
    """Hours of running executor pods under load."""
    running = held(course.running)
    numbers = [running[place] or 0.0 for place in _under_load(course, scene)]
    return sum(numbers) * course.step / 3600


def rescales(course: Course, scene: Scene) -> int:
    """How often another number of executors was wanted under load."""
    wanted = [course.wanted[place] for place in _under_load(course, scene)]
    known = [number for number in wanted if number is not None]
    return sum(one != other for one, other in pairwise(known))


def together(found: Sequence[Figures]) -> Figures:
    """Several runs of one kind as one: means, and of each recovery the median of those that ended, if most did."""
    recoveries = zip(*(figures.recoveries for figures in found), strict=True)
    return Figures(
        late=fmean(figures.late for figures in found),
        recoveries=tuple(map(_middle, recoveries)),
        executor_hours=fmean(figures.executor_hours for figures in found),
        profile_hours=fmean(figures.profile_hours for figures in found),
        live=fmean(figures.live for figures in found),
        restarts=fmean(figures.restarts for figures in found),
    )


def _middle(same: Sequence[Recovery]) -> Recovery:
    seconds = [one.seconds for one in same if one.seconds is not None]
    predicted = [one.predicted for one in same if one.predicted is not None]
    return Recovery(
        fault=same[0].fault,
        at=same[0].at,
        seconds=median(seconds) if len(seconds) > len(same) / 2 else None,
        predicted=median(predicted) if predicted else None,
    )
