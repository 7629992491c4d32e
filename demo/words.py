"""Numbers and times as short words; durations of a spec as seconds."""

import re

UNKNOWN = "-"

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds_of(duration: str) -> float:
    """A duration of a spec that the API server has accepted, such as 90s or 1h30m."""
    parts = re.findall(r"([0-9]+)(ms|s|m|h|d)", duration)
    return sum(int(count) * _SECONDS[unit] for count, unit in parts)


def printable(text: str) -> str:
    """Another's text in one line, without what would move a terminal's cursor."""
    return "".join(sign if sign.isprintable() else "?" for sign in " ".join(text.split()))


def clock(seconds: float) -> str:
    """Time since the story began: 4:07."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d}"


def rate(value: float | None) -> str:
    """Rows per second, or rows."""
    return UNKNOWN if value is None else f"{value:,.0f}"


def span(seconds: float | None) -> str:
    """A duration: digits where they matter."""
    if seconds is None:
        return UNKNOWN
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def count(number: int, what: str) -> str:
    """So many of something: 1 executor, 2 executors."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def percent(share: float | None) -> str:
    """A share of all."""
    return UNKNOWN if share is None else f"{100 * share:.1f} %"
