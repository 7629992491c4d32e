"""Jobs of a test's own program, which a ConfigMap brings into the driver."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from e2e.support.api import Cluster, Json, to_yaml
from e2e.support.jobs import Job, passthrough, short_lived

FOLDER = "/opt/program"


@contextmanager
def running(cluster: Cluster, namespace: str, body: Json) -> Iterator[Job]:
    """A job for the length of a block."""
    cluster.apply(to_yaml(body), namespace)
    job = Job(cluster, namespace, body["metadata"]["name"])
    try:
        yield job
    finally:
        cluster.delete("StreamJob", namespace, job.name)
        job.wait_until_gone(seconds=180)


@contextmanager
def running_program(
    cluster: Cluster, namespace: str, name: str, program: str, **spec: Any
) -> Iterator[Job]:
    """A job of a program, given as text, for the length of a block."""
    brought = f"{name}-program"
    cluster.create(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": brought, "namespace": namespace},
            "data": {"main.py": program},
        }
    )
    template = {
        "spec": {
            "volumes": [{"name": "program", "configMap": {"name": brought}}],
            "containers": [
                {
                    "name": "driver",
                    "volumeMounts": [{"name": "program", "mountPath": FOLDER}],
                }
            ],
        }
    }
    body = short_lived(passthrough(name, **spec))
    application = body["spec"]["application"]
    application["mainFile"] = f"{FOLDER}/main.py"
    application["driver"] = {**application["driver"], "template": template}
    try:
        with running(cluster, namespace, body) as job:
            yield job
    finally:
        cluster.delete("ConfigMap", namespace, brought)
