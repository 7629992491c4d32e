"""The cluster where there is a container runtime: made by kind, used in the same way.

What differs from kind's own defaults is one directory that all nodes share, so that volumes can be used
from each (`local-shared`), and a metrics-server.
"""

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from string import Template

from e2e.cluster import build, host, images, records, requirements
from e2e.cluster.errors import ClusterError
from e2e.cluster.host import run
from e2e.cluster.layout import KIND_NAME, Paths
from e2e.cluster.progress import Progress
from e2e.cluster.records import Record

ADDONS = Path(__file__).with_name("kind-addons.yaml")
SHARED = "/var/local/sluice-volumes"
SECONDS = 180
GIBIBYTE = 2**30
MEMORY = 6
"""What the demo and the tests need, in GiB. A machine of that size has somewhat less to give."""
STORAGE = ("--namespace", "local-path-storage")
FAULTS = {
    "lose": ("kill",),
    "restore": ("start",),
    "freeze": ("pause",),
    "thaw": ("unpause",),
    "cut": ("network", "disconnect", "kind"),
    "join": ("network", "connect", "kind"),
}


@dataclass(frozen=True, slots=True)
class Kind:
    """The program, which works with the runtime whose daemon answers."""

    program: str
    runtime: str

    def run(self, *words: str, text: str | None = None) -> str:
        environment = {**os.environ, "KIND_EXPERIMENTAL_PROVIDER": self.runtime}
        return run([self.program, *words], text=text, environment=environment)

    def nodes(self) -> list[str]:
        """Return the names of the cluster's containers: none where there is no cluster."""
        return self.run("get", "nodes", "--name", KIND_NAME).split()


def up(paths: Paths, asked: int | None, runtime: str, progress: Progress) -> None:
    """Have kind make the cluster, unless it has; start what has been stopped of one."""
    kind = _find(paths, runtime, progress)
    old = records.load(paths)
    size = records.wanted_nodes(old.nodes if old else 0, asked)
    if old and old.nodes != size:
        raise ClusterError(f"kind cannot add nodes to a cluster of {old.nodes}: `down`, then `up`.")
    record = Record(provider=records.KIND, nodes=size, kube=_clients(paths, runtime, progress))
    containers = kind.nodes()
    if old and containers:
        # A restart of the machine leaves them stopped.
        run([runtime, "start", *containers])
        _wait_usable(paths, record)
        # Clients that were on the PATH may be gone from it, and have been built.
        records.save(paths, record)
        progress.say("The cluster was up already.")
        return
    # One that has no record was interrupted while it was made, or its state is lost: it cannot be used.
    kind.run("delete", "cluster", "--name", KIND_NAME)
    _make(paths, kind, record, progress)
    _wait_usable(paths, record)
    records.save(paths, record)
    progress.say("The cluster is ready.")


def _make(paths: Paths, kind: Kind, record: Record, progress: Progress) -> None:
    paths.volumes.mkdir(parents=True, exist_ok=True)
    # Its nodes have nothing of what those of a cluster had that kind alone was told to delete.
    shutil.rmtree(_loaded(paths), ignore_errors=True)
    _tell_of_memory(kind.runtime, progress)
    progress.say(f"Making a cluster of {record.nodes} nodes by kind on {kind.runtime} ...")
    creating = ["create", "cluster", "--name", KIND_NAME, "--wait", f"{SECONDS}s"]
    options = ["--kubeconfig", str(paths.kubeconfig), "--config", "-"]
    kind.run(*creating, *options, text=json.dumps(render(paths, record.nodes)))
    _apply_addons(paths, record)


def _tell_of_memory(runtime: str, progress: Progress) -> None:
    """Say that there is little: on a Mac, Docker has as much of it as its machine was given, by default 2 to 8 GiB."""
    field = ".Host.MemTotal" if runtime == "podman" else ".MemTotal"
    asking = [runtime, "info", "--format", f"{{{{{field}}}}}"]
    told = run(asking).strip() if host.succeeds(asking) else ""
    memory = int(told) / GIBIBYTE if told.isdecimal() else MEMORY
    if memory < MEMORY - 0.5:
        progress.say(
            f"{runtime} has {memory:.1f} GiB of memory; the demo and the tests need {MEMORY}: give it more, or "
            "pods may find no room or be killed."
        )


def render(paths: Paths, nodes: int) -> dict[str, object]:
    """Describe the cluster to kind; JSON is YAML too."""
    mounts = [{"hostPath": str(paths.volumes), "containerPath": SHARED}]
    roles = ["control-plane", *["worker"] * nodes]
    return {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "name": KIND_NAME,
        "nodes": [{"role": role, "extraMounts": mounts} for role in roles],
    }


def node_name(name: str) -> str:
    """Return kind's name of a node: node-1 is sluice-worker, node-2 is sluice-worker2."""
    number = name.removeprefix("node-")
    return f"{KIND_NAME}-worker{'' if number == '1' else number}"


