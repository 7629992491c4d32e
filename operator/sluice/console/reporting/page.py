"""The picture as a page that needs nothing else, with tables of what it can only hint at."""

from collections.abc import Iterator, Sequence

from sluice.console import words
from sluice.console.decisions import Kept
from sluice.console.reporting import svg
from sluice.console.reporting.course import Course
from sluice.console.reporting.happenings import Recovery
from sluice.console.reporting.phrases import cause, lasting, moment
from sluice.console.reporting.picture import notes, picture

Row = Sequence[str]

_RECOVERIES = ("Began (UTC)", "Cause", "First batch", "Caught up", "Target", "Target kept")
_DECISIONS = ("Decided (UTC)", "Executors", "Way", "Latency expected", "Effect", "Reason")
_MEANING = {True: "yes", False: "no", None: words.NOTHING}


def page(course: Course) -> str:
    """The file."""
    name = f"{course.job.namespace}/{course.job.name}"
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{svg.escaped(name)}</title><style>{_style()}</style></head><body>",
        picture(course),
        "<h2>Recoveries</h2>",
        *_table(_RECOVERIES, [_recovery(one, course) for one in course.recoveries.found]),
        "<h2>Decisions that changed the executors</h2>",
        *_table(_DECISIONS, [_decision(one) for one in course.changes]),
        *(f"<p>{svg.escaped(note)}</p>" for note in notes(course)),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _style() -> str:
    return f"""
:root {{ color-scheme: light dark; {_variables(svg.LIGHT)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_variables(svg.DARK)} }} }}
body {{ font: 14px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 960px;
  margin: 1.5rem auto; padding: 0 1rem; }}
body > svg {{ display: block; width: 100%; height: auto; }}
h2 {{ font-size: 1.05rem; margin: 2rem 0 .4rem; }} p {{ color: var(--soft); }} .wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .3rem 1rem .3rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--faint); }}
th {{ color: var(--soft); font-weight: 600; }} th, td:not(:last-child) {{ white-space: nowrap; }}
"""


def _variables(palette: svg.Palette) -> str:
    return (
        f"--paper: {palette.paper}; --ink: {palette.ink}; "
        f"--soft: {palette.soft}; --faint: {palette.faint};"
    )


def _table(heads: Row, rows: Sequence[Row]) -> Iterator[str]:
    if not rows:
        yield "<p>None in this time.</p>"
        return
    yield f'<div class="wide"><table><tr>{_cells("th", heads)}</tr>'
    for row in rows:
        yield f"<tr>{_cells('td', row)}</tr>"
    yield "</table></div>"


def _cells(tag: str, cells: Row) -> str:
    return "".join(f"<{tag}>{svg.escaped(cell)}</{tag}>" for cell in cells)


def _recovery(one: Recovery, course: Course) -> Row:
    target = course.target if one.is_failure else None
    return (
        moment(one.began) if one.exact else f"about {moment(one.began)}",
        cause(one),
        _seconds(one.downtime),
        "under way" if one.goes_on else _seconds(one.seconds),
        lasting(target) if target is not None else words.NOTHING,
        _MEANING[one.is_within(target, course.now)],
    )


def _decision(one: Kept) -> Row:
    former, decision = one.record.situation.executors, one.decision
    return (
        moment(one.at),
        f"{former} → {decision.executors}",
        decision.path.value.lower() + (", an undo" if decision.undoes is not None else ""),
        words.span(decision.expected_latency),
        str(one.verdict.outcome) if one.verdict is not None else words.NOTHING,
        decision.reason,
    )


def _seconds(number: float | None) -> str:
    return words.NOTHING if number is None else f"{number:.1f} s"
