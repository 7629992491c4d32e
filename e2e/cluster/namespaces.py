"""The cluster whose machines are namespaces: bringing it up, repairing it, taking it down.

`up` is a list of steps that each ask first whether anything is to be done, so it starts a cluster,
completes a half-dead one, and finds nothing to do, all in the same way.
"""

import base64
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from string import Template

from e2e.cluster import (
    build,
    cgroups,
    controlplane,
    gateway,
    images,
    layout,
    machines,
    network,
    nodes,
    pki,
    readiness,
    records,
    requirements,
    supervising,
)
from e2e.cluster.host import run, succeeds
from e2e.cluster.layout import CONTROL_PLANE, Machine, Paths
from e2e.cluster.progress import Progress
from e2e.cluster.records import Record

ADDONS = Path(__file__).with_name("addons.yaml")


def up(paths: Paths, asked: int | None, progress: Progress) -> None:
    """Bring up the cluster, or what is missing of it, and wait until it is really usable."""
    requirements.ensure_packages(progress)
    go = requirements.ensure_go(None, progress)
    kube = build.ensure(paths, build.KUBE, go, progress)
    metrics_server = build.ensure(paths, build.METRICS_SERVER, go, progress)
    old = _remaining(paths, kube, metrics_server, progress)
    nodes_wanted = records.wanted_nodes(old.nodes if old else 0, asked)
    record = Record(
        provider=records.NAMESPACES,
        kube=str(kube),
        metrics_server=str(metrics_server),
        nodes=nodes_wanted,
        shares=old.shares if old else nodes_wanted,
    )
    records.save(paths, record)
    changed = _start(paths, record, progress)
    _wait_usable(paths, record, progress, quietly=not changed)
    progress.say("The cluster is ready." if changed else "The cluster was up already.")


def _remaining(paths: Paths, kube: Path, metrics_server: Path, progress: Progress) -> Record | None:
    """Return the record of the cluster that is there; one that cannot be repaired is removed."""
    old = records.load(paths)
    if old is None:
        return None
    programs = (str(kube), str(metrics_server))
    if (old.version, old.kube, old.metrics_server) == (layout.VERSION, *programs):
        return old
    progress.say("The cluster was made by another version of the checkout: recreating it ...")
    down(paths, progress)
    return None


def _start(paths: Paths, record: Record, progress: Progress) -> bool:
    """Start what does not run, and return whether anything had to be."""
    changed = pki.ensure(paths)
    if changed:
        progress.say("Made the certificates")
    network.ensure_bridge()
    # Nodes load images while the control plane starts.
    with ThreadPoolExecutor(max_workers=record.nodes) as pool:
        preparing = [pool.submit(prepare_node, paths, node) for node in record.node_machines]
        if _start_control_plane(paths, record):
            progress.say("The control plane is ready")
            changed = True
        changed |= any([prepared.result() for prepared in preparing])
    gateway.choose(paths, record)
    started = [start_node(paths, record, node) for node in record.node_machines]
    return changed or any(started)


def _start_control_plane(paths: Paths, record: Record) -> bool:
    changed = machines.ensure(paths, CONTROL_PLANE)
    changed |= _ensure_all(paths, controlplane.storage(paths, record.programs))
    readiness.wait_api_server(paths)
    changed |= _ensure_all(paths, controlplane.controllers(paths, record))
    changed |= _ensure_addons(paths, record, again=changed)
    return changed | _ensure_all(paths, [controlplane.metrics_server(paths, record)])


def _ensure_all(paths: Paths, programs: Sequence[supervising.Program]) -> bool:
    started = [supervising.ensure(paths, CONTROL_PLANE, program) for program in programs]
    return any(started)


def _ensure_addons(paths: Paths, record: Record, *, again: bool) -> bool:
    """Apply the addons, if they must be or an older checkout has applied others."""
    manifest = _addons(paths)
    applied = paths.state / ADDONS.name
    if not again and applied.exists() and applied.read_text() == manifest:
        return False
    client = [str(record.programs / "kubectl"), "--kubeconfig", str(paths.kubeconfig)]
    run([*client, "apply", "--server-side", "--force-conflicts", "-f", "-"], text=manifest)
    _wait_rights(paths, record)
    applied.write_text(manifest)
    return True


def _addons(paths: Paths) -> str:
    authority = base64.b64encode((paths.pki / "ca.crt").read_bytes()).decode()
    return Template(ADDONS.read_text()).substitute(
        AUTHORITY=authority,
        METRICS_ADDRESS=CONTROL_PLANE.address,
        METRICS_PORT=str(layout.METRICS_PORT),
    )


def _wait_rights(paths: Paths, record: Record) -> None:
    """Wait until the API server acts on the addons' roles, which it notices a moment later."""
    question = (
        *("auth", "can-i", "get", "configmaps/extension-apiserver-authentication"),
        *("--namespace", "kube-system", "--as", "system:metrics-server"),
    )
    client = [str(record.programs / "kubectl"), "--kubeconfig", str(paths.kubeconfig)]
    readiness.wait_for(
        paths,
        CONTROL_PLANE,
        lambda: succeeds([*client, *question]),
        "metrics-server should have its rights",
    )


def prepare_node(paths: Paths, node: Machine) -> bool:
    """Start what a node can have before the API server answers."""
    changed = machines.ensure(paths, node)
    changed |= supervising.ensure(paths, node, nodes.containerd(paths, node))
    socket = machines.root(paths, node) / nodes.SOCKET.lstrip("/")
    readiness.wait_for(paths, node, socket.exists, f"containerd of {node.name} should answer")
    images.load_pause(paths, node)
    return changed


def start_node(paths: Paths, record: Record, node: Machine) -> bool:
    """Start the rest; without an API server, kube-proxy would wait for half a minute."""
    programs = (
        nodes.proxy(paths, node, record.programs),
        nodes.policies(paths, node),
        nodes.kubelet(paths, node, record.programs, record.shares),
    )
    return any([supervising.ensure(paths, node, program) for program in programs])


def _wait_usable(paths: Paths, record: Record, progress: Progress, *, quietly: bool) -> None:
    for node in record.node_machines:
        readiness.wait_node(paths, node, supervising.started_at(paths, node, "kubelet"))
        if not quietly:
            progress.say(f"{node.name} is Ready")
    for node in record.node_machines:
        ready = machines.root(paths, node) / nodes.POLICIES_READY.lstrip("/")
        readiness.wait_for(paths, node, ready.exists, f"{node.name} should enforce policies")
    readiness.wait_accounts(paths)
    readiness.wait_names(paths)
    readiness.wait_metrics(paths)
    if not quietly:
        progress.say("Service accounts, DNS and the metrics API answer")


def down(paths: Paths, progress: Progress) -> None:
    """Remove everything but the cache, whatever state it is in."""
    for machine in layout.MACHINES:
        machines.kill(paths, machine)
    cgroups.remove()
    network.remove_bridge()
    if paths.state.exists():
        shutil.rmtree(paths.state)
    for directory in layout.MOUNT_POINTS:
        # One with something in it is another's, and stays.
        with suppress(OSError):
            directory.rmdir()
    progress.say("The cluster is removed; what was built stays in the cache.")
