"""What all contenders go through: one job, one load, the same failures at the same moments, the same promises."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from jobs.load import traces

EXECUTOR_KILLED, DRIVER_KILLED = "executor killed", "driver killed"
EXECUTORS_KILLED = "all executors killed"

STRIKES: Mapping[str, float] = {
    EXECUTOR_KILLED: 0.25,
    DRIVER_KILLED: 0.575,
    EXECUTORS_KILLED: 0.875,
}
"""Faults of `e2e.faults.catalogue`, and at which share of the load.

The first peak costs one executor; the driver is lost where the load begins to grow and a scaled job is small; all
executors are lost where the load falls.
"""

PREDICTED = frozenset((EXECUTOR_KILLED, DRIVER_KILLED))
"""Failures of which the models say how long a recovery takes; of all executors at once they know nothing."""

FETCH_WAIT = 0.5
"""Seconds that a task waits at most for the row after its last one: Kafka's default, fetch.max.wait.ms, as the jobs of
most users have it.
"""

SHORTEST = 4.0
"""Minutes: in less, each failure would strike before the job has recovered from the one before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    """A failure, and when it strikes."""

    fault: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The conditions of a run: rates in rows per second, durations in seconds unless told otherwise."""

    minutes: float = 40.0
    cycles: int = 2
    lowest: float = 100.0
    highest: float = 400.0
    seed: int = 1

    wait: int = 8
    """Milliseconds that a core waits for each row."""
    partitions: int = 24
    """Of the source, and so tasks of a batch: divisible by most numbers of executors."""
    most_rows: int = 3000
    """Of a batch: else the first one after an outage would take all that waits, and last for minutes."""
    period: float = 2.0
    history: int = 90_000
    """Rows that wait when the job begins: its profile is measured by them, and then its saturation."""
    smallest: int = 1
    largest: int = 6

    bound: float = 15.0
    share: float = 0.95
    """Of the rows that must be within the bound."""
    target: float = 240.0
    """Of a recovery."""

    interval: float = 10.0
    horizon: float = 150.0
    stabilisation: float = 50.0
    """Of decisions: a sixth of the defaults, as a cycle of twenty minutes is a sixth of one of two hours."""
    utilisation: float = 0.8
    """What the HorizontalPodAutoscaler aims at, by the CPU of a saturated executor: the default of Kubernetes."""

    @property
    def seconds(self) -> float:
        """How long the load lasts."""
        return self.minutes * 60

    @property
    def trace(self) -> str:
        """The load, as the generator is told of it: it begins low, as nothing arrives before."""
        return f"swell:{self.lowest:g},{self.highest:g},{self.seconds / self.cycles:g}"

    def rate(self, at: float) -> float:
        """Rows per second at a moment; none before the load began, or after its end."""
        if not 0 <= at < self.seconds:
            return 0.0
        return traces.parse_trace(self.trace)(at)

    @property
    def strikes(self) -> tuple[Strike, ...]:
        """All failures, in their order."""
        return tuple(
            Strike(fault=fault, at=math.floor(share * self.seconds))
            for fault, share in STRIKES.items()
        )

    def to_data(self) -> dict[str, Any]:
        """What must be the same for two runs to be compared."""
        return {
            **asdict(self),
            "strikes": {strike.fault: strike.at for strike in self.strikes},
        }
