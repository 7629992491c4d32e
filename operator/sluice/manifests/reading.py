"""Read pods as the API server shows them: the counterpart of `pods`."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sluice.core import quantities
from sluice.core.asking import RESTART
from sluice.core.hints import INIT_CONTAINER
from sluice.core.images import digest_in
from sluice.core.observations import (
    DriverPod,
    ExecutorPod,
    LostExecutor,
    PodPhase,
    Termination,
    WaitingExecutor,
)
from sluice.core.quantities import CpuShare
from sluice.manifests import names

Json = Mapping[str, Any]

_MESSAGE_LIMIT = 1000

_KUBELETS_LIMIT = 2048
"""So many bytes of the end of a log are in a pod's status, beginning somewhere in a line."""

_SAYS_LITTLE = re.compile(r"\s+at |\s*$|\S+ (WARN|INFO|DEBUG|TRACE) |WARNING: ")
"""Lines of a log: frames of Java, and what goes on."""

_INITIALISING = "PodInitializing"
_BEING_MADE = (None, "ContainerCreating", _INITIALISING)
"""What the kubelet says of a container on whose volumes, network and image it works."""

_NODE_ORDERED = ("TriggeredScaleUp", "Nominated")
_NO_NODE_ORDERED = ("NotTriggerScaleUp",)
"""The reasons of Events by which cluster-autoscaler and Karpenter tell of a pod whether they add a node for it."""

_SIGKILL, _SIGTERM, _SIGPWR = 9, 15, 30
"""Linux's numbers: pods have them, and a command line that runs elsewhere may have others, or none."""

_UNTOLD, _KILLED = -1, 128 + _SIGKILL
"""The exit code of a container of whose end no kubelet tells, and of one that goes on after its grace period."""

_ASKED, _DECOMMISSIONED = 128 + _SIGTERM, 128 + _SIGPWR
"""The exit codes of containers that follow: kubelets ask by the one signal, Spark's hook before that by the other."""

_LONG_AGO = datetime.min.replace(tzinfo=UTC)

_SPARKS_OWN_VOLUME = '"spark-conf-volume-exec"'


def role_of(pod: Json) -> str | None:
    """driver, executor, or None if it is no pod of ours."""
    role: str | None = pod["metadata"].get("labels", {}).get(names.ROLE_LABEL)
    return role


def job_of(pod: Json) -> str | None:
    """The name of the job that a pod belongs to."""
    job: str | None = pod["metadata"].get("labels", {}).get(names.JOB_LABEL)
    return job


def is_running(pod: Json) -> bool:
    """Whether an executor's pod runs and is not about to go; what runs beside an executor may outlive it."""
    status = pod.get("status", {})
    return (
        status.get("phase") == "Running"
        and "terminated" not in _container(status, names.EXECUTOR).get("state", {})
        and "deletionTimestamp" not in pod["metadata"]
    )


_NO_ROOM = ("Insufficient ", "Too many pods")
"""What the scheduler writes where nodes are full, and not where none would ever fit by its labels or volumes."""


def lack_of_room(pod: Json) -> str | None:
    """Why a pod has no node, if that is because nodes are full."""
    if "deletionTimestamp" in pod["metadata"] or pod.get("status", {}).get("phase") != "Pending":
        return None
    for condition in pod["status"].get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            message: str = condition.get("message", "")
            return message if any(word in message for word in _NO_ROOM) else None
    return None


def executor_pod(pod: Json) -> ExecutorPod:
    """An executor pod; Spark gives its id in a label."""
    metadata = pod["metadata"]
    created = metadata.get("creationTimestamp")
    return ExecutorPod(
        name=metadata["name"],
        id=metadata.get("labels", {}).get("spark-exec-id", ""),
        node=pod.get("spec", {}).get("nodeName", ""),
        created=datetime.fromisoformat(created) if created else _LONG_AGO,
        share=_share(pod),
        obstacle=_resize_obstacle(pod.get("status", {})),
    )


