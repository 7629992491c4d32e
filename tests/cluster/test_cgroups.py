"""Rules of finding the control groups of a host."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from e2e.cluster import cgroups
from e2e.cluster.errors import ClusterError

HYBRID = """\
proc /proc proc rw 0 0
tmpfs /sys/fs/cgroup tmpfs rw,mode=755 0 0
cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0
cgroup /sys/fs/cgroup/freezer cgroup rw,relatime,freezer 0 0
cgroup /sys/fs/cgroup/systemd cgroup rw,relatime,name=systemd 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0
"""


def test_every_hierarchy_of_a_hybrid_host_is_found() -> None:
    found = [(tree.path.name, tree.version) for tree in cgroups.parse_mounts(HYBRID)]

    assert found == [("cpuset", 1), ("freezer", 1), ("systemd", 1), ("unified", 2)]


def test_a_hierarchy_names_its_controllers() -> None:
    freezers = [tree.path for tree in cgroups.parse_mounts(HYBRID) if "freezer" in tree.controllers]

    assert freezers == [Path("/sys/fs/cgroup/freezer")]


def test_a_host_of_version_2_has_one_hierarchy() -> None:
    (tree,) = cgroups.parse_mounts("cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n")

    assert (tree.path, tree.version) == (Path("/sys/fs/cgroup"), 2)


@dataclass
class Freezer:
    """The state of a group of version 1 that comes to rest only when it is told so for that time."""

    time: float
    name: str = "freezer.state"
    written: list[str] = field(default_factory=list)

    def write_text(self, text: str) -> None:
        self.written.append(text)

    def read_text(self) -> str:
        if self.written[-1] == "FROZEN" and self.written.count("FROZEN") < self.time:
            return "FREEZING\n"
        return f"{self.written[-1]}\n"


def freezes(monkeypatch: pytest.MonkeyPatch, freezer: Freezer) -> None:
    monkeypatch.setattr(cgroups, "_freezer_state", lambda _: freezer)
    monkeypatch.setattr(cgroups, "ATTEMPT_SECONDS", 0.01)
    cgroups.set_frozen("node-1", frozen=True)


def test_a_machine_that_does_not_come_to_rest_is_let_go_and_frozen_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    freezer = Freezer(time=3)
    freezes(monkeypatch, freezer)
    assert freezer.written == ["FROZEN", "THAWED", "FROZEN", "THAWED", "FROZEN"]


def test_a_machine_that_never_comes_to_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    freezer = Freezer(time=float("inf"))
    with pytest.raises(ClusterError, match="should say FROZEN"):
        freezes(monkeypatch, freezer)
    assert freezer.written[-1] == "THAWED"
