"""What a rescale costs in outage, by the better of its ways, and whether it pays.

A second without processing is priced in executor-seconds: so many times the executors that the job needs at the
highest load that is remembered. What an outage costs in these is the inventory of an (s, S) policy (Scarf, 1960): so
many executors too many for one horizon are as good as one outage more.
"""

import math
from dataclasses import dataclass

from sluice.core.deciding.assessing import INFINITE, Trial, pace
from sluice.core.deciding.situation import Situation
from sluice.core.modelling.capacity import Capacity
from sluice.core.modelling.recovery import Recovered
from sluice.core.modelling.rescaling import Path, rescale_cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """The way of a rescale, and the seconds from its begin until the job has caught up."""

    path: Path
    outage: float


def shortest_way(situation: Situation, trial: Trial, capacity: float) -> Way:
    """The way with the shorter outage, of those that the driver allows."""
    paths = (Path.LIVE, Path.RESTART) if situation.live else (Path.RESTART,)
    ways = [Way(path=path, outage=_outage(situation, trial, capacity, path)) for path in paths]
    return min(ways, key=lambda way: way.outage)


def price_in_executors(
    situation: Situation, trial: Trial, capacity: Capacity, way: Way, price: float
) -> float:
    """How many executors too many, for one horizon, cost as much as the outage."""
    if way.outage >= trial.horizon:
        return INFINITE
    highest = max((rate for _, rate in situation.history), default=0.0)
    each = capacity.rate(situation.executors) / situation.executors
    size = situation.bounds.clipped(math.ceil(min(highest / each, 1e9)) if each > 0 else 1)
    return price * way.outage * size / (trial.horizon - way.outage)


def _outage(situation: Situation, trial: Trial, capacity: float, path: Path) -> float:
    recovery = rescale_cost(
        path,
        trial.load,
        pace(trial.batching, capacity),
        interval=trial.interval,
        downtimes=situation.models.downtimes,
        share=0.5,
    ).recovery
    return recovery.seconds if isinstance(recovery, Recovered) else INFINITE
