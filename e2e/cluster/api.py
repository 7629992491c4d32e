"""Asking the cluster whether it is usable: the API server over HTTPS, and DNS over UDP.

A small client, because a `kubectl` takes 0.15 s per call and the waiting asks often. Changing
objects is left to kubectl.
"""

import http.client
import json
import socket
import ssl
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from e2e.cluster import layout
from e2e.cluster.layout import Paths

SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """What a node's kubelet said last."""

    name: str
    is_ready: bool
    at: datetime


def get(paths: Paths, path: str) -> Any:
    """Return what the API server answers, or None if it does not, or refuses."""
    try:
        return json.loads(_get(paths, path) or "null")
    except (OSError, http.client.HTTPException):
        return None


def is_ready(paths: Paths) -> bool:
    try:
        return _get(paths, "/readyz") == "ok"
    except (OSError, http.client.HTTPException):
        return False


def heartbeats(paths: Paths) -> dict[str, Heartbeat]:
    """Return what each node said last, by its name."""
    nodes = get(paths, "/api/v1/nodes") or {"items": []}
    found = [parse_node(node) for node in nodes["items"]]
    return {heartbeat.name: heartbeat for heartbeat in found if heartbeat}


def parse_node(node: Mapping[str, Any]) -> Heartbeat | None:
    """Read a Node; one that has only just been registered has no conditions."""
    conditions = node.get("status", {}).get("conditions", [])
    for condition in conditions:
        if condition["type"] == "Ready":
            return Heartbeat(
                name=node["metadata"]["name"],
                is_ready=condition["status"] == "True",
                at=datetime.fromisoformat(condition["lastHeartbeatTime"]),
            )
    return None


def _get(paths: Paths, path: str) -> str | None:
    context = ssl.create_default_context(cafile=str(paths.pki / "ca.crt"))
    context.load_cert_chain(paths.pki / "admin.crt", paths.pki / "admin.key")
    address = layout.CONTROL_PLANE.address
    connection = http.client.HTTPSConnection(
        address, layout.API_PORT, timeout=SECONDS, context=context
    )
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read().decode()
    finally:
        connection.close()
    return body if response.status == http.HTTPStatus.OK else None


def resolves(name: str) -> bool:
    """Tell whether the cluster's DNS knows the address of a name."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(SECONDS)
        try:
            client.sendto(dns_query(name), (layout.DNS_ADDRESS, 53))
            return dns_answers(client.recv(512)) > 0
        except OSError:
            return False


def dns_query(name: str) -> bytes:
    """Encode a question for the IPv4 address of a name (RFC 1035, section 4)."""
    header = struct.pack("!6H", 1, 0x0100, 1, 0, 0, 0)
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return header + labels + b"\0" + struct.pack("!2H", 1, 1)


def dns_answers(response: bytes) -> int:
    """Return how many records an answer holds."""
    return int.from_bytes(response[6:8], "big")