def waiting_executor(pod: Json) -> WaitingExecutor | None:
    """An executor pod that does not run yet; None if it does, has ended, or is on its way out."""
    metadata, status = pod["metadata"], pod.get("status", {})
    if "deletionTimestamp" in metadata or status.get("phase", "Pending") != "Pending":
        return None
    created, state = _time(metadata.get("creationTimestamp")), _container(status, names.EXECUTOR)
    state = state.get("state", {})
    return WaitingExecutor(
        name=metadata["name"],
        uid=metadata["uid"],
        created=created or _LONG_AGO,
        obstacle=_obstacle(state, status),
        is_being_made=_is_being_made(pod, state),
        lacks_node=_lacks_node(pod),
    )


def lost_executor(pod: Json) -> LostExecutor | None:
    """An executor pod that has failed; None if it has not, or ended because it was told to go."""
    metadata, status = pod["metadata"], pod.get("status", {})
    state = _container(status, names.EXECUTOR).get("state", {})
    ended = _termination(state, status)
    if ended is None or ended.exit_code == 0 or _was_told_to_go(metadata, ended):
        return None
    return LostExecutor(name=metadata["name"], driver_uid=_owner(metadata), ended=ended)


def _was_told_to_go(metadata: Json, ended: Termination) -> bool:
    """Whether somebody had deleted the pod by then. Spark does so, too, as soon as an executor is breaking down."""
    if ended.exit_code == _DECOMMISSIONED:
        # Whoever deletes it once more, for less time, makes the first deletion look later than it was.
        return True
    gone_by = _time(metadata.get("deletionTimestamp"))
    if gone_by is None:
        return False
    asked = gone_by - timedelta(seconds=metadata.get("deletionGracePeriodSeconds", 0))
    told = {_UNTOLD: asked, _ASKED: asked, _KILLED: gone_by}
    since = told.get(ended.exit_code)
    return since is not None and (ended.at is None or ended.at >= since)


def _share(pod: Json) -> CpuShare | None:
    """The CPU that is asked for; None where it is not readable."""
    containers = pod.get("spec", {}).get("containers", ())
    mine: Iterator[Json] = (one for one in containers if one["name"] == names.EXECUTOR)
    resources: Json = next(mine, {}).get("resources") or {}
    request, limit = (resources.get(part, {}).get("cpu") for part in ("requests", "limits"))
    try:
        return CpuShare(
            request=quantities.cpu(request), limit=None if limit is None else quantities.cpu(limit)
        )
    except (TypeError, ValueError):
        return None


def _resize_obstacle(status: Json) -> tuple[str, str, datetime] | None:
    for condition in status.get("conditions", ()):
        if condition["type"] == "PodResizePending" and condition["status"] == "True":
            since = _time(condition.get("lastTransitionTime")) or _LONG_AGO
            return condition.get("reason", ""), condition.get("message", ""), since
    return None


def driver_pod(pod: Json, document: Mapping[str, Any] | None) -> DriverPod:
    """A driver pod that was made from this spec."""
    metadata, status = pod["metadata"], pod.get("status", {})
    container = _container(status, names.DRIVER)
    state: Json = container.get("state", {})
    running = state.get("running", {})
    return DriverPod(
        name=metadata["name"],
        uid=metadata["uid"],
        owner_uid=_owner(metadata),
        incarnation=_incarnation(metadata),
        phase=PodPhase(status.get("phase", "Pending")),
        created=datetime.fromisoformat(metadata["creationTimestamp"]),
        deleting="deletionTimestamp" in metadata,
        gone_by=_time(metadata.get("deletionTimestamp")),
        disruption=_disruption(status),
        started=_time(running.get("startedAt") or state.get("terminated", {}).get("startedAt")),
        address=status.get("podIP"),
        node=pod.get("spec", {}).get("nodeName"),
        ended=_termination(state, status),
        obstacle=_obstacle(state, status),
        is_being_made=_is_being_made(pod, state),
        lacks_node=_lacks_node(pod),
        restart_asked=(metadata.get("annotations") or {}).get(RESTART),
        document=document,
        digest=digest_in(container.get("imageID") or ""),
    )


