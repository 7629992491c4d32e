"""The host's way to Services: through the kube-proxy of a node that lives.

Pods reach Services through their own node; only the host depends on this.
"""

from e2e.cluster import cgroups, machines, network
from e2e.cluster.layout import Machine, Paths, service_route
from e2e.cluster.records import Record


def choose(paths: Paths, record: Record) -> None:
    """Send the host's calls to Services through the first node that can take them."""
    alive = [node for node in record.node_machines if is_reachable(paths, node)]
    if alive:
        network.replace_route(service_route(alive[0]))


def is_reachable(paths: Paths, node: Machine) -> bool:
    return (
        machines.running(paths, node) is not None
        and network.is_connected(node)
        and not cgroups.is_frozen(node.name)
    )
