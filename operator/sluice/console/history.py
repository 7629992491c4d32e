"""What became of a job: the decisions that are kept of it, and its last recoveries, the newest last."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sluice.console import words
from sluice.console.decisions import Kept, Unreadable, lack, remedy
from sluice.console.explaining import decision_data, effect_data
from sluice.console.job import Job
from sluice.console.page import Line, Page, Section, Tone
from sluice.ports import Json

STAGES = {
    "detection": "seen",
    "container": "container",
    "session": "session",
    "firstBatch": "first batch",
    "caughtUp": "caught up",
}
"""The stages of a recovery as the status names them, in seconds since it began, and in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A job and its decisions, the newest last."""

    job: Job
    decisions: Sequence[Kept | Unreadable]

    @property
    def recoveries(self) -> Sequence[Mapping[str, Any]]:
        """The last ones, as the status has them."""
        return list(self.job.part("recoveries").get("past", ()))


def page(history: History, now: datetime) -> Page:
    """For people."""
    job = history.job
    note = f"{lack(job)}. {remedy(job)}" if not history.decisions else ""
    return Page(
        title=f"{job.namespace}/{job.name}",
        sections=(
            Section("Decisions", tuple(_decisions(history, now))),
            Section("Recoveries", tuple(_recoveries(history, now))),
        ),
        notes=(note[:1].upper() + note[1:],) if note else (),
    )


def data(history: History) -> Json:
    """For scripts."""
    return {
        "namespace": history.job.namespace,
        "name": history.job.name,
        "decisions": [_data(one) for one in history.decisions],
        "recoveries": [dict(one) for one in history.recoveries],
    }


def _decisions(history: History, now: datetime) -> Iterator[Line]:
    if history.decisions:
        yield Line(cells=("ID", "WHEN", "EXECUTORS", "PATH", "KEPT BY", "EFFECT"), detail="REASON")
    for one in history.decisions:
        if isinstance(one, Unreadable):
            told = f"cannot be read: {one.why}"
            yield Line(cells=(one.id,), detail=told, tone=Tone.ODD)
        else:
            yield _decided(one, now)


def _decided(kept: Kept, now: datetime) -> Line:
    decision, before = kept.decision, kept.record.situation.executors
    changes = decision.executors != before
    cells = (
        kept.id,
        f"{words.since(kept.at, now)} ago",
        f"{before} -> {decision.executors}" if changes else str(before),
        decision.path.value if changes else words.NOTHING,
        decision.veto.guard if decision.veto is not None else words.NOTHING,
        str(kept.verdict.outcome) if kept.verdict is not None else words.NOTHING,
    )
    return Line(
        cells=cells, detail=decision.reason, tone=Tone.TITLE if changes else Tone.PLAIN, toned=2
    )


def _recoveries(history: History, now: datetime) -> Iterator[Line]:
    if history.recoveries:
        yield Line(cells=("BEGAN", "CAUSE", "DRIVER"), detail="UNTIL")
    for one in history.recoveries:
        began = datetime.fromisoformat(one["began"])
        cells = (f"{words.since(began, now)} ago", one["cause"], str(one.get("incarnation", "")))
        told = [
            f"{name} {words.span(one[field])}" for field, name in STAGES.items() if field in one
        ]
        yield Line(cells=cells, detail=", ".join(told))


def _data(one: Kept | Unreadable) -> Json:
    if isinstance(one, Unreadable):
        return {"id": one.id, "unreadable": one.why}
    before = one.record.situation.executors
    return {
        "id": one.id,
        "at": one.at.isoformat(),
        "from": before,
        **decision_data(one.decision),
        "effect": effect_data(one.verdict),
    }
