"""What is learned of a job before production: a profile as the operator makes it, and what a drill would add.

Which scale-outs are measured, how, and for how long is decided by the code of the operator. Beside that, a copy of the
fewest executors runs at two steady rates: latency depends on the utilisation, so it speaks for all. And one loses its
driver once, because downtime decides about recoveries (phoebe.md 2.8 g).
"""

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from sluice.core.learning.experience import LATENCY_WINDOW, Experience
from sluice.core.modelling.capacity import CapacityModel
from sluice.core.modelling.downtime import Cause
from sluice.core.modelling.latency import LatencyPoint
from sluice.core.modelling.shapes import Slots
from sluice.core.profiling import planning
from sluice.core.profiling.records import Point
from sluice.core.profiling.teaching import taught
from sluice.core.series import Measured, NoData
from sluice.core.simulation.copies import SimulatedCopy
from sluice.core.simulation.job import Failure, Loss, SimulatedJob
from sluice.core.simulation.metrics import PERCENTILE, Metrics
from sluice.core.simulation.plant import Plant
from sluice.core.simulation.trace import Trace

FAILING = 360
"""Seconds for which the loss of a driver is watched, or more where a plant is away for longer."""

RETURNING = 2
"""How many times as long as it is away a job is watched."""

PATIENCE = 1200
"""Seconds within which the latency at a steady rate settles, or is not known."""

SETTLED = 0.8
"""A latency is settled when none of three in a row is less than that share of another, and they do not just fall."""

UTILISATIONS = (0.4, 0.8)


def unprofiled(plant: Plant) -> Experience:
    """What is known of a job from its declaration alone: its slots."""
    experience = Experience()
    models = replace(experience.models, capacity=CapacityModel(slots=_slots(plant)))
    return replace(experience, models=models)


def profiled(plant: Plant, seed: int) -> tuple[Experience, float]:
    """Profile a plant; tells the price in executor-seconds."""
    points, spent = _capacities(plant, seed)
    experience = taught(unprofiled(plant), points, PERCENTILE)
    for point in points:
        if point.executors == plant.bounds.smallest:
            experience, price = _latencies(experience, plant, point, seed)
            spent += price
    experience, price = _outage(experience, plant, seed)
    return experience, spent + price


def _capacities(plant: Plant, seed: int) -> tuple[list[Point], float]:
    """The points of a StreamProfile that may take as long as it needs, and their price in executor-seconds."""
    points: list[Point] = []
    failed: set[int] = set()
    spent = 0.0
    while (executors := _next(plant, points, failed)) is not None:
        copy = SimulatedCopy(plant=plant, executors=executors, seed=seed + executors)
        point = copy.measured()
        spent += copy.executor_seconds
        if point is None:
            failed.add(executors)
        else:
            points.append(point)
    return points, spent


def _next(plant: Plant, points: Iterable[Point], failed: set[int]) -> int | None:
    measured = [(point.executors, point.rate) for point in points]
    return planning.next_scale_out(plant.bounds, _slots(plant), measured, failed=failed)


def _slots(plant: Plant) -> Slots:
    return Slots(cores=plant.cores, tasks=plant.tasks)


def _under_load(
    plant: Plant,
    rate: float,
    seconds: int,
    executors: int,
    seed: int,
    failures: tuple[Failure, ...] = (),
) -> SimulatedJob:
    trace = Trace(name="profile", rates=np.full(seconds, float(rate)))
    return SimulatedJob(plant, trace, seed, executors, failures)


def _latencies(
    experience: Experience, plant: Plant, point: Point, seed: int
) -> tuple[Experience, float]:
    """What a copy tells at steady shares of what it was measured to process."""
    latency, spent = experience.models.latency, 0.0
    for share in UTILISATIONS:
        rate = share * point.rate
        job = _under_load(plant, rate, PATIENCE, point.executors, seed)
        seconds = _settled_latency(job)
        spent += job.executor_seconds
        if not isinstance(seconds, NoData):
            latency = latency.with_observation(
                LatencyPoint(executors=point.executors, rate=rate, seconds=seconds, profiled=True)
            )
    return replace(experience, models=replace(experience.models, latency=latency)), spent


def _settled_latency(job: SimulatedJob) -> Measured:
    """The latency once it stays: until then it is that of a cold start, which rises before it falls."""
    metrics, known = Metrics(job, job.seed), [math.inf, math.inf]
    while job.now < PATIENCE:
        job.advance(job.now + LATENCY_WINDOW)
        scrape = metrics.scrape()
        if scrape and not isinstance(scrape.latency, NoData):
            known = [*known[-2:], scrape.latency]
            first, second, third = known
            if min(known) >= SETTLED * max(known) and not first > second > third:
                return scrape.latency
    return NoData(f"the latency has not settled within {PATIENCE} s")


def _outage(experience: Experience, plant: Plant, seed: int) -> tuple[Experience, float]:
    """What a copy of the fewest executors tells of the loss of its driver, under a quarter of its share of the peak."""
    at, executors = FAILING / 6, plant.bounds.smallest
    away = plant.driver_loss + plant.cold + plant.state_reload
    seconds = max(FAILING, math.ceil(at + RETURNING * away))
    rate = plant.peak * executors / plant.bounds.largest / 4
    job = _under_load(plant, rate, seconds, executors, seed, (Failure(at=at, loss=Loss.DRIVER),))
    job.advance(at)
    metrics = Metrics(job, seed)
    experience = experience.with_outage(Cause.DRIVER_LOSS, at, executors)
    while job.now < seconds:
        job.advance(job.now + plant.scrape_interval)
        scrape = metrics.scrape()
        if scrape:
            experience = experience.with_batches(scrape.batches, job.now)
    # One that is not over is none of the job in production.
    return replace(experience, pending=()).without_outage(), job.executor_seconds
