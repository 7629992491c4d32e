"""Mistakes that show only when the driver starts: the condition names the field, the value and the remedy."""

from collections.abc import Mapping
from typing import Any

import pytest

from e2e.support.api import Cluster, Json, condition, to_yaml
from e2e.support.jobs import Job, passthrough
from e2e.support.load import Load

KAFKA = "kafka:9092"

MISTAKES: dict[str, tuple[Json, tuple[str, ...]]] = {
    "missing-main-file": (
        {"application": {"mainFile": "/opt/jobs/nowhere.py"}},
        ("spec.application.mainFile", "/opt/jobs/nowhere.py", "localhost/sluice-spark:dev"),
    ),
    "missing-image": (
        {"application": {"image": "localhost/no-such-image:1"}},
        ("spec.application.image", "localhost/no-such-image:1", "imagePullSecrets"),
    ),
    "missing-claim": (
        {"checkpoint": {"claim": "nowhere", "path": "x"}},
        ("spec.checkpoint.claim", "nowhere", "create it"),
    ),
    "missing-topic": (
        {"sources": [{"kafka": {"bootstrapServers": [KAFKA], "topics": ["no-such-topic"]}}]},
        ("spec.sources", "no-such-topic", "create it"),
    ),
    "missing-secret": (
        {
            "application": {
                "environment": [
                    {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "nowhere", "key": "k"}}}
                ]
            }
        },
        ("spec.application", "nowhere", "create the Secret"),
    ),
    "driver-too-large": (
        {"application": {"driver": {"memory": "900Gi"}}},
        ("spec.application.driver", "921600 MiB", "add a node"),
    ),
    "program-that-ends": (
        {"application": {"mainFile": "/opt/jobs/load/__init__.py"}},
        ("the program returned (exit code 0)", "a streaming job has no end of its own"),
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_condition_tells_what_to_mend(
    cluster: Cluster, namespace: str, operator: str, load: Load, name: str
) -> None:
    spec, parts = MISTAKES[name]
    cluster.apply(to_yaml(passthrough(name, **spec)), namespace)
    job = Job(cluster, namespace, name)

    def told(resource: Mapping[str, Any]) -> bool:
        claim = condition(resource, "DriverRunning")
        return claim.get("status") == "False" and all(part in claim["message"] for part in parts)

    try:
        failed = job.wait("the remedy", told, seconds=120)
        assert condition(failed, "Ready")["status"] == "False"
        assert (
            condition(failed, "Ready")["message"] == condition(failed, "DriverRunning")["message"]
        )
    finally:
        cluster.delete("StreamJob", namespace, name)
        job.wait_until_gone(seconds=180)
