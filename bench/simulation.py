"""Nodes that only pretend: kwok makes the pods bound to them Running, and no process ever starts.

Real nodes are not touched: the pretended ones carry a taint, and only pods that tolerate it and choose
them go there. Their pods get addresses that nothing routes, so a question to one ends on this machine.
"""

import asyncio
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bench.api import NODES, Api, cluster_command
from bench.progress import BenchmarkFailed, Progress

Json = dict[str, Any]

ADDRESSES = "198.19.128.0/17"
"""Within the range of RFC 2544 that the local cluster keeps for itself, and used by nothing in it."""

_ONE_ADDRESS = "198.19.128.9"
_TAINT = {"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}
_PODS_A_NODE = 1000

PLACEMENT: Json = {
    "nodeSelector": {"type": "kwok"},
    "tolerations": [{"key": _TAINT["key"], "operator": "Exists", "effect": "NoSchedule"}],
}
"""What sends a pod to a pretended node."""


@asynccontextmanager
async def simulated_nodes(
    api: Api, kubeconfig: str, *, pods: int, name: str, progress: Progress
) -> AsyncIterator[None]:
    """Nodes with room for so many pods, and kwok, for as long as the block runs."""
    _require_that_nothing_leaves()
    program = Path(cluster_command("build", "kwok").splitlines()[-1]) / "kwok"
    names = [f"{name}-{number}" for number in range(-(-pods // _PODS_A_NODE) + 1)]
    progress.say(f"{len(names)} simulated nodes")
    with tempfile.TemporaryDirectory(prefix="kwok-") as folder:
        process = _start(program, kubeconfig, Path(folder) / "log")
        try:
            await api.create_all(NODES, map(_node, names))
            await _wait_until_ready(api, process, Path(folder) / "log", set(names))
            yield
        finally:
            for one in names:
                await api.delete(f"{NODES}/{one}")
            process.terminate()
            process.wait(timeout=20)


def _require_that_nothing_leaves() -> None:
    """Refuse to go on if a node would send packets for simulated pods anywhere."""
    for node in cluster_command(
        "kubectl", "get", "nodes", "-l", "type!=kwok", "-o", "name"
    ).split():
        machine = node.removeprefix("node/")
        try:
            route = cluster_command("enter", machine, "ip", "route", "get", _ONE_ADDRESS)
        except BenchmarkFailed:
            continue
        raise BenchmarkFailed(
            f"{machine} would send packets for simulated pods away ({route}); "
            f"add the route `unreachable {ADDRESSES}` there"
        )


def _start(program: Path, kubeconfig: str, log: Path) -> "subprocess.Popen[bytes]":
    with log.open("w") as output:
        return subprocess.Popen(
            [
                str(program),
                f"--kubeconfig={kubeconfig}",
                "--manage-nodes-with-label-selector=type=kwok",
                f"--cidr={ADDRESSES}",
                "--node-lease-duration-seconds=40",
            ],
            stdout=output,
            stderr=subprocess.STDOUT,
        )


async def _wait_until_ready(
    api: Api, process: "subprocess.Popen[bytes]", log: Path, names: set[str]
) -> None:
    for _ in range(120):
        if process.poll() is not None:
            raise BenchmarkFailed(f"kwok ended: {_end_of(log)}")
        nodes = await api.list(NODES, labelSelector="type=kwok")
        if names <= {node["metadata"]["name"] for node in nodes if _is_ready(node)}:
            return
        await asyncio.sleep(0.5)
    raise BenchmarkFailed(f"simulated nodes are not Ready after 60 s: {_end_of(log)}")


def _end_of(log: Path) -> str:
    return log.read_text()[-800:]


def _is_ready(node: Json) -> bool:
    return any(
        condition["type"] == "Ready" and condition["status"] == "True"
        for condition in node.get("status", {}).get("conditions", [])
    )


def _node(name: str) -> Json:
    room = {"cpu": "2000", "memory": "8Ti", "pods": str(_PODS_A_NODE)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {"type": "kwok", "kubernetes.io/hostname": name},
        },
        "spec": {"taints": [_TAINT]},
        "status": {"allocatable": room, "capacity": room},
    }
