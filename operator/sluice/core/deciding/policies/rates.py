"""Rates as the rivals compute them, from what is measured now and not from learned models."""

from sluice.core.deciding.situation import Situation
from sluice.core.series import Measured, NoData

LEAST_BUSY = 0.01
"""A job that is less busy has no true rate worth the name."""


def true_rate(situation: Situation) -> Measured:
    """Rows per second if the job were always busy (DS2: Kalavri et al., OSDI 2018)."""
    processing, busy = situation.observed.processing, situation.observed.busy
    if isinstance(processing, NoData):
        return processing
    if isinstance(busy, NoData):
        return busy
    if busy < LEAST_BUSY or processing <= 0:
        return NoData("the job is hardly ever busy")
    return processing / min(busy, 1.0)


def mean_arrival(situation: Situation, seconds: float) -> Measured:
    """Rows per second that arrived over the last seconds; more than they were where that is more than an hour."""
    rates = [rate for at, rate in situation.history if -seconds <= at <= 0 and rate >= 0]
    return sum(rates) / len(rates) if rates else situation.observed.arrival
