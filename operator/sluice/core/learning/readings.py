"""What a job shows over some minutes, to hold one time against another."""

from collections.abc import Iterable

from sluice.core.deciding.judging import Reading, lag_growth, mean
from sluice.core.learning.scrapes import Scrape
from sluice.core.series import NoData

BEFORE = 300.0
"""Seconds of load that stand before a rescale."""

LAGS = 600.0
"""Seconds of lag that are remembered: the longer, the less do batches hide whether it grows."""

Samples = Iterable[tuple[float, float]]


def reading(newest: Scrape, arrivals: Samples, lags: Samples, *, batch: float) -> Reading:
    """A reading from the newest scrape, and from samples of (seconds, rows per second) and of (seconds, rows).

    `batch` are the seconds of a batch, in which the lag rises and falls.
    """
    arrival = mean(rate for _, rate in arrivals)
    growth = arrival if isinstance(arrival, NoData) else lag_growth(lags, arrival * batch)
    return Reading(arrival=arrival, latency=newest.latency, growth=growth)
