"""Give a running query another trigger period, or another limit of rows to its batches, from the next one on.

Nothing is stopped for it. To stop the query and start it again on its checkpoint was tried first: it cuts the batch
under way, which is then delivered again, and the program's awaitTermination returns. Instead the two values are
replaced that Spark looks at before each batch. They are internal to Spark and were tried with 3.5 to 4.3; where one is
missing or of another kind nothing is changed, and the caller is told, who may restart the driver instead. A new run
of the query has the program's own values again.
"""

from __future__ import annotations

import threading
from typing import Any

from sluice.agent.reading import Programmed, Query, pace_of
from sluice.agent.records import Pace

_KAFKA = "KafkaMicroBatchStream"
_LIMITED_BY_ROWS, _UNLIMITED = "ReadMaxRows", "ReadAllAvailable"
_EXECUTOR = "ProcessingTimeExecutor"


class CannotLimitError(Exception):
    """The query cannot be changed while it runs; the message says why."""


class Limiter:
    """Changes runs of queries, one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def limit(self, jvm: Any, query: Query, wanted: Pace) -> Pace:
        """Change a run; None stands for what the program has set. Return what is in force from now on."""
        with self._lock:
            running = query.java.streamingQuery()
            own = query.programmed = query.programmed or _programmed(query, running)
            rows = own.pace.most_rows if wanted.most_rows is None else wanted.most_rows
            seconds = wanted.trigger_seconds
            if seconds is None:
                seconds = own.pace.trigger_seconds
            # What can fail comes first, so that a refusal has changed nothing.
            limits = _limits(jvm, own.limits, wanted.most_rows)
            if seconds is not None:
                _set_period(running.triggerExecutor(), seconds)
            getattr(running, "uniqueSources_$eq")(limits)
            query.pace = Pace(trigger_seconds=seconds, most_rows=rows)
            return query.pace


def _programmed(query: Query, running: Any) -> Programmed:
    limits = running.uniqueSources()
    if limits.isEmpty():
        raise CannotLimitError("it has not planned its first batch yet; ask again later")
    return Programmed(pace_of(query.java), limits)


def _limits(jvm: Any, programmed: Any, most_rows: float | None) -> Any:
    """Return Spark's map from the source to its limit, with another limit."""
    if most_rows is None:
        return programmed
    if programmed.size() != 1:
        raise CannotLimitError(
            f"it reads {programmed.size()} sources, and a limit can be shared out by the program only"
        )
    source, own = programmed.head()._1(), programmed.head()._2()
    if not _takes_rows(source, own):
        raise CannotLimitError(f"its source {source.toString()[:200]} takes no limit of rows")
    limit = jvm.org.apache.spark.sql.connector.read.streaming.ReadLimit.maxRows(int(most_rows))
    return programmed.updated(source, limit)


def _takes_rows(source: Any, own: Any) -> bool:
    """Whether a source has a limit of rows; Kafka takes one also where the program has set none."""
    kind = own.getClass().getSimpleName()
    is_kafka = source.getClass().getSimpleName() == _KAFKA
    return bool(kind == _LIMITED_BY_ROWS or (is_kafka and kind == _UNLIMITED))


def _set_period(executor: Any, seconds: float) -> None:
    if executor.getClass().getSimpleName() != _EXECUTOR:
        raise CannotLimitError("its trigger has no period; use a processing-time trigger")
    field = executor.getClass().getDeclaredField("intervalMs")
    field.setAccessible(True)
    field.set(executor, round(seconds * 1000))
