"""From policies to a node's packet filter, as one text that nft takes as a whole or not at all.

Each pod of the node that some policy restricts has a chain per direction: packets that a policy allows
return from it, all others end there. Pods without a policy are in no chain, and without any restricted
pod there is no table. What a node itself sends to its pods does not pass the hook that is used here: it
is always allowed, as Kubernetes asks for.

Every packet is judged, not only the first of a connection, so a change of policies ends what is no
longer allowed. Answers pass whenever they come: what they answer was judged.
"""

from collections.abc import Iterable, Iterator, Mapping

from e2e.cluster.policies.allowing import EGRESS, INGRESS, Direction, Restriction, View
from e2e.cluster.policies.objects import Pod, Policy

TABLE = "sluice-policies"
# Adding what may be there makes deleting it safe; nft does both and what follows in one transaction.
REPLACE = f"add table ip {TABLE}\ndelete table ip {TABLE}\n"

Chains = Mapping[str, list[str]]


def render(view: View, node: str) -> str:
    """Return what replaces all rules of a node by those that its pods need, which may be none."""
    chains = {direction: _chains(view, node, direction) for direction in (EGRESS, INGRESS)}
    if not any(chains.values()):
        return REPLACE
    blocks = [
        _block(_name(direction, address), lines)
        for direction, restricted in chains.items()
        for address, lines in restricted.items()
    ]
    return f"{REPLACE}table ip {TABLE} {{\n{''.join(blocks)}{_block('forward', _hook(chains))}}}\n"


def _chains(view: View, node: str, direction: Direction) -> Chains:
    """Return the chain of each pod of the node that is restricted in a direction, by its address."""
    chains = {}
    for pod in sorted(view.pods, key=lambda pod: pod.address):
        policies = [policy for policy in view.policies if _restricts(policy, pod, direction)]
        if pod.node == node and policies:
            chains[pod.address] = list(_chain(view, policies, pod, direction))
    return chains


def _restricts(policy: Policy, pod: Pod, direction: Direction) -> bool:
    return (
        policy.namespace == pod.namespace
        and direction.rules(policy) is not None
        and policy.pods.matches(pod.labels)
    )


def _chain(view: View, policies: Iterable[Policy], pod: Pod, direction: Direction) -> Iterator[str]:
    # A Service may lead a pod to itself, which no policy can forbid.
    yield f"{direction.peer} {pod.address} return"
    for policy in policies:
        restriction = Restriction(view=view, policy=policy, pod=pod, direction=direction)
        yield from (f"{match} return".lstrip() for match in restriction.allowed())
    yield "counter drop"


def _hook(chains: Mapping[Direction, Chains]) -> Iterator[str]:
    yield "type filter hook forward priority filter; policy accept;"
    yield "ct direction reply accept"
    yield "ct state related accept"
    for direction, restricted in chains.items():
        if restricted:
            jumps = (f"{address} : jump {_name(direction, address)}" for address in restricted)
            yield f"{direction.own} vmap {{ {', '.join(jumps)} }}"


def _name(direction: Direction, address: str) -> str:
    return f"{direction.name}-{address}"


def _block(name: str, lines: Iterable[str]) -> str:
    body = "".join(f"\t\t{line}\n" for line in lines)
    return f"\tchain {name} {{\n{body}\t}}\n"
