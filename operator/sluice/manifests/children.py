"""What a driver needs around it: its account and rights, its settings, its secret."""

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime
from typing import Any

from sluice.core.application import StreamJob
from sluice.manifests import names
from sluice.manifests.pods import executor_template
from sluice.manifests.sparkconf import LOG4J, properties, spark_settings

Json = dict[str, Any]

_NEVER = "1970-01-02T00:00:00.000000Z"
"""When a Lease was renewed that was granted, and not taken yet. No driver's clock tells that time."""

_RULES = [
    {
        "apiGroups": [""],
        "resources": ["pods"],
        "verbs": ["create", "get", "list", "watch", "delete", "deletecollection"],
    },
    {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "verbs": ["create", "delete", "deletecollection"],
    },
]


def children(
    job: StreamJob, incarnation: int, *, agent: bytes, key: bytes
) -> tuple[tuple[Json, ...], ...]:
    """What the pod needs before it starts, in stages: nobody may be bound to a role that does not exist yet.

    `agent` is the packed agent; `key` is the operator's own secret, which the job's are derived from.
    """
    conf_map, secret = _conf_map(job, incarnation, agent), _secret(job, key)
    accounts = () if job.application.service_account else (_service_account(job),)
    return (*accounts, _role(job), conf_map, secret), (_role_binding(job),)


def agent_token(job_uid: str, key: bytes) -> str:
    """The token of a job's agent. It is derived, so the operator need not read any Secret of the job's."""
    return hmac.new(key, f"agent/{job_uid}".encode(), hashlib.sha256).hexdigest()


def _spark_secret(job_uid: str, key: bytes) -> str:
    return hmac.new(key, f"spark/{job_uid}".encode(), hashlib.sha256).hexdigest()


def _service_account(job: StreamJob) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": names.owned_metadata(job, names.service_account(job)),
    }


def _role(job: StreamJob) -> Json:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": names.owned_metadata(job, names.driver_pod(job.key.name)),
        "rules": [*_RULES, _may_hold(names.lease(job.checkpoint_location))],
    }


def _may_hold(lease: str) -> Json:
    return {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "resourceNames": [lease],
        "verbs": ["get", "update"],
    }


def _role_binding(job: StreamJob) -> Json:
    name, account = names.driver_pod(job.key.name), names.service_account(job)
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": names.owned_metadata(job, name),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": job.key.namespace}],
    }


def disruption_budget(job: StreamJob, *, refuses: bool = True) -> Json:
    """Evictions are refused, so that a drain waits until the operator has moved the driver in order; or none is, by an
    operator that moves no driver.

    To be made after the pod: for a budget of no pod, Kubernetes writes warnings again and again, which cost the API
    server more than all else of a start.

    Not maxUnavailable: for that, Kubernetes would ask our scale subresource how many drivers there should be, and be
    told the number of executors.
    """
    labels = {names.JOB_LABEL: job.key.name, names.ROLE_LABEL: names.DRIVER}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": names.owned_metadata(job, names.driver_pod(job.key.name)),
        "spec": {
            "minAvailable": 1 if refuses else 0,
            "selector": {"matchLabels": labels},
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    }


def lease(job: StreamJob, incarnation: int, now: datetime) -> Json:
    """The Lease of the checkpoint, granted to the driver that is about to start, which has not renewed it yet."""
    stamp = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": names.owned_metadata(job, names.lease(job.checkpoint_location)),
        "spec": {
            "holderIdentity": f"{job.uid}/{incarnation}",
            "leaseDurationSeconds": int(job.checkpoint.lease.total_seconds()),
            "acquireTime": stamp,
            "renewTime": _NEVER,
        },
    }


def lease_of_nobody(job: StreamJob, now: datetime) -> Json:
    """The Lease of the checkpoint in place of one that has gone while a driver waits for it. Whoever had that may live,
    and ends when it sees this one: until it has not changed for its whole duration, no driver has it.
    """
    body = lease(job, 0, now)
    return {**body, "spec": {**body["spec"], "renewTime": body["spec"]["acquireTime"]}}


def passed_on(found: Json, lease: Json, *, is_dead: bool) -> Json | None:
    """The Lease as it was found, granted as in `lease`; None if the driver that has it may live.

    `is_dead` says that the former driver is known to be. One that has never renewed its Lease has not begun its
    program. Should it come yet, it cannot write over a version that it has not read, and ends where it reads of a later
    incarnation.
    """
    spec, wanted = found.get("spec") or {}, lease["spec"]
    (uid, incarnation), (ours, next_one) = _holder(spec), _holder(wanted)
    is_later = uid == ours and incarnation > next_one
    is_unheld = uid == ours and not is_later and spec.get("renewTime") == _NEVER
    if not (is_dead or is_unheld):
        return None
    # A former leader has woken up late, or somebody has emptied the status: a later driver may not have ended yet.
    renewed = wanted["acquireTime"] if is_later else _NEVER
    return {**found, "spec": {**spec, **wanted, "renewTime": renewed}}


def adopted(found: Json, lease: Json) -> Json:
    """The Lease as it was found, as a child of the job that has the place now: it must not go with one that had it."""
    owners = lease["metadata"]["ownerReferences"]
    return {**found, "metadata": {**found["metadata"], "ownerReferences": owners}}


def _holder(spec: Json) -> tuple[str, int]:
    """The uid of the job and the incarnation whose driver has a Lease; 0 is none of ours."""
    uid, _, incarnation = str(spec.get("holderIdentity") or "").rpartition("/")
    return uid, int(incarnation) if incarnation.isdecimal() else 0


def _conf_map(job: StreamJob, incarnation: int, agent: bytes) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": names.owned_metadata(job, names.conf_map(job.key.name)),
        "data": {
            "spark-defaults.conf": properties(spark_settings(job, incarnation)),
            "log4j2.properties": LOG4J,
            # JSON is YAML, and the core needs no YAML library for it.
            "executor.yaml": json.dumps(executor_template(job, incarnation), indent=1),
        },
        "binaryData": {"agent.pyz": base64.b64encode(agent).decode()},
    }


def _secret(job: StreamJob, key: bytes) -> Json:
    secret = _spark_secret(job.uid, key)
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": names.owned_metadata(job, names.auth_secret(job.key.name)),
        "type": "Opaque",
        "data": {
            "secret": _base64(secret),
            # Executors read the variable as the base64 form of what the driver reads from the file.
            "env": _base64(_base64(secret)),
            "agent-token": _base64(agent_token(job.uid, key)),
        },
    }


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
