"""Where the Kubernetes API is and how to log in: inside a pod, or with a kubeconfig file."""

import base64
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from sluice.errors import ClusterUnavailable

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """A server and a way to log in. `token_file` is read anew, because tokens in pods are rotated."""

    server: str
    ca_file: str | None = None
    verify: bool = True
    client_certificate: str | None = None
    client_key: str | None = None
    token: str | None = None
    token_file: Path | None = None

    def tls(self) -> ssl.SSLContext:
        """A context that trusts the cluster's authority and shows our certificate."""
        context = ssl.create_default_context(cafile=self.ca_file)
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.client_certificate is not None:
            context.load_cert_chain(self.client_certificate, self.client_key)
        return context

    def bearer(self) -> str | None:
        """The token of this moment; None if there is a certificate instead."""
        return self.token_file.read_text().strip() if self.token_file is not None else self.token


def find_credentials(environment: Mapping[str, str]) -> Credentials:
    """The pod's own account, else the kubeconfig that KUBECONFIG names, else the user's.

    Raises ClusterUnavailable if there is neither.
    """
    host = environment.get("KUBERNETES_SERVICE_HOST")
    if host and (_ACCOUNT / "token").exists():
        port = environment.get("KUBERNETES_SERVICE_PORT", "443")
        address = f"[{host}]" if ":" in host else host
        return Credentials(
            server=f"https://{address}:{port}",
            ca_file=str(_ACCOUNT / "ca.crt"),
            token_file=_ACCOUNT / "token",
        )
    default = Path(environment.get("HOME", "/")) / ".kube" / "config"
    path = Path(environment.get("KUBECONFIG", "").split(":")[0] or default)
    if not path.exists():
        raise ClusterUnavailable(
            f"not in a pod, and no kubeconfig at {path}: set KUBECONFIG to a kubeconfig file"
        )
    return _from_kubeconfig(yaml.safe_load(path.read_text()), path)


def _from_kubeconfig(config: Mapping[str, Any], path: Path) -> Credentials:
    context = _named(config, "contexts", "context", config.get("current-context"), path)
    cluster = _named(config, "clusters", "cluster", context["cluster"], path)
    user = _named(config, "users", "user", context["user"], path)
    found = Credentials(
        server=cluster["server"],
        ca_file=_file(cluster, "certificate-authority", path),
        verify=not cluster.get("insecure-skip-tls-verify", False),
        token=user.get("token"),
        token_file=Path(user["tokenFile"]) if "tokenFile" in user else None,
    )
    certificate = _file(user, "client-certificate", path)
    if certificate is None:
        return found
    return replace(
        found, client_certificate=certificate, client_key=_file(user, "client-key", path)
    )


def _named(
    config: Mapping[str, Any], group: str, kind: str, name: object, path: Path
) -> Mapping[str, Any]:
    for item in config.get(group, []):
        if item["name"] == name:
            found: Mapping[str, Any] = item[kind]
            return found
    raise ClusterUnavailable(
        f"{path}: has no {kind} {name!r}; choose one with `kubectl config use-context`"
    )


def _file(section: Mapping[str, Any], key: str, path: Path) -> str | None:
    """A file that is named beside the kubeconfig, or whose content it holds."""
    if key in section:
        return str(path.parent / section[key])
    content = section.get(f"{key}-data")
    if content is None:
        return None
    with tempfile.NamedTemporaryFile(prefix="sluice-", suffix=".pem", delete=False) as file:
        file.write(base64.b64decode(content))
    return file.name
