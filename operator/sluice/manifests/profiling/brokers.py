"""Where the brokers of a job are, by their names: to let copies through to them, and to find them from elsewhere.

kafka                                   a service beside the job
kafka.shop, kafka.shop.svc[.DOMAIN]     a service in the namespace shop
kafka-0.kafka.shop.svc[.DOMAIN]         a pod of a headless service there
198.51.100.7                            an address
broker.example.org                      somewhere else
kafka.internal.                         somewhere else: by its dot at the end it is no service, unless it has .svc
"""

import ipaddress
from typing import Any

Json = dict[str, Any]


def seen_from_elsewhere(server: str, namespace: str) -> str:
    """The server by a name that is found from other namespaces, too."""
    host, port = _split(server)
    return f"{host}.{namespace}:{port}" if _is_short(host) else server


def egress_to(server: str, namespace: str) -> Json:
    """The rule of a NetworkPolicy that lets pods through to a server of a job in `namespace`."""
    host, port = _split(server)
    rule: Json = {"ports": [{"protocol": "TCP", "port": port}]}
    address, place = _address(host), _namespace(host, namespace)
    if address is not None:
        return {**rule, "to": [{"ipBlock": {"cidr": address}}]}
    if place is not None:
        return {**rule, "to": [{"namespaceSelector": named(place)}]}
    # Names outside have addresses that change; a policy cannot name them.
    return rule


def named(namespace: str) -> Json:
    """A selector of the namespace of that name."""
    return {"matchLabels": {"kubernetes.io/metadata.name": namespace}}


def _split(server: str) -> tuple[str, int]:
    host, _, port = server.rpartition(":")
    return host.strip("[]"), int(port)


def _is_short(host: str) -> bool:
    return "." not in host and _address(host) is None


def _address(host: str) -> str | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return f"{address}/{address.max_prefixlen}"


def _namespace(host: str, own: str) -> str | None:
    labels = host.rstrip(".").split(".")
    if "svc" in labels[2:]:
        return labels[labels.index("svc", 2) - 1]
    if host.endswith("."):
        return None
    if len(labels) == 1:
        return own
    return labels[1] if len(labels) == 2 else None
