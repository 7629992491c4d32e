"""A job that cannot be helped now is left alone until its pause is over, whatever the operator has written of it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest

from sluice.core.asking import PAUSED
from sluice.core.failures import JITTER
from sluice.errors import (
    ClusterUnavailable,
    Conflict,
    Declined,
    InvalidSpec,
    NotAllowed,
    NotFound,
    Problem,
)
from sluice.ports import PODS, STREAM_JOBS, Json, Resource
from sluice.services.operating import Operator
from tests.support.cluster import MemoryCluster
from tests.support.jobs import resource
from tests.support.virtual_time import VirtualClock, in_virtual_time
from tests.unit.services.test_operating import at_work, operator

OTHER = {"image": "shop/clicks:2", "mainFile": "/opt/clicks.py"}
BROKEN = ClusterUnavailable("POST pods: no answer in time")
AWAY = Declined("POST pods: 500: failed calling webhook: no endpoints available")
QUOTA = InvalidSpec([Problem("pods", None, "exceeded quota: small")])


class Unwilling(MemoryCluster):
    """A hundred times it makes no pod, unless it relents; `tries` are the seconds at which it was asked for one.

    For `down` seconds after the first of them it takes no status.
    """

    def __init__(self, why: Exception) -> None:
        super().__init__()
        self._why = why
        self._relents = False
        self.down = 0.0
        self.tries: list[float] = []

    def relent(self) -> None:
        """Make pods from now on."""
        self._relents = True

    async def create(self, resource: Resource, body: Mapping[str, Any]) -> Json:
        if resource != PODS or self._relents or len(self.tries) == 100:
            return await super().create(resource, body)
        self.tries.append(asyncio.get_running_loop().time())
        raise self._why

    async def apply(
        self, resource: Resource, body: Mapping[str, Any], *, subresource: str = ""
    ) -> Json:
        now = asyncio.get_running_loop().time()
        if subresource and self.tries and now < self.tries[0] + self.down:
            raise ClusterUnavailable("PATCH status: 503: no API server")
        return await super().apply(resource, body, subresource=subresource)


@asynccontextmanager
async def refused(
    why: Exception = BROKEN, *, lag: float = 0.1
) -> AsyncIterator[tuple[Unwilling, Operator]]:
    """A job without a driver, and an operator whose watches tell everything so many seconds late; at 0 they tell of a
    write before that is answered.
    """
    cluster = Unwilling(why)
    one = operator(cluster)
    watched = {
        STREAM_JOBS.plural: (one.job_changed, one.job_gone),
        PODS.plural: (one.pod_changed, one.pod_gone),
    }

    def tell(kind: str, plural: str, body: Json) -> None:
        changed, gone = watched.get(plural, (None, None))
        told = gone if kind == "DELETED" else changed
        if told is not None and lag:
            asyncio.get_running_loop().call_later(lag, told, body)
        elif told is not None:
            told(body)

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
    [(BROKEN, 0.5), (Conflict("409"), 0.05)],
    ids=["timeout", "conflict"],
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


def told(cluster: MemoryCluster) -> tuple[str, str]:
    """Reason and message of the condition of the driver."""
    conditions = {one["type"]: one for one in cluster.status()["conditions"]}
    return conditions["DriverRunning"]["reason"], conditions["DriverRunning"]["message"]


@in_virtual_time
@pytest.mark.parametrize(
    "why", [AWAY, NotAllowed("403: User cannot create"), NotFound("404: no namespace")], ids=str
)
async def test_a_start_that_the_cluster_cannot_do_now_tells_its_answer_and_when_it_is_tried_again(
    why: Exception,
) -> None:
    async with refused(why) as (cluster, _):
        await asyncio.sleep(40)
        status = cluster.status()
        reason, message = told(cluster)
        assert reason == "StartBackOff"
        assert str(why) in message
        assert "Tried again in" in message
        assert status["phase"] == "BackingOff"
        assert status["failures"]["nextStart"] > VirtualClock().now().isoformat()
        assert not status["failures"]["inARow"]


@in_virtual_time
async def test_of_a_start_that_was_not_answered_nothing_is_told_as_its_pod_may_come_yet() -> None:
    async with refused(BROKEN) as (cluster, _):
        await asyncio.sleep(40)
        assert told(cluster)[0] == "Pending"
        assert "reason" not in cluster.status()["failures"]


@in_virtual_time
async def test_a_start_is_put_off_for_as_long_as_it_has_been_and_a_minute_at_most() -> None:
    async with refused(AWAY) as (cluster, _):
        await asyncio.sleep(600)
    for tried, pause in zip(cluster.tries, pauses(cluster), strict=False):
        since = tried - cluster.tries[0]
        assert pause == pytest.approx(min(60, max(1, since)), rel=JITTER, abs=0.01)
    assert len(cluster.tries) > 12


@in_virtual_time
async def test_each_try_has_a_number_of_its_own_and_the_last_one_is_the_drivers() -> None:
    async with refused(AWAY) as (cluster, _):
        await asyncio.sleep(60)
        tries = len(cluster.tries)
        cluster.relent()
        await asyncio.sleep(100)
        pod = cluster.pod()
        assert pod is not None
        assert pod["metadata"]["labels"]["sluice.dev/incarnation"] == str(tries + 1)
        assert cluster.writes.count("create pods/clicks-driver") == 1
        assert told(cluster)[0] == "Pending"


@in_virtual_time
async def test_when_the_refusal_cannot_be_told_either_the_next_look_starts_anew() -> None:
    async with refused(AWAY) as (cluster, _):
        cluster.down = 60
        await asyncio.sleep(50)
        assert len(cluster.tries) == 1
        assert cluster.status()["incarnation"] == 1
        await asyncio.sleep(60)
        assert len(cluster.tries) > 1
        assert told(cluster)[0] == "StartBackOff"
        assert cluster.status()["incarnation"] == len(cluster.tries)


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
