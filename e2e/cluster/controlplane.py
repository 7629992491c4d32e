"""The programs of the control plane's machine, and the flags they run with.

They are plain processes: no kubelet, no kube-proxy and no containers there.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from e2e.cluster import layout, pki
from e2e.cluster.layout import Paths
from e2e.cluster.records import Record
from e2e.cluster.supervising import Program

ETCD = "http://127.0.0.1:2379"
_SELDOM_COLLECTING = ("env", "GOGC=300", "GOMEMLIMIT=3GiB")
"""With the usual settings a small heap is collected so often that this takes a sixth of the API server's time; a large
cluster's is not. With thousands of objects memory counts again.
"""
ISSUER = f"https://kubernetes.default.svc.{layout.DNS_DOMAIN}"


def storage(paths: Paths, kube: Path) -> tuple[Program, ...]:
    """Return what must answer before anything else can start."""
    return (_etcd(paths, kube), _api_server(paths, kube))


def controllers(paths: Paths, record: Record) -> tuple[Program, ...]:
    """Return what needs the API server."""
    kube = record.programs
    return (
        _controller_manager(paths, kube),
        _scheduler(paths, kube),
        _coredns(paths, kube),
        _volumes(paths),
    )


def metrics_server(paths: Paths, record: Record) -> Program:
    """Return what ends at once if it starts before it has its rights."""
    return _metrics_server(paths, Path(record.metrics_server))


def flags(values: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(f"--{name}={value}" for name, value in values.items())


def _etcd(paths: Paths, kube: Path) -> Program:
    options = {
        "data-dir": paths.machine(layout.CONTROL_PLANE) / "etcd",
        "listen-client-urls": ETCD,
        "advertise-client-urls": ETCD,
        # A test cluster may lose its data with the host's power, and is several times faster for it.
        "unsafe-no-fsync": "true",
        "log-level": "warn",
    }
    return Program(name="etcd", command=(*_SELDOM_COLLECTING, str(kube / "etcd"), *flags(options)))


def _api_server(paths: Paths, kube: Path) -> Program:
    certificates = paths.pki
    options = {
        "etcd-servers": ETCD,
        "advertise-address": layout.CONTROL_PLANE.address,
        "secure-port": layout.API_PORT,
        "tls-cert-file": certificates / "kube-apiserver.crt",
        "tls-private-key-file": certificates / "kube-apiserver.key",
        "client-ca-file": certificates / "ca.crt",
        "service-account-key-file": certificates / "service-accounts.pub",
        "service-account-signing-key-file": certificates / "service-accounts.key",
        "service-account-issuer": ISSUER,
        "service-cluster-ip-range": layout.SERVICE_NETWORK,
        "authorization-mode": "Node,RBAC",
        "enable-admission-plugins": "NodeRestriction",
        "kubelet-client-certificate": certificates / "kubelet-client.crt",
        "kubelet-client-key": certificates / "kubelet-client.key",
        "kubelet-certificate-authority": certificates / "ca.crt",
        "kubelet-preferred-address-types": "InternalIP",
        "allow-privileged": "true",
        "profiling": "false",
        **_aggregation(certificates),
    }
    command = (*_SELDOM_COLLECTING, str(kube / "kube-apiserver"), *flags(options))
    return Program(name="apiserver", command=command)


def _aggregation(certificates: Path) -> dict[str, object]:
    """Let other servers (metrics-server, an operator's webhooks) be reached, and trust who calls.

    There is no kube-proxy here, so calls go to the endpoints themselves.
    """
    return {
        "enable-aggregator-routing": "true",
        "requestheader-client-ca-file": certificates / "ca.crt",
        "requestheader-allowed-names": "front-proxy",
        "requestheader-username-headers": "X-Remote-User",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
        "proxy-client-cert-file": certificates / "front-proxy.crt",
        "proxy-client-key-file": certificates / "front-proxy.key",
    }


def _controller_manager(paths: Paths, kube: Path) -> Program:
    certificates = paths.pki
    options = {
        "kubeconfig": pki.kubeconfig(paths, "kube-controller-manager"),
        "bind-address": "127.0.0.1",
        "leader-elect": "false",
        "service-account-private-key-file": certificates / "service-accounts.key",
        "root-ca-file": certificates / "ca.crt",
        "cluster-signing-cert-file": certificates / "ca.crt",
        "cluster-signing-key-file": certificates / "ca.key",
        "use-service-account-credentials": "true",
        "service-cluster-ip-range": layout.SERVICE_NETWORK,
        "enable-hostpath-provisioner": "true",
        "flex-volume-plugin-dir": paths.machine(layout.CONTROL_PLANE) / "volume-plugins",
        # With the usual 20 requests a second, the first service accounts take 4 s longer.
        "kube-api-qps": "500",
        "kube-api-burst": "1000",
        # Below 16 s a busy host of two processors makes nodes fall out.
        "node-monitor-grace-period": "16s",
        "horizontal-pod-autoscaler-sync-period": "5s",
        "horizontal-pod-autoscaler-initial-readiness-delay": "5s",
        "horizontal-pod-autoscaler-cpu-initialization-period": "15s",
    }
    return Program(name="kcm", command=(str(kube / "kube-controller-manager"), *flags(options)))


def _scheduler(paths: Paths, kube: Path) -> Program:
    options = {
        "kubeconfig": pki.kubeconfig(paths, "kube-scheduler"),
        "bind-address": "127.0.0.1",
        "leader-elect": "false",
        # The usual 50 requests a second bound a burst of a thousand pods.
        "kube-api-qps": "1000",
        "kube-api-burst": "1000",
    }
    return Program(name="scheduler", command=(str(kube / "kube-scheduler"), *flags(options)))


def _coredns(paths: Paths, kube: Path) -> Program:
    corefile = paths.machine(layout.CONTROL_PLANE) / "Corefile"
    return Program(
        name="coredns",
        command=(str(kube / "coredns"), "-conf", str(corefile)),
        files={corefile: render_corefile(pki.kubeconfig(paths, "coredns"))},
    )


def render_corefile(kubeconfig: str) -> str:
    """Answer for the cluster's names only: every other name does not exist, and nothing leaks."""
    return f"""\
{layout.DNS_DOMAIN}:53 {{
    bind {layout.DNS_ADDRESS}
    errors
    ready {layout.DNS_ADDRESS}:8181
    cache 5
    kubernetes {layout.DNS_DOMAIN} {layout.CLUSTER_NETWORK} {{
        kubeconfig {kubeconfig} sluice
        ttl 5
    }}
}}
.:53 {{
    bind {layout.DNS_ADDRESS}
    template ANY ANY {{
        rcode NXDOMAIN
    }}
}}
"""


def _metrics_server(paths: Paths, programs: Path) -> Program:
    certificates = paths.pki
    kubeconfig = pki.kubeconfig(paths, "metrics-server")
    options = {
        "kubeconfig": kubeconfig,
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
        "secure-port": layout.METRICS_PORT,
        "tls-cert-file": certificates / "metrics-server-serving.crt",
        "tls-private-key-file": certificates / "metrics-server-serving.key",
        "kubelet-certificate-authority": certificates / "ca.crt",
        "kubelet-preferred-address-types": "InternalIP",
        # The least it accepts, and only with a request timeout below it.
        "metric-resolution": "10s",
        "kubelet-request-timeout": "5s",
    }
    command = (str(programs / "metrics-server"), *flags(options))
    return Program(name="metrics-server", command=command)


def _volumes(paths: Paths) -> Program:
    script = Path(__file__).with_name("volumes.py")
    return Program(name="volumes", command=(sys.executable, str(script), str(paths.volumes)))
