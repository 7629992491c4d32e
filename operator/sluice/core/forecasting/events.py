"""The load without the events that were announced, and with them.

Past events are taken out of the history, so that the models learn the ordinary load, and those to come are put on the
forecast. If an event turns out otherwise, the ordinary load is wrong by as much, and so is the forecast for the time
after the event; that for the event itself is right, because the same factor takes it out and puts it on again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite

import numpy as np

from sluice.core.forecasting.calendar import Event as Event
from sluice.core.forecasting.model import Flags, Values


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
        since = np.where(since >= 0, since % event.every.total_seconds(), since)
    return (since >= 0) & (since < (event.end - event.start).total_seconds())