def _disruption(status: Json) -> str:
    """Why Kubernetes itself ends a pod: preemption, an eviction, a node that is tainted or gone."""
    for condition in status.get("conditions", ()):
        if condition["type"] == "DisruptionTarget" and condition["status"] == "True":
            told = condition.get("reason", ""), condition.get("message", "")
            return ": ".join(filter(None, told))
    return ""


def _owner(metadata: Json) -> str:
    return next((owner["uid"] for owner in metadata.get("ownerReferences", [])), "")


def _incarnation(metadata: Json) -> int:
    """The number in the label, which anybody may have written; 0 is none of ours."""
    label = str(metadata.get("labels", {}).get(names.INCARNATION_LABEL, ""))
    return int(label) if label.isdecimal() else 0


def _container(status: Json, name: str) -> Json:
    """What the kubelet tells of a container."""
    containers: Iterator[Json] = iter(status.get("containerStatuses", ()))
    return next((one for one in containers if one["name"] == name), {})


def _termination(state: Json, status: Json) -> Termination | None:
    terminated: Json | None = state.get("terminated")
    if terminated is not None:
        return Termination(
            exit_code=terminated.get("exitCode", _UNTOLD),
            reason=terminated.get("reason", ""),
            message=_last_words(terminated.get("message", "")),
            at=_time(terminated.get("finishedAt")),
            outside=_told_of_pod(status) or _disruption(status),
        )
    if status.get("phase") == "Failed":
        reason = status.get("reason", "")
        before = _failed_before(state, status)
        if before is not None and not reason:
            return before
        # Evicted, preempted or lost with its node: the pod ended, and no container tells how.
        return Termination(exit_code=_UNTOLD, reason=reason, message=_told_of_pod(status))
    return None


def _told_of_pod(status: Json) -> str:
    """Why the kubelet has ended a pod; empty if its containers have ended by themselves."""
    return ": ".join(filter(None, (status.get("reason", ""), status.get("message", ""))))


def _failed_before(state: Json, status: Json) -> Termination | None:
    """How the first of the users' init containers that failed has ended, if ours was never begun for it.

    Where ours has run, one that failed is a sidecar, and says nothing of the end of ours.
    """
    if state.get("waiting", {}).get("reason") != _INITIALISING:
        return None
    for one in status.get("initContainerStatuses", ()):
        ended: Json = one.get("state", {}).get("terminated", {})
        if ended.get("exitCode"):
            how = ": ".join(filter(None, (f"{one['name']} failed", ended.get("reason"))))
            # In the last line, which may be all that is told.
            words = _last_words(ended.get("message", "")), f"{INIT_CONTAINER} {how}"
            return Termination(
                exit_code=ended["exitCode"],
                message="; ".join(filter(None, words)),
                at=_time(ended.get("finishedAt")),
            )
    return None


def _last_words(text: str) -> str:
    """What the agent left, as "Class: message"; else the end of the log, which the kubelet put there."""
    try:
        word = json.loads(text)
        return f"{word['class']}: {word['message']}"
    except (ValueError, KeyError, TypeError, RecursionError):
        telling = (line for line in _whole_lines(text) if not _SAYS_LITTLE.match(line))
        return _end_of("\n".join(telling).strip())


def _whole_lines(log: str) -> list[str]:
    lines = log.splitlines()
    return lines[1:] if len(log.encode()) >= _KUBELETS_LIMIT and len(lines) > 1 else lines


def _end_of(log: str) -> str:
    """As many whole lines as there is room for, or as much of the last."""
    if len(log) <= _MESSAGE_LIMIT:
        return log
    _, _, lines = log[-_MESSAGE_LIMIT:].partition("\n")
    return lines or log[-_MESSAGE_LIMIT:]


