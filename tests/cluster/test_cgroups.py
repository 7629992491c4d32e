"""Rules of finding the control groups of a host."""

from pathlib import Path

from e2e.cluster import cgroups

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
