"""Times and causes in the words of a report: all times are UTC."""

from datetime import UTC, datetime, timedelta

from sluice.console import words
from sluice.console.reporting.happenings import Recovery

_CAUSES = {
    "DriverLoss": "driver lost",
    "ExecutorLoss": "executor lost",
    "NodeLoss": "node lost",
    "SpecChange": "new spec",
    "PlannedMove": "moved",
    "Rescale": "rescale",
}
_PRECISE = 600.0


def cause(recovery: Recovery) -> str:
    """What took a job away; of a newer operator, in its own word."""
    told = _CAUSES.get(recovery.cause, recovery.cause)
    return f"drill: {told}" if recovery.is_drill else told


def lasting(seconds: float) -> str:
    """A duration that is compared with another one, so that minutes are not rounded: "48s", "125s"."""
    if 10 <= seconds < _PRECISE:
        return f"{seconds:.0f}s"
    return words.span(seconds)


def day(at: datetime) -> str:
    """The date: "1 Mar 2026"."""
    return f"{at.astimezone(UTC):%d %b %Y}".lstrip("0")


def moment(at: datetime) -> str:
    """To the second, with its date, as a table shows it: "2026-03-01 11:42:10"."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def clock(at: datetime) -> str:
    """The time of day: "11:42:10"."""
    return f"{at.astimezone(UTC):%H:%M:%S}"


def between(start: datetime, end: datetime, span: timedelta) -> str:
    """A time: "1 Mar 2026, 11:00 to 12:00 UTC (1h)"."""
    first, last = f"{start.astimezone(UTC):%H:%M}", f"{end.astimezone(UTC):%H:%M}"
    same = start.astimezone(UTC).date() == end.astimezone(UTC).date()
    until = last if same else f"{day(end)}, {last}"
    return f"{day(start)}, {first} to {until} UTC ({words.long_span(span)})"
