"""One operator acts at a time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from sluice.errors import ClusterUnavailable, NotFound
from sluice.ports import LEASES, PODS
from sluice.services.gate import LeaderOnly
from sluice.services.leadership import ASK_EVERY, DURATION, Leadership
from tests.support.cluster import MemoryCluster
from tests.support.virtual_time import VirtualClock, in_virtual_time

LONG = DURATION.total_seconds()


def contender(cluster: MemoryCluster, name: str) -> Leadership:
    return Leadership(cluster, VirtualClock(), namespace="home", name="lease", identity=name)


async def nothing() -> None:
    """What a test begins with when it leads."""


@asynccontextmanager
async def keeping(*all_of_them: Leadership) -> AsyncIterator[list["asyncio.Task[None]"]]:
    tasks = [asyncio.create_task(one.keep(nothing)) for one in all_of_them]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Unreachable(MemoryCluster):
    """A cluster that can be cut off."""

    def __init__(self) -> None:
        super().__init__()
        self.is_away = False

    def _answer(self, verb: str, resource: object) -> None:
        if self.is_away:
            raise ClusterUnavailable("timeout")


@in_virtual_time
async def test_the_first_leads_and_the_second_waits_as_long_as_it_lives() -> None:
    cluster = MemoryCluster()
    first, second = contender(cluster, "first"), contender(cluster, "second")
    async with keeping(first):
        await asyncio.sleep(1)
        async with keeping(second):
            for _ in range(100):
                await asyncio.sleep(1)
                assert first.is_held
                assert not second.is_held


@in_virtual_time
async def test_two_that_start_together_never_both_lead() -> None:
    cluster = MemoryCluster()
    both = [contender(cluster, name) for name in ("a", "b")]
    async with keeping(*both):
        for _ in range(200):
            await asyncio.sleep(0.25)
            assert sum(one.is_held for one in both) <= 1
    assert cluster.calls


@in_virtual_time
async def test_one_that_stops_gives_the_lease_up_at_once() -> None:
    cluster = MemoryCluster()
    first, second = contender(cluster, "first"), contender(cluster, "second")
    async with keeping(first) as tasks:
        await asyncio.sleep(1)
        async with keeping(second):
            await asyncio.sleep(5)
            assert first.is_held
            tasks[0].cancel()
            await asyncio.sleep(ASK_EVERY + 0.1)
            assert not first.is_held
            assert second.is_held


@in_virtual_time
async def test_one_that_dies_silently_is_followed_when_its_lease_has_run_out() -> None:
    cluster = MemoryCluster()
    cut = Unreachable()
    cut.share(cluster)
    dead, heir = contender(cut, "dead"), contender(cluster, "heir")
    async with keeping(dead):
        await asyncio.sleep(1)
        async with keeping(heir):
            await asyncio.sleep(10)
            cut.is_away = True
            died = asyncio.get_running_loop().time()
            while not heir.is_held:
                assert asyncio.get_running_loop().time() < died + 2 * LONG
                await asyncio.sleep(0.1)
                assert not (dead.is_held and heir.is_held)
            assert asyncio.get_running_loop().time() - died >= LONG - 4


@in_virtual_time
async def test_one_that_cannot_renew_stops_acting_before_another_may_begin() -> None:
    cluster = Unreachable()
    one = contender(cluster, "one")
    async with keeping(one):
        await asyncio.sleep(1)
        assert one.is_held
        cluster.is_away = True
        await asyncio.sleep(LONG)
        assert not one.is_held


@in_virtual_time
async def test_a_clock_that_is_wrong_elsewhere_gives_nobody_the_lease() -> None:
    cluster = MemoryCluster()
    old = {"holderIdentity": "other", "leaseDurationSeconds": int(LONG), "leaseTransitions": 3}
    body = {
        "metadata": {"name": "lease", "namespace": "home"},
        "spec": {
            **old,
            "acquireTime": "1999-01-01T00:00:00.000000Z",
            "renewTime": "1999-01-01T00:00:00.000000Z",
        },
    }
    cluster.put(LEASES, body)
    one = contender(cluster, "one")
    async with keeping(one):
        await asyncio.sleep(LONG - 1)
        assert not one.is_held
        await asyncio.sleep(5)
        assert one.is_held
    taken = cluster.stored(LEASES, "lease", "home")
    assert taken is not None
    assert taken["spec"]["leaseTransitions"] == 4


@in_virtual_time
async def test_a_lease_that_somebody_deletes_is_made_again() -> None:
    cluster = MemoryCluster()
    one = contender(cluster, "one")
    async with keeping(one) as tasks:
        await asyncio.sleep(1)
        cluster.refuse("replace", LEASES, NotFound("deleted between two requests"))
        await asyncio.sleep(10)
        cluster.remove(LEASES, "home", "lease")
        await asyncio.sleep(10)
        assert one.is_held
        assert not tasks[0].done()


@in_virtual_time
async def test_leadership_that_cannot_begin_begins_again() -> None:
    attempts: list[float] = []

    async def begin() -> None:
        attempts.append(asyncio.get_running_loop().time())
        if len(attempts) < 3:
            raise ClusterUnavailable("half an overview")

    one = contender(MemoryCluster(), "one")
    task = asyncio.create_task(one.keep(begin))
    await asyncio.sleep(30)
    assert len(attempts) == 3
    assert one.is_held
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@in_virtual_time
async def test_nobody_acts_before_it_has_seen_everything() -> None:
    acted_early: list[bool] = []
    one = contender(MemoryCluster(), "one")

    async def begin() -> None:
        await asyncio.sleep(3 * LONG)
        acted_early.append(one.is_held)

    task = asyncio.create_task(one.keep(begin))
    await asyncio.sleep(3 * LONG + 1)
    assert acted_early == [False]
    assert one.is_held
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@in_virtual_time
async def test_a_long_beginning_keeps_the_lease() -> None:
    cluster = MemoryCluster()
    slow, rival = contender(cluster, "slow"), contender(cluster, "rival")

    async def begin() -> None:
        await asyncio.sleep(4 * LONG)

    task = asyncio.create_task(slow.keep(begin))
    await asyncio.sleep(1)
    async with keeping(rival):
        await asyncio.sleep(5 * LONG)
        assert slow.is_held
        assert not rival.is_held
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@in_virtual_time
async def test_nobody_writes_without_leading() -> None:
    cluster = MemoryCluster()
    one = contender(cluster, "one")
    gate = LeaderOnly(cluster, one)
    pod = {"metadata": {"namespace": "shop", "name": "a"}}
    for write in (
        gate.create(PODS, pod),
        gate.apply(PODS, pod),
        gate.amend(PODS, pod, tests={}),
        gate.replace(PODS, pod),
        gate.delete(PODS, "shop", "a", uid="b"),
        gate.resize(pod),
    ):
        with pytest.raises(ClusterUnavailable, match="not the leader"):
            await write
    assert cluster.calls == []
    async with keeping(one):
        await asyncio.sleep(1)
        await gate.create(PODS, pod)
    assert cluster.pod("a") is not None
