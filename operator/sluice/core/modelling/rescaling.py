"""What a rescale costs: the outage that it makes itself, on both of its ways.

    live       executors come or go under the driver: nothing is replayed, but batches wait for cold executors and state
    restart    a new driver on the same checkpoint: what was not committed is replayed

Whether it pays is for the policies to decide.
"""

from dataclasses import dataclass
from enum import StrEnum

from sluice.core.modelling.downtime import Cause, Downtimes
from sluice.core.modelling.estimates import Estimate
from sluice.core.modelling.load import Load
from sluice.core.modelling.recovery import Outage, Pace, Recovered, Recovery, predicted_recovery
from sluice.core.series import Measured, NoData


class Path(StrEnum):
    """The way of a rescale."""

    LIVE = "Live"
    RESTART = "Restart"

    @property
    def cause(self) -> Cause:
        """What its downtime is learned as."""
        return Cause.RESCALE_LIVE if self is Path.LIVE else Cause.RESCALE_RESTART


@dataclass(frozen=True, slots=True, kw_only=True)
class RescaleCost:
    """The downtime with its range, the recovery, and the rows that are late because of both."""

    path: Path
    downtime: Estimate
    recovery: Recovery
    late_rows: Measured


def rescale_cost(
    path: Path, load: Load, after: Pace, *, interval: float, downtimes: Downtimes, share: float
) -> RescaleCost:
    """The cost of a rescale that begins now and works at the pace `after` from then on.

    `interval` is the age of the last commit in seconds. The downtime is the quantile of which `share` is not exceeded:
    0.5 for what to expect, more to be safe.
    """
    learned = downtimes.of(path.cause)
    replayed = interval if path is Path.RESTART else 0.0
    outage = Outage(downtime=learned.quantile(share), interval=replayed)
    recovery = predicted_recovery(load, outage, after)
    return RescaleCost(
        path=path,
        downtime=learned.estimate(),
        recovery=recovery,
        late_rows=_late_rows(load, replayed, recovery),
    )


def _late_rows(load: Load, replayed: float, recovery: Recovery) -> Measured:
    if isinstance(recovery, Recovered):
        return load.between(-replayed, recovery.seconds)
    return NoData(recovery.reason)
