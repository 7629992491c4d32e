"""Pictures of a run as inline SVG: load and capacity, executors, latency; failures are lines through all of them."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

from sluice.drawing import Point, levels, path, short
from sluice.lab.cases import Json

WIDTH, HEIGHT = 640, 124
LEFT, TOP, BOTTOM = 48, 20, 16
"""Space for the words around a picture."""


@dataclass(frozen=True, slots=True)
class Line:
    """Numbers over time, their name and the class by which they are styled; None is a gap."""

    name: str
    style: str
    values: Sequence[float | None]
    steps: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines with one axis; `ceiling` cuts what would dwarf the rest, and says so, `bound` is a line across."""

    title: str
    lines: Sequence[Line]
    ceiling: float
    bound: float | None = None


def pictures(outcome: Json) -> str:
    """The course of a run."""
    course = outcome["timeline"]
    seconds = float(outcome["seconds"])
    failures = [found["at"] for found in outcome["recoveries"]]
    load, capacity = course["load"], course["capacity"]
    panels = (
        Panel(
            "rows/s",
            (Line("load", "load", load), Line("capacity", "capacity", capacity, steps=True)),
            1.05 * max([*load, *capacity, 1]),
        ),
        Panel(
            "executors",
            (
                Line("working", "working", course["running"], steps=True),
                Line("asked for", "asked", course["executors"], steps=True),
            ),
            1.1 * max([*course["executors"], 1]),
        ),
        Panel(
            "latency s",
            (Line("95th percentile", "latency", course["latency"]),),
            6 * outcome["bound"],
            outcome["bound"],
        ),
    )
    return "\n".join(_drawn(panel, course["at"], seconds, failures) for panel in panels)


def _drawn(panel: Panel, at: Sequence[float], seconds: float, failures: Sequence[float]) -> str:
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(panel.title)}">',
        *_axis(panel, seconds),
        *(_vertical(moment, seconds) for moment in failures),
    ]
    if panel.bound is not None:
        level = _y(panel.bound, panel.ceiling)
        parts.append(f'<path class="bound" d="M{LEFT} {level:.1f}H{WIDTH}"/>')
    for line in panel.lines:
        drawn = path(_points(line, at, seconds, panel.ceiling), steps=line.steps)
        parts.append(
            f'<path class="{line.style}" d="{drawn}"><title>{html.escape(line.name)}</title></path>'
        )
        parts += _peak(line, at, seconds, panel.ceiling)
    return "\n".join([*parts, "</svg>"])


def _points(line: Line, at: Sequence[float], seconds: float, ceiling: float) -> list[Point | None]:
    return [
        None if value is None else (_x(moment, seconds), _y(value, ceiling))
        for moment, value in zip(at, line.values, strict=True)
    ]


def _peak(line: Line, at: Sequence[float], seconds: float, ceiling: float) -> list[str]:
    """Where a line is cut it is said how far it goes."""
    known = [
        (value, moment)
        for moment, value in zip(at, line.values, strict=True)
        if value is not None and value > ceiling
    ]
    if not known:
        return []
    largest, moment = max(known)
    x = _x(moment, seconds)
    # On the side where there is more space.
    side, x = ("before", x - 5) if x > WIDTH / 2 else ("after", x + 5)
    return [f'<text x="{x:.1f}" y="{TOP + 9}" class="{side}">up to {short(largest)}</text>']


def _axis(panel: Panel, seconds: float) -> list[str]:
    marks = [
        f'<text x="{LEFT - 6}" y="{_y(level, panel.ceiling) + 4:.1f}" class="number">{short(level)}</text>'
        f'<path class="grid" d="M{LEFT} {_y(level, panel.ceiling):.1f}H{WIDTH}"/>'
        for level in levels(panel.ceiling)
    ]
    hours = range(0, int(seconds // 3600) + 1, max(1, int(seconds // 3600 // 6)))
    marks += [
        f'<text x="{_x(hour * 3600.0, seconds):.1f}" y="{HEIGHT - 3}" class="hour">{hour} h</text>'
        for hour in hours
    ]
    return [
        *marks,
        f'<text x="{LEFT}" y="13" class="title">{html.escape(panel.title)}</text>',
    ]


def _vertical(moment: float, seconds: float) -> str:
    x = _x(moment, seconds)
    return f'<path class="failure" d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}"><title>failure at {moment:.0f} s</title></path>'


def _x(moment: float, seconds: float) -> float:
    return LEFT + (WIDTH - LEFT - 8) * moment / seconds


def _y(value: float, ceiling: float) -> float:
    inside = min(value, ceiling)
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - inside / ceiling)