def newest_warning(events: Iterable[Json]) -> tuple[str, str] | None:
    """The reason and the message of the newest Event of a pod, if that is a warning; else it has gone on since."""
    newest = max(events, key=lambda event: (_told_at(event), _is_warning(event)), default=None)
    if newest is None or not _is_warning(newest):
        return None
    reason = newest.get("reason") or "Warning"
    return reason, newest.get("message") or reason


def ordered_node(events: Iterable[Json]) -> str:
    """What the cluster's autoscaler says of the node that it adds for a pod; empty if its last word is another."""
    words = [event for event in events if _is_of_autoscaler(event)]
    newest = max(words, key=_told_at, default=None)
    if newest is None or newest["reason"] not in _NODE_ORDERED:
        return ""
    return newest.get("message") or str(newest["reason"])


def _is_of_autoscaler(event: Json) -> bool:
    if event.get("reason") in (*_NODE_ORDERED, *_NO_NODE_ORDERED):
        return True
    # Kubernetes' own scheduler has that word, too.
    source = event.get("reportingComponent") or event.get("source", {}).get("component")
    return event.get("reason") == "FailedScheduling" and source == "karpenter"


def _is_warning(event: Json) -> bool:
    # Spark makes the ConfigMap of its executors after their pods: the kubelet's next try to mount it will do.
    is_spark_late = _SPARKS_OWN_VOLUME in event.get("message", "")
    return event.get("type") == "Warning" and not is_spark_late


def _told_at(event: Json) -> datetime:
    """The second in which it was told last: some Events have no fractions of it."""
    series = event.get("series") or {}
    last = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime")
    told = _time(last or event["metadata"].get("creationTimestamp")) or _LONG_AGO
    return told.replace(microsecond=0)


def _is_being_made(pod: Json, state: Json) -> bool:
    """Whether a kubelet works on a pod's volumes, network and image."""
    waiting = _waiting(state, pod.get("status", {}))
    is_made = bool({"running", "terminated"} & state.keys())
    is_hindered = any(one.get("reason") not in _BEING_MADE for one in waiting)
    return "nodeName" in pod.get("spec", {}) and not (is_made or is_hindered)


def _lacks_node(pod: Json) -> bool:
    phase = pod.get("status", {}).get("phase", PodPhase.PENDING)
    return "nodeName" not in pod.get("spec", {}) and phase == PodPhase.PENDING


def _obstacle(state: Json, status: Json) -> tuple[str, str] | None:
    for waiting in _waiting(state, status):
        if waiting.get("reason") not in _BEING_MADE:
            return waiting["reason"], waiting.get("message") or waiting["reason"]
    for condition in status.get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return condition.get("reason", "Unschedulable"), condition.get(
                "message", "not scheduled"
            )
    return None


def _waiting(state: Json, status: Json) -> Iterator[Json]:
    """What the kubelet waits for: with our container, and with the init containers as long as ours waits for those."""
    waiting: Json = state.get("waiting", {})
    yield waiting
    if waiting.get("reason") == _INITIALISING:
        for one in status.get("initContainerStatuses", ()):
            told = one.get("state", {}).get("waiting", {})
            words = filter(None, (f"{INIT_CONTAINER} {one['name']}", told.get("message")))
            yield {**told, "message": ": ".join(words)}


def document_of(pod: Json, canonical: Callable[[object], dict[str, Any]]) -> dict[str, Any] | None:
    """The spec that a driver pod was made from; `canonical` fills in its defaults.

    The defaults must be today's: a field that a newer operator added is no change of the spec.
    """
    try:
        return canonical(json.loads(pod["metadata"]["annotations"][names.SPEC_ANNOTATION]))
    except (KeyError, ValueError, RecursionError):
        return None


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def asks_the_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two metadata are of one object of which people ask the same; its status may differ.

    The API server counts the changes of a spec.
    """
    parts = ("uid", "generation", "labels", "annotations", "deletionTimestamp")
    return all(one.get(part) == other.get(part) for part in parts)
