"""The whole operator: it sees everything before it acts, and only one of two acts."""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from sluice.core.application import JobKey
from sluice.manifests.children import agent_token
from sluice.manifests.pods import driver_pod
from sluice.ports import PODS, SECRETS, STREAM_JOBS, Json, Metrics, Resource
from sluice.services.operating import Operator, Scope
from tests.support import pods
from tests.support.agents import MemoryAgents
from tests.support.cluster import MemoryCluster
from tests.support.forecasts import LocalForecasts
from tests.support.jobs import job, resource
from tests.support.metrics import MemoryMetrics
from tests.support.virtual_time import VirtualClock, in_virtual_time


class Slow(MemoryCluster):
    """It takes its time to give the operator's secret."""

    async def create(self, resource: Resource, body: Mapping[str, Any]) -> Json:
        if resource == SECRETS:
            await asyncio.sleep(2)
        return await super().create(resource, body)


def operator(
    cluster: MemoryCluster,
    *,
    identity: str = "one",
    namespaces: str = "",
    metrics: Metrics | None = None,
) -> Operator:
    """An operator that starts to look after the cluster."""
    scope = Scope(namespaces=tuple(namespaces.split()), home="home", identity=identity)
    return Operator(
        cluster=cluster,
        agents=MemoryAgents(VirtualClock()),
        metrics=metrics,
        forecasts=LocalForecasts(),
        clock=VirtualClock(),
        scope=scope,
        agent=b"packed",
        fresh_key=b"fresh",
    )


