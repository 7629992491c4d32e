"""DS2 (Kalavri, Liagouris, Hoffmann, Dimitrova, Forshaw, Roscoe: OSDI 2018): the parallelism that the true rate asks.

Of a single operator: executors = ceil(target rate / true rate of one). Defaults of the published configuration
(strymon-system/ds2, controller/config/ds2.toml): two intervals of 10 s of warm-up, one decision to act, no reserve.
"""

import math
from dataclasses import dataclass

from sluice.core.deciding.decision import Decision
from sluice.core.deciding.policies.rates import true_rate
from sluice.core.deciding.policies.replies import held, reply, steady_for
from sluice.core.deciding.situation import Situation
from sluice.core.series import NoData


@dataclass(frozen=True, slots=True, kw_only=True)
class Ds2:
    """The parameters of the scaling manager; times are in seconds."""

    warm_up: float = 20.0
    scaling_factor: float = 0.0
    """Executors beyond the optimum, as a share of it."""

    def __call__(self, situation: Situation) -> Decision:
        """Decide in one step."""
        arrival, rate = situation.observed.arrival, true_rate(situation)
        if steady_for(situation) < self.warm_up:
            return held(situation, "left as it is: warming up")
        if isinstance(arrival, NoData):
            return held(situation, f"left as it is: {arrival.reason}")
        if isinstance(rate, NoData):
            return held(situation, f"left as it is: {rate.reason}")
        each = rate / max(1, situation.running)
        wanted = math.ceil(min(arrival / each * (1 + self.scaling_factor), 1e9) - 1e-9)
        return reply(situation, wanted, f"{arrival:.0f} rows/s, and {each:.0f} with each executor")
