"""The Horizontal Pod Autoscaler on processor utilisation. Its default target is 80 %; Phoebe was compared with 35 %."""

from dataclasses import dataclass

from sluice.core.deciding.decision import Decision
from sluice.core.deciding.policies.replicas import Behaviour
from sluice.core.deciding.policies.replies import held
from sluice.core.deciding.situation import Situation
from sluice.core.series import NoData


@dataclass(frozen=True, slots=True, kw_only=True)
class Hpa:
    """The share of the requested processors that should be busy, and how hastily to get there."""

    target: float = 0.8
    tolerance: float = 0.1
    stabilisation: float = 300.0

    def __call__(self, situation: Situation) -> Decision:
        """Decide as Kubernetes does."""
        cpu = situation.observed.cpu
        if isinstance(cpu, NoData):
            return held(situation, f"left as it is: {cpu.reason}")
        behaviour = Behaviour(tolerance=self.tolerance, stabilisation=self.stabilisation)
        return behaviour.decided(situation, cpu / self.target, f"{cpu:.0%} of the processors")
