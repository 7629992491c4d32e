"""The whole picture of a course, an SVG that needs nothing else: head, lanes of marks, panels over one time axis."""

from collections.abc import Iterator

from sluice import __version__
from sluice.console import words
from sluice.console.reporting import declared, marks, panels, svg
from sluice.console.reporting.course import Course
from sluice.console.reporting.figures import figures
from sluice.console.reporting.frame import LEFT, MARGIN, RIGHT, WIDTH, Frame
from sluice.console.reporting.phrases import between, lasting
from sluice.console.slo import promise

_HEAD = 160.0
_FOOT = 62.0
_TEXT = WIDTH - 2 * MARGIN

_WORTH_SHOWING = 0.02
"""A time to come that is a smaller share of the whole is left out."""


def picture(course: Course) -> str:
    """The file."""
    frame, shown = _frame(course), panels.panels(course)
    first = _HEAD + marks.height(course)
    tops = _tops([panel.height for panel in shown], first)
    bottom = tops[-1] + shown[-1].height
    name, span = f"{course.job.namespace}/{course.job.name}", _span(course)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {bottom + _FOOT:.0f}" '
        f'role="img" aria-label="{svg.escaped(f"{name}, {span}")}">',
        f"<title>{svg.escaped(f'{name}, {span}')}</title>",
        f"<style>{svg.style()}</style>",
        f'<rect class="paper" x=".5" y=".5" width="{WIDTH - 1:.0f}" height="{bottom + _FOOT - 1:.0f}" rx="8"/>',
        *_head(course, name, span),
        *_to_come(frame, first, bottom),
        *marks.through(course, frame, _HEAD, bottom),
        *_times(frame, first, bottom),
        *marks.lanes(course, frame, _HEAD),
        *(
            part
            for panel, top in zip(shown, tops, strict=True)
            for part in panels.drawn(panel, frame, top)
        ),
        *_foot(course, bottom),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _frame(course: Course) -> Frame:
    ahead = declared.ahead(course.job.spec)
    is_shown = course.curves.forecast.known and ahead >= _WORTH_SHOWING * course.span
    return Frame(
        start=course.start, now=course.now, end=course.now + ahead if is_shown else course.now
    )


def _tops(heights: list[float], first: float) -> list[float]:
    tops = [first + panels.TITLE]
    for height in heights[:-1]:
        tops.append(tops[-1] + height + panels.TITLE + 6)
    return tops


def _span(course: Course) -> str:
    return between(course.start, course.now, course.span)


def _head(course: Course, name: str, span: str) -> Iterator[str]:
    room = _TEXT - svg.width_of(span) - MARGIN
    yield svg.text(MARGIN, 38, svg.fitted(name, room, 20), "name dark")
    yield svg.text(WIDTH - MARGIN, 38, span, "end dark")
    yield svg.text(MARGIN, 58, svg.fitted(_promise(course), _TEXT))
    told = figures(course)
    for number, one in enumerate(told):
        x, room = MARGIN + number * _TEXT / len(told), _TEXT / len(told) - 8
        yield svg.text(x, 88, one.name)
        yield svg.text(x, 113, svg.fitted(one.value, room, 22), "value dark")
        for line, detail in enumerate(one.details):
            yield svg.text(x, 130 + 13 * line, svg.fitted(detail, room, 10), "small")


def _promise(course: Course) -> str:
    parts = [promise(course.job.spec)]
    if course.target is not None:
        parts.append(f"caught up within {lasting(course.target)} of a failure")
    return "; ".join(filter(None, parts)) or "No objective and no recovery target are declared."


def _to_come(frame: Frame, top: float, bottom: float) -> Iterator[str]:
    if frame.end > frame.now:
        x = frame.x(frame.now)
        yield svg.box(x, top, RIGHT - x, bottom - top, "to-come", "foreseen")
        yield svg.text(x + 4, top + 13, "from now", "small")


def _times(frame: Frame, top: float, bottom: float) -> Iterator[str]:
    yield svg.text(LEFT - 24, bottom + 18, "UTC", "end")
    for x, told in frame.ticks:
        yield svg.path(f"M{x:.1f} {top:.1f}V{bottom + 4:.1f}", "grid")
        yield svg.text(x, bottom + 18, told, "middle")


def _foot(course: Course, bottom: float) -> Iterator[str]:
    for number, line in enumerate((" ".join(_reading(course)), " ".join(notes(course)))):
        yield svg.text(MARGIN, bottom + 38 + 14 * number, svg.fitted(line, _TEXT, 10), "small")


def _reading(course: Course) -> Iterator[str]:
    yield "A gap: nothing was measured."
    if course.curves.forecast.known:
        ahead = words.span(declared.ahead(course.job.spec).total_seconds())
        yield f"Forecast: made {ahead} before the moment that it is of."
    if course.curves.capacity.known:
        yield "Capacity: of the executors wanted, as learned by then."
    yield f"sluice {__version__}"


def notes(course: Course) -> Iterator[str]:
    """What could not be shown."""
    missing, unreadable = course.recoveries.missing, course.unreadable
    if missing:
        some = "1 more recovery is" if missing == 1 else f"{missing} more recoveries are"
        yield f"{some} not shown: of several at once only the last is known."
    if unreadable:
        some = "1 decision" if unreadable == 1 else f"{unreadable} decisions"
        yield f"{some} cannot be read; `sluice history` says why."
