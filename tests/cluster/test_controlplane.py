"""Rules of the control plane's configuration and of the certificates that it trusts."""

from pathlib import Path

from e2e.cluster import controlplane, kind, layout, pki
from e2e.cluster.records import NAMESPACES, Record

PATHS = layout.Paths(state=Path("/state"), cache=Path("/cache"))
RECORD = Record(provider=NAMESPACES, nodes=2, kube="/kube", metrics_server="/metrics")


def test_names_outside_the_cluster_do_not_exist_and_are_not_asked_for() -> None:
    corefile = controlplane.render_corefile("/kubeconfig")

    assert "rcode NXDOMAIN" in corefile
    assert "forward" not in corefile


def test_authorization_is_on() -> None:
    programs = {program.name: program for program in controlplane.storage(PATHS, Path("/kube"))}

    assert "--authorization-mode=Node,RBAC" in programs["apiserver"].command


def test_only_the_administrator_and_the_api_server_may_do_everything() -> None:
    masters = {each.name for each in pki.certificates() if "system:masters" in each.subject}

    assert masters == {"admin", "kubelet-client"}


def test_every_program_has_a_user_of_its_own() -> None:
    users = {each.name for each in pki.certificates() if each.extension == pki.CLIENT}
    programs = (
        *controlplane.controllers(PATHS, RECORD),
        controlplane.metrics_server(PATHS, RECORD),
    )
    commands = " ".join(word for program in programs for word in program.command)

    for name in ("kube-controller-manager", "kube-scheduler", "metrics-server"):
        assert name in users
        assert pki.kubeconfig(PATHS, name) in commands


def test_kind_shares_one_directory_among_all_nodes() -> None:
    nodes = kind.render(PATHS, 2)["nodes"]

    assert isinstance(nodes, list)
    assert [node["role"] for node in nodes] == ["control-plane", "worker", "worker"]
    assert all(node["extraMounts"][0]["hostPath"] == "/state/volumes" for node in nodes)


def test_nodes_have_the_same_names_on_kind_for_faults() -> None:
    assert [kind.node_name(node.name) for node in layout.NODES] == [
        "sluice-worker",
        "sluice-worker2",
        "sluice-worker3",
    ]
