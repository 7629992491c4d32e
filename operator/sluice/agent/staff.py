"""The executors of the context that runs now: who is there since when, and what each of them and all have done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sluice.agent import executors
from sluice.agent.batches import Batch, Crew
from sluice.agent.executors import Work
from sluice.agent.progress import Progress
from sluice.agent.roster import Roster, roster_of
from sluice.agent.tasks import Stages, Tasks


class Staff:
    """Follows one context at a time; the seconds worked go on from one to the next.

    `work` is what the executors did that can be given tasks, and `tasks` are those of the stages that ran at the last
    look; None where Spark does not tell.
    """

    def __init__(self) -> None:
        self._watch: executors.Watch | None = None
        self._stages: Stages | None = None
        self._roster: Roster | None = None
        self._crew = Crew()
        self._names = ""
        self._worked: dict[str, float] = {}
        self._worked_before = 0.0
        self._tally = _Tally()
        self.task_seconds: float | None = None
        self.work: tuple[Work, ...] | None = None
        self.tasks: Tasks | None = None

    def is_of(self, context: Any) -> bool:
        """Tell whether this is the context that is followed."""
        return self._watch is not None and self._watch.context is context

    def jvm(self) -> Any:
        """Return the JVM of the context that is followed, if there is one."""
        return self._watch.context._jvm if self._watch else None

    def join(self, context: Any) -> None:
        """Follow another context, whose executors are new."""
        self._watch, self._stages = executors.Watch(context), Stages(context)
        self._roster, self._crew = roster_of(context), Crew()
        self._worked_before += sum(self._worked.values())
        self._worked, self._tally, self.work = {}, _Tally(), None

    def has_changed(self) -> bool:
        """Tell whether somebody came or went: a new executor must be known when its first batch ends."""
        before = self._names
        self._names = self._watch.names() if self._watch else ""
        return self._names != before

    def look(self, now: float) -> tuple[str, ...]:
        """Return the ids of the executors that can be given tasks, oldest first."""
        ids = self._watch.registered() if self._watch else ()
        joined = self._read(ids) if self._roster else {}
        self.tasks = self._stages.tasks() if self._stages else None
        self._crew = self._crew.with_executors({id: joined.get(id, now) for id in ids})
        return ids

    def batch(self, progress: Progress) -> Batch:
        """Describe a batch that was just committed."""
        batch = self._crew.batch_of(progress)
        self._crew = self._crew.with_batch(progress)
        self._tally.saw(batch)
        return batch

    def _read(self, ids: tuple[str, ...]) -> dict[str, float]:
        """Note what each executor did, and return when it joined."""
        entries = self._roster.entries() if self._roster else []
        self._worked.update({entry.id: entry.worked for entry in entries})
        if self._worked:
            self.task_seconds = self._worked_before + sum(self._worked.values())
        joined = {entry.id: entry.joined for entry in entries}
        # One that is too new for the list is told of by the next look.
        known = {id: joined[id] for id in ids if id in joined}
        self.work = self._tally.work(known, {entry.id: entry.tasks for entry in entries})
        return joined


@dataclass(frozen=True)
class _Arrival:
    """An executor at the first look at it: when it joined, and the tasks that others had completed by then."""

    joined: float
    by_others: int


class _Tally:
    """The tasks and the batches that there were since each executor joined.

    Both are told as of one look, so that no batch is counted whose tasks are not.
    """

    def __init__(self) -> None:
        self._tasks: dict[str, int] = {}
        self._arrivals: dict[str, _Arrival] = {}
        self._batches: dict[str, int] = {}

    def saw(self, batch: Batch) -> None:
        """Count a batch with rows for those that were there when it began."""
        if batch.rows <= 0:
            return
        for id, arrival in self._arrivals.items():
            if arrival.joined <= batch.started_at:
                self._batches[id] = self._batches.get(id, 0) + 1

    def work(self, joined: dict[str, float], tasks: dict[str, int]) -> tuple[Work, ...]:
        """Describe those that are there; the tasks of those that are gone count for all."""
        self._tasks.update(tasks)
        total = sum(self._tasks.values())
        for id, since in joined.items():
            self._arrivals.setdefault(id, _Arrival(since, total - self._tasks[id]))
        self._arrivals = {id: self._arrivals[id] for id in joined}
        self._batches = {id: count for id, count in self._batches.items() if id in joined}
        return tuple(
            Work(
                id=id,
                joined=arrival.joined,
                tasks=self._tasks[id],
                batches=self._batches.get(id, 0),
                tasks_of_all=total - arrival.by_others,
            )
            for id, arrival in self._arrivals.items()
        )
