"""The operators of a cluster, as their Deployments tell of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sluice.console.cluster import Cluster
from sluice.ports import Resource

DEPLOYMENTS = Resource("apps/v1", "deployments")
SELECTOR = "app.kubernetes.io/name=sluice,app.kubernetes.io/component=operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """One operator: where it is, what it looks after, and how it is."""

    namespace: str
    name: str
    account: str
    version: str
    image: str
    ready: int
    replicas: int
    namespaces: tuple[str, ...] = ()
    """What it looks after; empty means the whole cluster."""
    watches_nodes: bool = False
    makes_namespaces: bool = False
    """Whether copies of jobs have namespaces of their own."""
    prometheus: str | None = None

    @property
    def full_name(self) -> str:
        """Its namespace and name."""
        return f"{self.namespace}/{self.name}"

    def looks_after(self, namespace: str) -> bool:
        """Whether jobs of this namespace are its affair."""
        return not self.namespaces or namespace in self.namespaces


def installations(cluster: Cluster, namespace: str | None = None) -> tuple[Installation, ...]:
    """All operators of the cluster, or of one namespace."""
    found = cluster.list(DEPLOYMENTS, namespace, labelSelector=SELECTOR)
    return tuple(installation(one) for one in found)


def installation(deployment: Mapping[str, Any]) -> Installation:
    """Read a Deployment of the chart."""
    metadata, pod = deployment["metadata"], deployment["spec"]["template"]["spec"]
    container = next(one for one in pod["containers"] if one["name"] == "operator")
    environment = {one["name"]: one.get("value") for one in container.get("env", ())}
    watched = environment.get("SLUICE_OPERATOR_NAMESPACES") or ""
    makes = environment.get("SLUICE_OPERATOR_MAKE_NAMESPACES") != "false"
    return Installation(
        namespace=metadata["namespace"],
        name=metadata["name"],
        account=pod.get("serviceAccountName", "default"),
        version=metadata.get("labels", {}).get("app.kubernetes.io/version", ""),
        image=container["image"],
        ready=deployment.get("status", {}).get("readyReplicas", 0),
        replicas=deployment["spec"].get("replicas", 1),
        namespaces=tuple(name for name in watched.split(",") if name),
        watches_nodes=environment.get("SLUICE_OPERATOR_WATCH_NODES") == "true",
        makes_namespaces=makes and not watched,
        prometheus=environment.get("SLUICE_OPERATOR_PROMETHEUS_URL") or None,
    )
