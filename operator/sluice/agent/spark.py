"""All that the agent asks of Spark about sessions and queries; every py4j call for reading is here.

It holds Java handles only: one call each, where pyspark's objects convert a hundred progresses at a time.
"""

from __future__ import annotations

import json
import sys
import threading
import urllib.parse
import weakref
from dataclasses import dataclass
from typing import Any

from sluice.agent import kafka, progress
from sluice.agent.progress import Progress
from sluice.agent.records import Activity, Failure, StateLayout

_LONGEST_MESSAGE = 1024
_STOP_TIMEOUT = "spark.sql.streaming.stopTimeout"
_STATE_PARTITIONS = "spark.sql.shuffle.partitions"
_STATE_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_PROVIDERS = {"HDFSBackedStateStoreProvider": "hdfs", "RocksDBStateStoreProvider": "rocksdb"}
_ASKING_SOURCES = "Getting offsets from"


@dataclass(frozen=True)
class Application:
    """The Spark application of this driver."""

    version: str
    id: str
    ui_port: int | None


@dataclass
class Query:
    """A run of a query: Java's handle, what never changes of it, and the last progress that was read."""

    java: Any
    name: str | None
    id: str
    run_id: str
    last_hash: int | None = None


class Spark:
    """The sessions and queries of the program, as they come and go."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Weak: foreachBatch makes a session object for each batch.
        self._sessions: weakref.WeakSet[Any] = weakref.WeakSet()
        self._queries: dict[str, Query] = {}
        self._application: tuple[Any, Application] | None = None

    def add_session(self, session: Any) -> None:
        """Remember a session that the program made."""
        with self._lock:
            self._sessions.add(session)

    def add_query(self, java: Any) -> None:
        """Remember a Java query; the program may have lost its own handle."""
        run_id = java.runId().toString()
        if run_id in self._queries:
            return
        query = Query(java, java.name(), java.id().toString(), run_id)
        with self._lock:
            self._queries.setdefault(run_id, query)

    def forget(self, run_id: str) -> None:
        """Let go of a query that ended."""
        with self._lock:
            self._queries.pop(run_id, None)

    def context(self) -> Any:
        """Return the running SparkContext, or None."""
        context = _active_context()
        is_running = getattr(context, "_jsc", None) is not None and self.jvm_exit_code() is None
        return context if is_running else None

    def jvm_exit_code(self) -> int | None:
        """Return how the driver's JVM ended, of which a looping program may notice nothing."""
        gateway = getattr(_active_context(), "_gateway", None)
        process = getattr(gateway, "proc", None)
        return None if process is None else process.poll()

    def application(self) -> Application | None:
        """Describe the running application; asked once per context."""
        context = self.context()
        if context is None:
            return None
        if self._application is None or self._application[0] is not context:
            self._application = (context, _describe(context))
        return self._application[1]

    def learn_queries(self) -> bool:
        """Learn of queries that were started past pyspark's writer; tell whether all known ones run."""
        with self._lock:
            sessions, known = list(self._sessions), len(self._queries)
        if self.context() is None:
            return False
        active = [session._jsparkSession.streams().active() for session in sessions]
        # Reading an array of Java costs a call for each query, and there is rarely a new one.
        if sum(len(queries) for queries in active) == known:
            return True
        for java in (java for queries in active for java in queries):
            self.add_query(java)
        return False

    def queries(self) -> tuple[Query, ...]:
        """Return the known queries, in the order in which they were started."""
        with self._lock:
            return tuple(self._queries.values())

    def offsets_by_time(self, run_id: str, source: str) -> kafka.OffsetsByTime:
        """Open a Kafka source of a known run, to ask for its offsets by time."""
        with self._lock:
            query = self._queries.get(run_id)
        if query is None:
            raise LookupError(f"the run {run_id} has ended")
        return kafka.OffsetsByTime(_active_context()._jvm, query.java, source)

    def limit_stopping(self, seconds: int) -> None:
        """Let a query's stop fail after a time, where the program set none; Spark waits for ever."""
        with self._lock:
            sessions = list(self._sessions)
        for session in sessions if self.context() is not None else ():
            conf = session._jsparkSession.conf()
            if conf.get(_STOP_TIMEOUT, "0") == "0":
                conf.set(_STOP_TIMEOUT, f"{seconds}s")

    def active_queries(self) -> list[Any]:
        """Return the queries that still run, in the order in which they were started."""
        self.learn_queries()
        return [query.java for query in self.queries() if query.java.isActive()]


