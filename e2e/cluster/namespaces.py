"""The cluster whose machines are namespaces: bringing it up, repairing it, taking it down.

`up` is a list of steps that each ask first whether anything is to be done, so it starts a cluster,
completes a half-dead one, and finds nothing to do, all in the same way.
"""

import base64
import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from string import Template

from e2e.cluster import (
    api,
    build,
    cgroups,
    controlplane,
    images,
    layout,
    machines,
    network,
    nodes,
    pki,
    requirements,
    supervising,
)
from e2e.cluster.errors import ClusterError
from e2e.cluster.host import run, wait_until
from e2e.cluster.layout import CONTROL_PLANE, Machine, Paths
from e2e.cluster.progress import Progress

ADDONS = Path(__file__).with_name("addons.yaml")
DEFAULT_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"
METRICS_API = "/apis/metrics.k8s.io/v1beta1"
PROBED_NAME = f"kubernetes.default.svc.{layout.DNS_DOMAIN}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What the running cluster was made with."""

    version: int
    key: str
    nodes: int


def load_record(paths: Paths) -> Record | None:
    """Return what the cluster was made with, if there is one; an unreadable record is a foreign one."""
    if not paths.record.exists():
        return None
    try:
        return Record(**json.loads(paths.record.read_text()))
    except (TypeError, ValueError):
        return Record(version=0, key="", nodes=0)


def up(paths: Paths, count: int | None, progress: Progress) -> None:
    """Bring up the cluster, or what is missing of it, and wait until it is really usable."""
    requirements.ensure_packages(progress)
    go = requirements.ensure_go(progress)
    kube = build.ensure(paths, build.KUBE, go, progress)
    metrics_server = build.ensure(paths, build.METRICS_SERVER, go, progress)
    record = _settle(paths, count, progress)
    started = _Start(paths=paths, kube=kube, metrics_server=metrics_server, count=record.nodes)
    changed = started.run(progress)
    progress.say("The cluster is ready." if changed else "The cluster was up already.")


