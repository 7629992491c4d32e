"""What one query of Java tells: its triggers, what it does, the layout of its state, why it ended."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sluice.agent import progress
from sluice.agent.progress import Progress
from sluice.agent.records import Activity, Failure, StateLayout

_LONGEST_MESSAGE = 1024
_STATE_PARTITIONS = "spark.sql.shuffle.partitions"
_STATE_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_PROVIDERS = {"HDFSBackedStateStoreProvider": "hdfs", "RocksDBStateStoreProvider": "rocksdb"}
_ASKING_SOURCES = "Getting offsets from"


@dataclass
class Query:
    """A run of a query: Java's handle, what never changes of it, and the code of the progress that was read."""

    java: Any
    name: str | None
    id: str
    run_id: str
    code: str = ""


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
