"""All jobs in one table, those with a problem first: for `sluice top`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from rich.console import Group, RenderableType
from rich.text import Text

from sluice.console import words
from sluice.console.job import Job
from sluice.console.page import Tone, aligned, tone_of, widths_of
from sluice.console.trends import Key, Trend
from sluice.ports import Json

_GAP = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """All jobs at a moment. `lack` says why no load is known, `trouble` why the jobs are those of before."""

    jobs: Sequence[Job]
    now: datetime
    namespace: str | None = None
    """Whose jobs they are; None for those of the cluster."""
    loads: Mapping[Key, Trend] = field(default_factory=dict)
    lack: str = ""
    trouble: str = ""

    @property
    def ordered(self) -> list[Job]:
        """Those with a problem first."""
        return sorted(self.jobs, key=lambda job: (job.is_fine, job.key))

    def stale(self, error: Exception, now: datetime) -> "Fleet":
        """The same, because there is nothing newer to show."""
        age = words.since(self.now, now)
        return replace(self, trouble=f"As it was {age} ago: {error.args[0]}")

    @property
    def is_fine(self) -> bool:
        """Whether every job does what its owner wants."""
        return all(job.is_fine for job in self.jobs)


@dataclass(frozen=True, slots=True)
class _Column:
    title: str
    told: Callable[[Job, Fleet], str]
    worth: int
    """On a narrow terminal those of little worth go first."""


def _share_left(job: Job, _: Fleet) -> str:
    return words.percent(job.part("slo").get("budgetLeft"))


def _executors(job: Job, _: Fleet) -> str:
    executors = job.part("executors")
    return f"{executors.get('running', 0)}/{executors.get('wanted', 0)}"


def _lag(job: Job, _: Fleet) -> str:
    stream = job.part("stream")
    waiting, rows = stream.get("lagSeconds"), words.count(stream.get("lagRows"))
    return f"{rows} ({words.span(waiting)})" if waiting else rows


def _load(job: Job, fleet: Fleet) -> str:
    return words.sparkline(fleet.loads.get(job.key, Trend(())).values)


def _number(field: str, told: Callable[[float | None], str]) -> Callable[[Job, Fleet], str]:
    return lambda job, _: told(job.part("stream").get(field))


_COLUMNS = (
    _Column("NAMESPACE", lambda job, _: job.namespace, 8),
    _Column("JOB", lambda job, _: job.name, 10),
    _Column("PHASE", lambda job, _: job.phase, 9),
    _Column("EXEC", _executors, 6),
    _Column("IN/S", _number("arrivalRate", words.count), 4),
    _Column("PROC/S", _number("processingRate", words.count), 3),
    _Column("P95", _number("latencyP95", words.span), 7),
    _Column("LAG", _lag, 7),
    _Column("BUDGET", _share_left, 5),
    _Column("LOAD", _load, 2),
    _Column("AGE", lambda job, fleet: words.since(job.created, fleet.now), 1),
)


def table(fleet: Fleet, width: int, height: int | None = None) -> RenderableType:
    """The table for a terminal of that size; below each job that is not fine, why."""
    if not fleet.jobs:
        return Group(Text(_nothing(fleet)), *_notes(fleet))
    columns = _fitting(fleet, width)
    rows = [[column.told(job, fleet) for column in columns] for job in fleet.ordered]
    titles = [column.title for column in columns]
    widths = widths_of([titles, *rows])
    lines = [aligned(titles, widths)]
    lines[0].stylize(Tone.TITLE)
    for job, row in zip(fleet.ordered, rows, strict=True):
        lines += _job_lines(job, row, widths, titles, width)
    shown = _cut(lines, height - 2) if height is not None else lines
    return Group(*shown, *_notes(fleet))


def _nothing(fleet: Fleet) -> str:
    if fleet.namespace is None:
        return "No StreamJobs in the cluster."
    return f"No StreamJobs in {fleet.namespace}; -A shows those of all namespaces."


def data(fleet: Fleet) -> Json:
    """The same for scripts."""
    return {
        "jobs": [_job_data(job, fleet) for job in fleet.ordered],
        "notes": [note for note in (fleet.trouble, fleet.lack) if note],
    }


def _job_data(job: Job, fleet: Fleet) -> Json:
    load = fleet.loads.get(job.key)
    return {
        "namespace": job.namespace,
        "name": job.name,
        "fine": job.is_fine,
        "phase": job.phase,
        "why": job.why,
        "executors": dict(job.part("executors")),
        "stream": dict(job.part("stream")),
        "slo": dict(job.part("slo")),
        "load": list(load.values) if load is not None else None,
    }


def _fitting(fleet: Fleet, width: int) -> list[_Column]:
    """The columns of most worth that fit; one in which nothing is known is of none."""
    columns = [one for one in _COLUMNS if any(_is_known(one, job, fleet) for job in fleet.jobs)]
    while len(columns) > 1 and _width(columns, fleet) > width:
        columns.remove(min(columns, key=lambda one: one.worth))
    return columns


def _is_known(column: _Column, job: Job, fleet: Fleet) -> bool:
    return column.told(job, fleet).strip() not in ("", words.NOTHING)


def _width(columns: Sequence[_Column], fleet: Fleet) -> int:
    rows = [[column.told(job, fleet) for column in columns] for job in fleet.jobs]
    titles = [column.title for column in columns]
    return sum(width + _GAP for width in widths_of([titles, *rows])) - _GAP


def _job_lines(
    job: Job, row: Sequence[str], widths: Sequence[int], titles: Sequence[str], width: int
) -> list[Text]:
    """A job's line; why it is not fine follows where there is room for it, else stands below."""
    tones = {titles.index("JOB"): Tone.NAME}
    if "PHASE" in titles:
        tones[titles.index("PHASE")] = tone_of(job.is_fine)
    line = aligned(row, widths, tones)
    why = Text(words.printable(job.why), Tone.ODD, no_wrap=True, overflow="ellipsis")
    if job.is_fine or not why:
        return [line]
    if line.cell_len + why.cell_len <= width:
        return [line.append_text(why)]
    why.pad_left(2 * _GAP)
    return [line, why]


def _cut(lines: list[Text], height: int) -> list[Text]:
    if len(lines) <= height:
        return lines
    hidden = len(lines) - height + 1
    return [
        *lines[: height - 1],
        Text(f"... {hidden} more lines; -n shows one namespace", Tone.QUIET),
    ]


def _notes(fleet: Fleet) -> Iterable[Text]:
    if fleet.trouble:
        yield Text(words.printable(fleet.trouble), Tone.BAD)
    if fleet.lack:
        yield Text(f"No load: {words.printable(fleet.lack)}", Tone.ODD)