@asynccontextmanager
async def at_work(*operators: Operator) -> AsyncIterator[None]:
    """Operators' processes, for a while."""
    tasks = [asyncio.create_task(one.run()) for one in operators]
    try:
        yield
        assert not any(task.done() for task in tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def made(cluster: MemoryCluster) -> list[str]:
    """The pods that were created."""
    return [write for write in cluster.writes if write.startswith("create pods")]


@in_virtual_time
async def test_an_operator_that_takes_over_looks_at_every_job() -> None:
    cluster = MemoryCluster()
    for name in ("a", "b", "c"):
        cluster.put(STREAM_JOBS, resource(name))
    async with at_work(operator(cluster)):
        await asyncio.sleep(1)
    assert sorted(made(cluster)) == [f"create pods/{name}-driver" for name in "abc"]


@in_virtual_time
async def test_a_job_that_comes_during_the_beginning_gets_its_secrets_from_the_stored_key() -> None:
    cluster = Slow()
    one = operator(cluster)
    async with at_work(one):
        await asyncio.sleep(1)
        one.job_changed(cluster.put(STREAM_JOBS, resource()))
        await asyncio.sleep(0.5)
        assert made(cluster) == []
        await asyncio.sleep(5)
    secret = next(call.body for call in cluster.calls if str(call) == "create secrets/clicks-auth")
    expected = agent_token("uid-of-clicks", b"fresh")
    assert base64.b64decode(secret["data"]["agent-token"]).decode() == expected


@in_virtual_time
async def test_of_two_operators_one_acts_and_the_other_goes_on_where_it_stopped() -> None:
    cluster = MemoryCluster()
    first, second = operator(cluster, identity="first"), operator(cluster, identity="second")
    async with at_work(second):
        async with at_work(first):
            await asyncio.sleep(1)
            for one in (first, second):
                one.job_changed(cluster.put(STREAM_JOBS, resource("a")))
            await asyncio.sleep(1)
            assert made(cluster) == ["create pods/a-driver"]
        await asyncio.sleep(30)
        second.job_changed(cluster.put(STREAM_JOBS, resource("b")))
        await asyncio.sleep(1)
    assert made(cluster) == ["create pods/a-driver", "create pods/b-driver"]


@in_virtual_time
async def test_an_operator_looks_only_into_its_namespaces() -> None:
    cluster = MemoryCluster()
    for namespace in ("shop", "bank", "lab"):
        cluster.put(STREAM_JOBS, resource(namespace, namespace=namespace))
    async with at_work(operator(cluster, namespaces="shop bank")):
        await asyncio.sleep(1)
    assert sorted(made(cluster)) == ["create pods/bank-driver", "create pods/shop-driver"]


@in_virtual_time
async def test_an_object_that_cannot_be_read_keeps_the_operator_from_no_other() -> None:
    cluster = MemoryCluster()
    cluster.put(STREAM_JOBS, {**resource("bad"), "status": {"conditions": ["?"]}})
    cluster.put(STREAM_JOBS, resource("good"))
    async with at_work(operator(cluster)):
        await asyncio.sleep(1)
    assert made(cluster) == ["create pods/good-driver"]


@in_virtual_time
async def test_events_of_a_job_and_its_pods_lead_to_a_look() -> None:
    cluster = MemoryCluster()
    one = operator(cluster)
    async with at_work(one):
        await asyncio.sleep(1)
        one.job_changed(cluster.put(STREAM_JOBS, resource()))
        await asyncio.sleep(1)
        one.pod_gone(cluster.remove(PODS, "shop", "clicks-driver"))
        await asyncio.sleep(1)
        assert len(made(cluster)) == 2
        one.job_gone(cluster.remove(STREAM_JOBS, "shop", "clicks"))
        one.pod_gone(cluster.remove(PODS, "shop", "clicks-driver"))
        await asyncio.sleep(1)
    assert len(made(cluster)) == 2


@in_virtual_time
async def test_metrics_are_asked_for_as_soon_as_the_jobs_are_known_and_so_their_windows() -> None:
    cluster, metrics = Slow(), MemoryMetrics({})
    cluster.put(STREAM_JOBS, resource(slo={"window": "1h"}))
    async with at_work(operator(cluster, metrics=metrics)):
        await asyncio.sleep(1)
        assert metrics.asked == []
        await asyncio.sleep(5)
        assert any("[3600s]" in query for query in metrics.asked)
        assert len(metrics.asked) == len(set(metrics.asked)), "one round was enough"


class Behind(MemoryCluster):
    """What a list tells of pods and jobs is told when somebody else has read on."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: dict[str, Callable[[], None]] = {}

    async def each(
        self, resource: Resource, namespace: str | None, **how: Any
    ) -> AsyncIterator[Json]:
        read = [body async for body in super().each(resource, namespace, **how)]
        self.meanwhile.pop(resource.plural, lambda: None)()
        for body in read:
            yield body


def with_driver(cluster: MemoryCluster) -> Json:
    """A job whose driver was started, and runs."""
    status = {"incarnation": 1, "phase": "Running", "observedGeneration": 1}
    cluster.put(STREAM_JOBS, {**resource(), "status": status})
    made = driver_pod(job(), 1)
    return cluster.put(PODS, pods.running(made))


@in_virtual_time
async def test_a_driver_that_goes_while_an_operator_takes_over_is_followed_by_another() -> None:
    cluster = Behind()
    with_driver(cluster)
    one = operator(cluster)
    cluster.meanwhile["pods"] = lambda: one.pod_gone(cluster.remove(PODS, "shop", "clicks-driver"))
    async with at_work(one):
        await asyncio.sleep(60)
    assert one.fleet.driver(JobKey("shop", "clicks")) is not None
    assert made(cluster) == ["create pods/clicks-driver"]


@in_virtual_time
async def test_a_driver_that_ends_while_an_operator_takes_over_is_followed_by_another() -> None:
    cluster = Behind()
    runs = with_driver(cluster)
    one = operator(cluster)
    cluster.meanwhile["pods"] = lambda: one.pod_changed(cluster.put(PODS, pods.failed(runs)))
    async with at_work(one):
        await asyncio.sleep(5)
        driver = one.fleet.driver(JobKey("shop", "clicks"))
        assert driver is None or driver.is_over


@in_virtual_time
async def test_a_job_that_goes_while_an_operator_takes_over_is_not_started() -> None:
    cluster = Behind()
    cluster.put(STREAM_JOBS, resource())
    one = operator(cluster)
    cluster.meanwhile["streamjobs"] = lambda: one.job_gone(
        cluster.remove(STREAM_JOBS, "shop", "clicks")
    )
    async with at_work(one):
        await asyncio.sleep(60)
    assert len(one.fleet) == 0
    assert made(cluster) == []
