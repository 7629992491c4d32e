"""Curves above each other, each panel with its own axis; their names stand at their ends, not in a legend."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sluice.console.reporting import declared, svg
from sluice.console.reporting.course import Course
from sluice.console.reporting.curves import Curve
from sluice.console.reporting.frame import LEFT, RIGHT, Frame, Plot
from sluice.console.reporting.phrases import lasting
from sluice.console.slo import percentile
from sluice.drawing import Point, area, levels, path, short

TITLE = 24.0
"""Height of what stands above a panel."""

Heights = list[Point | None]

_APART = 13.0
_BESIDE = 6.0
_ROOM = 1.08
_MOST_BOUNDS = 5.0
"""So many times its bound a latency is cut, so that one failure does not flatten the hours beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A curve, its name, and the class by which it is styled; `area` is the class of what is below it."""

    name: str
    style: str
    curve: Curve
    steps: bool = False
    area: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Lines with one axis. `bound` is a line across, `whole` an axis that counts."""

    title: str
    lines: tuple[Line, ...]
    height: float
    bound: float | None = None
    whole: bool = False

    def ceiling(self, frame: Frame) -> float:
        """What the axis reaches to."""
        known = self.largest(frame)
        if self.bound is not None:
            return min(max(_ROOM * known, 1.35 * self.bound), _MOST_BOUNDS * self.bound)
        return max(_ROOM * known, 1.0 if self.whole else 0.0) or 1.0

    def largest(self, frame: Frame) -> float:
        """The largest number of all lines; 0 if nothing is known."""
        placed = (point for line in self.lines for point in frame.placed(line.curve))
        return max((point[1] for point in placed if point is not None), default=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The end of a line, and what is to be written there."""

    x: float
    y: float
    name: str
    style: str


def panels(course: Course) -> tuple[Panel, ...]:
    """Load, executors, latency, lag."""
    curves, share = course.curves, percentile(course.job.spec)
    return (
        Panel(
            title="Load and capacity, rows per second",
            lines=(
                Line(name="capacity", style="capacity", curve=curves.capacity, steps=True),
                Line(name="forecast", style="forecast", curve=curves.forecast),
                Line(name="arriving", style="arriving", curve=curves.arriving),
            ),
            height=150,
        ),
        Panel(
            title="Executors",
            lines=(
                Line(
                    name="running",
                    style="running",
                    curve=curves.running,
                    steps=True,
                    area="area-running",
                ),
                Line(name="wanted", style="wanted", curve=curves.wanted, steps=True),
                Line(name="policy's wish", style="wished", curve=curves.wished, steps=True),
            ),
            height=110,
            whole=True,
        ),
        Panel(
            title=f"Record latency, p{share * 100:g}, seconds",
            lines=(Line(name=f"p{share * 100:g}", style="latency", curve=curves.latency),),
            height=110,
            bound=declared.latency_bound(course.job.spec),
        ),
        Panel(
            title="Lag, rows",
            lines=(Line(name="lag", style="lag", curve=curves.lag, area="area-lag"),),
            height=80,
            whole=True,
        ),
    )


def drawn(panel: Panel, frame: Frame, top: float) -> list[str]:
    """A panel whose plot begins at a height."""
    plot = Plot(top=top, bottom=top + panel.height, ceiling=panel.ceiling(frame))
    drawn = [(line, plot.heights(frame.placed(line.curve))) for line in panel.lines]
    # What has no end was not measured, and a panel without any has no numbers to be read at an axis.
    ends = [*_ends(drawn), *_end_of_bound(panel, plot)]
    return [
        svg.text(LEFT, top - 9, panel.title, "title dark"),
        *(_axis(panel, plot) if ends else ()),
        *(part for line, heights in drawn for part in _line(line, heights, plot.bottom)),
        *_bound(panel, plot),
        *_peak(panel, frame, plot),
        *_names(ends, plot),
        *_lack(drawn, plot),
    ]


def _axis(panel: Panel, plot: Plot) -> list[str]:
    parts = []
    for level in levels(plot.ceiling, whole=panel.whole):
        parts.append(svg.path(f"M{LEFT} {plot.y(level):.1f}H{RIGHT}", "grid"))
        parts.append(svg.text(LEFT - 8, plot.y(level) + 4, short(level), "end"))
    return parts


def _line(line: Line, heights: Heights, bottom: float) -> Iterator[str]:
    filled = area(heights, bottom, steps=line.steps) if line.area else ""
    along = path(heights, steps=line.steps)
    if filled:
        yield svg.path(filled, line.area)
    if along:
        yield svg.path(along, line.style, line.name)


def _bound(panel: Panel, plot: Plot) -> Iterator[str]:
    if panel.bound is not None:
        yield svg.path(f"M{LEFT} {plot.y(panel.bound):.1f}H{RIGHT}", "bound", "the bound")


def _peak(panel: Panel, frame: Frame, plot: Plot) -> Iterator[str]:
    """Where a curve is cut it is said how far it goes."""
    largest = panel.largest(frame)
    if largest <= plot.ceiling:
        return
    points = (point for line in panel.lines for point in frame.placed(line.curve) if point)
    x = max(x for x, value in points if value == largest)
    told, style = f"up to {lasting(largest)}", panel.lines[0].style
    if x + svg.width_of(told) > RIGHT - 2 * _BESIDE:
        yield svg.text(x - _BESIDE, plot.top + 10, told, f"mark end {style}")
    else:
        yield svg.text(x + _BESIDE, plot.top + 10, told, f"mark {style}")


def _ends(drawn: Iterable[tuple[Line, Heights]]) -> Iterator[End]:
    for line, heights in drawn:
        last = next((point for point in reversed(heights) if point is not None), None)
        if last is not None:
            yield End(x=last[0], y=last[1], name=line.name, style=line.style)


def _end_of_bound(panel: Panel, plot: Plot) -> Iterator[End]:
    if panel.bound is not None:
        name = f"bound {lasting(panel.bound)}"
        yield End(x=RIGHT, y=plot.y(panel.bound), name=name, style="bound")


def _names(ends: Sequence[End], plot: Plot) -> Iterator[str]:
    """Behind the last point of each curve, moved apart; a thread leads to what is not beside it."""
    places = spread([end.y for end in ends], _APART, plot.top + 4, plot.bottom)
    for end, place in zip(ends, places, strict=True):
        if end.x < RIGHT - _BESIDE or abs(place - end.y) > _APART / 2:
            thread = f"M{end.x + 3:.1f} {end.y:.1f}L{RIGHT + 4} {place:.1f}"
            yield svg.path(thread, "leader")
        yield svg.text(RIGHT + 8, place + 4, end.name, end.style)


def _lack(drawn: Iterable[tuple[Line, Heights]], plot: Plot) -> Iterator[str]:
    if not any(point for _, heights in drawn for point in heights):
        middle = (plot.top + plot.bottom) / 2
        yield svg.text((LEFT + RIGHT) / 2, middle + 4, "not measured in this time", "middle")


def spread(wanted: Sequence[float], apart: float, top: float, bottom: float) -> list[float]:
    """Heights near those that are wanted, in the same order, each so far from the next, between two edges."""
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    places = [0.0] * len(wanted)
    least = top
    for index in order:
        places[index] = max(wanted[index], least)
        least = places[index] + apart
    most = bottom
    for index in reversed(order):
        places[index] = min(places[index], most)
        most = places[index] - apart
    return places
