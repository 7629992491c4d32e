"""How long a job does not process, by what made it stop: learned, never configured.

A downtime runs from the failure, or from the moment a rescale took executors or the driver away, until a batch begins
again. The first batch itself is not in it, because the recursion of `recovery` counts it. A constant set by hand made
Phoebe miss its own targets: the published runs assumed 90 s where the evaluation shows 140 s (phoebe.md 2.8 g).

Until one is observed, the priors are what was measured on a small cluster with busy nodes. That is pessimistic, and
the first observation replaces their level. Where a new driver is needed, the job's own newest start does so before:
JVM, session, executors and the program up to its first query are the same work. What comes before the program is added.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from sluice.core.modelling.estimates import Learned
from sluice.core.modelling.stored import Data, opened, sealed

VERSION = 1


class Cause(StrEnum):
    """What made the job stop."""

    EXECUTOR_LOSS = "ExecutorLoss"
    """Its tasks are tried again on other executors; the driver lives."""
    DRIVER_LOSS = "DriverLoss"
    """A new driver, its JVM, new executors, state loaded from the checkpoint."""
    RESCALE_LIVE = "RescaleLive"
    """Executors came or went under a living driver."""
    RESCALE_RESTART = "RescaleRestart"
    """The driver was stopped and another one started on the same checkpoint."""


PRIORS: Mapping[Cause, Learned] = {
    Cause.EXECUTOR_LOSS: Learned(median=25, spread=0.5),
    Cause.DRIVER_LOSS: Learned(median=75, spread=0.4),
    Cause.RESCALE_LIVE: Learned(median=15, spread=0.5),
    Cause.RESCALE_RESTART: Learned(median=60, spread=0.4),
}


BEFORE_START: Mapping[Cause, float] = {Cause.DRIVER_LOSS: 15, Cause.RESCALE_RESTART: 5}
"""Seconds until the next driver's program begins. After a loss that is to see it, the pause of
`spec.restart.initialBackoff` (10 by default), a new pod and its agent. A stop in order has no such pause, but the last
batch and the pod end first.
"""

LONGEST_START = 3600.0
"""Seconds; a longer start is taken for an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Downtimes:
    """The seconds without processing, learned for each cause.

    `start` is what the newest driver's program took until its first query, if that was seen: former ones may have been
    of another image. It speaks where a cause was not observed, and only for the median.
    """

    causes: Mapping[Cause, Learned] = field(default_factory=lambda: dict(PRIORS))
    start: float | None = None

    def __post_init__(self) -> None:
        if self.start is not None and not is_start(self.start):
            raise ValueError(f"{self}: a start takes 0 to {LONGEST_START} seconds")

    def with_start(self, seconds: float) -> "Downtimes":
        """The newest driver's start; what is negative, not finite or too long is none."""
        return replace(self, start=seconds) if is_start(seconds) else self

    def with_observation(self, cause: Cause, seconds: float) -> "Downtimes":
        """One more downtime; what is not finite, or negative, is none."""
        learned = self.causes[cause].with_observation(seconds)
        return replace(self, causes={**self.causes, cause: learned})

    def of(self, cause: Cause) -> Learned:
        """What is known of a cause: `estimate()` and `quantile(share)` in seconds."""
        learned = self.causes[cause]
        if learned.observed or self.start is None or cause not in BEFORE_START:
            return learned
        return replace(learned, median=BEFORE_START[cause] + self.start)

    def to_data(self) -> Data:
        """Plain data for `from_data`; the priors belong to the release and are not stored."""
        observed = {
            cause.value: list(learned.observed)
            for cause, learned in self.causes.items()
            if learned.observed
        }
        return sealed("Downtimes", VERSION, observed=observed, start=self.start)


def is_start(seconds: float) -> bool:
    """Whether a driver's program can have taken so long to start."""
    return 0 <= seconds <= LONGEST_START


def from_data(data: object) -> Downtimes:
    """Read what `to_data` wrote. Raises CorruptState."""
    with opened(data, "Downtimes", VERSION) as fields:
        observed = {
            Cause(name): PRIORS[Cause(name)].with_history(numbers)
            for name, numbers in fields["observed"].items()
        }
        # Releases that did not learn from starts stored none.
        start = fields.get("start")
        return Downtimes(
            causes={**PRIORS, **observed}, start=None if start is None else float(start)
        )
