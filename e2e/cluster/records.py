"""What the present cluster was made with, so that any checkout can use it or see that it cannot."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from e2e.cluster import layout
from e2e.cluster.errors import ClusterError
from e2e.cluster.layout import Machine, Paths

NAMESPACES = "namespaces"
KIND = "kind"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """How a cluster was made, by which programs, and how large."""

    provider: str
    nodes: int
    kube: str = ""
    """The directory of its programs; its name holds the hash of what they were built from."""
    metrics_server: str = ""
    shares: int = layout.DEFAULT_NODES
    """Into how many parts the host is divided: fixed when the cluster is made, because a kubelet that
    is started again with less to offer would refuse pods that it runs."""
    version: int = layout.VERSION

    @property
    def machines(self) -> tuple[Machine, ...]:
        return (layout.CONTROL_PLANE, *self.node_machines)

    @property
    def node_machines(self) -> tuple[Machine, ...]:
        return layout.NODES[: self.nodes]

    @property
    def programs(self) -> Path:
        return Path(self.kube)


def load(paths: Paths) -> Record | None:
    """Return the record of the cluster, if there is one; of an unreadable one, that it fits nothing."""
    if not paths.record.exists():
        return None
    try:
        return Record(**json.loads(paths.record.read_text()))
    except (TypeError, ValueError):
        return Record(provider=NAMESPACES, version=0, nodes=0)


def require(paths: Paths) -> Record:
    """Return the record of the cluster that a command is about."""
    record = load(paths)
    if record is None:
        raise ClusterError("There is no cluster. `python3 -m e2e.cluster up` brings one up.")
    return record


def save(paths: Paths, record: Record) -> None:
    paths.state.mkdir(parents=True, exist_ok=True)
    paths.record.write_text(json.dumps(asdict(record), indent=2))


def client(record: Record, program: str) -> str:
    """Return the path of kubectl or helm; the cluster has its own, unless kind made it."""
    return str(record.programs / program) if record.kube else program


def wanted_nodes(present: int, asked: int | None) -> int:
    """Decide the size; a cluster only grows, since removing a node under its pods is no repair."""
    return max(present, asked or 0) or layout.DEFAULT_NODES
