"""The document of `GET /v1/state`: version 1, camel case, seconds; what is not known is null, never 0.

`executors.cpu` is the seconds for which tasks had a core, which is what Spark tells of all executors without a
question to each; a task that waits for the network counts as well. `executors.work` has those that can be given tasks:
for how long each is there, and the tasks and the batches with rows since then, as of the last look at them.
`executors.waitingTasks` are those that could run at that look if there were more cores, and `executors.failingTasks`
tells of those of the stages that run: how many have failed and are done again, how many were completed, and what the
last of the failed ones raised; null where none has failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sluice.agent import logs
from sluice.agent.batches import MOST_KEPT, Batch
from sluice.agent.executors import Work
from sluice.agent.latency import Window
from sluice.agent.progress import Progress
from sluice.agent.records import Asking, Checkpoint, Failure, Record, Replaced
from sluice.agent.snapshot import Snapshot
from sluice.agent.tasks import Tasks

_MOST_BATCHES = 600
"""Of all queries together, a hundred and thirty bytes each, so that the answer stays a fraction of what is read."""


def document(snapshot: Snapshot, now: float) -> dict[str, Any]:
    """Describe the job for the operator."""
    settings = snapshot.settings
    share, tasks = _share(snapshot.records), snapshot.executors.tasks
    return {
        "version": 1,
        "job": {
            "namespace": settings.namespace,
            "name": settings.name,
            "uid": settings.uid,
            "incarnation": settings.incarnation,
        },
        "phase": snapshot.phase,
        "startedAt": logs.timestamp(snapshot.started_at),
        "runningAt": _time(snapshot.running_at),
        "takenAt": logs.timestamp(snapshot.taken_at),
        "spark": _spark(snapshot),
        "executors": {
            "target": snapshot.executors.target,
            "registered": len(snapshot.executors.ids),
            "ids": list(snapshot.executors.ids),
            "cpu": snapshot.executors.task_seconds,
            "work": _work(snapshot.executors.work, now),
            "waitingTasks": tasks.waiting if tasks else None,
            "failingTasks": _failing(tasks) if tasks else None,
        },
        "queries": [
            {
                **_query(record, now),
                **(_profile(record.replaced) if settings.is_profile else {}),
                "batches": _batches(record, share),
            }
            for record in snapshot.records
        ],
    }


def _work(work: Sequence[Work] | None, now: float) -> list[dict[str, Any]] | None:
    if work is None:
        return None
    return [
        {
            "id": one.id,
            "seconds": round(max(0.0, now - one.joined), 1),
            "tasks": one.tasks,
            "batches": one.batches,
            "tasksOfAll": one.tasks_of_all,
        }
        for one in work
    ]


def _failing(tasks: Tasks) -> dict[str, Any] | None:
    if not tasks.failed:
        return None
    return {"failed": tasks.failed, "completed": tasks.completed, "error": tasks.error}


def _spark(snapshot: Snapshot) -> dict[str, Any] | None:
    application = snapshot.application
    if application is None:
        return None
    return {
        "version": application.version,
        "applicationId": application.id,
        "uiPort": application.ui_port,
        "overridden": dict(application.overridden),
    }


def _query(record: Record, now: float) -> dict[str, Any]:
    batch = record.last_batch
    latencies = record.latency.window(now)
    return {
        "name": record.name,
        "id": record.id,
        "runId": record.run_id,
        "active": record.active,
        "processing": record.trigger.processing,
        "startedAt": logs.timestamp(record.started_at),
        "endedAt": _time(record.ended_at),
        "error": _error(record.failure),
        "doing": record.doing,
        "inBatchSince": _time(record.in_batch_since),
        "idle": record.is_idle,
        "asking": _asking(record.asking),
        "lastProgressAt": _time(record.last.committed_at if record.last else None),
        "lastBatch": _batch(batch),
        "arrivalRowsPerSecond": record.arrival_rows_per_second(),
        "processedRowsPerSecond": record.processed_rows_per_second(),
        "backlogRows": record.backlog_rows(),
        "backlogSeconds": record.backlog_seconds(now),
        "leftRows": record.left_rows(),
        "latencySeconds": _latency(latencies),
        "latencyWindowSeconds": latencies.seconds if latencies.histogram.count > 0 else None,
        "watermarkLagSeconds": record.watermark_lag_seconds(now),
        "state": _state(record),
        "triggerSeconds": record.trigger_seconds,
        "mostRows": record.pace.most_rows if record.pace else None,
        "fetching": _fetching(record),
        "checkpoint": _checkpoint(record.checkpoint),
    }


def _profile(replaced: Replaced | None) -> dict[str, Any]:
    """Describe what is measured without its sink; null for a query that the agent has not started."""
    return {"profile": {"sink": replaced.sink, "kind": replaced.kind} if replaced else None}


def _asking(asking: Asking | None) -> dict[str, Any] | None:
    """Describe the source that is asked for its offsets; null while none is."""
    if asking is None:
        return None
    return {"source": asking.source, "since": logs.timestamp(asking.since)}


def _fetching(record: Record) -> dict[str, Any] | None:
    """Describe what tasks wait for; null for a query that does not read Kafka."""
    partitions, longest = record.partitions(), record.longest_wait
    if not partitions or longest is None:
        return None
    return {"partitions": partitions, "longestWaitSeconds": longest}


def _checkpoint(checkpoint: Checkpoint | None) -> dict[str, Any] | None:
    """Describe what was found when the run began; batches since then are not in it."""
    if checkpoint is None:
        return None
    return {
        "location": checkpoint.location,
        "lastBatch": checkpoint.last_batch,
        "committedAt": _time(checkpoint.committed_at),
        "formatVersion": checkpoint.format_version,
        "settings": dict(checkpoint.settings),
    }


def _share(records: Sequence[Record]) -> int:
    """Return how many batches of each active query are told; those of an ended one teach nothing new."""
    active = sum(record.active for record in records)
    return min(MOST_KEPT, _MOST_BATCHES // max(1, active))


def _batches(record: Record, share: int) -> list[dict[str, Any]]:
    told = record.recent[-share:] if record.active and share else ()
    return [_cost(batch) for batch in told]


def _cost(batch: Batch) -> dict[str, Any]:
    rate = batch.processed_rows_per_second
    has_gaps = batch.offsets is not None and batch.offsets != batch.rows
    return {
        "id": batch.id,
        "startedAt": logs.timestamp(batch.started_at),
        "durationSeconds": batch.duration,
        "rows": batch.rows,
        "executors": batch.executors,
        "cold": batch.cold,
        "processedRowsPerSecond": None if rate is None else round(rate, 1),
        **({"offsets": batch.offsets} if has_gaps else {}),
    }


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else logs.timestamp(seconds)


def _state(record: Record) -> dict[str, Any] | None:
    size = record.last_batch.state if record.last_batch else None
    if size is None or record.layout is None:
        return None
    return {
        "rows": record.state_rows(),
        "bytes": size.bytes,
        "partitions": record.layout.partitions,
        "provider": record.layout.provider,
    }


def _error(failure: Failure | None) -> dict[str, str] | None:
    return {"class": failure.error_class, "message": failure.message} if failure else None


def _batch(batch: Progress | None) -> dict[str, Any] | None:
    if batch is None:
        return None
    return {
        "id": batch.batch_id,
        "committedAt": logs.timestamp(batch.committed_at),
        "rows": batch.rows,
        "durationSeconds": batch.duration,
    }


def _latency(window: Window) -> dict[str, float | None] | None:
    recent = window.histogram
    if recent.count <= 0:
        return None
    return {name: recent.quantile(p) for name, p in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))}
