"""Numbers, times and other people's texts, as short words for a terminal."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sluice.core.quantities import MEBIBYTE, format_count, format_duration

NOTHING = "-"
_BARS = "▁▂▃▄▅▆▇█"
_GAP = "·"


def printable(text: object) -> str:
    """A text in one line, without what would move the cursor, change colours or turn the writing direction."""
    return "".join(char if char.isprintable() else "�" for char in " ".join(str(text).split()))


def sparkline(values: Sequence[float | None]) -> str:
    """A bar for each value, from zero to the largest; a dot for a gap."""
    largest = max((value for value in values if value is not None), default=0.0)
    steps = len(_BARS) - 1
    return "".join(
        _GAP if value is None else _BARS[round(max(value, 0.0) / largest * steps) if largest else 0]
        for value in values
    )


def since(moment: datetime | None, now: datetime) -> str:
    """How long ago something was."""
    return span((now - moment).total_seconds()) if moment is not None else NOTHING


def span(seconds: float | None) -> str:
    """A duration; what is not known is a dash."""
    if seconds is None:
        return NOTHING
    return format_duration(timedelta(seconds=max(seconds, 0.0)))


def long_span(length: timedelta) -> str:
    """A duration that a person chose: whole days and hours are told as such."""
    days, rest = divmod(length, timedelta(days=1))
    if days > 1 and not rest:
        return f"{days}d"
    hours, rest = divmod(length, timedelta(hours=1))
    return f"{hours}h" if hours and not rest else format_duration(length)


def count(number: float | None) -> str:
    """A count of rows, or of rows per second."""
    return format_count(number) if number is not None else NOTHING


def rate(number: float | None) -> str:
    """Rows per second."""
    return f"{count(number)}/s" if number is not None else NOTHING


def percent(share: float | None) -> str:
    """A share: enough digits to tell a single bad minute of a month from none, no more."""
    if share is None:
        return NOTHING
    digits = 4 if 0.9999 < share < 1 else 2
    return f"{share * 100:.{digits}f}".rstrip("0").rstrip(".") + " %"


def size(amount: float | None) -> str:
    """An amount of memory."""
    if amount is None:
        return NOTHING
    for unit, bytes_of_one in (("GiB", 1024 * MEBIBYTE), ("MiB", MEBIBYTE), ("KiB", 1024)):
        if amount >= bytes_of_one:
            return f"{amount / bytes_of_one:.1f} {unit}"
    return f"{amount:.0f} B"
