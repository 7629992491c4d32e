"""What keeps a copy within bounds: a namespace of its own with a quota, limits, and no way out but to its source.

A NetworkPolicy's ports are those of pods, not of services: brokers behind a service with another port than their own
have to be declared by their own (`bootstrapServers: [kafka-0.kafka.shop.svc:9092]`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sluice.core.application import PodShape, StreamJob
from sluice.core.profiling.records import Copy, Profile
from sluice.core.quantities import MEBIBYTE, Millicores, format_cpu
from sluice.manifests import names
from sluice.manifests.profiling.brokers import egress_to, named
from sluice.manifests.profiling.labelling import metadata

Json = dict[str, Any]

API_PORTS = (443, 6443)
"""Where API servers listen, behind their service and in pods of their own."""

DNS_PORTS = (53, 5353)
"""Where name servers listen; OpenShift's are pods at the second, behind a service at the first."""

_SIDECAR = (Millicores(1000), 2048)
"""Cores and MiB that a further container of a user's template may have."""

_UNITS = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1024**2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a copy needs to know of the cluster: where the operator is, and the API servers as (address, port).

    Without addresses, copies are let through to any on the API's usual ports.
    """

    operator: str
    api_servers: tuple[tuple[str, int], ...] = ()
    domain: str = "cluster.local"


def namespace(profile: Profile, copy: Copy) -> Json:
    """The copy's own namespace, where every pod must be restricted."""
    body = metadata(profile, copy.namespace, None)
    level = {
        "pod-security.kubernetes.io/enforce": "restricted",
        "pod-security.kubernetes.io/enforce-version": "latest",
    }
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {**body, "labels": {**body["labels"], **level}},
    }


def guards(profile: Profile, copy: Copy, job: StreamJob, around: Surroundings) -> tuple[Json, ...]:
    """All that must be in the namespace before anything runs there."""
    return (
        _quota(profile, copy, job),
        _limits(profile, copy),
        _deny_all(profile, copy),
        _allowances(profile, copy, job, around),
    )


def _quota(profile: Profile, copy: Copy, job: StreamJob) -> Json:
    """Room for the copy, and for one executor that comes while a lost one still goes."""
    application, pods = job.application, copy.executors + 1
    driver, executor = application.driver, application.executor
    driver_cpu, driver_memory = _with_sidecars(driver, names.DRIVER)
    executor_cpu, executor_memory = _with_sidecars(executor, names.EXECUTOR)
    cpu, further = Millicores(driver_cpu + pods * executor_cpu), _claims(driver, executor, pods)
    memory = driver_memory + pods * (executor_memory + _beside_the_heap(application.spark_conf))
    hard = {
        "pods": str(pods + 1),
        "requests.cpu": format_cpu(cpu),
        "requests.memory": f"{memory}Mi",
        "limits.memory": f"{memory}Mi",
        "persistentvolumeclaims": str(1 + further),
        # The size of what comes with pods is said in their templates.
        **({} if further else {"requests.storage": f"{profile.storage.size // MEBIBYTE}Mi"}),
    }
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": metadata(profile, "profile", copy.namespace),
        "spec": {"hard": hard},
    }


def _claims(driver: PodShape, executor: PodShape, executors: int) -> int:
    """The claims that come and go with the pods, for the ephemeral volumes of their templates."""
    return _ephemeral(driver) + executors * _ephemeral(executor)


def _ephemeral(shape: PodShape) -> int:
    spec = shape.template.get("spec")
    volumes = spec.get("volumes") if isinstance(spec, Mapping) else None
    return sum("ephemeral" in one for one in volumes or ())


def _with_sidecars(shape: PodShape, own: str) -> tuple[int, int]:
    """Cores (in thousandths) and MiB of a pod with the containers that its template adds."""
    spec = shape.template.get("spec")
    containers = spec.get("containers") if isinstance(spec, Mapping) else None
    others = sum(one.get("name") != own for one in containers or ())
    cpu, memory = _SIDECAR
    return shape.cpu_request + others * cpu, shape.container_mebibytes + others * memory


def _beside_the_heap(conf: Mapping[str, str]) -> int:
    """MiB that Spark adds to an executor's container for what settings of its own ask for."""
    asked = ("spark.executor.pyspark.memory", "spark.memory.offHeap.size")
    return sum(_mebibytes(conf.get(setting, "")) for setting in asked)


def _mebibytes(text: str) -> int:
    found = re.fullmatch(r"([0-9]+)([kmgt]?)b?", text.strip().lower())
    if found is None:
        return 0
    return int(int(found[1]) * _UNITS[found[2] or "m"]) + 1


def _limits(profile: Profile, copy: Copy) -> Json:
    """Containers of users' templates that name no resources: the quota refuses such otherwise."""
    limit = {
        "type": "Container",
        "default": {"memory": "512Mi"},
        "defaultRequest": {"cpu": "100m", "memory": "256Mi"},
    }
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": metadata(profile, "profile", copy.namespace),
        "spec": {"limits": [limit]},
    }


def _deny_all(profile: Profile, copy: Copy) -> Json:
    return _policy(profile, copy, "deny-all", {})


def _allowances(profile: Profile, copy: Copy, job: StreamJob, around: Surroundings) -> Json:
    """The copy's own pods, names, the API server, the source; and the operator's questions to the agent."""
    servers = dict.fromkeys(server for one in job.sources for server in one.bootstrap_servers)
    inside: Json = {"podSelector": {}}
    agent = {"protocol": "TCP", "port": names.AGENT_PORT}
    rules = {
        "egress": [
            {"to": [inside]},
            _to_dns(),
            *_to_the_api(around),
            *(egress_to(server, job.key.namespace) for server in servers),
        ],
        "ingress": [
            {"from": [inside]},
            {"from": [{"namespaceSelector": named(around.operator)}], "ports": [agent]},
        ],
    }
    return _policy(profile, copy, "copy", rules)


def _policy(profile: Profile, copy: Copy, name: str, rules: Json) -> Json:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(profile, name, copy.namespace),
        "spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"], **rules},
    }


def _to_dns() -> Json:
    """To any name server: with caches on the nodes, and in some clusters, it is no pod that a selector could name."""
    ports = [
        {"protocol": protocol, "port": port} for port in DNS_PORTS for protocol in ("UDP", "TCP")
    ]
    return {"ports": ports}


def _to_the_api(around: Surroundings) -> list[Json]:
    if not around.api_servers:
        return [{"ports": [{"protocol": "TCP", "port": port} for port in API_PORTS]}]
    return [egress_to(f"{address}:{port}", "") for address, port in around.api_servers]


def claim(
    profile: Profile, copy: Copy, job: StreamJob, like: Mapping[str, Any] | None = None
) -> Json:
    """The claim of the copy's checkpoint; `like` is the job's own claim, if it has one that could be read."""
    spec = (like or {}).get("spec") or {}
    modes = spec.get("accessModes") or ["ReadWriteMany"]
    wanted = profile.storage
    storage_class = wanted.storage_class or spec.get("storageClassName")
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata(profile, claim_name(job, copy), copy.namespace),
        "spec": {
            "accessModes": [wanted.access_mode or modes[0]],
            "resources": {"requests": {"storage": f"{wanted.size // MEBIBYTE}Mi"}},
            **({} if storage_class is None else {"storageClassName": storage_class}),
        },
    }


def claim_name(job: StreamJob, copy: Copy) -> str:
    """Another one for each copy: in a namespace of the user's, the last one may still be going."""
    return f"{job.key.name}-x{copy.executors}-profile"
