"""Read pods as the API server shows them: the counterpart of `pods`."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sluice.core.observations import DriverPod, PodPhase, Termination
from sluice.manifests import names

Json = Mapping[str, Any]

_MESSAGE_LIMIT = 1000


def role_of(pod: Json) -> str | None:
    """driver, executor, or None if it is no pod of ours."""
    role: str | None = pod["metadata"].get("labels", {}).get(names.ROLE_LABEL)
    return role


def job_of(pod: Json) -> str | None:
    """The name of the job that a pod belongs to."""
    job: str | None = pod["metadata"].get("labels", {}).get(names.JOB_LABEL)
    return job


def is_running(pod: Json) -> bool:
    """Whether a pod runs and is not about to go."""
    return (
        pod.get("status", {}).get("phase") == "Running"
        and "deletionTimestamp" not in pod["metadata"]
    )


@dataclass(frozen=True, slots=True)
class ExecutorPod:
    """A running executor pod: Spark's id of it, and where it is."""

    id: str
    node: str
    created: datetime


def executor_pod(pod: Json) -> ExecutorPod:
    """An executor pod; Spark gives its id in a label."""
    metadata = pod["metadata"]
    created = metadata.get("creationTimestamp")
    return ExecutorPod(
        id=metadata.get("labels", {}).get("spark-exec-id", ""),
        node=pod.get("spec", {}).get("nodeName", ""),
        created=datetime.fromisoformat(created) if created else datetime.min.replace(tzinfo=UTC),
    )


def driver_pod(pod: Json, document: Mapping[str, Any] | None) -> DriverPod:
    """A driver pod that was made from this spec."""
    metadata, status = pod["metadata"], pod.get("status", {})
    state = _container_state(status)
    running = state.get("running", {})
    return DriverPod(
        name=metadata["name"],
        uid=metadata["uid"],
        owner_uid=next((owner["uid"] for owner in metadata.get("ownerReferences", [])), ""),
        incarnation=_incarnation(metadata),
        phase=PodPhase(status.get("phase", "Pending")),
        created=datetime.fromisoformat(metadata["creationTimestamp"]),
        deleting="deletionTimestamp" in metadata,
        gone_by=_time(metadata.get("deletionTimestamp")),
        started=_time(running.get("startedAt") or state.get("terminated", {}).get("startedAt")),
        address=status.get("podIP"),
        node=pod.get("spec", {}).get("nodeName"),
        ended=_termination(state.get("terminated"), status),
        obstacle=_obstacle(state, status),
        document=document,
    )


def _incarnation(metadata: Json) -> int:
    """The number in the label, which anybody may have written; 0 is none of ours."""
    label = str(metadata.get("labels", {}).get(names.INCARNATION_LABEL, ""))
    return int(label) if label.isdecimal() else 0


def _container_state(status: Json) -> Json:
    for container in status.get("containerStatuses", []):
        if container["name"] == names.DRIVER:
            state: Json = container.get("state", {})
            return state
    return {}


def _termination(terminated: Json | None, status: Json) -> Termination | None:
    if terminated is not None:
        return Termination(
            exit_code=terminated.get("exitCode", -1),
            reason=terminated.get("reason", ""),
            message=_last_words(terminated.get("message", "")),
            at=_time(terminated.get("finishedAt")),
        )
    if status.get("phase") == "Failed":
        # Evicted, preempted or lost with its node: the pod ended, and no container tells how.
        reason, message = status.get("reason", ""), status.get("message", "")
        return Termination(exit_code=-1, reason=reason, message=f"{reason}: {message}".strip(": "))
    return None


def _last_words(text: str) -> str:
    """What the agent left, as "Class: message"; else the end of the log, which the kubelet put there."""
    try:
        word = json.loads(text)
        return f"{word['class']}: {word['message']}"
    except (ValueError, KeyError, TypeError):
        return text.strip()[-_MESSAGE_LIMIT:]


def _obstacle(state: Json, status: Json) -> tuple[str, str] | None:
    waiting = state.get("waiting", {})
    if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
        return waiting["reason"], waiting.get("message") or waiting["reason"]
    for condition in status.get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return condition.get("reason", "Unschedulable"), condition.get(
                "message", "not scheduled"
            )
    return None


def document_of(pod: Json, canonical: Callable[[object], dict[str, Any]]) -> dict[str, Any] | None:
    """The spec that a driver pod was made from; `canonical` fills in its defaults.

    The defaults must be today's: a field that a newer operator added is no change of the spec.
    """
    try:
        return canonical(json.loads(pod["metadata"]["annotations"][names.SPEC_ANNOTATION]))
    except (KeyError, ValueError):
        return None


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
