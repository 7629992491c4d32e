"""A fixed number of executors: the baseline that everything else is measured against."""

from dataclasses import dataclass

from sluice.core.deciding.decision import Decision
from sluice.core.deciding.policies.replies import reply
from sluice.core.deciding.situation import Situation
from sluice.core.quantities import format_executors


@dataclass(frozen=True, slots=True, kw_only=True)
class Static:
    """As many executors as given; without a number, as many as there are."""

    executors: int | None = None

    def __call__(self, situation: Situation) -> Decision:
        """Decide on the fixed number."""
        wanted = situation.executors if self.executors is None else self.executors
        return reply(situation, wanted, f"the policy is static: {format_executors(wanted)}")