def down(paths: Paths, runtime: str, progress: Progress) -> None:
    """Remove the cluster, also one that was interrupted while it was made, and its volumes."""
    kind = _find(paths, runtime, progress)
    # What pods wrote belongs to their users, which only root in a node can remove; a restart of the machine stops it.
    node = f"{KIND_NAME}-control-plane"
    host.succeeds([runtime, "start", node])
    host.succeeds([runtime, "exec", node, "find", SHARED, "-mindepth", "1", "-delete"])
    kind.run("delete", "cluster", "--name", KIND_NAME)
    if paths.state.exists():
        _remove(paths.state)
    progress.say("The cluster is removed; what was built stays in the cache.")


def _remove(state: Path) -> None:
    try:
        shutil.rmtree(state)
    except PermissionError as error:
        raise ClusterError(
            f"The cluster is removed, but not what its pods wrote ({error.filename}), because no node was left to do "
            f"that: sudo rm -r {state}"
        ) from error


def load_images(paths: Paths, archives: list[Path], runtime: str, progress: Progress) -> None:
    """Load each archive into all nodes, unless its names mean that content there."""
    kind, loaded = _find(paths, runtime, progress), images.Loaded(_loaded(paths))
    for archive in archives:
        content = images.digest(archive)
        if loaded.has(archive, content):
            progress.say(f"The nodes have {archive.name}")
            continue
        progress.say(f"Loading {archive.name} ...")
        kind.run("load", "image-archive", str(archive), "--name", KIND_NAME)
        loaded.note(archive, content)


def _loaded(paths: Paths) -> Path:
    return paths.state / "images"


def change_node(name: str, action: str, runtime: str, progress: Progress) -> None:
    """Do to a node's container what the other kind of cluster does to a machine."""
    run([runtime, *FAULTS[action], node_name(name)])
    progress.say(f"{name}: {action} is done")


def _find(paths: Paths, runtime: str, progress: Progress) -> Kind:
    """Take the kind on the PATH if it is new enough, else build one."""
    if requirements.has_kind():
        return Kind("kind", runtime)
    go = requirements.ensure_go(runtime, progress)
    return Kind(str(build.ensure(paths, build.KIND, go, progress) / "kind"), runtime)


def _clients(paths: Paths, runtime: str, progress: Progress) -> str:
    """Return the directory of kubectl and helm, which is empty for those on the PATH."""
    if requirements.has_clients():
        return ""
    go = requirements.ensure_go(runtime, progress)
    return str(build.ensure(paths, build.CLIENTS, go, progress))


def _apply_addons(paths: Paths, record: Record) -> None:
    """Let kind's own provisioner make volumes in the directory that all nodes share."""
    client = _client(paths, record)
    version = build.version(build.METRICS_SERVER, "sigs.k8s.io/metrics-server")
    manifest = Template(ADDONS.read_text()).substitute(METRICS_SERVER_VERSION=version)
    run([*client, "apply", "-f", "-"], text=manifest)
    setting = {"data": {"config.json": json.dumps({"sharedFileSystemPath": SHARED})}}
    patch = ["patch", "configmap", "local-path-config", "--patch", json.dumps(setting)]
    run([*client, *STORAGE, *patch])
    run([*client, *STORAGE, "rollout", "restart", "deployment/local-path-provisioner"])
    default = "storageclass.kubernetes.io/is-default-class"
    run([*client, "annotate", "storageclass", "standard", "--overwrite", f"{default}=false"])


def _wait_usable(paths: Paths, record: Record) -> None:
    """Wait until nodes, volumes, names and the metrics API answer."""
    client = _client(paths, record)

    def wait_until_answered(path: str, what: str) -> None:
        asking = [*client, "get", "--raw", path]
        host.wait_until(lambda: host.succeeds(asking), what, seconds=SECONDS, interval=0.5)

    # Before, rights are not known yet: everything is forbidden to everybody.
    wait_until_answered("/readyz", "the API server should be ready")
    waiting = ["wait", f"--timeout={SECONDS}s"]
    run([*client, *waiting, "--for=condition=Ready", "nodes", "--all"])
    for namespace, deployment in (
        ("local-path-storage", "local-path-provisioner"),
        ("kube-system", "coredns"),
        ("kube-system", "metrics-server"),
    ):
        status = ["rollout", "status", f"deployment/{deployment}", f"--timeout={SECONDS}s"]
        run([*client, "--namespace", namespace, *status])
    # An answer by way of a Service and a pod, where conditions may still be those of before a restart.
    wait_until_answered("/apis/metrics.k8s.io/v1beta1/nodes", "the metrics API should answer")


def _client(paths: Paths, record: Record) -> list[str]:
    return [records.client(record, "kubectl"), "--kubeconfig", str(paths.kubeconfig)]
