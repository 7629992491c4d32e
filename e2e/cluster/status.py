"""What `status` prints: the machines, their programs, the nodes, and how to use the cluster."""

from collections.abc import Iterator

from e2e.cluster import api, cgroups, layout, machines, network, records, supervising
from e2e.cluster.layout import Machine, Paths
from e2e.cluster.records import Record


def describe(paths: Paths, record: Record) -> str:
    """Describe the cluster as it is now."""
    return "\n".join(_lines(paths, record))


def is_lost(paths: Paths, record: Record) -> bool:
    """Whether nothing of it runs any more, as after a restart of the host; kind has its own repair."""
    if record.provider == records.KIND:
        return False
    return all(machines.running(paths, machine) is None for machine in record.machines)


def _lines(paths: Paths, record: Record) -> Iterator[str]:
    # That of kind's is its own choice.
    version = "" if record.provider == records.KIND else f", Kubernetes {layout.KUBERNETES_VERSION}"
    yield f"provider    {record.provider}, {record.nodes} nodes{version}"
    yield f"kubeconfig  {paths.kubeconfig}"
    yield 'use it      eval "$(python3 -m e2e.cluster env)"; kubectl get nodes'
    if record.provider == records.KIND:
        return
    heartbeats = api.heartbeats(paths)
    yield f"API server  {layout.API_SERVER} {'ready' if api.is_ready(paths) else 'NOT ready'}"
    for machine in record.machines:
        heartbeat = heartbeats.get(machine.name)
        ready = "" if heartbeat is None else ", Ready" if heartbeat.is_ready else ", NOT Ready"
        yield f"{machine.name:<13} {machine.address:<14} {_condition(paths, machine)}{ready}"
        for name in supervising.names(paths, machine):
            alive = "runs" if supervising.is_running(paths, machine, name) else "DEAD"
            yield f"  {name:<16} {alive}  {paths.log(machine, name)}"


def _condition(paths: Paths, machine: Machine) -> str:
    if machines.running(paths, machine) is None:
        return "LOST"
    if cgroups.is_frozen(machine.name):
        return "FROZEN"
    return "runs" if network.is_connected(machine) else "CUT OFF"