def _settle(paths: Paths, count: int | None, progress: Progress) -> Record:
    """Decide what the cluster is to be, and remove one that does not fit."""
    old = load_record(paths)
    key = f"{build.key(build.KUBE)} {build.key(build.METRICS_SERVER)}"
    if old and (old.version, old.key) != (layout.VERSION, key):
        progress.say("The cluster that is there was made by another version: recreating it ...")
        down(paths, progress)
        old = None
    # Removing a node under running pods is no repair, so a cluster only grows.
    wanted = max(
        count or layout.DEFAULT_NODES if old is None else count or 0, old.nodes if old else 0
    )
    record = Record(version=layout.VERSION, key=key, nodes=wanted)
    paths.state.mkdir(parents=True, exist_ok=True)
    paths.record.write_text(json.dumps(asdict(record)))
    return record


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """One run of `up`; every step returns whether it changed anything."""

    paths: Paths
    kube: Path
    metrics_server: Path
    count: int

    @property
    def nodes(self) -> tuple[Machine, ...]:
        return layout.NODES[: self.count]

    def run(self, progress: Progress) -> bool:
        changed = pki.ensure(self.paths)
        if changed:
            progress.say("Made the certificates")
        network.ensure_bridge()
        with ThreadPoolExecutor(max_workers=len(self.nodes)) as pool:
            prepared = [pool.submit(self.prepare_node, node) for node in self.nodes]
            changed |= self.start_control_plane(progress)
            changed |= any([preparing.result() for preparing in prepared])
        for node in self.nodes:
            changed |= self.start_node(node)
        self.wait_usable(progress, quietly=not changed)
        return changed

    def start_control_plane(self, progress: Progress) -> bool:
        changed = machines.ensure(self.paths, CONTROL_PLANE)
        for program in controlplane.storage(self.paths, self.kube):
            changed |= supervising.ensure(self.paths, CONTROL_PLANE, program)
        self.wait(lambda: api.is_ready(self.paths), "the API server should be ready", CONTROL_PLANE)
        for program in controlplane.controllers(self.paths, self.kube, self.metrics_server):
            changed |= supervising.ensure(self.paths, CONTROL_PLANE, program)
        if changed:
            self.apply_addons()
            progress.say("The control plane is ready")
        return changed

    def prepare_node(self, node: Machine) -> bool:
        """Start what a node can have before the API server answers."""
        changed = machines.ensure(self.paths, node)
        changed |= supervising.ensure(self.paths, node, nodes.containerd(self.paths, node))
        socket = Path("/proc") / str(_pid(self.paths, node)) / "root" / nodes.SOCKET.lstrip("/")
        self.wait(socket.exists, f"containerd of {node.name} should answer", node)
        images.load_pause(self.paths, node)
        return changed

    def start_node(self, node: Machine) -> bool:
        """Start the rest; kube-proxy is half a minute late when it finds no API server."""
        proxy = nodes.proxy(self.paths, node, self.kube)
        changed = supervising.ensure(self.paths, node, proxy)
        kubelet = nodes.kubelet(self.paths, node, self.kube, self.count)
        return supervising.ensure(self.paths, node, kubelet) or changed

    def apply_addons(self) -> None:
        authority = base64.b64encode((self.paths.pki / "ca.crt").read_bytes()).decode()
        values = {
            "AUTHORITY": authority,
            "METRICS_ADDRESS": CONTROL_PLANE.address,
            "METRICS_PORT": str(layout.METRICS_PORT),
        }
        manifest = Template(ADDONS.read_text()).substitute(values)
        kubectl = f"{self.kube / 'kubectl'}"
        client = [kubectl, "--kubeconfig", str(self.paths.kubeconfig)]
        run([*client, "apply", "--server-side", "--force-conflicts", "-f", "-"], text=manifest)

    def wait_usable(self, progress: Progress, *, quietly: bool) -> None:
        """Ready nodes are not enough: pods also need their service account, and names."""
        for node in self.nodes:
            wait_node_ready(self.paths, node)
            if not quietly:
                progress.say(f"{node.name} is Ready")
        account = lambda: api.get(self.paths, DEFAULT_ACCOUNT) is not None  # noqa: E731
        self.wait(account, "the default service account should exist", CONTROL_PLANE)
        self.wait(lambda: api.resolves(PROBED_NAME), "CoreDNS should answer", CONTROL_PLANE)
        metrics = lambda: api.get(self.paths, METRICS_API) is not None  # noqa: E731
        self.wait(metrics, "the metrics API should answer", CONTROL_PLANE)
        if not quietly:
            progress.say("Service accounts, DNS and the metrics API answer")

    def wait(self, holds: Callable[[], bool], what: str, machine: Machine) -> None:
        wait_until(holds, what, explain=lambda: supervising.failures(self.paths, machine))


def wait_node_ready(paths: Paths, node: Machine) -> None:
    """Wait for what the kubelet says now: what it said before it died is still to be read."""
    since = supervising.started_at(paths, node, "kubelet")

    def is_ready() -> bool:
        heartbeat = api.heartbeats(paths).get(node.name)
        # The API server keeps whole seconds.
        return bool(heartbeat and heartbeat.is_ready and heartbeat.at.timestamp() >= int(since))

    wait_until(
        is_ready,
        f"{node.name} should be Ready",
        seconds=120,
        interval=0.2,
        explain=lambda: supervising.failures(paths, node),
    )


def _pid(paths: Paths, node: Machine) -> int:
    init = machines.running(paths, node)
    if init is None:
        raise ClusterError(f"Machine {node.name} ended at once; see {paths.log(node, 'machine')}.")
    return init.pid


def down(paths: Paths, progress: Progress) -> None:
    """Remove everything but the cache, whatever state it is in."""
    for machine in layout.MACHINES:
        machines.kill(paths, machine)
    cgroups.remove()
    network.remove_bridge()
    if paths.state.exists():
        shutil.rmtree(paths.state)
    for directory in (layout.PROVISIONER_DIRECTORY, Path("/var/lib/cni")):
        # Mount points that the machines needed; another's, with something in it, stays.
        with suppress(OSError):
            directory.rmdir()
    progress.say("The cluster is removed; what was built stays in the cache.")
