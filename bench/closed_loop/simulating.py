"""The same run in the lab: the contender's policy on a plant, under the same load and failures, as a course.

It begins as the real one does, with a history of rows that waits for all executors. What the policy learned from its
profile is what the real profile has told, at the real price.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.closed_loop import contenders, figures
from bench.closed_loop.courses import Course, DriverCourse, Samples
from bench.closed_loop.figures import Figures, Profiled, Struck
from bench.closed_loop.scene import DRIVER_KILLED, EXECUTORS_KILLED, PREDICTED, Scene
from sluice.api import convert
from sluice.core import autoscaling
from sluice.core.application import StreamJob
from sluice.core.deciding.deciding import decide
from sluice.core.deciding.decision import Decision
from sluice.core.deciding.policies.hpa import Hpa
from sluice.core.deciding.policies.static import Static
from sluice.core.deciding.situation import Situation
from sluice.core.learning.experience import Experience
from sluice.core.learning.foreseeing import Forecaster
from sluice.core.modelling.rescaling import Path
from sluice.core.series import NoData
from sluice.core.simulation.cohorts import commits, latencies
from sluice.core.simulation.job import Batch, Failure, Loss
from sluice.core.simulation.loop import Decide, Run, Scenario, run
from sluice.core.simulation.plant import Plant
from sluice.core.simulation.trace import Trace
from sluice.core.simulation.truth import true_pace

Numbers = NDArray[np.float64]

SEEDS = (1, 2, 3, 4, 5)
"""What varies by chance in the lab: the durations of outages and starts, and of batches a little."""

STEP = 5.0
"""Seconds between two samples, as on the cluster."""

TAIL = 60.0
"""Seconds after the load in which a recovery may show its end."""

SYNC = 5.0
"""Seconds between two looks of Kubernetes' autoscaler on the local cluster; elsewhere they are mostly 15."""

REST = 30.0
"""Seconds between the end of the history and the beginning of the load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Who runs in the lab, with what was found out about it elsewhere; `struck` are the failures."""

    contender: str
    struck: tuple[Struck, ...]
    profile: Profiled | None = None


def predicted(scene: Scene, plant: Plant, entry: Entry, seeds: Sequence[int] = SEEDS) -> Figures:
    """What the lab says of a run, before chance has its way: the figures of several seeds as one."""
    return figures.together([_figures(scene, plant, entry, seed) for seed in seeds])


def _figures(scene: Scene, plant: Plant, entry: Entry, seed: int) -> Figures:
    prelude = prelude_seconds(scene, plant)
    found = simulated(scene, plant, entry, seed)
    course = course_of(found, scene, prelude)
    restarts = sum(
        decided.at > prelude
        and decided.decision.path is Path.RESTART
        and decided.decision.executors != decided.before
        for decided in found.decisions
    )
    foreseen = {round(one.at - prelude, 3): one.predicted for one in reversed(found.struck)}
    struck = [
        replace(
            one,
            predicted=_number(foreseen.get(round(one.at, 3))) if one.fault in PREDICTED else None,
        )
        for one in entry.struck
    ]
    return figures.told(course, scene, struck, restarts=restarts, profile=entry.profile)


def _number(value: float | NoData | None) -> float | None:
    return None if isinstance(value, NoData) else value


def simulated(scene: Scene, plant: Plant, entry: Entry, seed: int) -> Run:
    """The run itself; its seconds begin with the history."""
    prelude = prelude_seconds(scene, plant)
    decide, interval = _deciding(scene, entry)
    pause = autoscaling.pause_of(declared(scene, entry.contender))
    scenario = Scenario(
        plant=plant,
        trace=trace(scene, prelude),
        seed=seed,
        failures=tuple(_failures(scene, entry.struck, prelude)),
        executors=scene.largest,
        interval=interval,
        experience=_experience(entry.profile).with_pause(pause),
    )
    return run(scenario, decide, Forecaster(horizon=scene.horizon))


def prelude_seconds(scene: Scene, plant: Plant) -> int:
    """How long the history takes with all executors, and a while in which nothing arrives."""
    drained = scene.history / true_pace(plant, scene.largest).sustained
    return int(drained + plant.cold + REST)


def trace(scene: Scene, prelude: int) -> Trace:
    """The history, which is there within the first second, so that nobody takes it for a load; and the load."""
    before = np.zeros(prelude)
    before[0] = scene.history
    under_load = [scene.rate(second + 0.5) for second in range(int(scene.seconds))]
    return Trace(
        name="closed-loop", rates=np.concatenate([before, under_load, np.zeros(int(TAIL))])
    )


