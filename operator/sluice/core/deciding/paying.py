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
class Rescale:
    """The way of a rescale, the seconds from its begin until the job has caught up, and what that costs."""

    path: Path
    outage: float
    price: float
    """Executors too many, for one horizon, that are as good as this outage."""


def cheapest_rescale(
    situation: Situation, trial: Trial, capacity: Capacity, executors: int, *, price: float
) -> Rescale:
    """The rescale to so many executors by the way with the shorter outage, of those that the driver allows."""
    paths = (Path.LIVE, Path.RESTART) if situation.live else (Path.RESTART,)
    rate = capacity.rate(executors)
    outages = {path: _outage(situation, trial, rate, path) for path in paths}
    path = min(paths, key=lambda path: outages[path])
    paid = INFINITE
    if outages[path] < trial.horizon:
        size = _largest_need(situation, rate / executors)
        paid = price * outages[path] * size / (trial.horizon - outages[path])
    return Rescale(path=path, outage=outages[path], price=paid)


def _largest_need(situation: Situation, each: float) -> int:
    """The executors of so many rows per second each for the highest load that is remembered."""
    highest = max((rate for _, rate in situation.history), default=0.0)
    needed = math.ceil(min(highest / each, 1e9)) if each > 0 else situation.executors
    return situation.bounds.clipped(needed)


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
