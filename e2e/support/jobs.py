"""StreamJobs for tests: small, quick to restart, one checkpoint each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from e2e.support.api import Cluster, Json, condition, wait_for

IMAGE = "localhost/sluice-spark:dev"
CLAIM = "checkpoints"
START_SECONDS = 240.0
"""How long a driver may take to its first batch. Spark's own start takes 10 to 60 s on two busy cores."""

WAIT_MILLISECONDS = 10
"""Of the enrichment job for each record: a core does a hundred records per second."""

SCALING = {"mode": "Auto", "interval": "10s", "horizon": "2m", "stabilisation": "30s"}
"""Of the enrichment job: quick, for tests that wait for it."""

CHILDREN = (
    "Pod",
    "ConfigMap",
    "Secret",
    "Service",
    "ServiceAccount",
    "Role",
    "RoleBinding",
    "Lease",
)


def passthrough(name: str, *, executors: int = 1, **spec: Any) -> Json:
    """The advertisement job that writes each view once, from topic NAME-in to NAME-out."""
    program = _application(name, "advertisement.py", "--trigger=1 second", "--passthrough")
    application = {**program, **spec.pop("application", {})}
    return _job(name, application, executors, **spec)


def enrichment(name: str, wait: int = WAIT_MILLISECONDS, /, **scaling: str) -> Json:
    """A job whose capacity grows with its executors, scaled by the operator; it waits so many milliseconds a record."""
    waiting = f"--wait-milliseconds={wait}"
    return _job(
        name,
        _application(name, "enrichment.py", "--trigger=2 seconds", waiting),
        executors=1,
        slo={"latency": {"bound": "15s"}, "window": "1h"},
        recovery={"target": "4m"},
        scaling={**SCALING, **scaling},
    )


def short_lived(body: Json) -> Json:
    """The same job with Java that compiles less: warm sooner, it leaves more of two processors to other tests."""
    application = body["spec"]["application"]
    less = "-XX:TieredStopAtLevel=1"
    settings = {f"spark.{role}.extraJavaOptions": less for role in ("driver", "executor")}
    quick = {**application, "sparkConf": {**settings, **application.get("sparkConf", {})}}
    return {**body, "spec": {**body["spec"], "application": quick}}


def _application(name: str, file: str, *arguments: str) -> Json:
    """A program of the image, from topic NAME-in to NAME-out."""
    return {
        "image": IMAGE,
        "mainFile": f"/opt/jobs/{file}",
        "arguments": [
            "--bootstrap-servers=$(SLUICE_KAFKA_BOOTSTRAP_SERVERS)",
            "--input-topic=$(SLUICE_KAFKA_TOPICS)",
            f"--output-topic={name}-out",
            "--checkpoint=$(SLUICE_CHECKPOINT_LOCATION)",
            *arguments,
        ],
        "driver": {"memory": "512Mi", "cpuRequest": "50m"},
        "executor": {"cpuRequest": "50m"},
    }


def _job(name: str, application: Json, executors: int, **spec: Any) -> Json:
    return {
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "StreamJob",
        "metadata": {"name": name},
        "spec": {
            "application": application,
            "executors": {"min": 1, "max": 4, "initial": executors, "memory": "512Mi"},
            "checkpoint": {"claim": CLAIM, "path": name},
            "sources": [{"kafka": {"bootstrapServers": ["kafka:9092"], "topics": [f"{name}-in"]}}],
            "restart": {"initialBackoff": "1s", "maximumBackoff": "5s"},
            **spec,
        },
    }


@dataclass(frozen=True, slots=True)
class Job:
    """A StreamJob in the cluster."""

    cluster: Cluster
    namespace: str
    name: str

    def read(self) -> Json:
        """The StreamJob as it is now."""
        found = self.cluster.get("StreamJob", self.namespace, self.name)
        assert found is not None, f"StreamJob {self.name} is gone"
        return found

    def patch(self, **spec: Any) -> None:
        """Change parts of the spec."""
        self.cluster.patch("StreamJob", self.namespace, self.name, {"spec": spec})

    def driver(self) -> Json | None:
        """The driver pod, if there is one."""
        return self.cluster.get("Pod", self.namespace, f"{self.name}-driver")

    def wait(
        self, what: str, look: Callable[[Json], object], *, seconds: float = START_SECONDS
    ) -> Json:
        """The StreamJob as soon as `look` finds what it looks for in it."""

        def seen() -> Json | None:
            resource = self.read()
            return resource if look(resource) else None

        try:
            return wait_for(f"{what} of {self.name}", seen, seconds=seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\nstatus: {self.read().get('status')}") from None

    def wait_until_ready(self, *, incarnation: int | None = None) -> Json:
        """The StreamJob as soon as it is Ready, in a given incarnation if one is named."""

        def is_ready(resource: Mapping[str, Any]) -> bool:
            status = resource.get("status") or {}
            reached = incarnation is None or status.get("incarnation") == incarnation
            return reached and condition(resource, "Ready").get("status") == "True"

        return self.wait("readiness", is_ready)

    def wait_until_gone(self, *, seconds: float) -> None:
        """Nothing of the job is left, not even what Spark made."""

        def leftovers() -> list[str]:
            found = [
                f"{kind}/{item['metadata']['name']}"
                for kind in CHILDREN
                for item in self.cluster.list(kind, self.namespace, f"sluice.dev/job={self.name}")
            ]
            maps = self.cluster.list("ConfigMap", self.namespace)
            return found + [
                f"ConfigMap/{item['metadata']['name']}"
                for item in maps
                if item["metadata"]["name"].startswith("spark-exec-")
                and item["metadata"].get("labels", {}).get("spark-app-name") == self.name
            ]

        wait_for(f"end of {self.name}", lambda: not leftovers(), seconds=seconds)


def progress_of(resource: Mapping[str, Any]) -> int:
    """The newest committed batch that a job's status knows; -1 if none."""
    number: int = (resource.get("status") or {}).get("checkpoint", {}).get("lastBatch", -1)
    return number
