"""What happened, as marks: a lane for each kind above the panels, and a shade or a line through all of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sluice.console.reporting import svg
from sluice.console.reporting.course import Course
from sluice.console.reporting.frame import LEFT, RIGHT, WIDTH, Frame
from sluice.console.reporting.happenings import Profile, Recovery, Rescale
from sluice.console.reporting.phrases import cause, clock, lasting

LANE = 22.0
"""Height of a lane."""

_THIN = 3.0
_BAR = 10.0
_GAP = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Where it begins and ends, what it looks like around a height, and what is written behind it if there is room.

    `labels` are the same in ever fewer words.
    """

    left: float
    right: float
    shapes: tuple[str, ...]
    labels: tuple[str, ...]


Happened = Sequence[Recovery | Rescale | Profile]


def lanes(course: Course, frame: Frame, top: float) -> list[str]:
    """The lanes of what there was, from a height on."""
    parts: list[str] = []
    for name, happened, middle in _placed(course, top):
        found = (_mark(one, course, frame, middle) for one in happened)
        marks = sorted(found, key=lambda mark: mark.left)
        parts.append(svg.text(LEFT - 8, middle + 4, name, "end"))
        parts += [shape for mark in marks for shape in mark.shapes]
        parts += _labels(marks, middle)
    return parts


def height(course: Course) -> float:
    """Of all lanes."""
    return LANE * len(_kinds(course))


def through(course: Course, frame: Frame, top: float, bottom: float) -> list[str]:
    """What leads from the marks down to a bottom."""
    return [
        _shadow(one, frame, middle, bottom)
        for _, happened, middle in _placed(course, top)
        for one in happened
        if not isinstance(one, Profile)
    ]


def _placed(course: Course, top: float) -> Iterator[tuple[str, Happened, float]]:
    """Each lane, and where its middle is."""
    for number, (name, happened) in enumerate(_kinds(course)):
        yield name, happened, top + (number + 0.5) * LANE


def _kinds(course: Course) -> list[tuple[str, Happened]]:
    found = course.recoveries.found
    kinds: list[tuple[str, Happened]] = [
        ("failures", [one for one in found if one.is_failure]),
        ("restarts", [one for one in found if not one.is_failure]),
        ("rescales", course.rescales),
        ("profiles", course.profiles),
    ]
    return [(name, happened) for name, happened in kinds if happened]


def _shadow(one: Recovery | Rescale, frame: Frame, middle: float, bottom: float) -> str:
    if isinstance(one, Rescale):
        x = frame.x(one.at)
        return svg.path(f"M{x:.1f} {middle:.1f}V{bottom:.1f}", "across")
    left, right = _edges(one, frame)
    style = "failed" if one.is_failure else "restarted"
    return svg.box(left, middle, right - left, bottom - middle, style)


def _mark(one: Recovery | Rescale | Profile, course: Course, frame: Frame, middle: float) -> Mark:
    match one:
        case Recovery():
            return _recovery(one, course, frame, middle)
        case Rescale():
            return _rescale(one, frame, middle)
        case Profile():
            return _profile(one, frame, middle)


def _edges(one: Recovery, frame: Frame) -> tuple[float, float]:
    left = frame.x(one.began)
    return left, max(frame.x(one.end(frame.now)), left + _THIN)


def _recovery(one: Recovery, course: Course, frame: Frame, middle: float) -> Mark:
    """A bar as long as it took; what is beyond the target is of another colour, and behind a line."""
    left, right = _edges(one, frame)
    told = lasting(one.lasting(frame.now))
    if one.seconds is None:
        told += " so far" if one.goes_on else ", not caught up"
    target = course.target if one.is_failure else None
    is_late = one.is_within(target, frame.now) is False
    compared = told
    if target is not None:
        compared = f"{told}, over {lasting(target)}" if is_late else f"{told} of {lasting(target)}"
    title = f"{cause(one)}, {clock(one.began)} UTC, {compared}"
    shapes = [_bar(left, right, middle, "failure" if one.is_failure else "chosen", title)]
    if target is not None and is_late:
        from_there = max(min(frame.x(one.began + timedelta(seconds=target)), right - _THIN), left)
        shapes.append(_bar(from_there, right, middle, "late", title))
    short = f"drill, {compared}" if one.is_drill else compared
    labels = (f"{cause(one)}, {compared}", short, told)
    return Mark(left=left, right=right, shapes=tuple(shapes), labels=labels)


def _bar(left: float, right: float, middle: float, style: str, told: str) -> str:
    return svg.box(left, middle - _BAR / 2, right - left, _BAR, style, told)


def _rescale(one: Rescale, frame: Frame, middle: float) -> Mark:
    """Upwards for more executors, downwards for fewer, a square where that is not known; filled for a restart."""
    x = frame.x(one.at)
    way = one.path.lower()
    style = "restart" if one.path == "Restart" else "live"
    if one.former is None or one.executors is None:
        shape, labels = f"M{x - 4:.1f} {middle - 4:.1f}h8v8h-8Z", [way]
    else:
        up = 1 if one.executors > one.former else -1
        shape = f"M{x - 5:.1f} {middle + 4 * up:.1f}h10l-5 {-9 * up}Z"
        numbers = f"{one.former} → {one.executors}"
        labels = [f"{numbers} {way}{', an undo' if one.is_undo else ''}", numbers]
    title = f"{labels[0]}, {clock(one.at)} UTC"
    return Mark(
        left=x - 5, right=x + 5, shapes=(svg.path(shape, style, title),), labels=tuple(labels)
    )


def _profile(one: Profile, frame: Frame, middle: float) -> Mark:
    left = frame.x(one.began)
    right = max(frame.x(one.ended or frame.now), left + _THIN)
    title = f"profile {one.name}, from {clock(one.began)} UTC"
    bar = svg.box(left, middle - 4, right - left, 8, "profile", title)
    return Mark(left=left, right=right, shapes=(bar,), labels=(one.name,))


def _labels(marks: Sequence[Mark], middle: float) -> list[str]:
    """Behind each mark the longest words that reach neither the next one nor the edge."""
    parts = []
    nexts = [*(mark.left for mark in marks[1:]), WIDTH]
    for mark, following in zip(marks, nexts, strict=True):
        start = mark.right + _GAP
        edge = min(following, RIGHT + 60) - _GAP
        fitting = next((one for one in mark.labels if start + svg.width_of(one) <= edge), None)
        if fitting is not None:
            parts.append(svg.text(start, middle + 4, fitting, "mark dark"))
    return parts
