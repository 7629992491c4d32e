"""The cluster where there is a container runtime: made by kind, used in the same way.

Only how it comes up differs. Untested where no daemon runs; what differs from kind's own defaults is
one directory that all nodes share, so that volumes can be used from each (`local-shared`), and our own
metrics-server.
"""

import json
import os
import platform
import shutil
from pathlib import Path
from string import Template

from e2e.cluster import build, images, records, requirements
from e2e.cluster.errors import ClusterError
from e2e.cluster.host import run
from e2e.cluster.layout import KIND_NAME, Paths
from e2e.cluster.progress import Progress
from e2e.cluster.records import Record

VERSION = "v0.30.0"
ADDONS = Path(__file__).with_name("kind-addons.yaml")
SHARED = "/var/local/sluice-volumes"
METRICS_IMAGE = "localhost/sluice-metrics-server:1"
READY_TIMEOUT = "180s"
STORAGE = ("--namespace", "local-path-storage")
FAULTS = {
    "lose": ("kill",),
    "restore": ("start",),
    "freeze": ("pause",),
    "thaw": ("unpause",),
    "cut": ("network", "disconnect", "kind"),
    "join": ("network", "connect", "kind"),
}


def up(paths: Paths, asked: int | None, runtime: str, progress: Progress) -> None:
    """Have kind make the cluster, unless it has."""
    go = requirements.ensure_go(progress)
    program = _ensure_kind(paths, go, progress)
    old = records.load(paths)
    nodes = records.wanted_nodes(old.nodes if old else 0, asked)
    if old and old.nodes != nodes:
        raise ClusterError(f"kind cannot add nodes to a cluster of {old.nodes}: `down`, then `up`.")
    if KIND_NAME in run([program, "get", "clusters"]).split():
        if old:
            progress.say("The cluster was up already.")
            return
        # Its making was interrupted, or its state is lost: nobody could use it.
        run([program, "delete", "cluster", "--name", KIND_NAME])
    kube = _clients(paths, go, progress)
    metrics_server = build.ensure(paths, build.METRICS_SERVER, go, progress)
    paths.volumes.mkdir(parents=True, exist_ok=True)
    progress.say(f"Making a cluster of {nodes} nodes by kind on {runtime} ...")
    creating = ["create", "cluster", "--name", KIND_NAME, "--wait", READY_TIMEOUT]
    options = ["--kubeconfig", str(paths.kubeconfig), "--config", "-"]
    run([program, *creating, *options], text=json.dumps(render(paths, nodes)))
    record = Record(provider=records.KIND, nodes=nodes, kube=kube)
    records.save(paths, record)
    _load_metrics_server(paths, metrics_server, program)
    _apply_addons(paths, record)
    progress.say("The cluster is ready.")


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


def down(paths: Paths, progress: Progress) -> None:
    go = requirements.ensure_go(progress)
    run([_ensure_kind(paths, go, progress), "delete", "cluster", "--name", KIND_NAME])
    shutil.rmtree(paths.state, ignore_errors=True)
    progress.say("The cluster is removed.")


def load_images(paths: Paths, archives: list[Path], progress: Progress) -> None:
    program = _ensure_kind(paths, requirements.ensure_go(progress), progress)
    for archive in archives:
        progress.say(f"Loading {archive.name} ...")
        run([program, "load", "image-archive", str(archive), "--name", KIND_NAME])


def change_node(name: str, action: str, progress: Progress) -> None:
    """Do to a node's container what the other kind of cluster does to a machine."""
    runtime = requirements.find_runtime() or "docker"
    run([runtime, *FAULTS[action], node_name(name)])
    progress.say(f"{name}: {action} is done")


def _ensure_kind(paths: Paths, go: str, progress: Progress) -> str:
    """Return kind's path; the runtime it uses is the one whose daemon answers."""
    os.environ.setdefault("KIND_EXPERIMENTAL_PROVIDER", requirements.find_runtime() or "docker")
    directory = paths.cache / "bin" / f"kind-{VERSION}"
    found = shutil.which("kind") or shutil.which("kind", path=str(directory))
    if found:
        return found
    progress.say(f"Installing kind {VERSION} ...")
    environment = {**os.environ, "GOBIN": str(directory), "GOTOOLCHAIN": "auto"}
    run([go, "install", f"sigs.k8s.io/kind@{VERSION}"], environment=environment)
    return str(directory / "kind")


def _clients(paths: Paths, go: str, progress: Progress) -> str:
    """Return the directory of kubectl and helm, which is empty for those on the PATH."""
    if shutil.which("kubectl") and shutil.which("helm"):
        return ""
    return str(build.ensure(paths, build.KUBE, go, progress))


def _load_metrics_server(paths: Paths, programs: Path, program: str) -> None:
    archive = paths.state / "metrics-server.tar"
    images.write_archive(
        archive,
        name=METRICS_IMAGE,
        program=programs / "metrics-server",
        command=("/metrics-server",),
        architecture=platform.machine(),
    )
    run([program, "load", "image-archive", str(archive), "--name", KIND_NAME])


def _apply_addons(paths: Paths, record: Record) -> None:
    """Let kind's own provisioner make volumes in the directory that all nodes share."""
    client = [records.client(record, "kubectl"), "--kubeconfig", str(paths.kubeconfig)]
    manifest = Template(ADDONS.read_text()).substitute(METRICS_IMAGE=METRICS_IMAGE)
    run([*client, "apply", "-f", "-"], text=manifest)
    setting = {"data": {"config.json": json.dumps({"sharedFileSystemPath": SHARED})}}
    patch = ["patch", "configmap", "local-path-config", "--patch", json.dumps(setting)]
    run([*client, *STORAGE, *patch])
    run([*client, *STORAGE, "rollout", "restart", "deployment/local-path-provisioner"])
    default = "storageclass.kubernetes.io/is-default-class"
    run([*client, "annotate", "storageclass", "standard", "--overwrite", f"{default}=false"])
