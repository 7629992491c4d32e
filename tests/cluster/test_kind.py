"""Rules of the cluster that kind makes, with programs that only note what they are asked."""

import shutil
import stat
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from e2e.cluster import build, commands, kind, records, requirements
from e2e.cluster.commands import Context
from e2e.cluster.errors import ClusterError
from e2e.cluster.layout import Paths
from e2e.cluster.progress import Progress
from tests.cluster.test_images import write

_PROGRAM = """#!/bin/sh
/bin/cat > /dev/null
echo "${0##*/} $*" >> "$NOTES"
case "${0##*/} $*" in
  *"--raw /readyz") test ! -s "$WAITING" || { : > "$WAITING"; exit 1; } ;;
  "docker info"*) echo "$MEMORY" ;;
  "helm version"*) echo "$HELM" ;;
  "kind version"*) echo "kind $KIND go1.24.6 linux/amd64" ;;
  "kind get nodes"*) /bin/cat "$CONTAINERS" ;;
  "kind create"*) test ! -e "$FAILING" || exit 1; echo sluice-worker > "$CONTAINERS" ;;
  "kind delete"*) : > "$CONTAINERS" ;;
esac
"""
NODES = "sluice-control-plane\nsluice-worker\n"


def install(directory: Path, name: str) -> None:
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(_PROGRAM)
    (directory / name).chmod(stat.S_IRWXU)


class Host:
    """A machine with kind, kubectl, helm and Docker, each of which notes its words."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.paths = Paths(state=directory / "state", cache=directory / "cache")
        self.containers, self.failing = directory / "containers", directory / "failing"
        self.waiting = directory / "waiting"
        self._notes = directory / "notes"
        self._notes.touch()
        self.containers.touch()
        self.programs = directory / "bin"
        for name in ("kind", "kubectl", "helm", "docker"):
            install(self.programs, name)
        monkeypatch.setenv("PATH", str(self.programs))
        monkeypatch.setenv("NOTES", str(self._notes))
        monkeypatch.setenv("CONTAINERS", str(self.containers))
        monkeypatch.setenv("FAILING", str(self.failing))
        monkeypatch.setenv("HELM", "v3.19.0")
        monkeypatch.setenv("KIND", "v0.30.0")
        monkeypatch.setenv("MEMORY", str(8 * 2**30))
        monkeypatch.setenv("WAITING", str(self.waiting))

    def up(self) -> Sequence[str]:
        """Bring it up; what the programs were asked for that."""
        return self.asked(lambda: kind.up(self.paths, None, "docker", Progress()))

    def down(self) -> Sequence[str]:
        return self.asked(lambda: kind.down(self.paths, "docker", Progress()))

    def load(self, archive: Path) -> Sequence[str]:
        return self.asked(lambda: kind.load_images(self.paths, [archive], "docker", Progress()))

    def asked(self, act: Callable[[], None]) -> Sequence[str]:
        before = len(self._notes.read_text().splitlines())
        act()
        notes = self._notes.read_text().splitlines()[before:]
        return [note for note in notes if not note.startswith("kind version")]


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(tmp_path, monkeypatch)


def first(notes: Sequence[str], start: str) -> int:
    return next(at for at, note in enumerate(notes) if note.startswith(start))


def test_a_cluster_that_is_up_is_not_made_again_and_what_was_stopped_of_it_starts(
    host: Host,
) -> None:
    host.up()
    host.containers.write_text(NODES)

    again = host.up()

    assert "docker start sluice-control-plane sluice-worker" in again
    assert not [note for note in again if note.startswith(("kind create", "kind delete"))]


def test_a_cluster_that_was_interrupted_while_it_was_made_is_made_anew(host: Host) -> None:
    host.failing.touch()
    with pytest.raises(ClusterError, match="kind create cluster"):
        host.up()
    host.failing.unlink()
    host.containers.write_text(NODES)

    notes = host.up()

    assert first(notes, "kind delete cluster --name sluice") < first(notes, "kind create cluster")
    assert records.load(host.paths) is not None


def test_a_cluster_that_was_interrupted_while_it_was_made_is_removed(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requirements, "find_runtime", lambda: "docker")
    host.failing.touch()
    with pytest.raises(ClusterError, match="kind create cluster"):
        host.up()

    notes = host.asked(
        lambda: commands.down(Context(paths=host.paths, progress=Progress()), Namespace())
    )

    assert "kind delete cluster --name sluice" in notes
    assert not host.paths.state.exists()


def test_a_cluster_is_ready_when_volumes_names_and_the_metrics_api_are(host: Host) -> None:
    notes = host.up()

    made = first(notes, "kind create cluster")
    words = ("wait", "rollout", "get")
    waits = [note for note in notes[made:] if set(words) & set(note.split())]
    wanted = ("readyz", "nodes", "local-path-provisioner", "coredns", "metrics.k8s.io")
    assert all(any(name in note for note in waits) for name in wanted)


@pytest.mark.parametrize(
    ("memory", "is_little"),
    [("2067513344", True), ("6214512640", False), ("16777216000", False), ("unknown", False)],
)
def test_it_is_said_that_docker_has_too_little_memory_for_what_comes(
    host: Host,
    memory: str,
    is_little: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MEMORY", memory)

    host.up()

    said = capsys.readouterr()
    assert ("docker has 1.9 GiB of memory" in said.out + said.err) == is_little


def test_nothing_is_asked_of_an_api_server_that_does_not_know_the_rights_yet(host: Host) -> None:
    host.up()
    host.containers.write_text(NODES)
    host.waiting.write_text("once")

    notes = host.up()

    asked = [at for at, note in enumerate(notes) if note.endswith("get --raw /readyz")]
    assert len(asked) == 2
    assert asked[-1] < first(notes, f"kubectl --kubeconfig {host.paths.kubeconfig} wait")


def test_what_pods_wrote_is_removed_by_root_in_a_node_before_the_node_goes(host: Host) -> None:
    host.up()

    notes = host.down()

    emptied = first(
        notes, f"docker exec sluice-control-plane find {kind.SHARED} -mindepth 1 -delete"
    )
    assert emptied < first(notes, "kind delete cluster")
    assert not host.paths.state.exists()


def test_a_node_that_a_restart_of_the_machine_has_stopped_starts_to_remove_what_pods_wrote(
    host: Host,
) -> None:
    host.up()

    notes = host.down()

    started = first(notes, "docker start sluice-control-plane")
    assert started < first(notes, "docker exec sluice-control-plane find")


def test_where_no_node_is_left_to_remove_what_pods_wrote_the_message_says_how(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.up()
    wrote = str(host.paths.volumes / "pvc-1" / "commits")

    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", wrote)

    monkeypatch.setattr(shutil, "rmtree", refuse)

    with pytest.raises(ClusterError, match=rf"{wrote}.*sudo rm -r {host.paths.state}"):
        host.down()


def test_the_nodes_are_given_an_image_once_and_a_new_cluster_again(host: Host) -> None:
    host.paths.cache.mkdir()
    archive, another = (
        write(host.paths.cache, f"{name}.tar", content=name.encode()) for name in "ab"
    )
    host.up()

    loads = [f"kind load image-archive {archive} --name sluice"]
    assert host.load(archive) == loads
    assert host.load(archive) == []
    assert host.load(another) == [f"kind load image-archive {another} --name sluice"]
    assert host.load(archive) == loads, "its name means the other one by now"
    host.down()
    host.up()
    assert host.load(archive) == loads


def test_nodes_that_were_made_anew_because_kind_had_deleted_theirs_are_given_the_images_again(
    host: Host,
) -> None:
    host.paths.cache.mkdir()
    archive = write(host.paths.cache, "a.tar")
    host.up()
    loads = host.load(archive)
    host.containers.write_text("")

    assert any(note.startswith("kind create") for note in host.up())

    assert host.load(archive) == loads


def test_a_cluster_of_kind_does_not_grow_and_the_message_says_what_to_do(host: Host) -> None:
    host.up()

    with pytest.raises(ClusterError, match="cluster of 2: `down`, then `up`"):
        kind.up(host.paths, 3, "docker", Progress())


def test_all_nodes_share_the_directory_of_the_volumes(host: Host) -> None:
    described = kind.render(host.paths, 2)

    nodes = described["nodes"]
    assert isinstance(nodes, list)
    mount = {"hostPath": str(host.paths.volumes), "containerPath": kind.SHARED}
    assert [node["role"] for node in nodes] == ["control-plane", "worker", "worker"]
    assert all(node["extraMounts"] == [mount] for node in nodes)


@pytest.mark.parametrize(
    ("name", "container"), [("node-1", "sluice-worker"), ("node-2", "sluice-worker2")]
)
def test_a_node_has_the_name_that_kind_gives_it(name: str, container: str) -> None:
    assert kind.node_name(name) == container


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where programs are that were built."""
    made = tmp_path / "built"

    def ensure(paths: Paths, module: build.Module, go: object, progress: Progress) -> Path:
        for program, _ in module.packages:
            install(made, program)
        return made

    monkeypatch.setattr(build, "ensure", ensure)
    return made


