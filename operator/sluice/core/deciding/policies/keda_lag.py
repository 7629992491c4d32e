"""KEDA's Apache Kafka scaler: so many executors that each has no more than a fixed lag.

The lag is an external metric with an average target, given to a Horizontal Pod Autoscaler. Never more consumers than
partitions (KEDA documentation, "Apache Kafka": lagThreshold 10 by default, allowIdleConsumers false). The default suits
queues; for streams the threshold is the knob to turn.
"""

from dataclasses import dataclass

from sluice.core.deciding.decision import Decision
from sluice.core.deciding.policies.replicas import Behaviour
from sluice.core.deciding.policies.replies import held
from sluice.core.deciding.situation import Situation
from sluice.core.series import NoData

LATENESS = 5.0
"""Seconds of an executor's work that may wait before another one is added, where nobody has said how many rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KedaLag:
    """The rows that may wait for each executor, and how hastily to get there."""

    threshold: float = 10.0
    tolerance: float = 0.1
    stabilisation: float = 300.0

    def __call__(self, situation: Situation) -> Decision:
        """Decide as KEDA and Kubernetes do."""
        lag = situation.observed.lag
        if isinstance(lag, NoData):
            return held(situation, f"left as it is: {lag.reason}")
        slots = situation.models.capacity.slots
        most = self.threshold * (slots.tasks or situation.bounds.largest)
        ratio = min(lag, most) / (self.threshold * max(1, situation.running))
        behaviour = Behaviour(tolerance=self.tolerance, stabilisation=self.stabilisation)
        return behaviour.decided(situation, ratio, f"{lag:.0f} rows wait")
