"""When the cluster is really usable, which is later than when its nodes say Ready.

Pods are refused until the default service account exists, and names do not resolve until CoreDNS has
its first list of Services.
"""

from collections.abc import Callable

from e2e.cluster import api, layout, supervising
from e2e.cluster.host import wait_until
from e2e.cluster.layout import CONTROL_PLANE, Machine, Paths

DEFAULT_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"
METRICS_API = "/apis/metrics.k8s.io/v1beta1"
PROBED_NAME = f"kubernetes.default.svc.{layout.DNS_DOMAIN}"


def wait_for(paths: Paths, machine: Machine, holds: Callable[[], bool], what: str) -> None:
    """Wait for a condition; if it does not come, show which programs of the machine have died."""
    wait_until(holds, what, explain=lambda: supervising.failures(paths, machine))


def wait_api_server(paths: Paths) -> None:
    wait_for(paths, CONTROL_PLANE, lambda: api.is_ready(paths), "the API server should be ready")


def wait_accounts(paths: Paths) -> None:
    def exists() -> bool:
        return api.get(paths, DEFAULT_ACCOUNT) is not None

    wait_for(paths, CONTROL_PLANE, exists, "the default service account should exist")


def wait_names(paths: Paths) -> None:
    wait_for(paths, CONTROL_PLANE, lambda: api.resolves(PROBED_NAME), "CoreDNS should answer")


def wait_metrics(paths: Paths) -> None:
    def answers() -> bool:
        return api.get(paths, METRICS_API) is not None

    wait_for(paths, CONTROL_PLANE, answers, "the metrics API should answer")


def wait_node(paths: Paths, node: Machine, since: float) -> None:
    """Wait for a Ready that the kubelet has said since then: an older one may be a dead kubelet's."""

    def is_ready() -> bool:
        heartbeat = api.heartbeats(paths).get(node.name)
        # The API server keeps whole seconds.
        return bool(heartbeat and heartbeat.is_ready and heartbeat.at.timestamp() >= int(since))

    wait_until(
        is_ready,
        f"{node.name} should be Ready",
        seconds=120,
        interval=0.2,
        explain=lambda: supervising.failures(paths, node),
    )
