"""Control groups: every machine has its own subtree in each hierarchy of the host.

Hosts with version 1, or both (hybrid), have one hierarchy per controller; hosts with version 2 have
one for all. Both are handled here; only the hybrid kind has been tried.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from e2e.cluster.errors import ClusterError
from e2e.cluster.host import wait_until
from e2e.cluster.layout import CGROUP

CPUSET_FILES = ("cpuset.cpus", "cpuset.mems")

ATTEMPTS = 20
ATTEMPT_SECONDS = 2.0
"""How often a machine is frozen that does not come to rest, and how long each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hierarchy:
    """One mounted tree of control groups."""

    path: Path
    version: int
    controllers: frozenset[str]


def parse_mounts(mounts: str) -> tuple[Hierarchy, ...]:
    """Find the hierarchies in the text of /proc/mounts."""
    found = []
    for line in mounts.splitlines():
        _, path, kind, options, *_ = line.split()
        if kind in ("cgroup", "cgroup2"):
            version = 2 if kind == "cgroup2" else 1
            controllers = frozenset(options.split(","))
            found.append(Hierarchy(path=Path(path), version=version, controllers=controllers))
    return tuple(found)


def hierarchies() -> tuple[Hierarchy, ...]:
    return parse_mounts(Path("/proc/mounts").read_text())


def create(machine: str) -> tuple[Path, ...]:
    """Make a machine's subtrees and return the groups that its own programs join.

    Programs get a group beside those of the pods, because version 2 allows processes in leaves only.
    """
    return tuple(_create_in(hierarchy, machine) for hierarchy in hierarchies())


def _create_in(hierarchy: Hierarchy, machine: str) -> Path:
    group = hierarchy.path
    for part in (CGROUP, machine, "system"):
        if hierarchy.version == 2:
            _delegate_controllers(group)
        group = group / part
        group.mkdir(exist_ok=True)
        if "cpuset" in hierarchy.controllers:
            _inherit_cpuset(group)
    return group


def _delegate_controllers(group: Path) -> None:
    wanted = (group / "cgroup.controllers").read_text().split()
    (group / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in wanted))


def _inherit_cpuset(group: Path) -> None:
    """A new group of version 1 has no processors, and nothing can join it, until it is given some."""
    for name in CPUSET_FILES:
        if not (group / name).read_text().strip():
            (group / name).write_text((group.parent / name).read_text())


def set_frozen(machine: str, *, frozen: bool) -> None:
    """Stop every process of a machine where it is, pods included, or let them go on."""
    state = _freezer_state(machine)
    if state is None:
        return
    if state.name == "cgroup.freeze":
        state.write_text("1" if frozen else "0")
        return
    if frozen:
        _freeze(state)
    else:
        _reach(state, "THAWED")


def _freeze(state: Path) -> None:
    """Freeze a group of version 1, whole or not at all.

    A process that starts a program waits for its child to have begun it (vfork), and cannot stand still before. If the
    child does so first, the group freezes for ever and is never frozen: both are let go, and it is tried again.
    """
    for attempt in range(ATTEMPTS):
        try:
            _reach(state, "FROZEN", seconds=ATTEMPT_SECONDS)
        except ClusterError:
            _reach(state, "THAWED")
            if attempt + 1 == ATTEMPTS:
                raise
        else:
            return


def _reach(state: Path, wanted: str, *, seconds: float = 60) -> None:
    state.write_text(wanted)
    wait_until(
        lambda: state.read_text().strip() == wanted,
        f"{state} should say {wanted}",
        seconds=seconds,
    )


def is_frozen(machine: str) -> bool:
    state = _freezer_state(machine)
    return state is not None and state.read_text().strip() not in ("THAWED", "0")


def _freezer_state(machine: str) -> Path | None:
    """Find the file that stops a machine.

    A hybrid host has one in the tree of version 2 too, but its pods are in those of version 1.
    """
    trees = hierarchies()
    for tree in trees:
        group = tree.path / CGROUP / machine
        if "freezer" in tree.controllers and group.is_dir():
            return group / "freezer.state"
        if len(trees) == 1 and group.is_dir():
            return group / "cgroup.freeze"
    return None


def remove(machine: str | None = None) -> None:
    """Remove the subtrees of a machine whose processes are gone, or those of the whole cluster."""
    for hierarchy in hierarchies():
        root = hierarchy.path / CGROUP
        group = root / machine if machine else root
        # The kernel lets go of a group only some time after the last of its processes.
        wait_until(partial(_is_removed, group), f"{group} should empty", seconds=20)


def _is_removed(group: Path) -> bool:
    if not group.is_dir():
        return True
    inner = sorted(group.rglob("*/"), key=lambda path: len(path.parts), reverse=True)
    for path in (*inner, group):
        try:
            path.rmdir()
        except OSError:
            return False
    return True
