"""Rules of what NetworkPolicies let through: from objects of the API to a node's packet filter."""

from collections.abc import Mapping
from typing import Any

import pytest

from e2e.cluster.policies.allowing import EGRESS, INGRESS, Direction, Restriction, View
from e2e.cluster.policies.labels import read_selector
from e2e.cluster.policies.objects import Pod, Policy, read_labels, read_pod, read_policy
from e2e.cluster.policies.rules import REPLACE, render

HERE, THERE = "node-1", "node-2"


def pod(address: str, namespace: str = "shop", node: str = HERE, **changed: Any) -> Pod:
    found = read_pod(pod_body(address, namespace, node, **changed))
    assert found is not None
    return found


def pod_body(
    address: str,
    namespace: str = "shop",
    node: str = HERE,
    *,
    labels: Mapping[str, str] | None = None,
    ports: tuple[tuple[str, str, int], ...] = (),
    phase: str = "Running",
    **spec: Any,
) -> dict[str, Any]:
    named = [
        {"name": name, "protocol": protocol, "containerPort": number}
        for name, protocol, number in ports
    ]
    return {
        "metadata": {"namespace": namespace, "name": f"at-{address}", "labels": labels},
        "spec": {"nodeName": node, "containers": [{"ports": named}], **spec},
        "status": {"phase": phase, "podIP": address},
    }


def policy(namespace: str = "shop", **spec: Any) -> Policy:
    """A policy for all pods of its namespace, of the direction that it has rules for."""
    types = [kind for kind in ("Ingress", "Egress") if kind.lower() in spec]
    filled = {"podSelector": {}, "policyTypes": types, **spec}
    return read_policy({"metadata": {"namespace": namespace, "name": "any"}, "spec": filled})


DENY = policy(egress=[], ingress=[])
CLIENT = pod("198.18.72.1", labels={"app": "client"}, ports=(("http", "TCP", 80),))
SERVER = pod("198.18.73.1", node=THERE, labels={"app": "server"}, ports=(("http", "TCP", 8080),))
STRANGER = pod("198.18.73.2", "other", THERE, labels={"app": "server"})
NAMESPACES = {"shop": {"team": "one"}, "other": {"team": "two"}}


def view(*policies: Policy, pods: tuple[Pod, ...] = (CLIENT, SERVER, STRANGER)) -> View:
    return View(pods=pods, namespaces=NAMESPACES, policies=policies)


def allowed(*rules: Mapping[str, Any], direction: Direction = EGRESS) -> list[str]:
    """What a policy of these rules allows the client."""
    spec: dict[str, Any] = {direction.name: list(rules)}
    one = policy(**spec)
    restriction = Restriction(view=view(one), policy=one, pod=CLIENT, direction=direction)
    return list(restriction.allowed())


def chain(text: str, name: str) -> list[str]:
    """The lines of a chain of the rendered table."""
    body = text.partition(f"chain {name} {{\n")[2].partition("\t}\n")[0]
    return [line.strip() for line in body.splitlines()]


def test_without_policies_a_node_has_no_rules() -> None:
    assert render(view(), HERE) == REPLACE


def test_a_pod_that_no_policy_selects_is_in_no_rule() -> None:
    selective = policy(egress=[], podSelector={"matchLabels": {"app": "client"}})
    neighbour = pod("198.18.72.2", labels={"app": "another"})

    assert neighbour.address not in render(view(selective, pods=(CLIENT, neighbour)), HERE)


def test_a_policy_is_for_pods_of_its_own_namespace() -> None:
    assert render(view(policy("elsewhere", egress=[])), HERE) == REPLACE


def test_a_pod_is_restricted_on_its_own_node_only() -> None:
    text = render(view(DENY), THERE)

    assert chain(text, f"egress-{SERVER.address}")
    assert CLIENT.address not in text


def test_a_denied_pod_reaches_itself_and_nothing_else() -> None:
    assert chain(render(view(DENY), HERE), f"egress-{CLIENT.address}") == [
        f"ip daddr {CLIENT.address} return",
        "counter drop",
    ]


def test_a_policy_of_one_direction_leaves_the_other_open() -> None:
    assert "ingress" not in render(view(policy(egress=[])), HERE)
    assert "egress" not in render(view(policy(ingress=[])), HERE)


def test_what_any_policy_allows_is_allowed() -> None:
    dns = policy(egress=[{"ports": [{"protocol": "UDP", "port": 53}]}])
    web = policy(egress=[{"ports": [{"protocol": "TCP", "port": 80}]}])
    lines = chain(render(view(DENY, dns, web), HERE), f"egress-{CLIENT.address}")

    assert lines[1:] == ["udp dport 53 return", "tcp dport 80 return", "counter drop"]


def test_a_packet_of_a_connection_that_is_open_is_judged_like_its_first() -> None:
    lines = chain(render(view(policy(egress=[])), HERE), "forward")

    assert lines[1:] == [
        "ct direction reply accept",
        "ct state related accept",
        f"ip saddr vmap {{ {CLIENT.address} : jump egress-{CLIENT.address} }}",
    ]


def test_a_rule_without_peers_and_ports_allows_everything() -> None:
    assert allowed({}) == [""]
    assert allowed({"to": [], "ports": []}) == [""]


def test_a_rule_whose_peers_do_not_exist_allows_nothing() -> None:
    assert allowed({"to": [{"podSelector": {"matchLabels": {"app": "nobody"}}}]}) == []


