"""What was foreseen of a job when it was decided about: its load in a while, what its present executors can do, and how
long a recovery would take.

A few numbers that are told as metrics, to be compared with what then came. The forecast itself, and the models, are in
the situation; that is far too large to be kept for each job.
"""

from dataclasses import dataclass

from sluice.core.deciding.situation import Forecast, Observations, Situation
from sluice.core.modelling.downtime import Cause
from sluice.core.modelling.load import Load, constant_load, load
from sluice.core.modelling.recovery import Outage, Pace, Recovered, measured_recovery
from sluice.core.series import Measured, NoData

AHEAD = 300.0
"""Seconds from the decision until the moment whose load is told; the shortest horizon may be less."""

REPLAYED = 240
"""Samples of history that a replay can need: an hour."""


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


def likely_recovery(situation: Situation, cause: Cause) -> Measured:
    """The seconds in which the job as it is would recover from a failure now, as likely more as less.

    It ends where a measured one ends. A policy plans with more, because it has a promise to keep: a failure at
    the worst moment of its horizon, under the upper forecast, with a downtime that most are below.
    """
    capacity, arrival = situation.models.capacity.fitted(), situation.observed.arrival
    if isinstance(capacity, NoData):
        return capacity
    if isinstance(arrival, NoData):
        return arrival
    batching = situation.batching.on(situation.executors, arrival)
    outage = Outage(
        downtime=situation.models.downtimes.of(cause).quantile(0.5),
        interval=_uncommitted(situation.observed),
    )
    pace = Pace(
        capacity=capacity.rate(situation.executors),
        overhead=batching.overhead,
        period=batching.period,
        most_rows=batching.most_rows,
    )
    recovery = measured_recovery(_coming(situation, arrival), outage, pace)
    return recovery.seconds if isinstance(recovery, Recovered) else NoData(recovery.reason)


def _uncommitted(observed: Observations) -> float:
    """The seconds since the last committed batch began: what has arrived since then is in none."""
    age, batch = observed.commit_age, observed.batch
    if isinstance(age, NoData) or isinstance(batch, NoData):
        return 0.0
    return max(0.0, age + batch)


def _coming(situation: Situation, arrival: float) -> Load:
    forecast = situation.forecast
    ahead = [] if isinstance(forecast, NoData) else zip(forecast.times, forecast.rates, strict=True)
    found = load([*situation.history[-REPLAYED:], (0.0, arrival), *ahead])
    return constant_load(arrival) if isinstance(found, NoData) else found
