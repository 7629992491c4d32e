"""What takes the place of a program's sinks in a profile: Spark's `noop` sink, which runs the plan and drops the rows.

pyspark's writers call a writer of Java, `_jwrite`, for whatever they do. The classes here stand in its place, so that
no method of the program ever has the real one: what is not known here is refused, not passed on. Java's writer of a
stream is told the trigger, the output mode and the name; every checkpoint is moved below the copy's own place.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

from sluice.agent import logs
from sluice.agent.records import Replaced
from sluice.agent.standins import unknown

DROPPED, LOWER_BOUND = "dropped", "lowerBound"
FOREACH, FOREACH_BATCH = "foreach", "foreachBatch"

_NOOP = "noop"
_CHECKPOINT, _NAME = "checkpointlocation", "queryname"
# How offsets are kept is a cost of the batch, although it is set as an option of the sink.
_OF_THE_ENGINE = "asyncprogresstracking"
_PERIODIC = "ProcessingTimeTrigger"
_NOT_IN_A_FOLDER = re.compile(r"[^A-Za-z0-9_-]")


def drop(rows: Any) -> None:
    """Run the plan of Java's batch rows and drop what comes out."""
    rows.write().format(_NOOP).mode("overwrite").save()


def drop_batch(rows: Any, _batch_id: int) -> None:
    """Stand in for what a program does in foreachBatch."""
    drop(rows._jdf)


class Dropped:
    """The batch writes of the program that were not made: each is logged once, and all are counted."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}

    def note(self, what: str) -> None:
        """Count one."""
        with self._lock:
            self._counts[what] = self._counts.get(what, 0) + 1
            is_first = self._counts[what] == 1
        if is_first:
            logs.write("info", "Not written, for this is a profile", what=what)

    def tell(self) -> None:
        """Log how many there were, when the program ends."""
        if self._counts:
            logs.write("info", "What this profile did not write", counts=self._counts)


class Folders:
    """Where each query keeps its checkpoint: in a folder of its name, or of its number in order where it has none.

    A query that is started again with the name and the place of a former one has the folder of that.
    """

    def __init__(self, place: str) -> None:
        self._place = place.rstrip("/")
        self._lock = threading.Lock()
        self._folders: dict[tuple[str | None, str | None, int], str] = {}
        self._unnamed = 0

    def of(self, name: str | None, place: str | None) -> str:
        """Return the checkpoint of a query for which the program gave this name and this place."""
        with self._lock:
            # Without both it would have had a temporary place, which is another one each time.
            key = (name, place, 0 if name or place else self._unnamed)
            if key not in self._folders:
                self._folders[key] = self._new(name)
            return f"{self._place}/{self._folders[key]}"

    def _new(self, name: str | None) -> str:
        if name is None:
            wanted = f"q{self._unnamed}"
            self._unnamed += 1
        else:
            wanted = _NOT_IN_A_FOLDER.sub("-", name)
        folder, number = wanted, 1
        while folder in self._folders.values():
            number += 1
            folder = f"{wanted}-{number}"
        return folder


class StreamWriter:
    """Stands in for Java's writer of a stream, of which it has a new one."""

    def __init__(
        self,
        java: Any,
        default_format: Callable[[], str],
        folders: Folders,
        on_start: Callable[[Any, Replaced], None],
        *,
        is_steered: bool,
    ) -> None:
        """`is_steered` says that the batches are given their sizes from outside."""
        self._java = java
        self._is_steered = is_steered
        self._default_format = default_format
        self._folders = folders
        self._on_start = on_start
        self._sink: str | None = None
        self._in_batches = False
        self._kind = DROPPED
        self._name: str | None = None
        self._place: str | None = None

    def format(self, source: str) -> StreamWriter:
        """Note the sink that the program wants."""
        return self._wanted(source, DROPPED)

    def foreach(self, _writer: Any) -> StreamWriter:
        """Note that the program wants its own code to have each row: what that costs is not measured."""
        return self._wanted(FOREACH, LOWER_BOUND)

    def in_batches(self, set_function: Callable[[Any], None]) -> StreamWriter:
        """Let Java's writer be given a function of batches, which is not the program's."""
        set_function(self._java)
        self._wanted(FOREACH_BATCH, LOWER_BOUND)
        self._in_batches = True
        return self

    def option(self, key: str, value: Any) -> StreamWriter:
        """Keep what is no affair of the sink."""
        known = key.lower()
        if known == _CHECKPOINT:
            self._place = value
        elif known == _NAME:
            self.queryName(value)
        elif known.startswith(_OF_THE_ENGINE):
            self._java.option(key, value)
        return self

    def queryName(self, name: str) -> StreamWriter:  # noqa: N802  # Java's name
        """Keep the name."""
        self._name = name
        self._java.queryName(name)
        return self

    def outputMode(self, mode: str) -> StreamWriter:  # noqa: N802
        """Keep the output mode; noop takes all of them."""
        self._java.outputMode(mode)
        return self

    def trigger(self, trigger: Any) -> StreamWriter:
        """Keep the trigger, without its period where batches are given their sizes: before Spark looks at another
        period it waits for the end of this one.
        """
        self._java.trigger(_without_period(trigger) if self._is_steered else trigger)
        return self

    def partitionBy(self, _columns: Any) -> StreamWriter:  # noqa: N802
        """Forget how the sink is laid out."""
        return self

    def clusterBy(self, _columns: Any) -> StreamWriter:  # noqa: N802
        """Forget how the sink is laid out."""
        return self

    def start(self, _path: str | None = None) -> Any:
        """Start the query on noop; return Java's query."""
        return self._started(self._sink or self._default_format())

    def toTable(self, _name: str) -> Any:  # noqa: N802
        """Start the query on noop; the table is neither made nor looked for."""
        return self._started(self._sink or "table")

    def __getattr__(self, name: str) -> Any:
        return unknown("DataStreamWriter", name)

    def _wanted(self, sink: str, kind: str) -> StreamWriter:
        self._sink, self._kind, self._in_batches = sink, kind, False
        return self

    def _started(self, sink: str) -> Any:
        if not self._in_batches:
            self._java.format(_NOOP)
        place = self._folders.of(self._name, self._place)
        self._java.option("checkpointLocation", place)
        query = self._java.start()
        self._on_start(query, Replaced(sink=sink, kind=self._kind))
        logs.write("info", "A query drops its rows", name=self._name, sink=sink, checkpoint=place)
        return query


def _without_period(trigger: Any) -> Any:
    is_periodic = trigger.getClass().getSimpleName() == _PERIODIC
    return trigger.copy(0) if is_periodic else trigger
