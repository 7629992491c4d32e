"""What each command does, given its parsed arguments; the work itself is left to other modules."""

import os
import shlex
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster import (
    build,
    faults,
    images,
    kind,
    lock,
    machines,
    namespaces,
    nodes,
    records,
    requirements,
    status,
)
from e2e.cluster.errors import ClusterError
from e2e.cluster.layout import MACHINES, Machine, Paths
from e2e.cluster.progress import Progress
from e2e.cluster.records import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Where the cluster is, and how a command tells what it does."""

    paths: Paths
    progress: Progress


def up(context: Context, arguments: Namespace) -> None:
    paths, progress = context.paths, context.progress
    with lock.exclusive(paths.lock, "up", progress):
        if runtime := _kinds_runtime(paths):
            kind.up(paths, arguments.nodes, runtime, progress)
        else:
            namespaces.up(paths, arguments.nodes, progress)
    progress.say(f"Use it: export KUBECONFIG={paths.kubeconfig}")


def down(context: Context, arguments: Namespace) -> None:
    with lock.exclusive(context.paths.lock, "down", context.progress):
        if runtime := _kinds_runtime(context.paths):
            kind.down(context.paths, runtime, context.progress)
        else:
            namespaces.down(context.paths, context.progress)


def show_status(context: Context, arguments: Namespace) -> None:
    record = records.require(context.paths)
    print(status.describe(context.paths, record))
    if status.is_lost(context.paths, record):
        raise ClusterError(
            "Nothing of the cluster runs. `python3 -m e2e.cluster up` starts it again, with all that it held."
        )


def show_kubeconfig(context: Context, arguments: Namespace) -> None:
    records.require(context.paths)
    print(context.paths.kubeconfig)


def show_environment(context: Context, arguments: Namespace) -> None:
    environment = _client_environment(context.paths, records.require(context.paths))
    for name in ("KUBECONFIG", "PATH"):
        print(f"export {name}={shlex.quote(environment[name])}")


def run_client(context: Context, arguments: Namespace) -> None:
    """Become kubectl or helm, with the cluster's kubeconfig."""
    record = records.require(context.paths)
    environment = _client_environment(context.paths, record)
    program = records.client(record, arguments.command)
    _become([program, *arguments.arguments], environment)


def load_image(context: Context, arguments: Namespace) -> None:
    record = records.require(context.paths)
    archives = [Path(archive).resolve() for archive in arguments.archives]
    with lock.exclusive(context.paths.lock, "load-image", context.progress):
        if runtime := _kinds_runtime(context.paths):
            kind.load_images(context.paths, archives, runtime, context.progress)
        else:
            targets = [
                node for node in record.node_machines if machines.running(context.paths, node)
            ]
            images.load_into_all(context.paths, targets, archives, context.progress)


def change_node(context: Context, arguments: Namespace) -> None:
    record = records.require(context.paths)
    with lock.exclusive(context.paths.lock, f"node {arguments.action}", context.progress):
        if runtime := _kinds_runtime(context.paths):
            kind.change_node(arguments.node, arguments.action, runtime, context.progress)
        else:
            node = _machine(record.node_machines, arguments.node)
            faults.change_node(context.paths, record, node, arguments.action, context.progress)


def change_program(context: Context, arguments: Namespace) -> None:
    record = _own_cluster(context.paths)
    with lock.exclusive(context.paths.lock, f"program {arguments.action}", context.progress):
        if arguments.action == "stop":
            faults.stop_program(context.paths, arguments.program, context.progress)
        else:
            faults.start_program(context.paths, record, arguments.program, context.progress)


def show_log(context: Context, arguments: Namespace) -> None:
    machine = _machine(_own_cluster(context.paths).machines, arguments.machine)
    log = context.paths.log(machine, arguments.program)
    if not log.exists():
        names = sorted(path.stem for path in log.parent.glob("*.log"))
        raise ClusterError(f"There is no log {log}; {machine.name} has {', '.join(names)}.")
    follow = ["-f"] if arguments.follow else []
    _become(["tail", "-n", str(arguments.lines), *follow, str(log)], dict(os.environ))


def enter(context: Context, arguments: Namespace) -> None:
    """Become a command in a machine; its containerd is the default of `ctr` there."""
    record = _own_cluster(context.paths)
    machine = _machine(record.machines, arguments.machine)
    environment = {
        **_client_environment(context.paths, record),
        "CONTAINERD_ADDRESS": nodes.SOCKET,
        "CONTAINERD_NAMESPACE": "k8s.io",
    }
    command = arguments.arguments or ["bash"]
    _become(machines.inside(context.paths, machine, command), environment)


def build_module(context: Context, arguments: Namespace) -> None:
    """Build programs that `up` does not need, and print where they are."""
    module = build.MODULES[arguments.module]
    go = requirements.ensure_go(requirements.find_runtime(), context.progress)
    with lock.exclusive(context.paths.lock, "build", context.progress):
        print(build.ensure(context.paths, module, go, context.progress))


COMMANDS: dict[str, Callable[[Context, Namespace], None]] = {
    "up": up,
    "down": down,
    "status": show_status,
    "kubeconfig": show_kubeconfig,
    "env": show_environment,
    "kubectl": run_client,
    "helm": run_client,
    "load-image": load_image,
    "node": change_node,
    "program": change_program,
    "logs": show_log,
    "enter": enter,
    "build": build_module,
}


def _kinds_runtime(paths: Paths) -> str | None:
    """Return the runtime if kind has made the cluster, or is to make it: wherever a daemon answers."""
    record = records.load(paths)
    if record and record.provider != records.KIND:
        return None
    runtime = requirements.find_runtime()
    if record and runtime is None:
        raise ClusterError(
            "kind made the cluster, and no container runtime answers: start Docker (or Podman, or nerdctl)."
        )
    return runtime


def _machine(choices: tuple[Machine, ...], name: str) -> Machine:
    for machine in choices:
        if machine.name == name:
            return machine
    names = ", ".join(machine.name for machine in choices)
    reason = "is not in this cluster" if name in {each.name for each in MACHINES} else "is unknown"
    raise ClusterError(f"Machine {name} {reason}; there are {names}.")


def _own_cluster(paths: Paths) -> Record:
    record = records.require(paths)
    if record.provider == records.KIND:
        raise ClusterError(
            "A cluster made by kind has no such machines; use `docker exec` instead."
        )
    return record


def _client_environment(paths: Paths, record: Record) -> dict[str, str]:
    directories = [record.kube] if record.kube else []
    path = os.pathsep.join([*directories, os.environ.get("PATH", os.defpath)])
    return {**os.environ, "KUBECONFIG": str(paths.kubeconfig), "PATH": path}


def _become(command: list[str], environment: dict[str, str]) -> None:
    """Replace this process, so that signals, the terminal and the exit status are the command's."""
    try:
        os.execvpe(command[0], command, environment)
    except FileNotFoundError as error:
        raise ClusterError(f"{command[0]} was not found on the PATH: install it.") from error
