"""Clocks of other machines, as far as an answer over the network tells them."""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a clock showed, and by our own clock when it was asked and when it had answered."""

    shown: datetime
    before: datetime
    after: datetime
    resolution: timedelta = timedelta(seconds=1)

    @property
    def skew(self) -> timedelta:
        """How far that clock is ahead of ours at least; negative if it is behind.

        It showed its time at some moment between question and answer, rounded down: only what these cannot explain
        counts.
        """
        ahead = self.shown - self.after
        behind = self.shown + self.resolution - self.before
        if ahead > timedelta(0):
            return ahead
        return min(behind, timedelta(0))
