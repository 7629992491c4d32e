"""What one policy allows one pod in one direction, as expressions of nft.

Addresses and ports are those behind Services, since kube-proxy translates them before packets are judged.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from e2e.cluster.policies.labels import Labels
from e2e.cluster.policies.objects import Block, Pod, Pods, Policy, Port, Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """All of the cluster that decides about packets; namespaces by name, with their labels."""

    pods: tuple[Pod, ...] = ()
    namespaces: Mapping[str, Labels]
    policies: tuple[Policy, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """How packets name the pod that a policy selects (`own`) and the other end (`peer`)."""

    name: str
    own: str
    peer: str
    rules: Callable[[Policy], tuple[Rule, ...] | None]
    """What a policy allows in this direction; None if it restricts nothing there."""


EGRESS = Direction(
    name="egress", own="ip saddr", peer="ip daddr", rules=lambda policy: policy.egress
)
INGRESS = Direction(
    name="ingress", own="ip daddr", peer="ip saddr", rules=lambda policy: policy.ingress
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restriction:
    """A policy that restricts a pod in a direction."""

    view: View
    policy: Policy
    pod: Pod
    direction: Direction

    def allowed(self) -> Iterator[str]:
        """Yield expressions for the packets that pass; an empty one means all."""
        for rule in self.direction.rules(self.policy) or ():
            for port in rule.ports or (None,):
                for match in self._at_port(rule, port):
                    yield match.strip()

    def _at_port(self, rule: Rule, port: Port | None) -> Iterator[str]:
        if port is None or not isinstance(port.port, str):
            yield from (f"{peer} {_expression(port)}" for peer in self._peers(rule))
        elif self.direction is INGRESS:
            for number in _numbers(self.pod, port):
                at = _expression(Port(protocol=port.protocol, port=number))
                yield from (f"{peer} {at}" for peer in self._peers(rule))
        else:
            yield from self._at_peers_port(rule, port)

    def _at_peers_port(self, rule: Rule, port: Port) -> Iterator[str]:
        """Yield each peer at the number that the port's name has there; only pods name ports."""
        peers = self._pods(rule)
        named = sorted((number, pod.address) for pod in peers for number in _numbers(pod, port))
        for number, group in groupby(named, key=lambda pair: pair[0]):
            at = _expression(Port(protocol=port.protocol, port=number))
            yield f"{self.direction.peer} {_set(address for _, address in group)} {at}"

    def _peers(self, rule: Rule) -> Iterator[str]:
        if rule.peers is None:
            yield ""
            return
        if pods := self._pods(rule):
            yield f"{self.direction.peer} {_set(pod.address for pod in pods)}"
        for block in rule.peers:
            if isinstance(block, Block):
                excepted = (f"{self.direction.peer} != {each}" for each in block.exceptions)
                yield " ".join([f"{self.direction.peer} {block.network}", *excepted])

    def _pods(self, rule: Rule) -> list[Pod]:
        if rule.peers is None:
            return list(self.view.pods)
        wanted = [peer for peer in rule.peers if isinstance(peer, Pods)]
        return [pod for pod in self.view.pods if any(self._means(peer, pod) for peer in wanted)]

    def _means(self, peer: Pods, pod: Pod) -> bool:
        if peer.namespaces is None:
            in_namespace = pod.namespace == self.policy.namespace
        else:
            in_namespace = peer.namespaces.matches(self.view.namespaces.get(pod.namespace, {}))
        return in_namespace and peer.pods.matches(pod.labels)


def _numbers(pod: Pod, port: Port) -> list[int]:
    """Return the numbers that a pod gives a port's name."""
    wanted = (port.port, port.protocol)
    return sorted({each.number for each in pod.ports if (each.name, each.protocol) == wanted})


def _expression(port: Port | None) -> str:
    if port is None:
        return ""
    if port.port is None:
        return f"meta l4proto {port.protocol}"
    last = "" if port.last is None else f"-{port.last}"
    return f"{port.protocol} dport {port.port}{last}"


def _set(addresses: Iterable[str]) -> str:
    return f"{{ {', '.join(sorted(set(addresses)))} }}"
