"""A job that cannot be helped now is left alone until its pause is over, whatever the operator has written of it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest

from sluice.core.asking import PAUSED
from sluice.errors import ClusterUnavailable, Conflict, InvalidSpec, NotAllowed, Problem
from sluice.ports import PODS, STREAM_JOBS, Json, Resource
from sluice.services.operating import Operator
from tests.support.cluster import MemoryCluster
from tests.support.jobs import resource
from tests.support.virtual_time import in_virtual_time
from tests.unit.services.test_operating import at_work, operator

OTHER = {"image": "shop/clicks:2", "mainFile": "/opt/clicks.py"}
BROKEN = ClusterUnavailable("500: failed calling webhook")
QUOTA = InvalidSpec([Problem("pods", None, "exceeded quota: small")])


class Unwilling(MemoryCluster):
    """A hundred times it makes no pod; `tries` are the seconds at which it was asked for one."""

    def __init__(self, why: Exception) -> None:
        super().__init__()
        self._why = why
        self.tries: list[float] = []

    async def create(self, resource: Resource, body: Mapping[str, Any]) -> Json:
        if resource != PODS or len(self.tries) == 100:
            return await super().create(resource, body)
        self.tries.append(asyncio.get_running_loop().time())
        raise self._why


@asynccontextmanager
async def refused(
    why: Exception = BROKEN, *, lag: float = 0.1
) -> AsyncIterator[tuple[Unwilling, Operator]]:
    """A job without a driver, and an operator whose watch tells everything so many seconds late; at 0 it tells of a
    write before that is answered.
    """
    cluster = Unwilling(why)
    one = operator(cluster)

    def tell(kind: str, plural: str, body: Json) -> None:
        told = {"ADDED": one.job_changed, "MODIFIED": one.job_changed, "DELETED": one.job_gone}
        if plural == STREAM_JOBS.plural and lag:
            asyncio.get_running_loop().call_later(lag, told[kind], body)
        elif plural == STREAM_JOBS.plural:
            told[kind](body)

    cluster.watchers.append(tell)
    cluster.put(STREAM_JOBS, resource())
    async with at_work(one):
        yield cluster, one


def changed(cluster: MemoryCluster, **changes: Any) -> None:
    """A user changes the job."""
    cluster.put(STREAM_JOBS, {**resource(**changes), "status": cluster.status()})


def pauses(cluster: Unwilling) -> list[float]:
    """The seconds between one try and the next."""
    return [later - sooner for sooner, later in pairwise(cluster.tries)]


@in_virtual_time
@pytest.mark.parametrize("lag", [0, 0.1], ids=["before its answer", "after its answer"])
@pytest.mark.parametrize(
    ("why", "first"),
    [(ClusterUnavailable("500"), 0.5), (NotAllowed("403"), 0.5), (Conflict("409"), 0.05)],
    ids=["500", "403", "409"],
)
async def test_the_event_of_an_own_status_cuts_no_pause_short(
    why: Exception, first: float, lag: float
) -> None:
    async with refused(why, lag=lag) as (cluster, _):
        await asyncio.sleep(600)
    told = pauses(cluster)
    assert len(told) > 12
    assert told == pytest.approx([min(60, first * 2**number) for number in range(len(told))])


@in_virtual_time
async def test_a_refused_pod_is_tried_again_when_the_pause_that_is_told_is_over() -> None:
    async with refused(QUOTA) as (cluster, _):
        await asyncio.sleep(300)
    first, second, third, *_ = pauses(cluster)
    assert 7.5 < first < 12.5
    assert 15 < second < 25
    assert 30 < third < 50


@in_virtual_time
@pytest.mark.parametrize(
    "change",
    [
        {"generation": 2, "application": OTHER},
        {"annotations": {"sluice.dev/allow-migration": "claim://shop/checkpoints/clicks"}},
    ],
    ids=["spec", "annotation"],
)
async def test_what_a_user_changes_is_looked_at_at_once(change: dict[str, Any]) -> None:
    async with refused() as (cluster, _):
        await asyncio.sleep(200)
        cluster.tries.clear()
        changed(cluster, **change)
        await asyncio.sleep(0.2)
        assert len(cluster.tries) == 1


@in_virtual_time
async def test_a_job_that_is_paused_or_deleted_is_tried_no_more() -> None:
    async with refused() as (cluster, _):
        await asyncio.sleep(10)
        cluster.tries.clear()
        changed(cluster, annotations={PAUSED: "true"})
        await asyncio.sleep(0.2)
        assert cluster.status()["phase"] == "Paused"
        cluster.remove(STREAM_JOBS, "shop", "clicks")
        await asyncio.sleep(300)
        assert cluster.tries == []


@in_virtual_time
async def test_a_change_that_the_answer_to_a_write_brings_first_is_looked_at_when_its_event_comes() -> (
    None
):
    async with refused() as (cluster, one):
        await asyncio.sleep(200)
        cluster.tries.clear()
        known = cluster.put(
            STREAM_JOBS,
            {**resource(generation=2, application=OTHER), "status": cluster.status()},
        )
        one.fleet.see_job(known)
        await asyncio.sleep(0.2)
        assert len(cluster.tries) == 1


@in_virtual_time
async def test_when_the_watch_begins_anew_every_job_is_looked_at() -> None:
    async with refused() as (cluster, one):
        await asyncio.sleep(200)
        cluster.tries.clear()
        known = cluster.stored(STREAM_JOBS, "clicks")
        assert known is not None
        one.job_listed(known)
        await asyncio.sleep(0.2)
        assert len(cluster.tries) == 1
