"""What a dashboard says, as plain records: rows of panels, each with its questions to Prometheus.

How it is drawn is for `drawing` to know.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

Color = Literal["green", "yellow", "red", "blue"]
Limits = tuple[tuple[float | None, Color], ...]
"""From each value on, its colour; the first one, which has no value, is for what lies below all others."""

ANY: Limits = ((None, "blue"),)
"""For numbers of which no value is good or bad."""


class Unit(StrEnum):
    """Units as Grafana names them."""

    COUNT = "short"
    SECONDS = "s"
    BYTES = "bytes"
    SHARE = "percentunit"
    ROWS_PER_SECOND = "si:rows/s"
    PER_SECOND = "ops"
    FACTOR = "suffix:x"
    CORES = "suffix: cores"
    STATE = "none"


class Kind(StrEnum):
    """How a panel shows its numbers."""

    NUMBER = "number"
    """The newest one, large."""
    LINES = "lines"
    STACK = "stack"
    """Lines on top of each other: their sum matters."""
    STATES = "states"
    """Bars that are bad at 0 and good at 1."""


@dataclass(frozen=True, slots=True)
class Query:
    """A question in PromQL, and the name of each answer."""

    expression: str
    legend: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One picture. Its width is in columns, of which there are 24."""

    title: str
    description: str
    queries: tuple[Query, ...]
    unit: Unit
    limits: Limits = ANY
    kind: Kind = Kind.LINES
    width: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table: one number for each job."""

    title: str
    expression: str
    unit: Unit
    limits: Limits = ANY


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One line for each job; a click on it leads to the job's dashboard."""

    title: str
    description: str
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """Panels under a heading."""

    title: str
    panels: tuple[Panel | Table, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Moments to mark in all pictures: whenever the expression has an answer."""

    title: str
    expression: str


class Selection(StrEnum):
    """Which jobs can be selected at the top."""

    NONE = "none"
    ONE = "one"
    MANY = "many"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """A whole page; `name` is its file and the end of its address."""

    name: str
    title: str
    description: str
    selection: Selection
    rows: tuple[Row, ...]
    events: tuple[Event, ...] = ()
    since: str = "now-6h"
