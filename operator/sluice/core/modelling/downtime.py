"""How long a job does not process, by what made it stop: learned, never configured.

A downtime runs from the failure, or from the moment a rescale took executors or the driver away, until a batch begins
again. The first batch itself is not in it, because the recursion of `recovery` counts it. A constant set by hand made
Phoebe miss its own targets: the published runs assumed 90 s where the evaluation shows 140 s (phoebe.md 2.8 g).

Until one is observed, the priors are what was measured on a small cluster with busy nodes. That is pessimistic, and
the first observation replaces their level. Where a new driver is needed, the job's own newest start does so before:
JVM, session, executors and the program up to its first query are the same work, and so is what the first batch took
longer than its rows explain. What comes before the program is added: the pause after a failure, which the job's spec
declares, and what the next pod takes. A live rescale has no such start: other executors work while the new ones begin,
so it holds batches up by no more than a first batch on cold executors did.
"""

import math
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
    GROWTH_LIVE = "RescaleLive"
    """Executors came under a living driver. Former releases stored the downtime of those that went with it."""
    RELEASE_LIVE = "ReleaseLive"
    """Executors were given back under a living driver: none of the others is cold, though they may have state to load.
    """
    RESCALE_RESTART = "RescaleRestart"
    """The driver was stopped and another one started on the same checkpoint."""


LEAST_LIVE = 1.0
"""Seconds that a live rescale is taken to hold batches up at least, until one was seen."""

PRIORS: Mapping[Cause, Learned] = {
    Cause.EXECUTOR_LOSS: Learned(median=25, spread=0.5),
    Cause.DRIVER_LOSS: Learned(median=65, spread=0.4),
    Cause.GROWTH_LIVE: Learned(median=15, spread=0.5),
    Cause.RELEASE_LIVE: Learned(median=LEAST_LIVE, spread=0.5),
    Cause.RESCALE_RESTART: Learned(median=60, spread=0.4),
}
"""That of a lost driver is without the pause before the next one, that of a release without state to load."""

PAUSE = 10.0
"""Seconds of that pause where the job's own is not known: the default of `spec.restart.initialBackoff`."""

NEXT_POD = 5.0
"""Seconds that pass besides until the next driver's program begins. After a loss the kubelet tells of the end, within a
second or two; a pod is scheduled, its container starts, and its agent takes the Lease, which is handed over at once.
After a stop in order the last batch and the pod have to end first.
"""

FIRST_BATCH = 15.0
"""Seconds that a new driver's first batch takes longer than its rows explain, where that is not known: as measured on
a small cluster with small executors. The other priors have it in them.
"""

STARTING = frozenset({Cause.DRIVER_LOSS, Cause.RESCALE_RESTART})
"""What needs a new driver."""

LIVE = frozenset({Cause.GROWTH_LIVE, Cause.RELEASE_LIVE})
"""Rescales that leave the driver as it is."""

ACCIDENT = 3.0
"""An absence that is so many times as long as a start explains had another reason, too."""

