"""Rules of what a node's programs are told."""

import os
import subprocess
from pathlib import Path

import pytest

from e2e.cluster import layout, nodes, pki
from e2e.cluster.nodes import Capacity

HOST = Capacity(processors=2, memory=24 * nodes.GIBIBYTE)
PATHS = layout.Paths(state=Path("/state"), cache=Path("/cache"))
NODE = layout.NODES[0]


def offered(count: int) -> tuple[int, int]:
    """Return the millicores and mebibytes that all nodes together leave for pods."""
    reserve = nodes.reserved(HOST, count)
    processors = HOST.processors * 1000 - int(reserve["cpu"].removesuffix("m"))
    memory = HOST.memory // 1024**2 - int(reserve["memory"].removesuffix("Mi"))
    return count * processors, count * memory


@pytest.mark.parametrize("count", [1, 2, 3])
def test_all_nodes_together_offer_the_host_once(count: int) -> None:
    processors, memory = offered(count)

    assert processors == pytest.approx(2000, abs=count)
    assert memory == pytest.approx(22 * 1024, abs=count)


def test_a_small_host_still_leaves_half_its_memory_to_pods() -> None:
    small = Capacity(processors=2, memory=2 * nodes.GIBIBYTE)

    assert nodes.reserved(small, 1)["memory"] == "1024Mi"


def test_each_node_has_its_own_control_group_and_certificate() -> None:
    settings = [nodes.render_kubelet(PATHS, node, {}) for node in layout.NODES]

    for key in ("cgroupRoot", "tlsCertFile", "resolvConf"):
        assert len({str(each[key]) for each in settings}) == layout.MAX_NODES


def test_anonymous_callers_of_a_kubelet_are_refused() -> None:
    authentication = nodes.render_kubelet(PATHS, NODE, {})["authentication"]

    assert isinstance(authentication, dict)
    assert authentication["anonymous"] == {"enabled": False}


def test_pod_addresses_are_kept_between_nodes() -> None:
    plugins = nodes.render_network(NODE)["plugins"]

    assert isinstance(plugins, list)
    assert plugins[0]["ipMasq"] is False


def test_the_proxy_never_runs_without_its_configuration() -> None:
    proxy = nodes.proxy(PATHS, NODE, Path("/kube"))

    assert any(word.startswith("--config=") for word in proxy.command)
    assert not any("version" in word for word in proxy.command)


def test_policies_are_enforced_for_the_node_by_a_user_of_its_own() -> None:
    command = nodes.policies(PATHS, NODE).command

    assert f"--node={NODE.name}" in command
    assert f"--certificate={PATHS.pki}/policies.crt" in command
    assert "policies" in {each.name for each in pki.certificates()}


def test_the_enforcement_runs_from_its_copy_without_the_checkout(tmp_path: Path) -> None:
    program = nodes.policies(layout.Paths(state=tmp_path, cache=tmp_path), NODE)
    for path, text in program.files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    start = program.command[: program.command.index("e2e.cluster.policies") + 1]
    environment = {"PATH": os.environ["PATH"]}

    done = subprocess.run([*start, "--help"], cwd="/", env=environment, capture_output=True)

    assert done.returncode == 0, done.stderr
