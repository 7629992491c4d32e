"""How the Horizontal Pod Autoscaler turns a ratio into replicas, with the behaviour that Kubernetes sets by default.

desired = ceil(current x ratio), and no change within the tolerance of 0.1. Up at once, by at most the double or four
pods in 15 seconds; down to the largest number recommended within the last 300 seconds (Kubernetes documentation,
"Horizontal Pod Autoscaling": algorithm details, default behavior).
"""

import math
from dataclasses import dataclass

from sluice.core.deciding.decision import Decision
from sluice.core.deciding.policies.replies import largest_wish, reply
from sluice.core.deciding.situation import Situation
from sluice.core.quantities import format_executors


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """The defaults of Kubernetes; times are in seconds."""

    tolerance: float = 0.1
    stabilisation: float = 300.0
    period: float = 15.0
    most_pods: int = 4
    most_percent: float = 100.0

    def decided(self, situation: Situation, ratio: float, measured: str) -> Decision:
        """What becomes of a ratio of the measured number to its target."""
        current = situation.executors
        recommended = self.recommended(max(1, situation.running), ratio)
        stable = min(current, largest_wish(situation, recommended, self.stabilisation))
        executors = stable if recommended < current else min(recommended, self._most(situation))
        reason = f"{measured}, {ratio:.2f} of the target: {format_executors(recommended)}"
        return reply(situation, recommended, reason, executors=executors)

    def recommended(self, current: int, ratio: float) -> int:
        """The rule itself (phoebe.md 5.17)."""
        if abs(ratio - 1) <= self.tolerance:
            return current
        # Ten percent of 36 % of 10 is 10.000000000000002 otherwise, and one pod more.
        return math.ceil(min(current * ratio, 1e9) - 1e-9)

    def _most(self, situation: Situation) -> int:
        """The most that may be reached in the periods since the last decision."""
        elapsed = -situation.wishes[-1].at if situation.wishes else self.period
        most = situation.executors
        for _ in range(min(20, max(1, int(elapsed / self.period)))):
            most = max(most + self.most_pods, math.ceil(most * (1 + self.most_percent / 100)))
        return most
