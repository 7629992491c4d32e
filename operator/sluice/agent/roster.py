"""What Spark's status store knows of each executor, also of the last hundred that are gone.

Its list is read on Java's side, as `bulk` reads queries: one collector writes all columns in one pass, so that it
costs the same few calls for any number of executors and columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sluice.agent import logs
from sluice.agent.batches import DRIVER
from sluice.agent.bulk import Functions

_SUMMARY = "org.apache.spark.status.api.v1.ExecutorSummary"
_BETWEEN_COLUMNS = ";"


@dataclass(frozen=True)
class Entry:
    """One executor: when it joined, its seconds with a task, and the tasks that it has completed."""

    id: str
    joined: float
    worked: float
    tasks: int


class Roster:
    """The status store's list of executors."""

    def __init__(self, context: Any) -> None:
        jvm = context._jvm
        functions = Functions(jvm)
        added = functions.of_instance(_SUMMARY, "addTime", "java.util.Date")
        text = functions.of_any("java.lang.String", "valueOf", "java.lang.String")
        time = functions.of_instance("java.util.Date", "getTime", "long")
        columns = (
            functions.of_instance(_SUMMARY, "id", "java.lang.String"),
            added.andThen(time).andThen(text),
            functions.of_instance(_SUMMARY, "totalDuration", "long").andThen(text),
            functions.of_instance(_SUMMARY, "completedTasks", "int").andThen(text),
        )
        self._columns = _all_of(jvm, functions.concatenation(), columns)
        # Deprecated since Scala 2.13; what replaces it is not in the Scala of Spark 3.
        self._as_java = jvm.scala.collection.JavaConverters.seqAsJavaList
        self._store = context._jsc.sc().statusStore()

    def entries(self) -> list[Entry]:
        """Return each executor; the driver, which is in the list, is none."""
        listed = self._as_java(self._store.executorList(False))
        columns = str(listed.stream().collect(self._columns)).split(_BETWEEN_COLUMNS)
        ids, joined, worked, tasks = (column.split(",") for column in columns[:-1])
        return [
            Entry(id, int(joined[index]) / 1000, int(worked[index]) / 1000, int(tasks[index]))
            for index, id in enumerate(ids)
            if id and id != DRIVER
        ]


def roster_of(context: Any) -> Roster | None:
    """Return the list of a context, if its Spark has one that can be read."""
    try:
        roster = Roster(context)
        roster.entries()
    except Exception as error:  # noqa: BLE001  # py4j raises errors of many kinds for a name that is not there
        logs.write("info", "This Spark does not tell what executors did", error=repr(error)[:500])
        return None
    return roster


def _all_of(jvm: Any, concatenation: Any, columns: tuple[Any, ...]) -> Any:
    """Make one collector that writes a column after the other."""
    collectors = jvm.java.util.stream.Collectors
    joining = collectors.joining(",", "", _BETWEEN_COLUMNS)
    whole, *others = (collectors.mapping(column, joining) for column in columns)
    for other in others:
        whole = collectors.teeing(whole, other, concatenation)
    return whole
