"""What a rescale costs: the outage that it makes itself, on both of its ways.

    live       executors come or go under the driver: nothing is replayed, but batches wait for cold ones, and for state
    restart    a new driver on the same checkpoint: what was not committed is replayed

Whether it pays is for the policies to decide.
"""

from dataclasses import dataclass
from enum import StrEnum

from sluice.core.modelling.downtime import STARTING, Cause, Downtimes
from sluice.core.modelling.estimates import Estimate
from sluice.core.modelling.load import Load
from sluice.core.modelling.recovery import Outage, Pace, Recovered, Recovery, predicted_recovery
from sluice.core.series import Measured, NoData


class Path(StrEnum):
    """The way of a rescale."""

    LIVE = "Live"
    RESTART = "Restart"

    def cause(self, before: int, after: int) -> Cause:
        """What the downtime of a rescale from so many executors to so many is learned as."""
        if self is Path.RESTART:
            return Cause.RESCALE_RESTART
        return Cause.GROWTH_LIVE if after >= before else Cause.RELEASE_LIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class RescaleCost:
    """The downtime with its range, the recovery, and the rows that are late because of both."""

    downtime: Estimate
    recovery: Recovery
    late_rows: Measured


def rescale_cost(
    cause: Cause, load: Load, after: Pace, *, interval: float, downtimes: Downtimes, share: float
) -> RescaleCost:
    """The cost of a rescale of that kind, which begins now and works at the pace `after` from then on.

    `interval` is the age of the last commit in seconds. The downtime is the quantile of which `share` is not exceeded:
    0.5 for what to expect, more to be safe.
    """
    learned = downtimes.of(cause)
    replayed = interval if cause in STARTING else 0.0
    outage = Outage(downtime=learned.quantile(share), interval=replayed)
    recovery = predicted_recovery(load, outage, after)
    return RescaleCost(
        downtime=learned.estimate(),
        recovery=recovery,
        late_rows=_late_rows(load, replayed, recovery),
    )


def _late_rows(load: Load, replayed: float, recovery: Recovery) -> Measured:
    if isinstance(recovery, Recovered):
        return load.between(-replayed, recovery.seconds)
    return NoData(recovery.reason)
