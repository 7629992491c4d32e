"""An operator that takes over goes on exactly where the former one was."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from sluice.errors import ClusterUnavailable
from sluice.ports import LEASES, PODS, Json, Resource
from sluice.services.polling import OLDEST
from tests.support.cluster import MemoryCluster
from tests.support.jobs import NOW, query, report
from tests.support.virtual_time import in_virtual_time
from tests.support.world import World, world
from tests.unit.services.test_reconciling import LEASE, started

FLOWING = report(query(arrival_rate=10.0, backlog_rows=150.0))


async def flows(here: World) -> None:
    """A job whose rows flow, and whose status tells it."""
    await started(here)
    await here.answers(FLOWING)
    await asyncio.sleep(10)
    await here.look()
    here.cluster.calls.clear()


async def loses_its_driver(here: World) -> None:
    """The driver has ended, and the next one is made."""
    here.ends()
    await here.look()
    here.gone()
    await asyncio.sleep(20)
    await here.look()


def conditions(cluster: MemoryCluster) -> dict[str, Any]:
    return {condition["type"]: condition for condition in cluster.status()["conditions"]}


@in_virtual_time
async def test_what_the_former_operator_told_holds_until_the_agent_has_answered() -> None:
    async with world() as former:
        await flows(former)
    before = former.cluster.status()
    await asyncio.sleep(60)
    async with world(former.cluster) as here:
        await here.look()
        assert here.cluster.writes == []
        await here.answers(FLOWING)
        await here.look()
        await here.look()
        assert here.cluster.status() == before


@in_virtual_time
async def test_a_silence_is_told_by_a_successor_once_it_has_lasted() -> None:
    async with world() as former:
        await flows(former)
    async with world(former.cluster) as here:
        await here.look()
        await asyncio.sleep(OLDEST.total_seconds())
        await here.look()
        assert here.cluster.writes == []
        here.told.clear()
        await asyncio.sleep(5)
        assert here.told, "it is looked at again by itself"
        await here.look()
        told = conditions(here.cluster)
        assert told["DriverRunning"]["reason"] == told["Ready"]["reason"] == "AgentSilent"
        assert "nobody answers" in told["Ready"]["message"]
        assert here.cluster.status()["phase"] == "Starting"


@in_virtual_time
async def test_a_driver_that_no_former_operator_has_heard_starts() -> None:
    async with world() as former:
        await flows(former)
        await loses_its_driver(former)
    former.runs()
    async with world(former.cluster) as here:
        await here.look()
        assert here.cluster.status()["phase"] == "Starting"
        assert conditions(here.cluster)["DriverRunning"]["reason"] == "AgentSilent"


@in_virtual_time
async def test_a_successor_tells_what_it_does_before_the_agent_has_answered() -> None:
    async with world() as former:
        await flows(former)
    async with world(former.cluster) as here:
        await here.declare(generation=2, suspend=True)
        assert here.cluster.writes == ["apply streamjobs/clicks", "delete pods/clicks-driver"]
        assert here.cluster.status()["phase"] == "Stopping"


@in_virtual_time
async def test_the_lag_that_was_usual_is_known_to_a_successor_that_finds_the_driver_lost() -> None:
    async with world() as former:
        await flows(former)
    former.ends()
    async with world(former.cluster) as here:
        await here.look()
        assert here.cluster.status()["recoveries"]["present"]["usualLag"] == 15


@in_virtual_time
async def test_a_recovery_ends_when_it_did_also_if_the_operator_ended_in_between() -> None:
    async with world() as former:
        await flows(former)
        await loses_its_driver(former)
        former.runs()
        await former.look()
        await former.answers(replace(FLOWING, incarnation=2, application_id="app"))
        await former.look()
        calm = former.cluster.status()["recoveries"]["present"]["calm"]
    await asyncio.sleep(300)
    later = query(committed_at=former.clock.now(), arrival_rate=10.0, backlog_rows=150.0)
    async with world(former.cluster) as here:
        await here.look()
        await here.answers(report(later, incarnation=2))
        await here.look()
        assert here.cluster.status()["recoveries"]["past"][0]["caughtUp"] == calm


async def not_made(here: World) -> None:
    """An operator that ends after it has granted the Lease, and before it makes the pod."""
    here.cluster.refuse("create", PODS, ClusterUnavailable("killed"))
    with pytest.raises(ClusterUnavailable):
        await here.declare()


def holder(cluster: MemoryCluster) -> str:
    lease = cluster.stored(LEASES, LEASE)
    assert lease is not None
    return str(lease["spec"]["holderIdentity"])


@in_virtual_time
async def test_a_driver_that_was_never_made_is_not_waited_for() -> None:
    async with world() as former:
        await not_made(former)
    async with world(former.cluster) as here:
        await here.look()
        assert here.cluster.pod() is not None
        assert holder(here.cluster) == "uid-of-clicks/2"


@in_virtual_time
async def test_a_driver_that_has_held_its_lease_is_waited_for() -> None:
    async with world() as former:
        await former.declare()
        former.takes_lease()
        former.gone()
    async with world(former.cluster) as here:
        await here.look()
        assert here.cluster.status()["incarnation"] == 2
        assert holder(here.cluster) == "uid-of-clicks/1"


@in_virtual_time
async def test_a_driver_that_takes_its_lease_at_the_last_moment_keeps_it() -> None:
    class Late(MemoryCluster):
        """The agent of a driver that was not seen renews its Lease when that has just been read."""

        async def get(self, resource: Resource, namespace: str, name: str) -> Json:
            found = await super().get(resource, namespace, name)
            if resource == LEASES:
                renewed = {**found["spec"], "renewTime": NOW.isoformat()}
                self.put(LEASES, {**found, "spec": renewed})
            return found

    async with world(Late()) as former:
        await not_made(former)
    async with world(former.cluster) as here:
        await here.look()
        assert holder(here.cluster) == "uid-of-clicks/1"
