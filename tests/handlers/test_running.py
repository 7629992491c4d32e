"""A whole operator in this process, against an API server on the loopback."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import kopf
import pytest
import yaml

from sluice.adapters.credentials import Credentials
from sluice.api.crds import KINDS, STREAM_JOB, object_schema
from sluice.handlers import kinds, sweeping
from sluice.handlers.running import run_operator
from sluice.manifests.pods import driver_pod
from sluice.ports import LEASES, PODS, STREAM_JOBS, Json, Resource
from sluice.services.operating import Operator
from sluice.settings import Settings
from tests.support import pods
from tests.support.apiserver import ApiServer, serving
from tests.support.cluster import MemoryCluster
from tests.support.jobs import job, resource
from tests.support.ports import free_port


@dataclass(frozen=True, slots=True)
class Running:
    """The server that the operator works on, and the address at which it tells of its health."""

    server: ApiServer
    address: str

    async def health(self, path: str) -> int:
        """The code of the answer to a probe."""
        async with (
            aiohttp.ClientSession() as client,
            client.get(f"{self.address}/{path}") as answer,
        ):
            return answer.status

    async def pod(self, incarnation: int) -> Json:
        """The driver pod of that incarnation, as soon as it is there."""
        cluster, number = self.server.cluster, str(incarnation)

        def is_there() -> bool:
            pod = cluster.pod()
            return pod is not None and pod["metadata"]["labels"]["sluice.dev/incarnation"] == number

        await self.server.until(is_there, f"the driver pod of incarnation {number}")
        pod = cluster.pod()
        assert pod is not None
        return pod


@asynccontextmanager
async def operating(
    namespaces: str = "",
    *,
    has_crds: bool = True,
    publishes: bool = True,
    first_lacks: str = "",
    found: Callable[[MemoryCluster], None] = lambda _: None,
) -> AsyncIterator[Running]:
    """An operator that watches and leads. Without CRDs, or a part of the status in them, they come once it has asked;
    it is not ready before. `found` makes the cluster as the operator finds it.
    """
    port = free_port()
    settings = Settings(
        home="home",
        identity="one",
        health_port=port,
        metrics_port=free_port(),
        namespaces=namespaces,
        workers=2,
    )
    async with serving() as (server, address):
        server.has_crds = has_crds
        found(server.cluster)
        whole = {kind.name: object_schema(kind) for kind in KINDS} if publishes else {}
        lacking = {"StreamJob": without_status(first_lacks)} if first_lacks else {}
        server.schemas = {**whole, **lacking}
        credentials = Credentials(server=address)
        task = asyncio.create_task(run_operator(settings, credentials, fresh_key=b"fresh"))
        running = Running(server, f"http://127.0.0.1:{port}")
        try:
            await server.until(lambda: has_crds or server.refused > 0, "a question for StreamJobs")
            await server.until(lambda: not has_crds or server.described > 0, "one for schemas")
            if first_lacks or not has_crds:
                assert await running.health("healthz") == 200
                assert await running.health("readyz") == 503
                assert server.watched == set()
            server.has_crds, server.schemas = True, whole
            await server.until(
                lambda: server.watched == {"pods", "streamjobs", "streamprofiles"}, "all watches"
            )
            await server.until(lambda: _holder(server) == "one", "the lease")
            yield running
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def without_status(field: str) -> Json:
    """A StreamJob's schema of a version that did not know a part of the status."""
    schema = object_schema(STREAM_JOB)
    del schema["properties"]["status"]["properties"][field]
    return schema


def _holder(server: ApiServer) -> str | None:
    """Who has the Lease."""
    lease = server.cluster.stored(LEASES, "sluice-operator", "home")
    return lease["spec"]["holderIdentity"] if lease is not None else None


async def test_a_stream_job_that_appears_gets_a_driver_and_a_status() -> None:
    async with operating() as running:
        cluster = running.server.cluster
        cluster.put(STREAM_JOBS, resource())
        pod = await running.pod(1)
        assert pod["metadata"]["ownerReferences"][0]["uid"] == "uid-of-clicks"
        assert cluster.status()["incarnation"] == 1


async def test_a_failed_driver_is_followed_by_the_next_incarnation_after_its_back_off() -> None:
    async with operating() as running:
        server, cluster = running.server, running.server.cluster
        cluster.put(STREAM_JOBS, resource(restart={"initialBackoff": "1s"}))
        first = await running.pod(1)
        cluster.put(PODS, pods.failed(first))
        await server.until(
            lambda: "deletionTimestamp" in (cluster.pod() or first)["metadata"],
            "the removal of the failed pod",
        )
        assert cluster.status()["failures"]["inARow"] == 1
        cluster.remove(PODS, "shop", "clicks-driver")
        second = await running.pod(2)
        assert second["metadata"]["uid"] != first["metadata"]["uid"]


async def test_users_objects_get_no_finalizer_and_no_annotation() -> None:
    async with operating() as running:
        cluster = running.server.cluster
        before = cluster.put(STREAM_JOBS, resource())["metadata"]
        await running.pod(1)
        stored = cluster.stored(STREAM_JOBS, "clicks")
        assert stored is not None
        after = stored["metadata"]
        assert {**after, "resourceVersion": ""} == {**before, "resourceVersion": ""}


