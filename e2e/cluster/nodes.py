"""The programs of a node's machine: containerd, kubelet, kube-proxy and what enforces policies.

The last two must only ever run in a machine: anywhere else they would write the host's packet filter.
"""

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster import layout, pki
from e2e.cluster.layout import Machine, Paths
from e2e.cluster.supervising import Program

PAUSE_IMAGE = "localhost/sluice-pause:1"
SOCKET = "/run/containerd/containerd.sock"
POLICIES = Path(__file__).with_name("policies")
# In the machine's own /run, so that it ends with the rules whose sign it is.
POLICIES_READY = "/run/policies-ready"
GIBIBYTE = 1024**3
# What etcd, the API server and the rest of the control plane may need under load.
CONTROL_PLANE_MEMORY = 2 * GIBIBYTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What a kubelet sees: always the whole host, however many nodes share it."""

    processors: int
    memory: int


def host_capacity() -> Capacity:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Capacity(processors=os.cpu_count() or 1, memory=memory)


def reserved(host: Capacity, shares: int) -> dict[str, str]:
    """Return what a node must leave alone, so that so many nodes together offer the host just once.

    Processors are divided among the nodes. Memory is too, after the control plane's share: it is what
    a host really runs out of. Processor time of the control plane is not set aside, as a request for
    it is a promise of a share, and two-processor hosts must still take a few Spark pods.
    """
    usable = max(host.memory - CONTROL_PLANE_MEMORY, host.memory // 2)
    return {
        "cpu": f"{host.processors * 1000 * (shares - 1) // shares}m",
        "memory": f"{(host.memory - usable // shares) // 1024**2}Mi",
    }


def containerd(paths: Paths, node: Machine) -> Program:
    configuration = paths.machine(node) / "containerd.toml"
    network = paths.machine(node) / "cni" / "10-bridge.conflist"
    files = {
        configuration: render_containerd(paths.machine(node), network.parent),
        network: json.dumps(render_network(node), indent=2),
    }
    command = ("containerd", "--config", str(configuration))
    return Program(name="containerd", command=command, files=files)


def render_containerd(directory: Path, network: Path) -> str:
    """Keep images in the machine's directory: they outlive a lost node, as on a real disk.

    restrict_oom_score_adj: without CAP_SYS_RESOURCE no container could start otherwise.
    """
    return f"""\
version = 2
root = "{directory}/containerd"
state = "/run/containerd"
[grpc]
  address = "{SOCKET}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{directory}/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{layout.CNI_PLUGINS}"
    conf_dir = "{network}"
"""


def render_network(node: Machine) -> dict[str, object]:
    """Give pods a bridge per node; without masquerading, pods of other nodes see their addresses."""
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            # In the machine's /run, because no lease survives the machine.
            "dataDir": "/run/cni-leases",
            "ranges": [[{"subnet": node.pods}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "0.4.0", "name": "sluice", "plugins": [bridge, ports]}


def kubelet(paths: Paths, node: Machine, kube: Path, shares: int) -> Program:
    directory = paths.machine(node)
    configuration = directory / "kubelet.json"
    resolver = directory / "resolv.conf"
    command = (
        str(kube / "kubelet"),
        f"--config={configuration}",
        f"--kubeconfig={pki.kubeconfig(paths, node.name)}",
        f"--hostname-override={node.name}",
        f"--node-ip={node.address}",
        f"--root-dir={directory}/kubelet",
    )
    settings = render_kubelet(paths, node, reserved(host_capacity(), shares))
    files = {
        configuration: json.dumps(settings, indent=2),
        resolver: f"nameserver {layout.DNS_ADDRESS}\n",
    }
    return Program(name="kubelet", command=command, files=files)


def render_kubelet(paths: Paths, node: Machine, reserve: dict[str, str]) -> dict[str, object]:
    directory = paths.machine(node)
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(paths.pki / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(paths.pki / f"{node.name}-serving.crt"),
        "tlsPrivateKeyFile": str(paths.pki / f"{node.name}-serving.key"),
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{layout.CGROUP}/{node.name}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "clusterDNS": [layout.DNS_ADDRESS],
        "clusterDomain": layout.DNS_DOMAIN,
        "resolvConf": str(directory / "resolv.conf"),
        "podLogsDir": "/var/log/pods",
        "volumePluginDir": str(directory / "volume-plugins"),
        "systemReserved": reserve,
        "maxPods": 200,
        "nodeStatusUpdateFrequency": "4s",
        # The disk is the host's: that it is nearly full elsewhere is no reason to delete images here.
        "evictionHard": {
            "memory.available": "200Mi",
            "nodefs.available": "1%",
            "imagefs.available": "1%",
        },
        "imageGCHighThresholdPercent": 99,
        "imageGCLowThresholdPercent": 98,
    }


def proxy(paths: Paths, node: Machine, kube: Path) -> Program:
    configuration = paths.machine(node) / "kube-proxy.json"
    settings = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clientConnection": {"kubeconfig": pki.kubeconfig(paths, "kube-proxy")},
        "clusterCIDR": layout.POD_NETWORK,
        "hostnameOverride": node.name,
        # Its size belongs to the host and cannot be set from a machine.
        "conntrack": {"maxPerCore": 0},
        "nodePortAddresses": [f"{node.address}/32"],
        "metricsBindAddress": "127.0.0.1:10249",
    }
    command = (str(kube / "kube-proxy"), f"--config={configuration}")
    files = {configuration: json.dumps(settings, indent=2)}
    return Program(name="kube-proxy", command=command, files=files)


def policies(paths: Paths, node: Machine) -> Program:
    """Return what enforces NetworkPolicies; it runs from a copy, and outlives the checkout it is of."""
    directory = paths.machine(node) / "policies"
    sources = {
        directory / POLICIES.relative_to(POLICIES.parents[2]) / source.name: source.read_text()
        for source in sorted(POLICIES.glob("*.py"))
    }
    options = {
        "node": node.name,
        "server": f"{layout.CONTROL_PLANE.address}:{layout.API_PORT}",
        "authority": paths.pki / "ca.crt",
        "certificate": paths.pki / "policies.crt",
        "key": paths.pki / "policies.key",
        "ready": POLICIES_READY,
    }
    command = (
        "env",
        f"PYTHONPATH={directory}",
        # Not the virtual environment's: it needs no packages, and should not restart for another one.
        os.path.realpath(sys.executable),
        *("-P", "-m", "e2e.cluster.policies"),
        *(f"--{name}={value}" for name, value in options.items()),
    )
    return Program(name="policies", command=command, files=sources)
