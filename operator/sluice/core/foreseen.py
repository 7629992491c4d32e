"""What was foreseen of a job when it was decided about: its load in a while, and what its present executors can do.

A few numbers that are told as metrics, to be compared with what then came. The forecast itself, and the models, are in
the situation; that is far too large to be kept for each job.
"""

from dataclasses import dataclass

from sluice.core.deciding.situation import Forecast, Situation
from sluice.core.series import NoData

AHEAD = 300.0
"""Seconds from the decision until the moment whose load is told; the shortest horizon may be less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """Rows per second, with the range in which four of five lie."""

    rate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """The load `AHEAD` of the decision, and the capacity of the present executors; None is not known."""

    load: Band | None = None
    capacity: Band | None = None


def foreseen(situation: Situation) -> Foreseen:
    """What a situation foresees."""
    return Foreseen(load=_load(situation.forecast), capacity=_capacity(situation))


def _load(forecast: Forecast | NoData) -> Band | None:
    if isinstance(forecast, NoData):
        return None
    later = (place for place, at in enumerate(forecast.times) if at >= AHEAD)
    place = next(later, len(forecast.times) - 1)
    return Band(rate=forecast.rates[place], low=forecast.low[place], high=forecast.high[place])


def _capacity(situation: Situation) -> Band | None:
    fitted = situation.models.capacity.fitted()
    if isinstance(fitted, NoData):
        return None
    estimate = fitted.estimate(situation.executors)
    return Band(rate=estimate.value, low=estimate.low, high=estimate.high)
