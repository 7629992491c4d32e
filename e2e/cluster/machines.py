"""Machines: process trees with network, process, mount, host name and IPC namespaces of their own.

This is what a container of kind is, without Docker. Ending the first process of a machine ends all
of it: the kernel takes its processes, mounts, links, routes and packet filter with it. Which programs
run in a machine is left to `supervising`.
"""

import os
import subprocess
from pathlib import Path

from e2e.cluster import cgroups, network, processes
from e2e.cluster.errors import ClusterError
from e2e.cluster.host import wait_until
from e2e.cluster.layout import (
    MACHINE_PREFIX_LENGTH,
    NODES,
    Machine,
    Paths,
    pod_routes,
)
from e2e.cluster.processes import Process

NAMESPACES = ("--pid", "--mount", "--mount-proc", "--net", "--uts", "--ipc")
INIT = Path(__file__).with_name("machine.sh")
# Processes join their groups before they become what they are, so no child escapes them.
JOIN = 'while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs"; shift; done; shift; exec "$@"'


def running(paths: Paths, machine: Machine) -> Process | None:
    """Return the first process of a machine, if it lives."""
    return processes.load(_record(paths, machine))


def ensure(paths: Paths, machine: Machine) -> bool:
    """Start a machine that does not run, wake a frozen one, plug in a cut-off one.

    Return whether it had to be started.
    """
    if running(paths, machine):
        cgroups.set_frozen(machine.name, frozen=False)
        network.set_connected(machine, connected=True)
        return False
    remove_remains(paths, machine)
    _start(paths, machine)
    return True


def _start(paths: Paths, machine: Machine) -> None:
    directory = paths.machine(machine)
    (directory / "log").mkdir(parents=True, exist_ok=True)
    paths.volumes.mkdir(parents=True, exist_ok=True)
    log = paths.log(machine, "machine")
    with log.open("a") as output:
        parent = subprocess.Popen(
            joined(machine, ["unshare", "--fork", "--kill-child", *NAMESPACES, "bash", str(INIT)]),
            env={**os.environ, **_environment(paths, machine)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    init = await_child(parent, f"machine {machine.name}", log)
    processes.save(init, _record(paths, machine))
    network.plug_in(machine, init.pid)
    wait_until(
        lambda: (directory / "ready").exists(),
        f"machine {machine.name} should start",
        seconds=20,
        explain=lambda: f"{log} ends: {tail(log)}",
    )


def _environment(paths: Paths, machine: Machine) -> dict[str, str]:
    return {
        "NAME": machine.name,
        "ADDRESS": f"{machine.address}/{MACHINE_PREFIX_LENGTH}",
        "DIRECTORY": str(paths.machine(machine)),
        "VOLUMES": str(paths.volumes),
        "ROUTES": "\n".join(_routes(machine)),
    }


def _routes(machine: Machine) -> tuple[str, ...]:
    """Everything inside is reachable, and nothing outside."""
    others = tuple(node for node in NODES if node != machine)
    return (*pod_routes(others), "unreachable default metric 4000")


def kill(paths: Paths, machine: Machine) -> None:
    """End a machine as a power cut would, and remove what the kernel leaves of it."""
    init = running(paths, machine)
    if init:
        init.kill()
        # A frozen process dies only when it is thawed; killed first, it does nothing more.
        cgroups.set_frozen(machine.name, frozen=False)
        init.wait(f"machine {machine.name}")
    remove_remains(paths, machine)


def remove_remains(paths: Paths, machine: Machine) -> None:
    """Remove what is left of a machine that has ended, whoever or whatever ended it."""
    network.remove_cable(machine)
    cgroups.remove(machine.name)
    directory = paths.machine(machine)
    for name in ("ready", "machine.json"):
        (directory / name).unlink(missing_ok=True)
    for record in directory.glob("programs/*.json"):
        record.unlink()


def root(paths: Paths, machine: Machine) -> Path:
    """Return a machine's root directory as the host sees it."""
    return Path(f"/proc/{_require(paths, machine).pid}/root")


def inside(paths: Paths, machine: Machine, command: list[str]) -> list[str]:
    """Return the command that runs a command in a machine."""
    init = _require(paths, machine)
    return ["nsenter", "-t", str(init.pid), "-m", "-u", "-i", "-n", "-p", "--wdns=/", *command]


def _require(paths: Paths, machine: Machine) -> Process:
    init = running(paths, machine)
    if init is None:
        raise ClusterError(
            f"Machine {machine.name} does not run; `up` starts it. Its log is "
            f"{paths.log(machine, 'machine')}."
        )
    return init


def joined(machine: Machine, command: list[str]) -> list[str]:
    """Return the command that runs a command in the control groups of a machine."""
    groups = [str(group) for group in cgroups.create(machine.name)]
    return ["sh", "-c", JOIN, "join", *groups, "--", *command]


def await_child(parent: subprocess.Popen[bytes], what: str, log: Path) -> Process:
    """Return the process that a forking command (`unshare`, `nsenter`) has started."""

    def child() -> Process | None:
        pid = processes.only_child(parent.pid)
        return processes.identify(pid) if pid else None

    wait_until(
        lambda: child() is not None or parent.poll() is not None,
        f"{what} should start",
        seconds=20,
        interval=0.005,
    )
    found = child()
    if found is None:
        raise ClusterError(f"{what} ended at once; {log} ends: {tail(log)}")
    return found


def tail(log: Path, lines: int = 8) -> str:
    """Return the last lines of a log; what is not there is empty."""
    if not log.exists():
        return ""
    return "\n" + "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


def _record(paths: Paths, machine: Machine) -> Path:
    return paths.machine(machine) / "machine.json"