def _active_context() -> Any:
    # pyspark is looked up, never imported: that is the program's to do.
    context_class = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    return getattr(context_class, "_active_spark_context", None)


def new_progress(query: Query, seen: Progress | None) -> list[Progress]:
    """Return the triggers since the one that was seen, oldest first; Spark keeps the last hundred."""
    last = query.java.lastProgress()
    # To render a progress costs Java more than all else here, so that it is asked for a new one only.
    code = None if last is None else last.hashCode()
    if code == query.last_hash:
        return []
    query.last_hash = code
    newest = progress.parse(last.json())
    if seen is None or seen.run_id != newest.run_id or newest.batch_id > _next_batch(seen):
        return _since(query.java.recentProgress(), seen)
    return [newest]


def _next_batch(seen: Progress) -> int:
    """Return the batch that follows a trigger; an idle one has the number of the batch to come."""
    return seen.batch_id + 1 if seen.is_batch else seen.batch_id


def _since(recent: Any, seen: Progress | None) -> list[Progress]:
    found = []
    for index in range(len(recent) - 1, -1, -1):
        trigger = progress.parse(recent[index].json())
        if seen is not None and trigger.key == seen.key:
            break
        found.append(trigger)
    return found[::-1]


def activity_of(query: Any) -> Activity:
    """Return what a query does now: work on a batch, look for new rows, or wait."""
    status = json.loads(query.status().json())
    doing = str(status["message"])
    is_at_work = status["isTriggerActive"] and not doing.startswith(_ASKING_SOURCES)
    return Activity(doing=doing, in_batch=bool(is_at_work))


def state_layout(query: Any) -> StateLayout | None:
    """Return the settings that the checkpoint fixes, as the running query took them from its offset log.

    The session does not tell: it keeps what the program asked for. None where this Spark has other names.
    """
    try:
        metadata = query.streamingQuery().getLatestExecutionContext().offsetSeqMetadata().json()
        settings = json.loads(metadata)["conf"]
        provider = settings[_STATE_PROVIDER].rpartition(".")[2]
        partitions = int(settings[_STATE_PARTITIONS])
    except Exception:  # noqa: BLE001  # py4j raises errors of many kinds for a name that is not there
        return None
    return StateLayout(partitions, _PROVIDERS.get(provider, provider))


def failure_of(query: Any) -> Failure | None:
    """Return the root cause of a query's end; None if it was stopped."""
    exception = query.exception()
    if exception.isEmpty():
        return None
    cause = exception.get()
    while cause.getCause() is not None:
        cause = cause.getCause()
    message = cause.getMessage() or cause.toString()
    return Failure(error_class=_error_class(cause), message=message[:_LONGEST_MESSAGE])


def _error_class(cause: Any) -> str:
    """Prefer Spark's name of the condition; an error from elsewhere has only its Java class."""
    methods = {method.getName() for method in cause.getClass().getMethods()}
    for name in ("getCondition", "getErrorClass"):  # Spark 4, Spark 3
        if name in methods:
            return str(getattr(cause, name)() or cause.getClass().getName())
    return str(cause.getClass().getName())


def _describe(context: Any) -> Application:
    url = context.uiWebUrl
    return Application(
        version=context.version,
        id=context.applicationId,
        ui_port=urllib.parse.urlsplit(url).port if url else None,
    )
