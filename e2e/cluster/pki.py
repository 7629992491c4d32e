"""The cluster's certificates: one authority, and one key pair per server and per client.

Every component is a user of its own, so the API server's authorization (RBAC) is as strict as in a
real cluster. Keys never leave the state directory.
"""

import json
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster import layout
from e2e.cluster.host import run

VALIDITY_DAYS = "3650"
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
CLIENT = "extendedKeyUsage=clientAuth"


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """A key pair that the authority signs: for a client by default, or for a server's names."""

    name: str
    subject: str
    extension: str = CLIENT


def certificates() -> tuple[Certificate, ...]:
    """List all key pairs of the largest cluster, so that adding a node later needs no signing."""
    components = (
        "kube-controller-manager",
        "kube-scheduler",
        "kube-proxy",
        "coredns",
        "metrics-server",
        "policies",
    )
    return (
        Certificate(name="admin", subject="/O=system:masters/CN=admin"),
        Certificate(name="kubelet-client", subject="/O=system:masters/CN=kube-apiserver"),
        Certificate(name="front-proxy", subject="/CN=front-proxy"),
        *(Certificate(name=name, subject=f"/CN=system:{name}") for name in components),
        *(_node_client(node) for node in layout.NODES),
        *(_node_server(node) for node in layout.NODES),
        _api_server(),
        Certificate(
            name="metrics-server-serving",
            subject="/CN=metrics-server",
            extension="subjectAltName=DNS:metrics-server.kube-system.svc",
        ),
    )


def _node_client(node: layout.Machine) -> Certificate:
    return Certificate(name=node.name, subject=f"/O=system:nodes/CN=system:node:{node.name}")


def _node_server(node: layout.Machine) -> Certificate:
    names = f"subjectAltName=IP:{node.address},DNS:{node.name}"
    return Certificate(name=f"{node.name}-serving", subject=f"/CN={node.name}", extension=names)


def _api_server() -> Certificate:
    service = "kubernetes.default.svc"
    names = (
        "localhost",
        "kubernetes",
        "kubernetes.default",
        service,
        f"{service}.{layout.DNS_DOMAIN}",
    )
    addresses = ("127.0.0.1", layout.API_SERVICE_ADDRESS, layout.CONTROL_PLANE.address)
    entries = [f"DNS:{name}" for name in names] + [f"IP:{address}" for address in addresses]
    extension = f"subjectAltName={','.join(entries)}"
    return Certificate(name="kube-apiserver", subject="/CN=kube-apiserver", extension=extension)


def ensure(paths: layout.Paths) -> bool:
    """Make the certificates and kubeconfigs that are not there. Return whether any was made.

    A cluster that an older checkout made may lack some, which the authority that it trusts then signs.
    """
    directory = paths.pki
    # Without this mark a crash half-way would leave a set that no second start completes.
    complete = directory / "complete"
    if complete.exists():
        missing = tuple(each for each in certificates() if not _last_file(directory, each).exists())
    else:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        _make_authority(directory)
        missing = certificates()
    for certificate in missing:
        _sign(directory, certificate)
        if certificate.extension == CLIENT:
            write_kubeconfig(directory, certificate.name)
    if not complete.exists():
        paths.kubeconfig.write_text(_kubeconfig(directory, "admin"))
        paths.kubeconfig.chmod(0o600)
        complete.touch()
    return bool(missing)


def _last_file(directory: Path, certificate: Certificate) -> Path:
    """Return the file whose presence tells that all files of a certificate are there."""
    ending = "kubeconfig" if certificate.extension == CLIENT else "crt"
    return directory / f"{certificate.name}.{ending}"


def _make_authority(directory: Path) -> None:
    subject = ("-subj", "/CN=sluice-cluster", "-days", VALIDITY_DAYS)
    authority = ("-keyout", "ca.key", "-out", "ca.crt")
    run(["openssl", "req", "-x509", *NEW_KEY, *authority, *subject], directory=directory)
    # Tokens of service accounts are checked by clients that may know RSA only.
    run(["openssl", "genrsa", "-out", "service-accounts.key", "2048"], directory=directory)
    public = ("-in", "service-accounts.key", "-pubout", "-out", "service-accounts.pub")
    run(["openssl", "rsa", *public], directory=directory)


def _sign(directory: Path, certificate: Certificate) -> None:
    name = certificate.name
    (directory / f"{name}.ext").write_text(certificate.extension)
    request = ("-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", certificate.subject)
    run(["openssl", "req", *NEW_KEY, *request], directory=directory)
    authority = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", VALIDITY_DAYS)
    files = ("-in", f"{name}.csr", "-out", f"{name}.crt", "-extfile", f"{name}.ext")
    run(["openssl", "x509", "-req", *files, *authority], directory=directory)


def kubeconfig(paths: layout.Paths, user: str) -> str:
    """Return the path of a component's own kubeconfig."""
    return str(paths.pki / f"{user}.kubeconfig")


def write_kubeconfig(directory: Path, user: str) -> None:
    path = directory / f"{user}.kubeconfig"
    path.write_text(_kubeconfig(directory, user))
    path.chmod(0o600)


def _kubeconfig(directory: Path, user: str) -> str:
    """Render a kubeconfig that holds its certificates, so it can be copied; JSON is YAML too."""

    def encoded(file: str) -> str:
        return b64encode((directory / file).read_bytes()).decode()

    cluster = {"server": layout.API_SERVER, "certificate-authority-data": encoded("ca.crt")}
    identity = {
        "client-certificate-data": encoded(f"{user}.crt"),
        "client-key-data": encoded(f"{user}.key"),
    }
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "sluice", "cluster": cluster}],
            "users": [{"name": user, "user": identity}],
            "contexts": [{"name": "sluice", "context": {"cluster": "sluice", "user": user}}],
            "current-context": "sluice",
        },
        indent=2,
    )
