"""TWRES (Hu, Kang, Zheng: 2019), made for Spark, as Phoebe was compared with it: with Phoebe's profile and forecast.

The smallest scale-out whose capacity exceeds the forecast; one more while the latency is too high. No reserve for a
recovery (phoebe.md 2.5).
"""

from dataclasses import dataclass

from sluice.core.deciding.decision import Decision
from sluice.core.deciding.outlook import expected_load
from sluice.core.deciding.policies.replies import held, reply, steady_for
from sluice.core.deciding.situation import Situation
from sluice.core.modelling.capacity import Capacity
from sluice.core.quantities import format_executors
from sluice.core.series import NoData


@dataclass(frozen=True, slots=True, kw_only=True)
class Twres:
    """The parameters of the comparison; times are in seconds."""

    latency: float = 2.0
    horizon: float = 600.0
    evaluation: float = 600.0

    def __call__(self, situation: Situation) -> Decision:
        """Decide on the mean of the forecast."""
        load, capacity = expected_load(situation), situation.models.capacity.fitted()
        if steady_for(situation) < self.evaluation:
            return held(situation, f"left as it is for {self.evaluation:.0f} s")
        if isinstance(load, NoData):
            return held(situation, f"left as it is: {load.reason}")
        if isinstance(capacity, NoData):
            return held(situation, f"left as it is: {capacity.reason}")
        return self._chosen(situation, load.between(0, self.horizon) / self.horizon, capacity)

    def _chosen(self, situation: Situation, need: float, capacity: Capacity) -> Decision:
        current, latency = situation.executors, situation.observed.latency
        smallest = smallest_above(situation, need, capacity)
        if need >= capacity.rate(current):
            return reply(situation, smallest, f"{need:.0f} rows/s are more than {current} can do")
        if isinstance(latency, NoData):
            return held(situation, f"left as it is: {latency.reason}")
        if latency > self.latency:
            return reply(situation, current + 1, f"latency {latency:.1f} s: one executor more")
        return reply(
            situation, smallest, f"{format_executors(smallest)} can do more than {need:.0f} rows/s"
        )


def smallest_above(situation: Situation, rate: float, capacity: Capacity) -> int:
    """The smallest allowed number with more capacity than the rate; else the one with most."""
    useful = capacity.useful(range(situation.bounds.smallest, situation.bounds.largest + 1))
    return next((count for count in useful if capacity.rate(count) > rate), useful[-1])
