"""What a job itself takes: the core-seconds of its last 24 hours, never more than was really taken.

Profiles may take a share of it, so what was not seen counts as little as it can have been. Sums are kept by the hour.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

DAY = timedelta(days=1)

_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What was seen: `cores` at the moment `at`, and core-seconds of hours, by the moment at which each ends."""

    began: datetime | None = None
    at: datetime | None = None
    cores: float = 0.0
    hours: tuple[tuple[datetime, float], ...] = ()

    def with_cores(self, cores: float, now: datetime) -> "Usage":
        """So many cores are taken now. Since the last look it was the smaller of both numbers."""
        if self.at is None:
            return replace(self, began=now, at=now, cores=cores)
        taken = min(self.cores, cores) * max(0.0, (now - self.at).total_seconds())
        return replace(self, at=now, cores=cores, hours=self._with(taken, now))

    def core_seconds(self, now: datetime, *, since: datetime | None, least: float) -> float:
        """Core-seconds of the last day. The job has run `since` then, on `least` cores while nobody looked."""
        seen = sum(taken for end, taken in self.hours if end - _HOUR >= now - DAY)
        if since is None or self.began is None:
            return seen
        unseen = (self.began - max(since, now - DAY)).total_seconds()
        return seen + least * max(0.0, unseen)

    def _with(self, taken: float, now: datetime) -> tuple[tuple[datetime, float], ...]:
        kept = tuple(hour for hour in self.hours if hour[0] > now - DAY)
        if kept and now < kept[-1][0]:
            end, before = kept[-1]
            return (*kept[:-1], (end, before + taken))
        return (*kept, (now + _HOUR, taken))
