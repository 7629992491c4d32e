"""What the owner announces: between two moments the load is so many times as large, or so much larger.

Past events are taken out of the history, so that the models learn the ordinary load, and those to come are put on the
forecast. If an event turns out otherwise, the ordinary load is wrong by as much, and so is the forecast for the time
after the event; that for the event itself is right, because the same factor takes it out and puts it on again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf, isfinite

import numpy as np

from sluice.core.forecasting.model import Flags, Values


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A time with another load: `factor` times the ordinary rate, and `added` rows per second on top.

    With `every`, it comes again after so long, for ever: a day, a week.
    """

    start: datetime
    end: datetime
    factor: float = 1.0
    added: float = 0.0
    every: timedelta | None = None

    def __post_init__(self) -> None:
        if self.start.tzinfo is None or self.end.tzinfo is None:
            raise ValueError(f"the event from {self.start} to {self.end} needs a time zone")
        if self.start >= self.end:
            raise ValueError(
                f"the event ends at {self.end}, which is not after its start, {self.start}"
            )
        if not (0 < self.factor < inf and 0 <= self.added < inf):
            raise ValueError(
                f"the event's factor is {self.factor} and its added load {self.added}: a factor is above 0, "
                "an added load at least 0"
            )
        if self.every is not None and self.every < self.end - self.start:
            raise ValueError(
                f"the event takes {self.end - self.start} and comes again after {self.every}: it overlaps"
            )

    def during(self, times: Values, now: datetime) -> Flags:
        """Whether it is on at moments in seconds from now."""
        since = times - (self.start - now).total_seconds()
        if self.every is not None:
            since = np.where(since >= 0, since % self.every.total_seconds(), since)
        return (since >= 0) & (since < (self.end - self.start).total_seconds())


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
            on = event.during(times, self.now)
            factor[on] *= event.factor
            added[on] += event.added
        return factor, added