@pytest.mark.parametrize("version", ["v3.13.3", "v2.17.0", "unknown"])
def test_a_helm_that_is_too_old_for_the_chart_is_built_and_used(
    host: Host, made: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELM", version)

    host.up()

    assert records.client(records.require(host.paths), "helm") == str(made / "helm")


@pytest.mark.parametrize("version", ["v3.14.0", "v3.19", "v4.0.1"])
def test_a_helm_that_is_new_enough_is_used(
    host: Host, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELM", version)

    host.up()

    assert records.client(records.require(host.paths), "helm") == "helm"


def test_programs_that_are_missing_are_built_and_used(host: Host, made: Path) -> None:
    for name in ("kind", "helm"):
        (host.programs / name).unlink()

    host.up()

    assert sorted(path.name for path in made.iterdir()) == ["helm", "kind", "kubectl"]
    record = records.require(host.paths)
    assert records.client(record, "kubectl") == str(made / "kubectl")


@pytest.mark.parametrize("version", ["v0.23.0", "unknown"])
def test_a_kind_that_enforces_no_policies_or_whose_kubernetes_is_too_old_is_not_used(
    host: Host, made: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KIND", version)

    host.up()

    assert (made / "kind").exists()


@pytest.mark.parametrize("version", ["v0.24.0", "v0.31.0-alpha", "v1.0.0"])
def test_a_kind_that_is_new_enough_is_used(
    host: Host, made: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KIND", version)

    host.up()

    assert not made.exists()


def test_clients_that_are_built_for_a_cluster_that_is_up_are_the_ones_to_use(
    host: Host, made: Path
) -> None:
    host.up()
    host.containers.write_text(NODES)
    for name in ("kubectl", "helm"):
        (host.programs / name).unlink()

    host.up()

    assert records.client(records.require(host.paths), "kubectl") == str(made / "kubectl")
