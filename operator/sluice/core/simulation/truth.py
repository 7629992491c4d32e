"""What is true of a plant and a trace, for those who may know it: the oracle, and the judge.

Policies never see it. It answers with the recursion of `modelling.recovery`, fed with the plant's own numbers.
"""

import math
from functools import lru_cache

import numpy as np

from sluice.core.modelling.load import Load, load
from sluice.core.modelling.recovery import Outage, Pace, Recovered, Recovery, predicted_recovery
from sluice.core.series import NoData
from sluice.core.simulation.job import Failure, Loss, seconds_lost
from sluice.core.simulation.plant import Plant
from sluice.core.simulation.trace import Rates, Trace

STEP = 10
"""Seconds that a point of a load sums up."""

AHEAD = 600
"""Seconds that are looked at."""


def load_from(trace: Trace, now: int) -> Load:
    """The load that is to come from a second on."""
    rates = trace.rates[min(now, trace.seconds - 1) :][:AHEAD]
    found = load(
        (float(at), float(rates[at : at + STEP].mean())) for at in range(0, len(rates), STEP)
    )
    if isinstance(found, NoData):
        raise ValueError(f"trace {trace.name} has no second {now}")
    return found


def true_pace(plant: Plant, executors: int, rate: float = math.inf) -> Pace:
    """How a plant works with so many executors, all of them warm, if so many rows per second come."""
    return Pace(
        capacity=plant.capacity(executors),
        overhead=plant.fixed(executors, rate),
        period=plant.period,
        most_rows=plant.most_rows,
    )


@lru_cache(maxsize=1)
def overflow(plant: Plant, trace: Trace) -> Rates:
    """The rows that wait at the end of each second, though all executors have worked from the beginning."""
    surplus = np.cumsum(trace.rates - true_pace(plant, plant.bounds.largest).sustained)
    return surplus - np.minimum.accumulate(np.minimum(surplus, 0.0))


def true_recovery(
    plant: Plant, trace: Trace, now: int, executors: int, downtime: float
) -> Recovery:
    """The recovery from a loss of the driver at a second, if no executor comes or goes."""
    coming = load_from(trace, now)
    pace = true_pace(plant, executors, coming.rate(0.0))
    interval = max(plant.checkpoint, plant.period, min(pace.ordinary(coming.rate(0.0)), AHEAD))
    return predicted_recovery(coming, Outage(downtime=downtime, interval=interval), pace)


def is_feasible(plant: Plant, trace: Trace, failure: Failure, seed: int) -> bool:
    """Whether the largest number of executors recovers within the target, however long this failure lasts."""
    downtime = seconds_lost(failure, plant, seed) + plant.cold + _reload(plant, failure.loss)
    recovery = true_recovery(plant, trace, int(failure.at), plant.bounds.largest, downtime)
    return isinstance(recovery, Recovered) and recovery.seconds <= plant.recovery


def _reload(plant: Plant, loss: Loss) -> float:
    """Until batches are as usual: one executor of all has its share of the state."""
    share = 1 if loss is Loss.DRIVER else 1 / plant.bounds.largest
    return plant.state_reload * share