def _failures(scene: Scene, struck: Sequence[Struck], prelude: int) -> Iterator[Failure]:
    for one in struck:
        loss = Loss.DRIVER if one.fault == DRIVER_KILLED else Loss.EXECUTOR
        # Each loss is that of the oldest executor, so that so many at once are those of all that work.
        count = scene.largest if one.fault == EXECUTORS_KILLED else 1
        yield from [Failure(at=prelude + one.at, loss=loss)] * count


def _experience(profile: Profiled | None) -> Experience:
    """What a profile teaches, as it teaches the operator."""
    experience = Experience()
    if profile is None:
        return experience
    capacity = experience.models.capacity
    for executors, rate in profile.points:
        capacity = capacity.with_observation(executors, rate)
    models = replace(experience.models, capacity=capacity)
    return replace(experience, models=models, overhead=profile.overhead)


# Who decides.


def _deciding(scene: Scene, entry: Entry) -> tuple[Decide, float]:
    """What decides, and the seconds between two decisions. Nothing stands between the autoscaler and the job."""
    match entry.contender:
        case contenders.STATIC:
            return Static(), scene.interval
        case contenders.HPA:
            return Hpa(target=scene.utilisation, stabilisation=scene.stabilisation), SYNC
        case _:
            return partial(_decided, declared(scene, entry.contender)), scene.interval


def _decided(job: StreamJob, situation: Situation) -> Decision:
    return decide(situation, autoscaling.policy_of(job, situation.models))


def declared(scene: Scene, contender: str) -> StreamJob:
    """The contender's StreamJob as the operator reads it."""
    body: dict[str, Any] = contenders.stream_job(scene, contender)
    metadata = {
        **body["metadata"],
        "namespace": "lab",
        "uid": contender,
        "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    return convert.streamjob({**body, "metadata": metadata})


# The course of it.


def course_of(found: Run, scene: Scene, prelude: int) -> Course:
    """What an observer on a cluster would have sampled; one that no outage hinders, so all is of one driver."""
    times = np.arange(-prelude, scene.seconds + TAIL, STEP)
    wanted, running, registered = _staff(found, times + prelude)
    driver = _driver(found, scene, times + prelude, prelude, registered)
    return Course(
        start=float(times[0]), step=STEP, wanted=wanted, running=running, drivers=(driver,)
    )


def _driver(
    found: Run, scene: Scene, times: Numbers, prelude: int, registered: Samples
) -> DriverCourse:
    batches = found.batches
    committed = np.searchsorted([batch.end for batch in batches], times, side="right")
    rows = [batch.rows for batch in batches]
    upto = np.concatenate([[0.0], [batch.upto for batch in batches]])[committed]

    def counted(numbers: Sequence[float]) -> Samples:
        return tuple(np.concatenate([[0.0], np.cumsum(numbers)])[committed].tolist())

    def last(numbers: Sequence[float]) -> Samples:
        return tuple(None if not count else numbers[count - 1] for count in committed.tolist())

    return DriverCourse(
        rows=counted(rows),
        batches=counted([1.0] * len(batches)),
        seconds=counted([batch.seconds for batch in batches]),
        timed=counted(rows),
        within=counted([_within(found, scene, batch) for batch in batches]),
        backlog=tuple(np.maximum(0.0, _arrived(found, times) - upto).tolist()),
        committed=last([batch.end - prelude for batch in batches]),
        registered=registered,
    )


def _arrived(found: Run, times: Numbers) -> Numbers:
    rows = found.arrivals.rows
    return np.interp(times, np.arange(len(rows)), rows)


def _within(found: Run, scene: Scene, batch: Batch) -> float:
    """The rows of a batch that were committed within the bound."""
    told = latencies(found.arrivals, commits([batch]), start=batch.first, end=batch.upto)
    late = told.share_above(scene.bound)
    return batch.rows * (1 - (0.0 if isinstance(late, NoData) else late))


def _staff(found: Run, times: Numbers) -> tuple[Samples, Samples, Samples]:
    """Executors as asked for, as paid for, and as registered; without a driver there are none, and nobody tells."""
    places = np.searchsorted([moment.at for moment in found.moments], times, side="right")
    moments = [found.moments[max(0, place - 1)] for place in places.tolist()]
    down = [any(start <= at < end for start, end in _outages(found)) for at in times.tolist()]
    told = list(zip(moments, down, strict=True))
    return (
        tuple(moment.executors for moment in moments),
        tuple(0 if is_down else moment.executors for moment, is_down in told),
        tuple(None if is_down else moment.running for moment, is_down in told),
    )


def _outages(found: Run) -> list[tuple[float, float]]:
    """From each loss of a driver to the next batch."""
    starts = [batch.start for batch in found.batches]
    lost = [struck.at for struck in found.struck if struck.loss is Loss.DRIVER]
    return [(at, next((start for start in starts if start > at), np.inf)) for at in lost]
