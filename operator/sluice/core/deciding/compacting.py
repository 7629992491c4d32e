"""A situation as it is stored: without what is no number, rounded, and with thinned history.

Decisions are made on this form, so that a stored situation gives the same decision again. Compacting twice changes
nothing. A few hundred points of history say as much as thousands: what is forecast from all is in the situation.

Of what is long past, the largest in each bucket is kept, so that no load and no wish is missed that speaks for more
executors. Buckets are those of the clock, and do not move with the moment of the decision: otherwise a job of which
nothing changes would be decided otherwise each few minutes.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import groupby
from typing import TypeVar

from sluice.core.deciding.harms import Harm
from sluice.core.deciding.situation import (
    NOT_FORECAST,
    Forecast,
    Models,
    Observations,
    Situation,
    Wish,
)
from sluice.core.modelling.latency import LatencyModel, LatencyPoint
from sluice.core.series import Measured, NoData

Point = TypeVar("Point")

History = tuple[tuple[float, float], ...]

OLDEST = 2 * 86_400.0
"""Seconds of history that are kept: only forecasts look further back, and what they saw is in them."""

RECENT = 3600.0
"""Seconds of history that are kept more densely: policies look back so far."""

MOST_RECENT, MOST_OLDER = 120, 120
"""Points of history that are kept."""

FINEST = 90.0
"""Seconds of the smallest bucket; each other one is twice as long. Two days are in buckets of 24 minutes."""

MOST_FORECAST = 60
MOST_LATENCIES = 64
MOST_CAPACITIES, MOST_SCALE_OUTS = 96, 40
"""Measured capacities that are kept, and of how many scale-outs: a fit compares each with all others."""

WISHES = 86_400.0
"""Seconds for which former wishes are remembered."""

RECENT_WISHES = 3600.0
BUCKET_OF_WISHES = 1440.0
"""Of wishes before those seconds, one is kept in each so many: sixty a day."""

MOST_HARMS = 10
"""Harmful rescales that are remembered: each takes ten minutes at least."""


def compacted(situation: Situation) -> Situation:
    """The same situation in its stored form."""
    return replace(
        situation,
        at=round(situation.at, 3),
        observed=_observations(situation.observed),
        history=_history(situation.history, round(situation.at, 3)),
        forecast=_forecast(situation.forecast),
        models=compacted_models(situation.models),
        uptime=_seconds(situation.uptime),
        since_rescale=_elapsed(situation.since_rescale),
        wishes=_wishes(situation),
        notes=_notes(situation.notes),
        harms=tuple(_harms(situation.harms, round(situation.at, 3))),
    )


def rounded(number: float, digits: int = 4) -> float:
    """So many significant digits."""
    return float(f"{number:.{digits}g}")


def thinned(points: Sequence[Point], most: int) -> tuple[Point, ...]:
    """Every n-th point, the last one included; all, if they are not too many."""
    step = max(1, math.ceil(len(points) / most))
    return tuple(points[::-1][::step][::-1])


def _observations(observed: Observations) -> Observations:
    measured = {
        field.name: _measured(getattr(observed, field.name))
        for field in fields(observed)
        if field.name != "age"
    }
    age = observed.age if observed.age >= 0 else math.inf
    return Observations(**measured, age=_seconds(age))


def _measured(number: Measured) -> Measured:
    if isinstance(number, NoData):
        return number
    if not 0 <= number < math.inf:
        return NoData(f"{number} was measured, which is no quantity")
    return rounded(number, 6)


def _history(history: History, zero: float) -> History:
    """Points of the past in their order; what lies in the future was measured by another clock."""
    known: dict[float, float] = {}
    for at, rate in history:
        if -OLDEST <= at <= 0 and 0 <= rate < math.inf:
            moment = round(at, 1)
            known[moment] = max(rate, known.get(moment, 0.0))
    points = sorted(known.items())
    older = [point for point in points if point[0] < -RECENT]
    recent = points[len(older) :]
    kept = (*_largest_rates(older, zero), *thinned(recent, MOST_RECENT))
    return tuple((at, rounded(rate)) for at, rate in kept)


def _largest_rates(
    points: Sequence[tuple[float, float]], zero: float
) -> Iterator[tuple[float, float]]:
    """The first of the largest of each bucket; all, if they are not too many."""
    if len(points) <= MOST_OLDER:
        yield from points
        return
    span, size = points[-1][0] - points[0][0], FINEST
    # Those at both ends may have only a part of theirs.
    while span / size + 2 > MOST_OLDER:
        size *= 2
    for _, bucket in groupby(points, lambda point: (zero + point[0]) // size):
        yield max(bucket, key=lambda point: point[1])


def _forecast(forecast: Forecast | NoData) -> Forecast | NoData:
    if isinstance(forecast, NoData):
        return forecast
    points = zip(forecast.times, forecast.rates, forecast.low, forecast.high, strict=True)
    finite = [point for point in points if all(map(math.isfinite, point))]
    if not finite:
        return NOT_FORECAST
    times, rates, low, high = zip(*thinned(finite, MOST_FORECAST), strict=True)
    return replace(
        forecast,
        times=tuple(round(at, 1) for at in times),
        rates=tuple(map(rounded, rates)),
        low=tuple(map(rounded, low)),
        high=tuple(map(rounded, high)),
    )


def compacted_models(models: Models) -> Models:
    """Models without more measurements than they need to say the same."""
    capacity, latency = models.capacity, models.latency
    points, floors, profiled = (
        tuple((executors, rounded(rate)) for executors, rate in rates)
        for rates in (capacity.points, capacity.floors, capacity.profiled)
    )
    kept = _capacities(points)
    causes = {
        cause: learned.with_history(map(rounded, learned.observed))
        for cause, learned in models.downtimes.causes.items()
    }
    return Models(
        capacity=replace(
            capacity,
            points=kept,
            floors=floors,
            profiled=tuple(point for point in profiled if point in kept),
        ),
        latency=LatencyModel(
            profiled=tuple(_latencies(latency.profiled)),
            observed=tuple(_latencies(latency.observed)),
        ),
        downtimes=replace(models.downtimes, causes=causes),
    )


def _capacities(points: Sequence[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
    """The newest of each scale-out, equally many: those that are seldom used must not be forgotten."""
    newest = dict.fromkeys(executors for executors, _ in reversed(points))
    known = frozenset(list(newest)[:MOST_SCALE_OUTS])
    each = max(1, MOST_CAPACITIES // max(1, len(known)))
    kept: list[tuple[int, float]] = []
    count: Counter[int] = Counter()
    for executors, rate in reversed(points):
        count[executors] += 1
        if executors in known and count[executors] <= each:
            kept.append((executors, rate))
    return tuple(reversed(kept))


def _latencies(points: Sequence[LatencyPoint]) -> Iterator[LatencyPoint]:
    for point in thinned(points, MOST_LATENCIES):
        yield replace(point, rate=rounded(point.rate), seconds=rounded(point.seconds))


def _wishes(situation: Situation) -> tuple[Wish, ...]:
    rounded_off = [replace(wish, at=round(wish.at, 1)) for wish in situation.wishes]
    return remembered(rounded_off, 0.0, round(situation.at, 3))


def remembered(wishes: Sequence[Wish], now: float, zero: float) -> tuple[Wish, ...]:
    """What is kept of former wishes, the oldest first; moments are seconds of a clock that began at `zero`.

    Those of a day, and the one that held when it began. A wish holds until the next one, so that of equal ones in a row
    the first and the last tell as much as all; of those that are long past, the largest tell how far one may shrink.
    """
    known = [wish for wish in wishes if wish.at < now]
    before = [wish for wish in known if wish.at < now - WISHES][-1:]
    older = [wish for wish in known if now - WISHES <= wish.at < now - RECENT_WISHES]
    recent = [wish for wish in known if wish.at >= now - RECENT_WISHES]
    return _ends_of_rows([*before, *_largest_wishes(older, zero), *recent])


def _largest_wishes(wishes: Sequence[Wish], zero: float) -> Iterator[Wish]:
    """The newest of the largest of each bucket."""
    for _, bucket in groupby(wishes, lambda wish: (zero + wish.at) // BUCKET_OF_WISHES):
        yield max(reversed(list(bucket)), key=lambda wish: wish.executors)


def _ends_of_rows(wishes: Sequence[Wish]) -> tuple[Wish, ...]:
    return tuple(
        wish
        for place, wish in enumerate(wishes)
        if not (
            0 < place < len(wishes) - 1
            and _same(wishes[place - 1], wish)
            and _same(wish, wishes[place + 1])
        )
    )


def _same(one: Wish, other: Wish) -> bool:
    return (one.executors, one.applied) == (other.executors, other.applied)


def _notes(notes: Mapping[str, float]) -> Mapping[str, float]:
    return {name: rounded(number, 9) for name, number in notes.items() if math.isfinite(number)}


def _harms(harms: Sequence[Harm], at: float) -> Iterator[Harm]:
    for harm in harms[-MOST_HARMS:]:
        if harm.is_remembered(at) and math.isfinite(harm.arrival):
            yield replace(harm, at=round(harm.at, 3), arrival=rounded(harm.arrival))


def _seconds(number: float) -> float:
    return max(0.0, round(number, 1)) if math.isfinite(number) else number


def _elapsed(number: float | None) -> float | None:
    """The seconds since something; a clock that was set back makes them zero."""
    return None if number is None else _seconds(number)
