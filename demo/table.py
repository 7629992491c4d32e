"""The table of live numbers: two lines of heading, one line for each source and moment; 100 columns."""

from collections.abc import Callable
from dataclasses import dataclass

from demo.numbers import Numbers

UNKNOWN = "-"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: two lines of heading, a width, and how a row's text is made."""

    above: str
    below: str
    width: int
    text: Callable[[Numbers], str]


def _rate(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:,.0f}"


def _seconds(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.2f} s"


def _count(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.0f}"


COLUMNS = (
    Column("", "told by", 10, lambda row: row.source),
    Column("arriving", "rows/s", 9, lambda row: _rate(row.arriving)),
    Column("throughput", "rows/s", 11, lambda row: _rate(row.throughput)),
    Column("speed", "rows/s", 8, lambda row: _rate(row.speed)),
    Column("latency", "p50", 9, lambda row: _seconds(row.latency_p50)),
    Column("latency", "p95", 9, lambda row: _seconds(row.latency_p95)),
    Column("lag", "rows", 11, lambda row: _rate(row.lag_rows)),
    Column("lag", "age", 8, lambda row: _seconds(row.lag_seconds)),
    Column("executors", "run/want", 10, lambda row: f"{_count(row.running)}/{_count(row.wanted)}"),
    Column("last", "batch", 7, lambda row: _count(row.batch)),
    Column("driver", "no.", 7, lambda row: _count(row.incarnation)),
)

LEGEND = (
    "throughput: rows admitted per second over the last minute, by Prometheus; speed: rows of the last",
    "batch per second of its own duration; latency: from arrival at Kafka to commit, over the last minute",
    "for Prometheus; driver no.: the incarnation, one more after each restart.",
)


def heading() -> str:
    """The two lines above the numbers, and a rule."""
    above = _line([column.above for column in COLUMNS])
    below = _line([column.below for column in COLUMNS])
    return f"{above}\n{below}\n{'-' * len(below)}"


def row(numbers: Numbers) -> str:
    """One line of numbers."""
    return _line([column.text(numbers) for column in COLUMNS])


def _line(texts: list[str]) -> str:
    first, *rest = zip(texts, COLUMNS, strict=True)
    left = f"{first[0]:<{first[1].width}}"
    return left + "".join(f"{text:>{column.width}}" for text, column in rest)