LONGEST_START = 3600.0
"""Seconds; a longer start is taken for an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Downtimes:
    """The seconds without processing, learned for each cause.

    `start` is what the newest driver's program took until its first query, if that was seen: former ones may have been
    of another image. `excess` is what its first batch took longer than its rows explain. `pause` is declared: so long
    the next driver waits after a failure. None is not known. They speak where a cause was not observed, and only for
    the median. `restarts` are the rescales by a restart since the last live one.
    """

    causes: Mapping[Cause, Learned] = field(default_factory=lambda: dict(PRIORS))
    start: float | None = None
    excess: float | None = None
    pause: float | None = None
    restarts: int = 0

    def __post_init__(self) -> None:
        if not all(is_start(part) for part in (self.start, self.excess) if part is not None):
            raise ValueError(f"{self}: a start takes 0 to {LONGEST_START} seconds")
        if self.pause is not None and not 0 <= self.pause < math.inf:
            raise ValueError(f"{self}: a pause takes 0 seconds or more")

    def with_start(self, seconds: float) -> "Downtimes":
        """The newest driver's start; what is negative, not finite or too long is none."""
        return replace(self, start=seconds) if is_start(seconds) else self

    def with_excess(self, seconds: float | None) -> "Downtimes":
        """What the newest driver's first batch took longer, by what is known now; what is too long tells nothing."""
        is_told = seconds is not None and is_start(seconds)
        return replace(self, excess=seconds if is_told else None)

    def with_pause(self, seconds: float) -> "Downtimes":
        """The pause as it is declared now. Losses that were seen with another one say nothing of the next."""
        is_other = self.pause is not None and self.pause != seconds
        lost = PRIORS[Cause.DRIVER_LOSS] if is_other else self.causes[Cause.DRIVER_LOSS]
        return replace(self, pause=seconds, causes={**self.causes, Cause.DRIVER_LOSS: lost})

    def with_observation(self, cause: Cause, seconds: float) -> "Downtimes":
        """One more downtime; what is not finite, or negative, is none."""
        learned = self.causes[cause].with_observation(seconds)
        restarts = 0 if cause in LIVE else self.restarts + (cause is Cause.RESCALE_RESTART)
        return replace(self, causes={**self.causes, cause: learned}, restarts=restarts)

    def of(self, cause: Cause) -> Learned:
        """What is known of a cause: `estimate()` and `quantile(share)` in seconds."""
        learned = self._without_accident(cause)
        if learned.observed:
            return learned
        if cause is Cause.GROWTH_LIVE and self.excess is not None:
            return replace(learned, median=min(learned.median, max(LEAST_LIVE, self.excess)))
        return replace(learned, median=self._pause(cause) + self._without_pause(cause))

    def _without_accident(self, cause: Cause) -> Learned:
        """One absence that was far longer than a start explains is left out; two are no accident.

        An image that could not be pulled, or a program that failed a few times in a row, say little of the next loss.
        """
        learned = self.causes[cause]
        if cause not in STARTING:
            return learned
        longest = ACCIDENT * (self._pause(cause) + self._without_pause(cause))
        usual = [seconds for seconds in learned.observed if seconds <= longest]
        is_accident = len(usual) == len(learned.observed) - 1
        return learned.with_history(usual) if is_accident else learned

    def _pause(self, cause: Cause) -> float:
        """A stop in order is followed by none."""
        if cause is not Cause.DRIVER_LOSS:
            return 0.0
        return PAUSE if self.pause is None else self.pause

    def _without_pause(self, cause: Cause) -> float:
        if self.start is None or cause not in STARTING:
            return self.causes[cause].median
        return NEXT_POD + self.start + (FIRST_BATCH if self.excess is None else self.excess)

    def to_data(self) -> Data:
        """Plain data for `from_data`; the priors belong to the release and are not stored."""
        observed = {
            cause.value: list(learned.observed)
            for cause, learned in self.causes.items()
            if learned.observed
        }
        return sealed(
            "Downtimes",
            VERSION,
            observed=observed,
            start=self.start,
            excess=self.excess,
            pause=self.pause,
            restarts=self.restarts,
        )


def is_start(seconds: float) -> bool:
    """Whether a driver's program can have taken so long to start, or its first batch so much longer."""
    return 0 <= seconds <= LONGEST_START


def from_data(data: object) -> Downtimes:
    """Read what `to_data` wrote. Raises CorruptState."""
    with opened(data, "Downtimes", VERSION) as fields:
        observed = {
            Cause(name): PRIORS[Cause(name)].with_history(numbers)
            for name, numbers in fields["observed"].items()
        }
        return Downtimes(
            causes={**PRIORS, **observed},
            # Releases that did not know of them stored none.
            start=_seconds(fields.get("start")),
            excess=_seconds(fields.get("excess")),
            pause=_seconds(fields.get("pause")),
            restarts=int(fields.get("restarts", 0)),
        )


def _seconds(stored: object) -> float | None:
    return None if stored is None else float(stored)  # type: ignore[arg-type]  # else CorruptState
