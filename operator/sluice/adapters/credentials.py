"""Where the Kubernetes API is and how to log in: inside a pod, or with a kubeconfig file."""

import base64
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sluice.errors import ClusterUnavailable

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a pod finds its account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """A server and a way to log in; the authority, our certificate and its key are PEM texts.

    `token_file` is read anew, because tokens in pods are rotated.
    """

    server: str
    authority: str | None = None
    verify: bool = True
    certificate: str | None = None
    key: str | None = None
    token: str | None = None
    token_file: Path | None = None

    def tls(self) -> ssl.SSLContext:
        """A context that trusts the cluster's authority and shows our certificate."""
        context = ssl.create_default_context(cadata=self.authority)
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.certificate is not None:
            self._show_certificate(context)
        return context

    def _show_certificate(self, context: ssl.SSLContext) -> None:
        # Python takes a certificate and its key only from a file, which must not outlive the reading.
        with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
            chain = Path(folder) / "chain.pem"
            chain.write_text(f"{self.certificate}\n{self.key or ''}")
            context.load_cert_chain(chain)

    def bearer(self) -> str | None:
        """The token of this moment; None if there is a certificate instead."""
        return self.token_file.read_text().strip() if self.token_file is not None else self.token


def find_credentials(environment: Mapping[str, str]) -> Credentials:
    """The pod's own account, else the kubeconfig that KUBECONFIG names, else the user's.

    Raises ClusterUnavailable if there is neither.
    """
    host = environment.get("KUBERNETES_SERVICE_HOST")
    if host and (ACCOUNT / "token").exists():
        port = environment.get("KUBERNETES_SERVICE_PORT", "443")
        address = f"[{host}]" if ":" in host else host
        return Credentials(
            server=f"https://{address}:{port}",
            authority=(ACCOUNT / "ca.crt").read_text(),
            token_file=ACCOUNT / "token",
        )
    default = Path(environment.get("HOME", "/")) / ".kube" / "config"
    path = Path(environment.get("KUBECONFIG", "").split(":")[0] or default)
    if not path.exists():
        raise ClusterUnavailable(
            f"not in a pod, and no kubeconfig at {path}: set KUBECONFIG to a kubeconfig file"
        )
    return _from_kubeconfig(yaml.safe_load(path.read_text()) or {}, path)


def _from_kubeconfig(config: Mapping[str, Any], path: Path) -> Credentials:
    context = _named(config, "contexts", "context", config.get("current-context"), path)
    cluster = _named(config, "clusters", "cluster", context["cluster"], path)
    user = _named(config, "users", "user", context["user"], path)
    return Credentials(
        server=cluster["server"],
        authority=_content(cluster, "certificate-authority", path),
        verify=not cluster.get("insecure-skip-tls-verify", False),
        certificate=_content(user, "client-certificate", path),
        key=_content(user, "client-key", path),
        token=user.get("token"),
        token_file=path.parent / user["tokenFile"] if "tokenFile" in user else None,
    )


def _named(
    config: Mapping[str, Any], group: str, kind: str, name: object, path: Path
) -> Mapping[str, Any]:
    # kubectl writes null for a group that it has emptied.
    for item in config.get(group) or ():
        if item["name"] == name:
            found: Mapping[str, Any] = item[kind]
            return found
    raise ClusterUnavailable(
        f"{path}: has no {kind} {name!r}; choose one with `kubectl config use-context`"
    )


def _content(section: Mapping[str, Any], key: str, path: Path) -> str | None:
    """What the kubeconfig holds itself, or what a file holds that it names, which may lie beside it."""
    if f"{key}-data" in section:
        return base64.b64decode(section[f"{key}-data"]).decode()
    if key not in section:
        return None
    file = path.parent / str(section[key])
    try:
        return file.read_text()
    except OSError as error:
        raise ClusterUnavailable(f"{path}: {key} {str(file)!r} cannot be read: {error}") from error
