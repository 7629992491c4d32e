"""Breaking the cluster on purpose, and mending it: lost, frozen and cut-off nodes, stopped programs.

A frozen or cut-off node goes on living, as a real one would, with its pods and their connections.
Each command returns when the fault is done or mended; that Kubernetes notices takes 16 to 30 s more.
"""

import time
from collections.abc import Callable

from e2e.cluster import (
    cgroups,
    controlplane,
    gateway,
    machines,
    namespaces,
    network,
    readiness,
    supervising,
)
from e2e.cluster.errors import ClusterError
from e2e.cluster.layout import CONTROL_PLANE, Machine, Paths
from e2e.cluster.progress import Progress
from e2e.cluster.records import Record
from e2e.cluster.supervising import Program

PROGRAMS = ("apiserver", "etcd", "scheduler", "kcm", "coredns")


def lose(paths: Paths, node: Machine) -> str:
    """End a node as a power cut would."""
    machines.kill(paths, node)
    return "its machine was killed, with every process in it; its disk is kept"


def restore(paths: Paths, record: Record, node: Machine) -> str:
    """Start a lost node again, with the disk that it had."""
    namespaces.prepare_node(paths, node)
    namespaces.start_node(paths, record, node)
    return "its machine runs again"


def freeze(paths: Paths, node: Machine) -> str:
    """Stop a node's processes where they are, as a host without processor time would."""
    _require_running(paths, node)
    cgroups.set_frozen(node.name, frozen=True)
    return "all its processes are frozen, pods included"


def thaw(paths: Paths, node: Machine) -> str:
    _require_running(paths, node)
    cgroups.set_frozen(node.name, frozen=False)
    return "its processes go on"


def cut(paths: Paths, node: Machine) -> str:
    """Unplug a node's network cable."""
    _require_running(paths, node)
    network.set_connected(node, connected=False)
    return "its network cable is unplugged; its pods go on"


def join(paths: Paths, node: Machine) -> str:
    _require_running(paths, node)
    network.set_connected(node, connected=True)
    return "its network cable is plugged in"


NODE_FAULTS: dict[str, Callable[[Paths, Machine], str]] = {
    "lose": lose,
    "freeze": freeze,
    "cut": cut,
}
NODE_CURES: dict[str, Callable[[Paths, Record, Machine], str]] = {
    "restore": restore,
    "thaw": lambda paths, _, node: thaw(paths, node),
    "join": lambda paths, _, node: join(paths, node),
}


def change_node(
    paths: Paths, record: Record, node: Machine, action: str, progress: Progress
) -> None:
    """Do a fault or a cure to a node; after a cure, wait until the node is Ready again."""
    since = time.time()
    if action in NODE_FAULTS:
        progress.say(f"{node.name}: {NODE_FAULTS[action](paths, node)}")
        gateway.choose(paths, record)
        return
    progress.say(f"{node.name}: {NODE_CURES[action](paths, record, node)}")
    readiness.wait_node(paths, node, since)
    gateway.choose(paths, record)
    progress.say(f"{node.name} is Ready")


def stop_program(paths: Paths, name: str, progress: Progress) -> None:
    """End a program of the control plane as a crash would; nothing restarts it."""
    supervising.kill(paths, CONTROL_PLANE, name)
    progress.say(f"{name} is stopped; `program start {name}` starts it again")


def start_program(paths: Paths, record: Record, name: str, progress: Progress) -> None:
    """Start a program of the control plane, and wait until it does its work again."""
    storage = controlplane.storage(paths, record.programs)
    known = {
        program.name: program
        for program in (
            *storage,
            *controlplane.controllers(paths, record),
            controlplane.metrics_server(paths, record),
        )
    }
    started = supervising.ensure(paths, CONTROL_PLANE, known[name])
    _wait_working(paths, known[name])
    progress.say(f"{name} runs" if started else f"{name} ran already")


def _wait_working(paths: Paths, program: Program) -> None:
    match program.name:
        case "apiserver" | "etcd":
            readiness.wait_api_server(paths)
        case "coredns":
            readiness.wait_names(paths)
        case _:
            # Wrong flags or certificates end a program within its first second.
            time.sleep(1)
            if failures := supervising.failures(paths, CONTROL_PLANE):
                raise ClusterError(f"{program.name} ended at once. {failures}")


def _require_running(paths: Paths, node: Machine) -> None:
    if machines.running(paths, node) is None:
        raise ClusterError(f"{node.name} does not run: `node restore {node.name}` starts it.")
