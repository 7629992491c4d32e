"""The operator as users run it: its own image, installed by Helm, with rights in one namespace of jobs."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from bench import images, processes, report
from bench.api import (
    CONFIG_MAPS,
    JOBS,
    NAMESPACES,
    PODS,
    Api,
    cluster_command,
    find_kubeconfig,
)
from bench.processes import Processes
from bench.progress import BenchmarkFailed, Progress
from bench.simulation import simulated_nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """A running operator: the namespace of its jobs, and its processes."""

    jobs_namespace: str
    home: str
    processes: Processes

    def require_alive(self) -> None:
        """Raise BenchmarkFailed if it has ended since: what it took then counts as none, which keeps every goal."""
        if self.processes.ended:
            raise BenchmarkFailed(
                f"the operator in {self.home} has ended while it was measured: `kubectl describe pod` says why"
            )


@asynccontextmanager
async def operator_of_simulated_jobs(
    jobs: int, progress: Progress
) -> AsyncIterator[tuple[Api, Installation]]:
    """An operator of the present sources, with room for the drivers of so many jobs on simulated nodes."""
    kubeconfig = find_kubeconfig()
    name = f"bench-{secrets.token_hex(3)}"
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(Api(kubeconfig))
        nodes = simulated_nodes(api, kubeconfig, pods=jobs, name=name, progress=progress)
        await stack.enter_async_context(nodes)
        operator = await stack.enter_async_context(
            _installed_operator(api, name=name, progress=progress)
        )
        yield api, operator


async def versions(api: Api) -> dict[str, str]:
    """Of what takes part."""
    return {"kubernetes": await api.version(), **report.versions("kopf", "aiohttp")}


@asynccontextmanager
async def _installed_operator(
    api: Api, *, name: str, progress: Progress
) -> AsyncIterator[Installation]:
    """An operator of the present sources for as long as the block runs; its jobs go with it."""
    jobs, home = f"{name}-jobs", f"{name}-system"
    progress.say("building and loading the operator's image")
    images.load("operator")
    try:
        await _create_namespace(api, jobs, {"pod-security.kubernetes.io/enforce": "restricted"})
        progress.say("installing the operator")
        _install(jobs, home)
        yield Installation(
            jobs_namespace=jobs, home=home, processes=await _operator_processes(api, home)
        )
    finally:
        await remove_jobs(api, jobs, progress)
        progress.say("removing the operator")
        cluster_command("helm", "uninstall", "sluice", "-n", home, "--ignore-not-found", "--wait")
        for namespace in (jobs, home):
            await api.delete(f"{NAMESPACES}/{namespace}")


async def remove_jobs(api: Api, namespace: str, progress: Progress) -> None:
    """Delete all jobs of a namespace, and wait until their pods and maps are gone, too."""
    progress.say("deleting the jobs")
    await api.delete(JOBS.format(namespace))
    # The garbage collector would find them, but at its own pace: 20 deletions a second.
    for kind in (PODS, CONFIG_MAPS):
        await api.delete(kind.format(namespace), labelSelector="sluice.dev/job")
    left = -1
    for _ in range(600):
        left = await api.count(PODS.format(namespace)) + await api.count(JOBS.format(namespace))
        if not left:
            return
        await asyncio.sleep(1)
    raise BenchmarkFailed(f"{left} jobs and pods of {namespace} are still there after 10 minutes")


def _install(jobs: str, home: str) -> None:
    cluster_command("kubectl", "apply", "--server-side", "--force-conflicts", "-f", "crds/")
    cluster_command(
        *("helm", "install", "sluice", "charts/sluice", "-n", home, "--create-namespace"),
        *("--set", "image.tag=dev", "--set", f"watchNamespaces={{{jobs}}}"),
        *("--wait", "--timeout", "120s"),
    )


async def _create_namespace(api: Api, name: str, labels: dict[str, str]) -> None:
    metadata = {"name": name, "labels": labels}
    await api.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})


async def _operator_processes(api: Api, home: str) -> Processes:
    pods = await api.list(PODS.format(home), labelSelector="app.kubernetes.io/name=sluice")
    found = processes.of_pod(pods[0]["metadata"]["uid"]) if pods else Processes(())
    if not found.ids:
        raise BenchmarkFailed(
            f"no process of the operator's pod in {home} on this machine; the benchmarks need the "
            "cluster of `python3 -m e2e.cluster up` on this machine, and root"
        )
    return found
