"""The names, labels and paths that the parts of a running job agree on."""

import hashlib

from sluice.core.application import JobKey, StreamJob

Json = dict[str, object]

GROUP = "sluice.dev"
API_VERSION = "sluice.dev/v1alpha1"
FIELD_MANAGER = "sluice"

JOB_LABEL = "sluice.dev/job"
ROLE_LABEL = "sluice.dev/role"
INCARNATION_LABEL = "sluice.dev/incarnation"
SPEC_ANNOTATION = "sluice.dev/spec"

AGENT_PORT = 8090
DRIVER_PORT = 7078
BLOCK_MANAGER_PORT = 7079
UI_PORT = 4040

AGENT_DIRECTORY = "/opt/sluice"
CONF_DIRECTORY = "/etc/sluice/spark"
AUTH_DIRECTORY = "/etc/sluice/auth"

DRIVER = "driver"
EXECUTOR = "executor"

SPARK_UID = 185
SPARK_GID = 185


def driver_pod(job: str) -> str:
    """The driver pod has a fixed name, so the API server itself keeps a second one out."""
    return f"{job}-driver"


def conf_map(job: str) -> str:
    """The ConfigMap with the agent, Spark's settings and the executors' template."""
    return f"{job}-conf"


def last_good(job: str) -> str:
    """The ConfigMap with the last spec that worked."""
    return f"{job}-last-good"


def auth_secret(job: str) -> str:
    """The Secret of Spark's own connections and of the agent's endpoint."""
    return f"{job}-auth"


def lease(location: str) -> str:
    """The Lease of a checkpoint: named after the place, for it is the place that must have one writer."""
    return f"checkpoint-{hashlib.sha256(location.encode()).hexdigest()[:20]}"


def labels(job: str, role: str, incarnation: int) -> Json:
    """The labels of a pod."""
    return {
        "app.kubernetes.io/name": job,
        "app.kubernetes.io/component": role,
        "app.kubernetes.io/managed-by": "sluice",
        JOB_LABEL: job,
        ROLE_LABEL: role,
        INCARNATION_LABEL: str(incarnation),
    }


def executor_selector(key: JobKey) -> str:
    """A label selector for the executors of a job."""
    return f"{JOB_LABEL}={key.name},{ROLE_LABEL}={EXECUTOR}"


def service_account(job: StreamJob) -> str:
    """The account that the job's pods run as: the owner's, or the one that we make."""
    return job.application.service_account or driver_pod(job.key.name)


def owned_metadata(job: StreamJob, name: str) -> Json:
    """Metadata of a child: the garbage collector removes it with its job."""
    owner = {
        "apiVersion": API_VERSION,
        "kind": "StreamJob",
        "name": job.key.name,
        "uid": job.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "name": name,
        "namespace": job.key.namespace,
        "labels": {
            "app.kubernetes.io/name": job.key.name,
            "app.kubernetes.io/managed-by": "sluice",
            JOB_LABEL: job.key.name,
        },
        "ownerReferences": [owner],
    }
