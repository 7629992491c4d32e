"""The load without the events that were announced, and with them.

Past events are taken out of the history, so that the models learn the ordinary load, and those to come are put on the
forecast. If an event turns out otherwise, the ordinary load is wrong by as much, and so is the forecast for the time
after the event; that for the event itself is right, because the same factor takes it out and puts it on again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import isfinite
from zoneinfo import ZoneInfo

import numpy as np

from sluice.core.forecasting.calendar import Event as Event
from sluice.core.forecasting.model import Flags, Values

_DAY = timedelta(days=1)

_CLOCKS = 900.0
"""Seconds: where clocks are changed, it is at a quarter of an hour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Announced:
    """Events, seen from a moment. Of several at a time the factors multiply and the added loads add up."""

    now: datetime
    events: Sequence[Event]

    def taken_out(self, history: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
        """What the history would have been without them."""
        samples = [(at, rate) for at, rate in history if isfinite(at) and isfinite(rate)]
        times, rates = np.array(samples, dtype=np.float64).reshape(-1, 2).T
        factor, added = self._effect(times)
        # A negative rate is a fault, which `cleaning` must see.
        ordinary = np.where(rates < 0, rates, np.maximum(rates - added, 0.0) / factor)
        return list(zip(times.tolist(), ordinary.tolist(), strict=True))

    def put_on(self, times: Values, rates: Values) -> Values:
        """Rates with them."""
        factor, added = self._effect(times)
        return rates * factor + added

    def _effect(self, times: Values) -> tuple[Values, Values]:
        factor, added = np.ones_like(times), np.zeros_like(times)
        for event in self.events:
            on = during(event, times, self.now)
            factor[on] *= event.factor
            added[on] += event.added
        return factor, added


def during(event: Event, times: Values, now: datetime) -> Flags:
    """Whether it is on at moments in seconds from now."""
    since = times - (event.start - now).total_seconds()
    if event.every is not None:
        local = since + _clocks_changed(event, times, now)
        since = np.where(since >= 0, local % event.every.total_seconds(), since)
    return (since >= 0) & (since < (event.end - event.start).total_seconds())


def _clocks_changed(event: Event, times: Values, now: datetime) -> Values:
    """By how many seconds the clocks of its time zone are ahead of what they were at its start, at these moments."""
    if event.every is None or event.every % _DAY:
        return np.zeros_like(times)
    zone = ZoneInfo(event.time_zone)
    quarters, places = np.unique((times + now.timestamp()) // _CLOCKS, return_inverse=True)
    offsets = [_offset(datetime.fromtimestamp(float(at) * _CLOCKS, zone)) for at in quarters]
    return np.array(offsets)[places] - _offset(event.start.astimezone(zone))


def _offset(moment: datetime) -> float:
    return (moment.utcoffset() or timedelta(0)).total_seconds()
