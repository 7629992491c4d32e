"""Results as a table for the terminal, and the same in Markdown. Both say which loads were used for tuning."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from sluice.lab.cases import Json
from sluice.lab.results import Key, Row, by_scene
from sluice.lab.verdicts import Change, Gap, gaps

MEASURES = """\
late: share of the time in which what arrived was committed later than the bound, outages included. seen: share of the
working time that went into such rows, as published evaluations count. kept: recoveries within the target, of those that
all executors together could have kept. error: median error of predicted recoveries. hours: executor-hours of a run,
profile: those of them before it began. mean: executors. live, restarts: rescales in two hours. turns: changes of
direction in an hour. ms: processor time of a decision without its forecast (99 %). x oracle: hours by the oracle's.
"""


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


COLUMNS: Sequence[tuple[str, Callable[[Row], str]]] = (
    ("policy", lambda row: row.policy),
    ("late", lambda row: _share(row.late)),
    ("seen", lambda row: _share(row.seen_late)),
    ("p95 s", lambda row: f"{row.p95_latency:.1f}"),
    ("kept", lambda row: f"{row.kept}/{row.recoveries}"),
    ("error", lambda row: _share(row.prediction_error)),
    ("hours", lambda row: f"{row.executor_hours:.1f}"),
    ("profile", lambda row: f"{row.profiling_hours:.1f}"),
    ("mean", lambda row: f"{row.mean_executors:.1f}"),
    ("live", lambda row: f"{row.live_per_cycle:.1f}"),
    ("restarts", lambda row: f"{row.restarts_per_cycle:.1f}"),
    ("turns", lambda row: f"{row.turns:.1f}"),
    ("ms", lambda row: f"{row.cpu_p99 * 1000:.0f}"),
)


LEAST_FIRST = ("ms", "turns", "seen", "error", "profile", "restarts", "live", "mean", "x oracle")
"""The columns that a narrow terminal goes without, in this order: how late, how dear and for whom is always shown."""

WIDEST = 10_000
"""Columns in which every table has all the space that it wants."""


def headings() -> tuple[str, ...]:
    """The names of the columns."""
    return (*(name for name, _ in COLUMNS), "x oracle")


def cells(row: Row, gap: Gap | None) -> tuple[str, ...]:
    """A row in words."""
    return (*(tell(row) for _, tell in COLUMNS), f"{gap.price:.2f}" if gap else "-")


def console(*, width: int | None = None, stderr: bool = False) -> Console:
    """Where names of files and policies are told as they are, whatever they hold in brackets."""
    return Console(width=width, stderr=stderr, markup=False, emoji=False)


def title(scene: Sequence[Row]) -> str:
    """What a table is about."""
    first = scene[0]
    count = len(first.seeds)
    seeds = f"{count} seed" + ("s" if count > 1 else "")
    return f"{first.plant} under {first.trace} ({first.suite}, {first.hours:.3g} h, {seeds})"


def tables(found: Sequence[Row], width: int) -> list[Table]:
    """For a terminal of such a width: what is left out for it is told below."""
    known = gaps(found)
    return [_fitting(scene, known, width) for scene in by_scene(found).values()]


def _fitting(scene: Sequence[Row], known: Mapping[Key, Gap], width: int) -> Table:
    ruler = console(width=WIDEST)
    for count in range(len(LEAST_FIRST) + 1):
        table = _table(scene, known, LEAST_FIRST[:count])
        if ruler.measure(table).maximum <= width:
            break
    return table


def _table(scene: Sequence[Row], known: Mapping[Key, Gap], without: Sequence[str]) -> Table:
    caption = f"too narrow for {', '.join(without)}: results.md has them" if without else None
    table = Table(
        title=title(scene),
        title_justify="left",
        caption=caption,
        caption_justify="left",
        box=SIMPLE,
        pad_edge=False,
    )
    kept = [place for place, name in enumerate(headings()) if name not in without]
    for place in kept:
        justify: Literal["left", "right"] = "right" if place else "left"
        # Where even that is too wide, a name goes on in the next line rather than being cut.
        table.add_column(headings()[place], justify=justify, no_wrap=place > 0, overflow="fold")
    for row in scene:
        told = cells(row, known.get(row.key))
        table.add_row(*(told[place] for place in kept))
    return table


def markdown(found: Sequence[Row], notes: Sequence[str] = ()) -> str:
    """For people who read files."""
    known, lines = gaps(found), ["# Policies compared", "", MEASURES]
    for scene in by_scene(found).values():
        lines += [f"## {title(scene)}", ""]
        lines += _markdown_table(headings(), [cells(row, known.get(row.key)) for row in scene])
    lines += [f"- {note}" for note in notes]
    return "\n".join(lines).rstrip() + "\n"


def _markdown_table(heads: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    rule = ["---", *("---:" for _ in heads[1:])]
    return ["| " + " | ".join(line) + " |" for line in (heads, rule, *body)] + [""]


CHANGE_HEADINGS = ("plant", "trace", "policy", "late", "hours", "kept", "verdict")


def change_cells(change: Change) -> tuple[str, ...]:
    """A change in words."""
    former, present = change.former, change.present
    return (
        present.plant,
        present.trace,
        present.policy,
        f"{_share(former.late)} -> {_share(present.late)}",
        f"{former.executor_hours:.1f} -> {present.executor_hours:.1f}",
        f"{_share(former.kept_share)} -> {_share(present.kept_share)}",
        change.verdict,
    )


def change_table(changes: Sequence[Change]) -> Table:
    """What has changed, for the terminal."""
    table = Table(title="Since the former result", title_justify="left", box=SIMPLE, pad_edge=False)
    for name in CHANGE_HEADINGS:
        table.add_column(
            name, overflow="fold", min_width=len(name), no_wrap=name == CHANGE_HEADINGS[-1]
        )
    for change in changes:
        table.add_row(*change_cells(change))
    return table


def course(outcome: Json) -> Table:
    """Each rescale of a run, and why."""
    table = Table(title="Rescales", title_justify="left", box=SIMPLE, pad_edge=False)
    for name in ("at", "executors", "because"):
        table.add_column(name, overflow="fold")
    for change in outcome["timeline"]["changes"]:
        hours, minutes = divmod(int(change["at"] // 60), 60)
        numbers = f"{change['before']} -> {change['after']}"
        table.add_row(f"{hours}:{minutes:02}", numbers, change["reason"])
    return table
