"""What a kubelet would make of a driver pod: it runs, it ends."""

import copy
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tests.support.jobs import NOW

Json = dict[str, Any]

ADDRESS = "198.18.72.9"


def running(pod: Mapping[str, Any], *, since: datetime = NOW, image: str = "") -> Json:
    """The pod with its driver running; `image` is what the kubelet tells of what it runs."""
    whole = _with_state(pod, "Running", {"running": {"startedAt": since.isoformat()}})
    whole["status"]["containerStatuses"][0]["imageID"] = image
    return whole


def being_made(pod: Mapping[str, Any]) -> Json:
    """The pod on its node, whose kubelet works on the volumes, the network and the image of its container."""
    return _with_state(pod, "Pending", {"waiting": {"reason": "ContainerCreating"}})


def executor(
    job: str, name: str, *, namespace: str = "shop", request: str = "1", limit: str | None = None
) -> Json:
    """A running executor pod with this CPU, as Spark makes it from our template."""
    resources: Json = {"requests": {"cpu": request, "memory": "1408Mi"}, "limits": {}}
    resources["limits"] = {"memory": "1408Mi", **({} if limit is None else {"cpu": limit})}
    labels = {"sluice.dev/job": job, "sluice.dev/role": "executor"}
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-of-{name}", "labels": labels}
    containers = [{"name": "executor", "resources": resources}, {"name": "beside", "resources": {}}]
    return {
        "metadata": metadata,
        "spec": {"containers": containers},
        "status": {"phase": "Running"},
    }


def failed(
    pod: Mapping[str, Any], *, exit_code: int = 1, message: str = "boom", at: datetime = NOW
) -> Json:
    """The pod after its driver has ended."""
    ended = {
        "exitCode": exit_code,
        "reason": "Error",
        "message": message,
        "startedAt": at.isoformat(),
        "finishedAt": at.isoformat(),
    }
    return _with_state(pod, "Failed", {"terminated": ended})


def _with_state(pod: Mapping[str, Any], phase: str, state: Json) -> Json:
    whole = copy.deepcopy(dict(pod))
    whole["spec"]["nodeName"] = "node-1"
    whole["status"] = {
        "phase": phase,
        "podIP": ADDRESS,
        "containerStatuses": [{"name": "driver", "state": state}],
    }
    return whole
