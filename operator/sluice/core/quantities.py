"""Durations, memory and CPU as users write them, and back.

Memory is written in binary units only ("512Mi", "2Gi"): in Kubernetes "600m" means 0.6 bytes while
Spark reads 600 MiB, so a spec that means one thing to both must not contain it.
"""

import re
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import NewType

Bytes = NewType("Bytes", int)
Millicores = NewType("Millicores", int)

# Six digits are enough for any unit, and keep each moment that a duration leads to within the calendar.
DURATION_PATTERN = r"^([0-9]{1,6}(ms|s|m|h|d))+$"
MEMORY_PATTERN = r"^[1-9][0-9]*(Mi|Gi)$"
CPU_PATTERN = r"^([1-9][0-9]*m|[0-9]+(\.[0-9]{1,3})?)$"

MEBIBYTE = 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuShare:
    """The CPU of a container: what is reserved for it, and the most that it may use; None is no limit."""

    request: Millicores
    limit: Millicores | None = None

    def __str__(self) -> str:
        limit = "no limit" if self.limit is None else f"limit {format_cpu(self.limit)}"
        return f"request {format_cpu(self.request)}, {limit}"


_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_BYTES = {"Mi": MEBIBYTE, "Gi": 1024 * MEBIBYTE}


def duration(text: str) -> timedelta:
    """Read a duration such as "90s", "1h30m" or "500ms".

    Raises ValueError for anything else.
    """
    if not re.fullmatch(DURATION_PATTERN, text):
        raise ValueError(f"{text!r} is not a duration: write for example 500ms, 90s, 5m or 1h30m")
    parts = re.findall(r"([0-9]+)(ms|s|m|h|d)", text)
    return timedelta(seconds=sum(int(count) * _SECONDS[unit] for count, unit in parts))


def format_duration(span: timedelta) -> str:
    """Write a duration the way people say it: "850ms", "4.2s", "90s", "4m20s", "12m", "3h05m", "2d4h"."""
    seconds = span.total_seconds()
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 10:
        return f"{seconds:.1f}s"
    if seconds < 120:
        return f"{seconds:.0f}s"
    if seconds < 600:
        whole, rest = divmod(round(seconds), 60)
        return f"{whole}m{rest:02d}s" if rest else f"{whole}m"
    minutes = round(seconds / 60)
    hours = minutes // 60
    if minutes < 120:
        return f"{minutes}m"
    if hours < 48:
        return f"{hours}h{minutes % 60:02d}m"
    return f"{hours // 24}d{hours % 24}h"


def memory(text: str) -> Bytes:
    """Read an amount of memory such as "512Mi" or "2Gi", in bytes."""
    if not re.fullmatch(MEMORY_PATTERN, text):
        raise ValueError(f"{text!r} is not an amount of memory: write for example 512Mi or 2Gi")
    return Bytes(int(text[:-2]) * _BYTES[text[-2:]])


def spark_bytes(text: str) -> Bytes:
    """Read an amount of memory as Spark does, where it has no unit in bytes: "2g", "512mb"; what is none is 0."""
    found = re.fullmatch(r"([0-9]+)(?:([kmgtp])b?|b)?", text.strip().lower())
    if found is None:
        return Bytes(0)
    return Bytes(int(found[1]) * 1024 ** (" kmgtp".index(found[2]) if found[2] else 0))


def mebibytes(amount: Bytes) -> int:
    """The amount in whole MiB, rounded up."""
    return -(-amount // MEBIBYTE)


def cpu(text: str) -> Millicores:
    """Read an amount of CPU such as "500m", "2" or "1.5", in thousandths of a core."""
    if not re.fullmatch(CPU_PATTERN, text):
        raise ValueError(f"{text!r} is not an amount of CPU: write for example 500m, 1 or 1.5")
    if text.endswith("m"):
        return Millicores(int(text[:-1]))
    return Millicores(int(Decimal(text) * 1000))


def format_cpu(amount: Millicores) -> str:
    """Write an amount of CPU as Kubernetes does: whole cores plain, the rest in millicores."""
    return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"


def format_executors(count: int) -> str:
    """Write a number of executors: "1 executor", "4 executors"."""
    return "1 executor" if count == 1 else f"{count} executors"


def format_count(number: float) -> str:
    """Write a count of rows for a narrow column: "0", "950", "12.3k", "4.5M"."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= limit:
            scale = {"G": 1e9, "M": 1e6, "k": 1e3}[unit]
            return f"{number / scale:.1f}{unit}"
    return f"{number:.0f}"
