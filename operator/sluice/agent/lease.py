"""The Lease of a checkpoint, read and written through the Kubernetes API with the driver's own account.

Who holds it may write the checkpoint. What to do about what is read is decided in `holding`.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_TIMEOUT_SECONDS = 5


class Unreachable(Exception):
    """The API server gave no Lease: it did not answer, or refused."""


class Changed(Exception):
    """Somebody else has written the Lease since it was read."""


@dataclass(frozen=True)
class Lease:
    """What a Lease says. `renewed` is the holder's own clock, good only for telling one renewal from the next."""

    holder: str
    seconds: int
    renewed: str
    document: Mapping[str, Any]

    def released(self, now: float) -> Mapping[str, Any]:
        """The document without a holder."""
        return self.taken_by("", self.seconds, now)

    def taken_by(self, holder: str, seconds: int, now: float) -> Mapping[str, Any]:
        """The document of a holder that keeps to so many seconds, renewed now (seconds since 1970).

        They are the holder's, and not those of the Lease before: who comes next has to wait for as long as it lives on.
        """
        whole, part = divmod(int(now * 1e6), 10**6)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{part:06}Z"
        spec = {**self.document.get("spec", {}), "holderIdentity": holder, "renewTime": stamp}
        spec["leaseDurationSeconds"] = seconds
        if holder != self.holder:
            spec["acquireTime"] = stamp
            spec["leaseTransitions"] = spec.get("leaseTransitions", 0) + 1
        return {**self.document, "spec": spec}


class Leases:
    """One Lease at the API server. Every call has a deadline of its own."""

    def __init__(self, path: str, environment: Mapping[str, str]) -> None:
        host, port = (
            environment.get("KUBERNETES_SERVICE_HOST", ""),
            environment.get("KUBERNETES_SERVICE_PORT", "443"),
        )
        inside = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
        self._server = urlsplit(environment.get("SLUICE_API_SERVER") or inside)
        self._path = path
        self._account = environment.get("SLUICE_SERVICE_ACCOUNT", _ACCOUNT)

    def read(self) -> Lease:
        """Read the Lease; raises Unreachable."""
        return _lease(self._request("GET", None))

    def write(self, document: Mapping[str, Any]) -> Lease:
        """Replace the Lease of the same version; raises Changed or Unreachable."""
        return _lease(self._request("PUT", document))

    def _request(self, method: str, body: Mapping[str, Any] | None) -> Mapping[str, Any]:
        try:
            connection = self._connection()
            headers = {"Content-Type": "application/json", "Authorization": self._bearer()}
            data = json.dumps(body) if body is not None else None
            try:
                connection.request(method, self._path, body=data, headers=headers)
                answer = connection.getresponse()
                text = answer.read()
            finally:
                connection.close()
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unreachable(f"{method} {self._path}: {error!r}") from error
        if answer.status == http.client.CONFLICT:
            raise Changed
        if answer.status != http.client.OK:
            raise Unreachable(f"{method} {self._path}: {answer.status} {text[:200]!r}")
        return _document(text)

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._server.hostname or "", self._server.port
        if self._server.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=_TIMEOUT_SECONDS)
        context = ssl.create_default_context(cafile=os.path.join(self._account, "ca.crt"))
        return http.client.HTTPSConnection(host, port, timeout=_TIMEOUT_SECONDS, context=context)

    def _bearer(self) -> str:
        # Read each time: the kubelet replaces it before it runs out.
        with open(os.path.join(self._account, "token"), encoding="ascii") as file:
            return f"Bearer {file.read().strip()}"


def _document(text: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise Unreachable(f"no JSON: {text[:200]!r}") from error
    if not isinstance(document, dict):
        raise Unreachable(f"no object: {text[:200]!r}")
    return document


def _lease(document: Mapping[str, Any]) -> Lease:
    spec = document.get("spec") or {}
    return Lease(
        holder=str(spec.get("holderIdentity") or ""),
        seconds=int(spec.get("leaseDurationSeconds") or 0),
        renewed=str(spec.get("renewTime") or ""),
        document=document,
    )