@pytest.mark.parametrize(
    ("peer", "addresses"),
    [
        ({"podSelector": {}}, [CLIENT, SERVER]),
        ({"podSelector": {"matchLabels": {"app": "server"}}}, [SERVER]),
        ({"namespaceSelector": {}}, [CLIENT, SERVER, STRANGER]),
        ({"namespaceSelector": {"matchLabels": {"team": "two"}}}, [STRANGER]),
        (
            {"namespaceSelector": {}, "podSelector": {"matchLabels": {"app": "server"}}},
            [SERVER, STRANGER],
        ),
    ],
)
def test_pods_are_meant_by_their_labels_and_those_of_their_namespaces(
    peer: Mapping[str, Any], addresses: list[Pod]
) -> None:
    wanted = ", ".join(each.address for each in addresses)

    assert allowed({"to": [peer]}) == [f"ip daddr {{ {wanted} }}"]
    assert allowed({"from": [peer]}, direction=INGRESS) == [f"ip saddr {{ {wanted} }}"]


def test_a_block_is_allowed_but_for_its_exceptions() -> None:
    block = {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16", "10.2.0.0/16"]}

    assert allowed({"to": [{"ipBlock": block}]}) == [
        "ip daddr 10.0.0.0/8 ip daddr != 10.1.0.0/16 ip daddr != 10.2.0.0/16"
    ]


def test_a_block_of_another_family_allows_nothing() -> None:
    assert allowed({"to": [{"ipBlock": {"cidr": "2001:db8::/32"}}]}) == []


@pytest.mark.parametrize(
    ("port", "expression"),
    [
        ({"port": 80}, "tcp dport 80"),
        ({"protocol": "UDP", "port": 53}, "udp dport 53"),
        ({"port": 7000, "endPort": 7010}, "tcp dport 7000-7010"),
        ({"protocol": "SCTP"}, "meta l4proto sctp"),
    ],
)
def test_a_port_is_one_or_a_range_or_all_of_a_protocol(
    port: Mapping[str, Any], expression: str
) -> None:
    assert allowed({"ports": [port]}) == [expression]


def test_each_peer_is_allowed_at_each_port() -> None:
    peers = [
        {"podSelector": {"matchLabels": {"app": "server"}}},
        {"ipBlock": {"cidr": "10.0.0.0/8"}},
    ]

    assert allowed({"to": peers, "ports": [{"port": 1}, {"port": 2}]}) == [
        f"ip daddr {{ {SERVER.address} }} tcp dport 1",
        "ip daddr 10.0.0.0/8 tcp dport 1",
        f"ip daddr {{ {SERVER.address} }} tcp dport 2",
        "ip daddr 10.0.0.0/8 tcp dport 2",
    ]


def test_the_name_of_a_port_means_the_port_of_whom_the_packets_go_to() -> None:
    by_name = {"ports": [{"port": "http"}]}

    assert allowed(by_name, direction=INGRESS) == ["tcp dport 80"]
    assert allowed(by_name) == [
        f"ip daddr {{ {CLIENT.address} }} tcp dport 80",
        f"ip daddr {{ {SERVER.address} }} tcp dport 8080",
    ]


@pytest.mark.parametrize("port", [{"port": "admin"}, {"port": "http", "protocol": "UDP"}])
@pytest.mark.parametrize("direction", [EGRESS, INGRESS])
def test_a_port_that_nobody_calls_so_allows_nothing(
    port: Mapping[str, Any], direction: Direction
) -> None:
    assert allowed({"ports": [port]}, direction=direction) == []


@pytest.mark.parametrize(
    "changed",
    [{"phase": "Succeeded"}, {"phase": "Failed"}, {"hostNetwork": True}, {"phase": "Pending"}],
)
def test_a_pod_without_an_address_of_its_own_is_nobody(changed: Mapping[str, Any]) -> None:
    address = "" if changed.get("phase") == "Pending" else CLIENT.address

    assert read_pod(pod_body(address, **changed)) is None


def test_a_namespace_may_have_no_labels() -> None:
    assert read_labels({"metadata": {"name": "bare"}}) == {}


@pytest.mark.parametrize(
    ("operator", "values", "matching"),
    [
        ("In", ["a", "b"], [{"tier": "a"}]),
        ("NotIn", ["a", "b"], [{"tier": "c"}, {}]),
        ("Exists", None, [{"tier": "a"}, {"tier": "c"}]),
        ("DoesNotExist", None, [{}]),
    ],
)
def test_an_expression_means_labels_as_kubernetes_does(
    operator: str, values: list[str] | None, matching: list[Mapping[str, str]]
) -> None:
    selector = read_selector(
        {"matchExpressions": [{"key": "tier", "operator": operator, "values": values}]}
    )
    possible: list[Mapping[str, str]] = [{"tier": "a"}, {"tier": "c"}, {}]

    assert [labels for labels in possible if selector.matches(labels)] == matching


def test_all_requirements_of_a_selector_must_hold() -> None:
    selector = read_selector(
        {
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "canary", "operator": "DoesNotExist"}],
        }
    )

    assert selector.matches({"app": "web", "tier": "a"})
    assert not selector.matches({"app": "web", "canary": "yes"})
    assert not selector.matches({})


def test_an_operator_that_selectors_do_not_have_is_named_with_those_that_they_have() -> None:
    selector = read_selector({"matchExpressions": [{"key": "tier", "operator": "Near"}]})

    with pytest.raises(ValueError, match=r"'Near' \(of label tier\): use In, NotIn, Exists"):
        selector.matches({})
