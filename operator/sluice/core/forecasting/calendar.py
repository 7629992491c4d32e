"""An event that the owner announces: between two moments the load is so many times as large, or so much larger."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A time with another load: `factor` times the ordinary rate, and `added` rows per second on top.

    With `every`, it comes again after so long, for ever: a day, a week. Whole days are those of `time_zone`, so that it
    comes at the same time of the day there, also after the clocks were changed.
    """

    start: datetime
    end: datetime
    factor: float = 1.0
    added: float = 0.0
    every: timedelta | None = None
    time_zone: str = "UTC"

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
