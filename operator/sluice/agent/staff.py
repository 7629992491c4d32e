"""The executors of the context that runs now: who is there since when, and for how long all of them worked.

Spark's status store knows this of every executor, also of the last hundred that are gone. Its list is read on
Java's side, as `bulk` reads queries, so that it costs the same few calls for any number of executors.
"""

from __future__ import annotations

from typing import Any

from sluice.agent import executors, logs
from sluice.agent.batches import DRIVER, Batch, Crew
from sluice.agent.bulk import Functions
from sluice.agent.progress import Progress

_SUMMARY = "org.apache.spark.status.api.v1.ExecutorSummary"


class Staff:
    """Follows one context at a time; the seconds worked go on from one to the next."""

    def __init__(self) -> None:
        self._watch: executors.Watch | None = None
        self._roster: _Roster | None = None
        self._crew = Crew()
        self._names = ""
        self._worked: dict[str, float] = {}
        self._worked_before = 0.0
        self.task_seconds: float | None = None

    def is_of(self, context: Any) -> bool:
        """Tell whether this is the context that is followed."""
        return self._watch is not None and self._watch.context is context

    def jvm(self) -> Any:
        """Return the JVM of the context that is followed, if there is one."""
        return self._watch.context._jvm if self._watch else None

    def join(self, context: Any) -> None:
        """Follow another context, whose executors are new."""
        self._watch, self._roster, self._crew = executors.Watch(context), _roster(context), Crew()
        self._worked_before += sum(self._worked.values())
        self._worked = {}

    def has_changed(self) -> bool:
        """Tell whether somebody came or went: a new executor must be known when its first batch ends."""
        before = self._names
        self._names = self._watch.names() if self._watch else ""
        return self._names != before

    def look(self, now: float) -> tuple[str, ...]:
        """Return the ids of the executors that can be given tasks, oldest first."""
        ids = self._watch.registered() if self._watch else ()
        joined = self._read() if self._roster else {}
        self._crew = self._crew.with_executors({id: joined.get(id, now) for id in ids})
        return ids

    def batch(self, progress: Progress) -> Batch:
        """Describe a batch that was just committed."""
        batch = self._crew.batch_of(progress)
        self._crew = self._crew.with_batch(progress)
        return batch

    def _read(self) -> dict[str, float]:
        """Note how long each executor worked, and return when it joined."""
        entries = self._roster.entries() if self._roster else []
        self._worked.update({id: worked for id, _, worked in entries})
        if self._worked:
            self.task_seconds = self._worked_before + sum(self._worked.values())
        return {id: joined for id, joined, _ in entries}


class _Roster:
    """The status store's list of executors."""

    def __init__(self, context: Any) -> None:
        jvm = context._jvm
        functions = Functions(jvm)
        added = functions.of_instance(_SUMMARY, "addTime", "java.util.Date")
        text = functions.of_any("java.lang.String", "valueOf", "java.lang.String")
        time = functions.of_instance("java.util.Date", "getTime", "long")
        self._columns = (
            functions.of_instance(_SUMMARY, "id", "java.lang.String"),
            added.andThen(time).andThen(text),
            functions.of_instance(_SUMMARY, "totalDuration", "long").andThen(text),
        )
        self._joining = jvm.java.util.stream.Collectors.joining(",")
        self._as_java = jvm.scala.jdk.javaapi.CollectionConverters.asJava
        self._store = context._jsc.sc().statusStore()

    def entries(self) -> list[tuple[str, float, float]]:
        """Return the id of each executor, when it joined, and its seconds with a task.

        The driver is in the list, but its seconds are those since its start.
        """
        listed = self._as_java(self._store.executorList(False))
        ids, joined, worked = (
            str(listed.stream().map(column).collect(self._joining)).split(",")
            for column in self._columns
        )
        return [
            (id, int(joined[index]) / 1000, int(worked[index]) / 1000)
            for index, id in enumerate(ids)
            if id and id != DRIVER
        ]


def _roster(context: Any) -> _Roster | None:
    try:
        roster = _Roster(context)
        roster.entries()
    except Exception as error:  # noqa: BLE001  # py4j raises errors of many kinds for a name that is not there
        logs.write("info", "This Spark does not tell what executors did", error=repr(error)[:500])
        return None
    return roster
