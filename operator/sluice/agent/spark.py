"""The application, its sessions and its queries, as they come and go; what a query tells is in `reading`.

It holds Java handles only: one call each, where pyspark's objects convert a hundred progresses at a time.
"""

from __future__ import annotations

import os
import sys
import threading
import urllib.parse
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sluice.agent import defaults, kafka, reading
from sluice.agent.bulk import Bulk, Counter
from sluice.agent.reading import Query
from sluice.agent.records import Replaced

_STOP_TIMEOUT = "spark.sql.streaming.stopTimeout"
_NO_CODE = "0"  # Java's identity hash of null


@dataclass(frozen=True)
class Application:
    """The Spark application of this driver; `overridden` has the settings that the program has otherwise than they were
    given to the driver, with the program's values.
    """

    version: str
    id: str
    ui_port: int | None
    overridden: tuple[tuple[str, str], ...] = ()


class Spark:
    """The sessions and queries of the program, as they come and go."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Weak: foreachBatch makes a session object for each batch.
        self._sessions: weakref.WeakSet[Any] = weakref.WeakSet()
        self._queries: dict[str, Query] = {}
        self._application: tuple[Any, Application] | None = None
        self._bulk: Bulk | None = None
        self._counter: tuple[Any, Counter] | None = None

    def add_session(self, session: Any) -> None:
        """Remember a session that the program made."""
        with self._lock:
            self._sessions.add(session)

    def add_query(self, java: Any) -> None:
        """Remember a Java query; the program may have lost its own handle."""
        run_id = java.runId().toString()
        if run_id in self._queries:
            return
        trigger = reading.trigger_of(java)
        query = Query(java, java.name(), java.id().toString(), run_id, trigger)
        with self._lock:
            self._queries.setdefault(run_id, query)

    def add_replaced(self, java: Any, replaced: Replaced) -> None:
        """Remember a Java query whose sink was replaced for a profile."""
        self.add_query(java)
        query = self._queries.get(java.runId().toString())
        if query is not None:  # it may have ended and been forgotten
            query.replaced = replaced

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
        context = self.context()
        if context is None:
            return False
        sessions, known = self._sessions_of(context), len(self._queries)
        if self._counter is None or self._counter[0] is not context:
            self._counter = (context, Counter(context._jvm))
        # Two objects of Python may stand for one of Java, whose queries would be counted twice.
        java_sessions = dict.fromkeys(session._jsparkSession for session in sessions)
        # Reading an array of Java costs a call for each query, and there is rarely a new one.
        if sum(self._counter[1].count(session) for session in java_sessions) == known:
            return True
        for java in (java for session in java_sessions for java in session.streams().active()):
            self.add_query(java)
        return False

    def queries(self) -> tuple[Query, ...]:
        """Return the known queries, in the order in which they were started."""
        with self._lock:
            return tuple(self._queries.values())

    def query_named(self, name: str) -> Query | None:
        """Return the running query of a name, or of an id where it has none; None if there is not just one."""
        found = [query for query in self.queries() if name in (query.name, query.id)]
        return found[0] if len(found) == 1 else None

    def new_reports(self, queries: Sequence[Query]) -> dict[str, str]:
        """Return the last progress, as JSON, of each run that has a new one since it was asked for."""
        context = self.context()
        if context is None or not queries:
            return {}
        bulk = self._bulk_of(context, queries)
        codes = bulk.codes()
        new = [
            place
            for place, query in enumerate(queries)
            if codes[place] not in (_NO_CODE, query.code)
        ]
        texts = bulk.progress(new) if new else []
        for place, query in enumerate(queries):
            query.code = codes[place]
        return {queries[place].run_id: text for place, text in zip(new, texts)}  # noqa: B905  # of Python 3.10

    def _bulk_of(self, context: Any, queries: Sequence[Query]) -> Bulk:
        java = [query.java for query in queries]
        if self._bulk is None or not self._bulk.is_of(java):
            self._bulk = Bulk(context._jvm, java)
        return self._bulk

    def offsets_by_time(self, run_id: str, source: str) -> kafka.OffsetsByTime:
        """Open a Kafka source of a known run, to ask for its offsets by time."""
        with self._lock:
            query = self._queries.get(run_id)
        if query is None:
            raise LookupError(f"the run {run_id} has ended")
        return kafka.OffsetsByTime(_active_context()._jvm, query.java, source)

    def limit_stopping(self, seconds: int) -> None:
        """Let a query's stop fail after a time, where the program set none; Spark waits for ever."""
        context = self.context()
        for session in self._sessions_of(context) if context is not None else ():
            conf = session._jsparkSession.conf()
            if conf.get(_STOP_TIMEOUT, "0") == "0":
                conf.set(_STOP_TIMEOUT, f"{seconds}s")

    def _sessions_of(self, context: Any) -> list[Any]:
        """Return the sessions of a context. One that was stopped has none that can be asked: Java fails to make the
        state of a session that never needed it.
        """
        with self._lock:
            return [session for session in self._sessions if session.sparkContext is context]

    def active_queries(self) -> list[Any]:
        """Return the queries that still run, in the order in which they were started."""
        self.learn_queries()
        return [query.java for query in self.queries() if query.java.isActive()]


def _active_context() -> Any:
    # pyspark is looked up, never imported: that is the program's to do.
    context_class = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    return getattr(context_class, "_active_spark_context", None)


def _describe(context: Any) -> Application:
    url = context.uiWebUrl
    return Application(
        version=context.version,
        id=context.applicationId,
        ui_port=urllib.parse.urlsplit(url).port if url else None,
        overridden=_overridden(context),
    )


def _overridden(context: Any) -> tuple[tuple[str, str], ...]:
    conf = context._jsc.sc().getConf()
    given = defaults.given(os.environ)
    has = ((name, str(conf.get(name, value)), value) for name, value in given.items())
    return tuple((name, value) for name, value, wanted in has if value != wanted)
