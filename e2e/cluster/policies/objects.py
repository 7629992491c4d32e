"""What the enforcement knows of pods and NetworkPolicies, read from what the API server gives.

Only IPv4 is known here: the local cluster has no other addresses.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_network
from typing import Any

from e2e.cluster.policies.labels import Labels, Selector, read_selector

Json = Mapping[str, Any]
# Their addresses may be another pod's by now.
ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPort:
    """A port of a container, which policies may name instead of its number."""

    name: str
    protocol: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod that has an address of its own."""

    namespace: str
    labels: Labels
    node: str
    address: str
    ports: tuple[NamedPort, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Addresses, but for some of them."""

    network: IPv4Network
    exceptions: tuple[IPv4Network, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pods:
    """Pods by their labels and by those of their namespaces; None is the policy's own namespace."""

    pods: Selector
    namespaces: Selector | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """A port, or those up to `last`, or all of a protocol; a string is the name of one."""

    protocol: str
    port: int | str | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What is allowed: these peers at these ports. None is everyone, and every protocol and port."""

    peers: tuple[Block | Pods, ...] | None = None
    ports: tuple[Port, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A NetworkPolicy; a direction that it does not restrict is None."""

    namespace: str
    name: str
    pods: Selector
    ingress: tuple[Rule, ...] | None = None
    egress: tuple[Rule, ...] | None = None


def read_pod(pod: Json) -> Pod | None:
    """Read a Pod; one without an address of its own (yet, any more, or at all) is None."""
    spec, status = pod["spec"], pod.get("status") or {}
    address = status.get("podIP")
    if not address or spec.get("hostNetwork") or status.get("phase") in ENDED:
        return None
    return Pod(
        namespace=pod["metadata"]["namespace"],
        labels=pod["metadata"].get("labels") or {},
        node=spec["nodeName"],
        address=address,
        ports=tuple(_named_ports(spec)),
    )


def _named_ports(spec: Json) -> Iterator[NamedPort]:
    for container in (*(spec.get("initContainers") or ()), *spec["containers"]):
        for port in container.get("ports") or ():
            if "name" in port:
                yield NamedPort(
                    name=port["name"],
                    protocol=port.get("protocol", "TCP").lower(),
                    number=port["containerPort"],
                )


def read_labels(namespace: Json) -> Labels:
    """Read a Namespace, of which only the labels matter."""
    labels: Labels = namespace["metadata"].get("labels") or {}
    return labels


def read_policy(policy: Json) -> Policy:
    """Read a NetworkPolicy; the API server has filled in its `policyTypes`."""
    spec = policy["spec"]
    types = spec["policyTypes"]
    return Policy(
        namespace=policy["metadata"]["namespace"],
        name=policy["metadata"]["name"],
        pods=read_selector(spec.get("podSelector") or {}),
        ingress=_rules(spec, "ingress", "from") if "Ingress" in types else None,
        egress=_rules(spec, "egress", "to") if "Egress" in types else None,
    )


def _rules(spec: Json, direction: str, peers: str) -> tuple[Rule, ...]:
    return tuple(
        Rule(
            peers=tuple(_peers(rule[peers])) if rule.get(peers) else None,
            ports=tuple(_port(port) for port in rule["ports"]) if rule.get("ports") else None,
        )
        for rule in spec.get(direction) or ()
    )


def _peers(peers: list[Json]) -> Iterator[Block | Pods]:
    for peer in peers:
        if "ipBlock" in peer:
            yield from _blocks(peer["ipBlock"])
        else:
            namespaces = peer.get("namespaceSelector")
            yield Pods(
                pods=read_selector(peer.get("podSelector") or {}),
                namespaces=None if namespaces is None else read_selector(namespaces),
            )


def _blocks(block: Json) -> Iterator[Block]:
    """Yield nothing for a block of IPv6, which is no address of this cluster."""
    network = ip_network(block["cidr"], strict=False)
    if isinstance(network, IPv4Network):
        exceptions = (IPv4Network(each, strict=False) for each in block.get("except") or ())
        yield Block(network=network, exceptions=tuple(exceptions))


def _port(port: Json) -> Port:
    return Port(
        protocol=port.get("protocol", "TCP").lower(),
        port=port.get("port"),
        last=port.get("endPort"),
    )
