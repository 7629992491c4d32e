"""What one query of Java tells: its triggers, what it does, the layout of its state, why it ended."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from sluice.agent import logs, progress
from sluice.agent.essence import essence
from sluice.agent.progress import Progress
from sluice.agent.records import (
    BATCHES,
    CONTINUOUS,
    REAL_TIME,
    Activity,
    Failure,
    Pace,
    Replaced,
    StateLayout,
    Trigger,
)

_LONGEST_MESSAGE = 1024
_STATE_PARTITIONS = "spark.sql.shuffle.partitions"
_STATE_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROWS_COUNTED = "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows"
_PROVIDERS = {"HDFSBackedStateStoreProvider": "hdfs", "RocksDBStateStoreProvider": "rocksdb"}
_ASKING = "Getting offsets from "
_PERIOD = re.compile(r"(?:ProcessingTime|RealTime)Trigger\((\d+)\)")
_PROCESSING = {"RealTimeTrigger": REAL_TIME, "ContinuousTrigger": CONTINUOUS}
_MOST_ROWS = re.compile(r"MaxRows: (\d+)")


@dataclass(frozen=True)
class Programmed:
    """What the program has set for a run: its pace, and Spark's own map from its sources to their limits."""

    pace: Pace
    limits: Any


@dataclass
class Query:
    """A run of a query: Java's handle, what never changes of it, the code of the progress that was read, its pace.

    `programmed` is kept from before the pace is changed; `replaced` is what a profile has taken from it.
    """

    java: Any
    name: str | None
    id: str
    run_id: str
    trigger: Trigger = field(default_factory=Trigger)
    code: str = ""
    pace: Pace | None = None
    programmed: Programmed | None = None
    replaced: Replaced | None = None


def new_progress(query: Any, newest: Progress, seen: Progress | None) -> list[Progress]:
    """Return the triggers since the one that was seen, oldest first; Spark keeps the last hundred."""
    if seen is not None and seen.run_id == newest.run_id and newest.batch_id <= _next_batch(seen):
        return [newest] if newest.key != seen.key else []
    return _since(query.recentProgress(), seen)


def last_progress(query: Any) -> Progress | None:
    """Return the last trigger of a query."""
    last = query.lastProgress()
    return None if last is None else progress.parse(last.json())


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
    if not status["isTriggerActive"]:
        return Activity(doing)
    if doing.startswith(_ASKING):
        return Activity(doing, asks=doing.removeprefix(_ASKING))
    return Activity(doing, in_batch=True)


def state_layout(query: Any) -> StateLayout | None:
    """Return the settings that the checkpoint fixes, as the running query took them from its offset log.

    The session does not tell: it keeps what the program asked for. None where this Spark has other names.
    """
    try:
        running = query.streamingQuery()
        settings = json.loads(_batch_of(running).offsetSeqMetadata().json())["conf"]
        provider = settings[_STATE_PROVIDER].rpartition(".")[2]
        partitions = int(settings[_STATE_PARTITIONS])
        known = _PROVIDERS.get(provider, provider)
        return StateLayout(partitions, known, known != "rocksdb" or _counts_rows(running))
    except Exception:  # noqa: BLE001  # py4j raises errors of many kinds for a name that is not there
        return None


def _counts_rows(running: Any) -> bool:
    """Whether RocksDB counts its rows, which a program may spare it."""
    conf = running.sparkSessionForStream().conf()
    return str(conf.get(_ROWS_COUNTED, "true")).lower() != "false"


def _batch_of(running: Any) -> Any:
    """Return what has the settings of the last batch: until Spark 4 that was the running query itself."""
    is_of_spark_3 = str(running.sparkSession().version()).startswith("3.")
    return running if is_of_spark_3 else running.getLatestExecutionContext()


def trigger_of(query: Any) -> Trigger:
    """Return what the trigger of a query says: that is known from the start, and no batch has to tell of it."""
    try:
        text = str(query.streamingQuery().trigger().toString())
    except Exception:  # noqa: BLE001  # py4j raises errors of many kinds for a name that is not there
        return Trigger()
    return Trigger(_PROCESSING.get(text.partition("(")[0], BATCHES), _period(text))


def _period(trigger: str) -> float | None:
    found = _PERIOD.fullmatch(trigger)
    return int(found.group(1)) / 1000 if found else None


def pace_of(query: Any) -> Pace:
    """Return the trigger and the rate limit of a running query; it tells both as text only."""
    try:
        running = query.streamingQuery()
        return Pace(
            trigger_seconds=_period(running.trigger().toString()),
            most_rows=_most_rows(running.uniqueSources().values().mkString("\n")),
        )
    except Exception as error:  # noqa: BLE001  # py4j raises errors of many kinds for a name that is not there
        logs.write(
            "info",
            "This Spark does not tell the trigger and the limits of a query",
            error=repr(error)[:500],
        )
        return Pace(None, None)


def _most_rows(limits: str) -> float | None:
    """Add up the limits of all sources, one a line; a source without one has no most."""
    found = [_MOST_ROWS.search(limit) for limit in limits.splitlines()]
    known = [float(match.group(1)) for match in found if match]
    return sum(known) if known and len(known) == len(found) else None


def failure_of(query: Any) -> Failure | None:
    """Return the deepest cause of a query's end that says anything; None if it was stopped."""
    exception = query.exception()
    if exception.isEmpty():
        return None
    told = cause = exception.get()
    while cause.getCause() is not None:
        cause = cause.getCause()
        told = cause if cause.getMessage() else told
    message = told.getMessage() or told.toString()
    return Failure(error_class=_error_class(told), message=essence(message, _LONGEST_MESSAGE))


def _error_class(cause: Any) -> str:
    """Prefer Spark's name of the condition; an error from elsewhere has only its Java class."""
    methods = {method.getName() for method in cause.getClass().getMethods()}
    for name in ("getCondition", "getErrorClass"):  # Spark 4, Spark 3
        if name in methods:
            return str(getattr(cause, name)() or cause.getClass().getName())
    return str(cause.getClass().getName())
