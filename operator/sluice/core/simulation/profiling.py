"""What is learned of a job before production: runs of copies at several scale-outs, and their price.

Each copy is measured with a backlog, in batches of two sizes, so that the overhead can be told from the rows. The
smallest runs at two steady rates, too: latency depends on the utilisation, so it speaks for all. One loses its driver
once, because downtime decides about recoveries (phoebe.md 2.8 g). All of it is the learning that watches production.
"""

import math
from dataclasses import replace

import numpy as np

from sluice.core.learning.experience import LATENCY_WINDOW, Experience
from sluice.core.modelling.capacity import CapacityModel
from sluice.core.modelling.downtime import Cause
from sluice.core.modelling.latency import LatencyPoint
from sluice.core.modelling.shapes import Slots
from sluice.core.profiling.planning import MOST, scale_outs
from sluice.core.series import Measured, NoData
from sluice.core.simulation.job import Failure, Loss, SimulatedJob
from sluice.core.simulation.metrics import Metrics
from sluice.core.simulation.plant import Plant
from sluice.core.simulation.trace import Trace

SATURATED, FAILING = 120, 360
"""Seconds of a measurement; that executors are cold at first, batches tell themselves. It is longer where a plant needs
so long to begin that nothing would be seen of it."""

BEGINNING, RETURNING = 3, 2
"""How many times as long as its first batch takes without rows, and as long as it is away, a job is watched."""

PATIENCE = 1200
"""Seconds within which the latency at a steady rate settles, or is not known."""

SETTLED = 0.8
"""A latency that falls to less than that share of the one before is still that of a cold start."""

BATCHES = (5.0, 15.0)
"""Seconds of work at the expected peak, to which the batches of a backlog are limited."""

UTILISATIONS = (0.4, 0.8)


def unprofiled(plant: Plant) -> Experience:
    """What is known of a job from its declaration alone: its slots."""
    experience = Experience()
    slots = Slots(cores=plant.cores, tasks=plant.tasks)
    models = replace(experience.models, capacity=CapacityModel(slots=slots))
    return replace(experience, models=models)


def profiled(plant: Plant, seed: int, count: int = MOST) -> tuple[Experience, float]:
    """Profile a plant; tells the price in executor-seconds."""
    experience, spent = unprofiled(plant), 0.0
    seconds = max(SATURATED, math.ceil(BEGINNING * (plant.cold + plant.state_reload)))
    sizes = scale_outs(plant.bounds, count)
    for number, executors in enumerate(sizes):
        for batch in BATCHES:
            rows = plant.peak * batch * executors / plant.bounds.largest
            limited = replace(plant, most_rows=rows)
            job = _copy(limited, 3 * plant.peak, seconds, executors, seed + number)
            experience, price = _measured(experience, job, seconds)
            spent += price
    for share in UTILISATIONS:
        experience, price = _steady(experience, plant, sizes[0], share, seed)
        spent += price
    experience, price = _outage(experience, plant, sizes[:2][-1], seed)
    return experience, spent + price


def _copy(
    plant: Plant,
    rate: float,
    seconds: int,
    executors: int,
    seed: int,
    failures: tuple[Failure, ...] = (),
) -> SimulatedJob:
    trace = Trace(name="profile", rates=np.full(seconds, float(rate)))
    return SimulatedJob(plant, trace, seed, executors, failures)


def _measured(
    experience: Experience, job: SimulatedJob, seconds: float
) -> tuple[Experience, float]:
    metrics = Metrics(job, job.seed)
    while job.now < seconds:
        job.advance(job.now + job.plant.scrape_interval)
        scrape = metrics.scrape()
        if scrape:
            experience = experience.with_batches(scrape.batches, job.now)
    return replace(experience, pending=()), job.executor_seconds


def _steady(
    experience: Experience, plant: Plant, executors: int, share: float, seed: int
) -> tuple[Experience, float]:
    capacity = experience.models.capacity.fitted()
    if isinstance(capacity, NoData):
        return experience, 0.0
    rate = share * capacity.rate(executors)
    job = _copy(plant, rate, PATIENCE, executors, seed)
    latency = _settled_latency(job)
    if not isinstance(latency, NoData):
        point = LatencyPoint(executors=executors, rate=rate, seconds=latency, profiled=True)
        experience = experience.with_latency(point, experience.latency_at + LATENCY_WINDOW)
    return replace(experience, latency_at=0.0), job.executor_seconds


def _settled_latency(job: SimulatedJob) -> Measured:
    """The latency once it falls no longer: until then it is that of the backlog of a cold start."""
    metrics, before = Metrics(job, job.seed), math.inf
    while job.now < PATIENCE:
        job.advance(job.now + LATENCY_WINDOW)
        scrape = metrics.scrape()
        if scrape and not isinstance(scrape.latency, NoData):
            if scrape.latency > SETTLED * before:
                return scrape.latency
            before = scrape.latency
    return NoData(f"the latency fell for {PATIENCE} s")


def _outage(
    experience: Experience, plant: Plant, executors: int, seed: int
) -> tuple[Experience, float]:
    at = FAILING / 6
    away = plant.driver_loss + plant.cold + plant.state_reload
    seconds = max(FAILING, math.ceil(at + RETURNING * away))
    failure = Failure(at=at, loss=Loss.DRIVER)
    rate = plant.peak * executors / plant.bounds.largest / 4
    job = _copy(plant, rate, seconds, executors, seed, (failure,))
    job.advance(at)
    experience, price = _measured(experience.with_outage(Cause.DRIVER_LOSS, at), job, seconds)
    # One that is not over is none of the job in production.
    return experience.without_outage(), price