async def test_only_pods_with_our_label_are_watched_everywhere() -> None:
    async with operating() as running:
        assert running.server.selectors == {
            ("pods", None, "sluice.dev/job"),
            ("streamjobs", None, ""),
            ("streamprofiles", None, ""),
        }


async def test_an_operator_of_one_namespace_watches_that_one_only() -> None:
    async with operating(namespaces="shop") as running:
        assert {namespace for _, namespace, _ in running.server.selectors} == {"shop"}
        running.server.cluster.put(STREAM_JOBS, resource())
        await running.pod(1)


async def test_an_operator_that_was_there_before_the_crds_works_when_they_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kinds, "ASK_AGAIN", 0.1)
    async with operating(has_crds=False) as running:
        running.server.cluster.put(STREAM_JOBS, resource())
        await running.pod(1)


async def test_an_operator_says_what_older_crds_lack_and_looks_after_jobs_when_they_have_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(kinds, "ASK_AGAIN", 0.1)
    async with operating(first_lacks="recoveries") as running:
        assert "streamjobs have no .status.recoveries" in caplog.text
        assert "kubectl apply --server-side --force-conflicts -f crds/" in caplog.text
        running.server.cluster.put(STREAM_JOBS, resource())
        await running.pod(1)


async def test_an_api_server_that_publishes_no_schemas_is_worked_with() -> None:
    async with operating(publishes=False) as running:
        running.server.cluster.put(STREAM_JOBS, resource())
        await running.pod(1)


async def test_a_driver_that_went_while_the_watches_were_away_is_followed_by_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sweeping, "EVERY", 0.2)
    async with operating() as running:
        server, cluster = running.server, running.server.cluster
        cluster.put(STREAM_JOBS, resource())
        await running.pod(1)
        await asyncio.sleep(0.5)
        server.is_mute = True
        cluster.remove(PODS, "shop", "clicks-driver")
        server.forget_watches()
        server.is_mute = False
        await running.pod(2)


async def test_a_driver_that_goes_before_the_watches_begin_is_followed_by_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where a node is drained that the operator was on, too; kopf first looks at all kinds that there are."""
    monkeypatch.setattr(sweeping, "EVERY", 0.2)
    has_gone, watching = asyncio.Event(), kopf.operator

    async def watching_later(**settings: Any) -> None:
        await has_gone.wait()
        await watching(**settings)

    def with_driver_that_goes(cluster: MemoryCluster) -> None:
        each = cluster.each

        async def listed(resource: Resource, namespace: str | None, **how: Any) -> Any:
            async for body in each(resource, namespace, **how):
                yield body
            if resource == PODS and not has_gone.is_set():
                cluster.remove(PODS, "shop", "clicks-driver")
                has_gone.set()

        cluster.put(STREAM_JOBS, {**resource(), "status": {"incarnation": 1}})
        cluster.put(PODS, pods.running(driver_pod(job(), 1)))
        monkeypatch.setattr(cluster, "each", listed)

    monkeypatch.setattr(kopf, "operator", watching_later)
    async with operating(found=with_driver_that_goes) as running:
        await running.pod(2)


async def test_what_a_list_tells_is_looked_at_also_if_a_watch_would_not_be_heeded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with operating() as running:
        server, cluster = running.server, running.server.cluster
        cluster.put(STREAM_JOBS, resource())
        await running.pod(1)
        monkeypatch.setattr(Operator, "job_changed", lambda *_: None)
        cluster.put(STREAM_JOBS, resource("views", checkpoint={"claim": "c", "path": "views"}))
        server.forget_watches()
        await server.until(lambda: cluster.pod("views-driver") is not None, "the other driver")


async def test_a_job_that_went_while_the_watches_were_away_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr(sweeping, "EVERY", 0.2)
    async with operating() as running:
        server, cluster = running.server, running.server.cluster
        cluster.put(STREAM_JOBS, resource())
        await running.pod(1)
        server.is_mute = True
        cluster.remove(STREAM_JOBS, "shop", "clicks")
        server.is_mute = False
        await server.until(lambda: "has gone untold" in caplog.text, "the sweep")
        cluster.calls.clear()
        cluster.remove(PODS, "shop", "clicks-driver")
        await asyncio.sleep(0.5)
        assert [write for write in cluster.writes if "leases" not in write] == []


async def test_it_says_that_it_is_alive_and_ready() -> None:
    async with operating() as running:
        assert [await running.health(path) for path in ("healthz", "readyz")] == [200, 200]


async def test_a_signal_ends_the_process_which_gives_the_lease_up(tmp_path: Path) -> None:
    async with serving() as (server, address):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "sluice", "run"),
            env={**os.environ, **_environment(tmp_path, address)},
        )
        await server.until(
            lambda: server.watched == {"pods", "streamjobs", "streamprofiles"}, "watches"
        )
        await server.until(lambda: _holder(server) == "one", "the lease")
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(20):
            assert await process.wait() == 0
        assert _holder(server) == ""


def _environment(folder: Path, address: str) -> dict[str, str]:
    """What a process needs to find that server."""
    config = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": address}}],
        "users": [{"name": "u", "user": {}}],
    }
    (folder / "kubeconfig").write_text(yaml.safe_dump(config))
    return {
        "KUBECONFIG": str(folder / "kubeconfig"),
        "SLUICE_OPERATOR_HOME": "home",
        "SLUICE_OPERATOR_IDENTITY": "one",
        "SLUICE_OPERATOR_HEALTH_PORT": str(free_port()),
    }
