"""What is learned of a job before production: runs of copies at several scale-outs, and their price.

Each copy is measured with a backlog, in batches of two sizes, so that the overhead can be told from the rows; then at
two steady rates, for the latency. The largest one loses its driver once, because downtime decides about recoveries
(phoebe.md 2.8 g). The same learning that watches production does all of it.
"""

from dataclasses import replace

import numpy as np

from sluice.core.deciding.situation import Bounds
from sluice.core.modelling.capacity import CapacityModel
from sluice.core.modelling.downtime import Cause
from sluice.core.modelling.latency import LatencyPoint
from sluice.core.modelling.shapes import Slots
from sluice.core.series import NoData
from sluice.core.simulation.job import Failure, Loss, SimulatedJob
from sluice.core.simulation.learning import Experience
from sluice.core.simulation.metrics import Metrics
from sluice.core.simulation.plant import Plant
from sluice.core.simulation.trace import Trace

SCALE_OUTS = 4
SECONDS = 300
"""Of each measurement; the first part, in which executors are cold, is told apart by the batches themselves."""

BATCHES = (5.0, 15.0)
"""Seconds of work at the expected peak, to which the batches of a backlog are limited."""

UTILISATIONS = (0.4, 0.8)


def unprofiled(plant: Plant) -> Experience:
    """What is known of a job from its declaration alone: its slots."""
    experience = Experience()
    slots = Slots(cores=plant.cores, tasks=plant.tasks)
    models = replace(experience.models, capacity=CapacityModel(slots=slots))
    return replace(experience, models=models)


def scale_outs(bounds: Bounds, count: int = SCALE_OUTS) -> tuple[int, ...]:
    """Equally spaced numbers of executors, both bounds included (phoebe.md 2.2, 5.9)."""
    spaced = np.linspace(bounds.smallest, bounds.largest, max(2, count))
    return tuple(sorted({int(at + 0.5) for at in spaced}))


def profiled(plant: Plant, seed: int, count: int = SCALE_OUTS) -> tuple[Experience, float]:
    """Profile a plant; tells the price in executor-seconds."""
    experience, spent = unprofiled(plant), 0.0
    sizes = scale_outs(plant.bounds, count)
    for number, executors in enumerate(sizes):
        for batch in BATCHES:
            rows = plant.peak * batch * executors / plant.bounds.largest
            limited = replace(plant, most_rows=rows)
            experience, price = _measured(
                experience, _copy(limited, 3 * plant.peak, executors, seed + number)
            )
            spent += price
        for share in UTILISATIONS:
            experience, price = _steady(experience, plant, executors, share, seed + number)
            spent += price
    experience, price = _outage(experience, plant, sizes[-1], seed)
    return experience, spent + price


def _copy(
    plant: Plant, rate: float, executors: int, seed: int, failures: tuple[Failure, ...] = ()
) -> SimulatedJob:
    trace = Trace(name="profile", rates=np.full(SECONDS, float(rate)))
    return SimulatedJob(plant, trace, seed, executors, failures)


def _measured(experience: Experience, job: SimulatedJob) -> tuple[Experience, float]:
    metrics = Metrics(job, job.seed)
    while job.now < SECONDS:
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
    job = _copy(plant, rate, executors, seed)
    job.advance(SECONDS)
    scrape = Metrics(job, seed).scrape()
    if scrape and not isinstance(scrape.latency, NoData):
        point = LatencyPoint(executors=executors, rate=rate, seconds=scrape.latency, profiled=True)
        experience = replace(experience, latency_at=-SECONDS).with_latency(point, 0.0)
    return replace(experience, latency_at=0.0), job.executor_seconds


def _outage(
    experience: Experience, plant: Plant, executors: int, seed: int
) -> tuple[Experience, float]:
    at = SECONDS / 4
    failure = Failure(at=at, loss=Loss.DRIVER)
    job = _copy(plant, plant.peak / 4, executors, seed, (failure,))
    job.advance(at)
    return _measured(experience.with_outage(Cause.DRIVER_LOSS, at), job)
