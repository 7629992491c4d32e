"""What a rescale costs in outage, by the better of its ways, and whether it pays.

A second of outage is priced in executor-seconds: so many times the executors that the highest load needs that is
remembered. One in which records come late is taken from the error budget, and is the dearer, the smaller that is. With
such a price a change of size is an order in an inventory of executors (s, S; Scarf, 1960): too many of them for a while
may be cheaper than one rescale more. Under a need that grows steadily, the cheapest step is that of Harris (1913).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sluice.core.deciding.assessing import INFINITE, Trial, pace
from sluice.core.deciding.situation import Situation
from sluice.core.modelling.capacity import Capacity
from sluice.core.modelling.downtime import Cause
from sluice.core.modelling.recovery import Pace, Recovered
from sluice.core.modelling.rescaling import Path, rescale_cost

PROVEN = 3
"""Live rescales that must have been seen before a restart can be thought better: one of them was bad luck, and once
executors come and go by restarts, nobody learns that the others would have been better.
"""


EXPLORED = 4
"""Rescales by a restart in a row, after which one is live again: what made them slow may be over, and restarts teach
nothing of that."""


SERVED = 0.5
"""The share of a capacity for which its executors are usually chosen: the rest is for recoveries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a second of outage, and one of late records, is worth: in seconds of all executors that the highest load
    needs.
    """

    outage: float
    late: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescale:
    """The way of a rescale, the seconds from its begin until all is caught up, and its cost in executor-seconds.

    `spent` are the seconds that it takes from the error budget, if they are what makes it dear, else 0. `back` are
    those of the outage on the way back, if that counts, too.
    """

    path: Path
    outage: float
    cost: float
    spent: float = 0.0
    back: float = 0.0

    def followed_by(self, other: "Rescale", *, share: float) -> "Rescale":
        """This one, and the way back, of whose cost such a share counts."""
        return replace(
            self,
            cost=self.cost + share * other.cost,
            spent=self.spent + other.spent,
            back=other.outage,
        )

    def break_even(self, horizon: float) -> float:
        """So many executors too many until the horizon are as good as this rescale."""
        return self.cost / (horizon - self.outage) if self.outage < horizon else INFINITE

    def reserve(self, growth: float) -> float:
        """So many executors beyond the need are cheapest, if the need grows by so many each second."""
        return math.sqrt(2 * growth * self.cost) if growth > 0 else 0.0


def cheapest_rescale(
    situation: Situation, trial: Trial, capacity: Capacity, executors: int, *, price: Price
) -> Rescale:
    """The rescale to so many executors by the way with the shorter outage, of those that the driver allows."""
    live = Path.LIVE.cause(situation.executors, executors)
    is_seen = bool(situation.models.downtimes.causes[live].observed)
    # What those that stay have to load of the state that others kept, only such a rescale tells.
    if live is Cause.RELEASE_LIVE and not (is_seen or situation.observed.state == 0):
        live = Cause.GROWTH_LIVE
    return _cheapest(situation, trial, capacity, executors, price, live)


def way_back(
    situation: Situation, trial: Trial, capacity: Capacity, executors: int, *, price: Price
) -> Rescale:
    """The rescale that undoes one to so many executors, when all of them have as little to spare as these have now."""
    return _cheapest(situation, trial, capacity, executors, price, Cause.GROWTH_LIVE)


def _cheapest(
    situation: Situation,
    trial: Trial,
    capacity: Capacity,
    executors: int,
    price: Price,
    live: Cause,
) -> Rescale:
    after = pace(trial.batching.on(executors, trial.likely), capacity.rate(executors))
    outages = {
        path: _outage(situation, trial, after, cause)
        for path, cause in _ways(situation, live).items()
    }
    path = min(outages, key=lambda path: outages[path].seconds)
    found = outages[path]
    usual, late = price.outage * found.seconds, price.late * found.late
    size = max(_largest_need(situation, trial, capacity, executors), situation.executors)
    return Rescale(
        path=path,
        outage=found.seconds,
        cost=max(usual, late) * size,
        spent=found.late if late > usual else 0.0,
    )


def _ways(situation: Situation, live: Cause) -> Mapping[Path, Cause]:
    """The ways that the driver allows, and that can be thought better; what a live rescale is to be judged by."""
    restart = {Path.RESTART: Cause.RESCALE_RESTART}
    if not situation.live:
        return restart
    downtimes = situation.models.downtimes
    is_known = len(downtimes.causes[live].observed) >= PROVEN and downtimes.restarts < EXPLORED
    return {Path.LIVE: live} | (restart if is_known else {})


def _largest_need(situation: Situation, trial: Trial, capacity: Capacity, executors: int) -> int:
    """The executors for the highest load that is remembered, if the peak needs so many.

    The fewest that are allowed may be more than the peak needs: then what they can serve counts.
    """
    highest = max((rate for _, rate in situation.history), default=0.0)
    is_fewest = executors == situation.bounds.smallest
    served = max(trial.peak, SERVED * capacity.rate(executors)) if is_fewest else trial.peak
    if served <= 0:
        return executors
    needed = math.ceil(min(executors * highest / served, 1e9))
    return situation.bounds.clipped(max(executors, needed))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outage:
    """Its seconds, and those of them in which records arrive that will be committed later than promised."""

    seconds: float
    late: float


_ENDLESS = _Outage(seconds=INFINITE, late=INFINITE)


def _outage(situation: Situation, trial: Trial, after: Pace, cause: Cause) -> _Outage:
    recovery = rescale_cost(
        cause,
        trial.load,
        after,
        interval=trial.interval,
        downtimes=situation.models.downtimes,
        share=0.5,
    ).recovery
    if not isinstance(recovery, Recovered):
        return _ENDLESS
    return _Outage(seconds=recovery.seconds, late=_late(recovery, situation.targets.latency))


def _late(recovery: Recovered, bound: float | None) -> float:
    """The seconds in which records arrive that will be late.

    The first ones wait for the downtime and the first batch. From there the wait falls steadily until all is caught up,
    as that of a fluid queue does. Where no latency is promised, it is all of the outage that breaks what else is.
    """
    if bound is None:
        return recovery.seconds
    longest = recovery.seconds - math.fsum(recovery.batches[1:])
    return recovery.seconds * (1 - bound / longest) if longest > bound else 0.0
