"""Jobs, drivers and reports with good defaults: a test names only what it is about."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sluice.api import convert
from sluice.core.application import StreamJob
from sluice.core.observations import (
    AgentReport,
    DriverPod,
    ExecutorWork,
    PodPhase,
    QueryReport,
    WaitingExecutor,
)

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def application(**changes: Any) -> dict[str, Any]:
    """The usual `spec.application`; keyword arguments replace or add parts of it."""
    return {"image": "shop/clicks:1", "mainFile": "/opt/clicks.py", **changes}


def resource(
    name: str = "clicks",
    *,
    namespace: str = "shop",
    uid: str | None = None,
    generation: int = 1,
    created: datetime = NOW,
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A StreamJob as the API server stores it; keyword arguments replace whole parts of the spec."""
    return {
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "StreamJob",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid or f"uid-of-{name}",
            "generation": generation,
            "resourceVersion": "1",
            "creationTimestamp": created.isoformat(),
            "annotations": annotations or {},
        },
        "spec": {
            "application": application(),
            "executors": {"min": 1, "max": 8, "initial": 2},
            "checkpoint": {"claim": "checkpoints", "path": name},
            **spec,
        },
    }


def job(name: str = "clicks", **changes: Any) -> StreamJob:
    """The record of such a StreamJob."""
    return convert.streamjob(resource(name, **changes))


def driver(of: StreamJob, *, incarnation: int = 1, **changes: Any) -> DriverPod:
    """A driver pod of a job, running for a minute, started from the job's present spec."""
    running = DriverPod(
        name=f"{of.key.name}-driver",
        uid=f"pod-{incarnation}",
        owner_uid=of.uid,
        incarnation=incarnation,
        phase=PodPhase.RUNNING,
        created=NOW - timedelta(minutes=1),
        started=NOW - timedelta(minutes=1),
        address="198.18.72.9",
        node="node-1",
        document=of.document,
    )
    return replace(running, **changes)


def without_node(name: str, lack: str) -> WaitingExecutor:
    """An executor's pod for which no node has enough of something."""
    obstacle = ("Unschedulable", f"0/2 nodes are available: 2 Insufficient {lack}.")
    return WaitingExecutor(name=name, uid="u", created=NOW, obstacle=obstacle, lacks_node=True)


def report(*queries: QueryReport, **changes: Any) -> AgentReport:
    """What a running agent tells; by default of one healthy query."""
    told = AgentReport(
        at=NOW,
        phase="running",
        incarnation=1,
        target=2,
        registered=2,
        queries=queries or (query(),),
    )
    return replace(told, **changes)


def query(**changes: Any) -> QueryReport:
    """A query that committed batch 7 a second ago."""
    healthy = QueryReport(
        name="clicks", active=True, batch_id=7, committed_at=NOW - timedelta(seconds=1)
    )
    return replace(healthy, **changes)


def work(
    id: str, *, tasks: int = 0, there: float = 600.0, batches: int = 0, of_all: int = 0
) -> ExecutorWork:
    """What an executor did that is there for so many seconds; by default there was nothing to do."""
    return ExecutorWork(
        id=id,
        there=timedelta(seconds=there),
        tasks=tasks,
        batches=batches,
        tasks_of_all=max(of_all, tasks),
    )
