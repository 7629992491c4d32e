"""The policy that knows the future: the load to come, and what the plant can do. A bound on what promises cost.

It has the smallest number of executors with which every row is in time and every failure, whenever it strikes, would
be recovered from within the target: after an unlucky downtime, else after an ordinary one; where not even that can be
kept, it has all there are, until they have worked off what was too much for them, and is late for as short as can be.
It runs on an ideal plant, where executors come and go at once and cost nothing but their time. Only the failures
themselves are never foreseen. Who is cheaper breaks a promise that it keeps.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sluice.core.deciding.decision import Decision
from sluice.core.deciding.situation import Situation
from sluice.core.modelling.recovery import Recovered
from sluice.core.simulation.plant import Plant
from sluice.core.simulation.trace import EPOCH, Trace
from sluice.core.simulation.truth import STEP, load_from, overflow, true_pace, true_recovery

UNLUCKY = 1.28
"""Standard deviations: it is ready for downtimes that nine of ten do not exceed."""


def ideal(plant: Plant) -> Plant:
    """The plant without the price of a rescale."""
    return replace(
        plant,
        live=True,
        pending=0.0,
        start=0.0,
        cold=0.0,
        slowness=0.0,
        unevenness=0.0,
        state_reload=0.0,
        decommissioning=0.0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """The true plant, the true load, and the time between two decisions."""

    plant: Plant
    trace: Trace
    interval: float

    def __call__(self, situation: Situation) -> Decision:
        """Take the smallest number of executors that keeps all promises until the next decision."""
        now = int(situation.at - EPOCH)
        found = self._enough(now) or self.plant.bounds.largest
        return Decision(wanted=found, executors=found, reason="it knows the future")

    def _enough(self, now: int) -> int | None:
        """None if no number is, or if rows still wait that were too much for all executors together."""
        if overflow(self.plant, self.trace)[now] > 0:
            return None
        sizes = range(self.plant.bounds.smallest, self.plant.bounds.largest + 1)
        prompt = [executors for executors in sizes if self._is_prompt(executors, now)]
        unlucky = self.plant.driver_loss * math.exp(UNLUCKY * self.plant.spread)
        return next(self._recovering(prompt, now, unlucky), None) or next(
            self._recovering(prompt, now, self.plant.driver_loss), None
        )

    def _is_prompt(self, executors: int, now: int) -> bool:
        coming = load_from(self.trace, now)
        pairs = zip(coming.times, coming.rates, strict=True)
        rates = [rate for at, rate in pairs if at <= self.interval + STEP]
        # Tasks wait longest at the lowest rate, and rows take longest at the highest.
        pace = true_pace(self.plant, executors, min(rates))
        batch = pace.ordinary(max(rates))
        waited = max(self.plant.period, batch) + max(batch, pace.overhead)
        return waited + self.plant.floor <= self.plant.latency

    def _recovering(self, sizes: Iterable[int], now: int, downtime: float) -> Iterator[int]:
        for executors in sizes:
            recovery = true_recovery(self.plant, self.trace, now, executors, downtime)
            if isinstance(recovery, Recovered) and recovery.seconds <= self.plant.recovery:
                yield executors
