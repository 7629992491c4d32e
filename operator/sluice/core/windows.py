"""Daily windows of local time, in which something is not done, or alone may be done."""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def time_zone(name: str) -> ZoneInfo:
    """The time zone of a name. Raises ValueError."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        # OSError: "US" and "Europe" are directories of zones.
        raise ValueError(
            f"time zone {name!r} is unknown: write it as Europe/Berlin, or UTC"
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A daily window in local time; it begins on the given days, or on every day.

    An end that is not after the start is on the next day.
    """

    start: time
    end: time
    days: frozenset[str] = frozenset()
    time_zone: str = "UTC"

    def __post_init__(self) -> None:
        unknown = self.days - frozenset(DAYS)
        if unknown:
            raise ValueError(f"days {sorted(unknown)}: write them as {', '.join(DAYS)}")
        time_zone(self.time_zone)

    def covers(self, at: float) -> bool:
        """Whether a moment, in seconds since 1970, is in the window."""
        now = datetime.fromtimestamp(at, UTC).astimezone(ZoneInfo(self.time_zone))
        clock, today = now.time().replace(tzinfo=None), DAYS[now.weekday()]
        if self.start < self.end:
            return self.start <= clock < self.end and self._begins(today)
        yesterday = DAYS[(now - timedelta(days=1)).weekday()]
        late = clock >= self.start and self._begins(today)
        return late or (clock < self.end and self._begins(yesterday))

    def opens_after(self, now: datetime) -> datetime:
        """The next moment at which it begins, in UTC."""
        zone = ZoneInfo(self.time_zone)
        today = now.astimezone(zone).date()
        days = (today + timedelta(days=ahead) for ahead in range(9))
        starts = (datetime.combine(day, self.start, zone) for day in days)
        return next(
            start.astimezone(UTC)
            for start in starts
            if start > now and self._begins(DAYS[start.weekday()])
        )

    def _begins(self, day: str) -> bool:
        return not self.days or day in self.days
