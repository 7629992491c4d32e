"""Where everything is: names, addresses and paths of the local cluster.

All addresses are in 198.18.0.0/15, the range that RFC 2544 sets aside for tests in a closed network,
so nothing of the cluster can be mistaken for, or leak to, a real network. Making what is named here
is left to the other modules.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# Raised whenever a running cluster of the older layout cannot be repaired into the newer one.
VERSION = 1

KUBERNETES_VERSION = "v1.34.4"

CLUSTER_NETWORK = "198.18.0.0/15"
POD_NETWORK = "198.18.72.0/21"
SERVICE_NETWORK = "198.18.80.0/20"
API_SERVICE_ADDRESS = "198.18.80.1"
HOST_ADDRESS = "198.18.64.254"
MACHINE_PREFIX_LENGTH = 24
API_PORT = 6443
METRICS_PORT = 4443

BRIDGE = "sluice0"
CGROUP = "sluice"
# The name of the cluster where it is made by kind.
KIND_NAME = "sluice"
DNS_DOMAIN = "cluster.local"
# Fixed in Kubernetes' host-path provisioner.
PROVISIONER_DIRECTORY = Path("/tmp/hostpath_pv")
# Directories of the host that machines mount something over; made where they are missing.
MOUNT_POINTS = (PROVISIONER_DIRECTORY, Path("/var/lib/cni"), Path("/var/lib/kubelet"))
CNI_PLUGINS = Path("/usr/lib/cni")
MAX_NODES = 3
DEFAULT_NODES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One process tree with namespaces of its own: the control plane or a node."""

    name: str
    address: str
    link: str
    """The host's end of the machine's cable; the kernel allows 15 characters."""
    pods: str | None = None


CONTROL_PLANE = Machine(name="control-plane", address="198.18.64.1", link="sluice-cp")
NODES = tuple(
    Machine(
        name=f"node-{number}",
        address=f"198.18.64.{10 + number}",
        link=f"sluice-node-{number}",
        pods=f"198.18.{71 + number}.0/24",
    )
    for number in range(1, MAX_NODES + 1)
)
MACHINES = (CONTROL_PLANE, *NODES)
API_SERVER = f"https://{CONTROL_PLANE.address}:{API_PORT}"
DNS_ADDRESS = CONTROL_PLANE.address


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """The two directories outside the repository: what `down` removes, and what outlives it."""

    state: Path
    cache: Path

    @property
    def lock(self) -> Path:
        """Beside the state, because `down` removes the state while it holds the lock."""
        return self.state.with_name(f"{self.state.name}.lock")

    @property
    def record(self) -> Path:
        return self.state / "cluster.json"

    @property
    def kubeconfig(self) -> Path:
        return self.state / "kubeconfig"

    @property
    def pki(self) -> Path:
        return self.state / "pki"

    @property
    def volumes(self) -> Path:
        return self.state / "volumes"

    @property
    def pause_archive(self) -> Path:
        return self.state / "pause.tar"

    def machine(self, machine: Machine) -> Path:
        return self.state / "machines" / machine.name

    def log(self, machine: Machine, program: str) -> Path:
        return self.machine(machine) / "log" / f"{program}.log"


def paths_from(environment: Mapping[str, str], *, is_root: bool) -> Paths:
    """Choose the directories: fixed for root, so that all checkouts of a host share one cluster."""
    home = Path(environment.get("HOME", "/"))
    state = "/var/lib/sluice/cluster" if is_root else home / ".local/state/sluice/cluster"
    cache = "/var/cache/sluice" if is_root else home / ".cache/sluice"
    return Paths(
        state=Path(environment.get("SLUICE_CLUSTER_STATE") or state),
        cache=Path(environment.get("SLUICE_CACHE") or cache),
    )


def machine_named(name: str) -> Machine | None:
    return next((machine for machine in MACHINES if machine.name == name), None)


def pod_routes(machines: tuple[Machine, ...] = NODES) -> tuple[str, ...]:
    """Say how to reach the pods of these nodes; every machine and the host need all of them."""
    return tuple(f"{node.pods} via {node.address}" for node in machines)


def service_route(gateway: Machine) -> str:
    """Say how the host, which has no kube-proxy, reaches Services: through a node that has one."""
    return f"{SERVICE_NETWORK} via {gateway.address}"
