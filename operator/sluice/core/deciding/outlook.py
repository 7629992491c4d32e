"""The load to plan for: what was measured, joined with what is forecast.

The middle of a forecast is what to expect, its upper edge what to be ready for. A load that is already above that
edge has surprised the forecast: what arrives now is then the least to plan for. Without any forecast the load stays as
it is.
"""

import math
from statistics import median

from sluice.core.deciding.situation import Batching, Forecast, Situation
from sluice.core.forecasting.forecast import SILENT
from sluice.core.modelling.load import Load, load
from sluice.core.series import NoData

RECENT = 3600.0
"""Seconds of history that a plan can need: what is replayed after a failure is younger."""

MOMENT = 300.0
"""Seconds within which measurements count as those of now."""


def expected_load(situation: Situation) -> Load | NoData:
    """The load that is most likely."""
    return load((*_measured(situation), *_points(situation.forecast, upper_until=0.0)))


def upper_load(situation: Situation, until: float = math.inf) -> Load | NoData:
    """The load that is exceeded in one case of ten, and from a moment on the most likely one."""
    now, points = arriving(situation), _points(situation.forecast, upper_until=until)
    if not isinstance(now, NoData) and points and now > points[0][1]:
        points = [(at, max(rate, now)) for at, rate in points]
    return load((*_measured(situation), *points))


def arriving(situation: Situation) -> float | NoData:
    """The rows per second that arrive now: the median of the newest three numbers, so that one wild one is none."""
    numbers = [rate for at, rate in situation.history[-2:] if -MOMENT <= at <= 0]
    arrival = situation.observed.arrival
    if not isinstance(arrival, NoData):
        numbers.append(arrival)
    known = [rate for rate in numbers if 0 <= rate < float("inf")]
    return median(known) if known else NoData("it is not measured how many rows arrive")


def has_lost_its_source(situation: Situation) -> bool:
    """Whether nothing arrives, although the load is foreseen to go on."""
    now, forecast = arriving(situation), situation.forecast
    if isinstance(now, NoData) or isinstance(forecast, NoData):
        return False
    return now < SILENT * forecast.rates[0]


def is_rising(situation: Situation, seconds: float, share: float) -> bool:
    """Whether by more than that share more has arrived within so many seconds than within as many before them."""
    after = [rate for at, rate in situation.history if at >= -seconds]
    before = [rate for at, rate in situation.history if -2 * seconds <= at < -seconds]
    return bool(after and before) and median(after) > (1 + share) * median(before)


def highest(situation: Situation, before: float) -> float:
    """The largest rate that was measured more than so many seconds ago; 0 if none was."""
    return max((rate for at, rate in situation.history if at < -before), default=0.0)


def peak(load: Load, horizon: float) -> float:
    """The largest rate from now to the horizon."""
    inside = [rate for at, rate in zip(load.times, load.rates, strict=True) if 0 <= at <= horizon]
    return max(load.rate(0.0), load.rate(horizon), *inside)


def moved(load: Load, seconds: float) -> Load:
    """The same load, seen from a moment that is so much later."""
    return Load(times=tuple(at - seconds for at in load.times), rates=load.rates, rows=load.rows)


def _measured(situation: Situation) -> list[tuple[float, float]]:
    points = [(at, rate) for at, rate in situation.history if -RECENT <= at < 0]
    now = arriving(situation)
    return points if isinstance(now, NoData) else [*points, (0.0, now)]


def _points(forecast: Forecast | NoData, *, upper_until: float) -> list[tuple[float, float]]:
    if isinstance(forecast, NoData):
        return []
    points = zip(forecast.times, forecast.rates, forecast.high, strict=True)
    found = [(at, high if at <= upper_until else rate) for at, rate, high in points if at > 0]
    if not forecast.times[-1] <= upper_until < math.inf:
        return found
    # Where no more is foreseen, the upper edge would last for ever.
    after = upper_until + forecast.times[0]
    return [*found, (upper_until, forecast.high[-1]), (after, forecast.rates[-1])]


def backlog(situation: Situation, capacity: float, calm: float) -> float:
    """The rows that wait beyond what is normal: so many seconds of work, and what comes between three batches.

    In seconds of work and not of arrival: then more load never makes a backlog look normal.
    """
    lag, batching = situation.observed.lag, batching_now(situation)
    if isinstance(lag, NoData):
        return 0.0
    normal = capacity * (calm + 3 * max(batching.period, batching.overhead))
    return max(0.0, lag - normal)


def batching_now(situation: Situation) -> Batching:
    """How the query makes batches on the executors that are there, at the rate with which rows arrive."""
    arrival = situation.observed.arrival
    rate = math.inf if isinstance(arrival, NoData) else arrival
    return situation.batching.on(situation.running, rate)
