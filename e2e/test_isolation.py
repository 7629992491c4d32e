"""NetworkPolicies are enforced by the cluster: what they allow passes, nothing else does, and only where they apply.

What profiling relies on: its copies of jobs run where egress is denied, but for a few places.
"""

from collections.abc import Callable, Iterator

import pytest

from e2e.support.api import Cluster, Json, to_yaml
from e2e.support.reach import PORT, SERVE, WAIT, Neighbours, pod, service

COPY = {"matchLabels": {"role": "copy"}}
DNS = {"ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]}
ALL = {"wanted by name", "wanted", "other", "other's pod", "API server"}

Apply = Callable[..., None]


@pytest.fixture(scope="module")
def neighbours(cluster: Cluster, run_name: str) -> Iterator[Neighbours]:
    """Two servers on one node; clients beside them and on another node; one that no policy selects."""
    namespace = f"{run_name}-isolated"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    cluster.create(body)
    here, there = _two_nodes(cluster)
    for name in ("wanted", "other"):
        cluster.create(service(name, namespace))
        cluster.create(pod(name, namespace, here, SERVE))
    for name, node in (("near", here), ("far", there)):
        cluster.create(pod(name, namespace, node, WAIT, role="copy"))
    cluster.create(pod("bystander", namespace, here, WAIT))
    pods = Neighbours(cluster, namespace, {})
    pods.wait_until_ready("wanted", "other", "near", "far", "bystander")
    made = Neighbours(cluster, namespace, _targets(cluster, namespace))
    made.wait_until_reached({"near": ALL, "far": ALL, "bystander": ALL})
    yield made
    cluster.kubectl("delete", "namespace", namespace, "--wait=false")


def _two_nodes(cluster: Cluster) -> tuple[str, str]:
    """Two nodes that take pods, or the same twice."""
    names = [
        node["metadata"]["name"]
        for node in cluster.list("Node", "")
        if not node["spec"].get("taints")
    ]
    return names[0], names[-1]


def _targets(cluster: Cluster, namespace: str) -> dict[str, str]:
    def address(kind: str, name: str, place: str = namespace) -> str:
        found = cluster.get(kind, place, name)
        assert found is not None
        where: str = found["spec"]["clusterIP"] if kind == "Service" else found["status"]["podIP"]
        return where

    return {
        "wanted by name": f"wanted.{namespace}.svc.cluster.local.:{PORT}",
        "wanted": f"{address('Service', 'wanted')}:{PORT}",
        "other": f"{address('Service', 'other')}:{PORT}",
        "other's pod": f"{address('Pod', 'other')}:{PORT}",
        "API server": f"{address('Service', 'kubernetes', 'default')}:443",
    }


@pytest.fixture
def apply(cluster: Cluster, neighbours: Neighbours) -> Iterator[Apply]:
    """Apply policies of the namespace, which go with the test."""
    namespace = neighbours.namespace

    def create(name: str, **spec: object) -> None:
        body: Json = {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {"name": name},
            "spec": spec,
        }
        cluster.apply(to_yaml(body), namespace)

    yield create
    cluster.kubectl("delete", "networkpolicy", "--all", "-n", namespace)


def to_wanted() -> Json:
    """An egress rule for the wanted server."""
    wanted = {"podSelector": {"matchLabels": {"name": "wanted"}}}
    return {"to": [wanted], "ports": [{"port": PORT}]}


def test_a_denied_pod_reaches_what_it_is_allowed_and_a_pod_without_policy_notices_nothing(
    cluster: Cluster, neighbours: Neighbours, apply: Apply
) -> None:
    with neighbours.connecting("bystander", "other's pod") as counted:
        apply("deny", podSelector=COPY, policyTypes=["Egress"])
        neighbours.wait_until_reached({"near": set(), "far": set()})
        apply("allow", podSelector=COPY, policyTypes=["Egress"], egress=[DNS, to_wanted()])
        allowed = {"wanted by name", "wanted"}
        neighbours.wait_until_reached({"near": allowed, "far": allowed, "bystander": ALL})
        cluster.kubectl("delete", "networkpolicy", "--all", "-n", neighbours.namespace)
        neighbours.wait_until_reached({"near": ALL, "far": ALL})
    assert counted["tries"] > 0
    assert counted["failures"] == 0


def test_a_pod_that_starts_under_a_policy_is_denied_too(
    cluster: Cluster, neighbours: Neighbours, apply: Apply
) -> None:
    apply("deny", podSelector=COPY, policyTypes=["Egress"], egress=[to_wanted()])
    _, there = _two_nodes(cluster)
    neighbours.start(pod("late", neighbours.namespace, there, WAIT, role="copy"))
    neighbours.wait_until_reached({"late": {"wanted"}})


def test_a_server_lets_in_whom_its_policy_names_at_the_port_that_it_names(
    neighbours: Neighbours, apply: Apply
) -> None:
    friends = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": neighbours.namespace}},
        "podSelector": {"matchLabels": {"name": "far"}},
    }
    apply(
        "friends",
        podSelector={"matchLabels": {"name": "other"}},
        policyTypes=["Ingress"],
        ingress=[{"from": [friends], "ports": [{"port": "http"}]}],
    )
    others = ALL - {"other", "other's pod"}
    neighbours.wait_until_reached({"near": others, "bystander": others, "far": ALL})


def test_a_block_of_addresses_is_open_but_for_its_exceptions(
    neighbours: Neighbours, apply: Apply
) -> None:
    excepted = neighbours.targets["other's pod"].partition(":")[0] + "/32"
    block = {"ipBlock": {"cidr": "0.0.0.0/0", "except": [excepted]}}
    apply("block", podSelector=COPY, policyTypes=["Egress"], egress=[{"to": [block]}])
    allowed = ALL - {"other", "other's pod"}
    neighbours.wait_until_reached({"near": allowed, "far": allowed, "bystander": ALL})
