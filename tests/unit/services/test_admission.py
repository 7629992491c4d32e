"""Executors that Spark wants and that the cluster refuses: why is asked, told with its remedy, and adapted to."""

from datetime import timedelta
from typing import Any

from sluice.core.staffing import REFUSED, ROOM_AGAIN
from sluice.errors import ClusterUnavailable, InvalidSpec, Problem
from sluice.ports import PODS
from sluice.services.admission import AGAIN, SOON
from tests.support import pods
from tests.support.jobs import work
from tests.support.streams import Stream
from tests.support.virtual_time import in_virtual_time
from tests.support.world import World, world
from tests.unit.services.test_autoscaling import SCALING, Case, Scraping
from tests.unit.services.test_staffing import OLD, has, lives, rescaled, scaling, warnings

QUOTA = 'pods "clicks-1-exec-0" is forbidden: exceeded quota: tight, requested: pods=1, used: pods=3, limited: pods=3'
FULL = InvalidSpec([Problem("pods", None, QUOTA)])


async def lacking(here: World) -> None:
    """A driver wants four executors since now, and has two."""
    here.executors_run(2)
    await rescaled(here)
    await here.answers(has(*OLD, target=4))
    await here.look()


async def refused(here: World) -> None:
    """The same, and the cluster has refused more once, which is told."""
    here.cluster.refuse("rehearse", PODS, FULL)
    await lacking(here)
    await lives(here, SOON.total_seconds() + 5)
    assert fault(here) is not None


def fault(here: World) -> str | None:
    executors: dict[str, Any] = here.cluster.status()["executors"]
    return executors.get("fault")


@in_virtual_time
async def test_why_pods_are_refused_is_told_in_the_clusters_words_and_with_the_remedy() -> None:
    async with world() as here:
        here.cluster.refuse("rehearse", PODS, *[FULL] * 9)
        await lacking(here)
        assert fault(here) is None, "Spark may be about to make them"
        await lives(here, SOON.total_seconds() + 5)
        told = fault(here)
        assert told is not None
        assert f"The cluster refuses pods of executors: {QUOTA}." in told
        assert "Raise that ResourceQuota of the namespace 'shop'" in told
        assert told in scaling(here)


@in_virtual_time
async def test_it_is_asked_now_and_then_and_only_while_pods_are_lacking() -> None:
    async with world() as here:
        here.cluster.refuse("rehearse", PODS, FULL, AssertionError("asked again too soon"))
        await lacking(here)
        await lives(here, (SOON + AGAIN).total_seconds() - 5)
        here.executors_run(4)
        await lives(here, 120)
        assert fault(here) is None


@in_virtual_time
async def test_a_quota_with_room_is_told_no_more_and_leaves_no_objects() -> None:
    async with world() as here:
        await refused(here)
        await lives(here, AGAIN.total_seconds() + 10)
        assert fault(here) is None
        assert not [write for write in here.cluster.writes if "exec-0" in write]


@in_virtual_time
async def test_executors_that_are_lacking_anew_are_asked_about_anew() -> None:
    async with world() as here:
        await refused(here)
        here.executors_run(4)
        await lives(here, 10)
        here.fleet.lose_pod(here.cluster.remove(PODS, "shop", "clicks-1-exec-4"))
        await lives(here, 10)
        assert fault(here) is None, "what was known is of another lack"


@in_virtual_time
async def test_a_lack_is_looked_at_again_when_the_cluster_is_to_be_asked() -> None:
    async with world() as here:
        await lacking(here)
        pause = await here.look()
        assert pause is not None
        assert pause <= SOON.total_seconds()


@in_virtual_time
async def test_what_is_known_stays_told_while_the_cluster_does_not_answer() -> None:
    async with world() as here:
        here.cluster.refuse("rehearse", PODS, FULL, ClusterUnavailable("no answer in time"))
        await lacking(here)
        await lives(here, (SOON + AGAIN).total_seconds() + 10)
        assert QUOTA in (fault(here) or "")


@in_virtual_time
async def test_executors_that_wait_for_a_node_are_not_refused() -> None:
    async with world() as here:
        here.cluster.refuse("rehearse", PODS, AssertionError("there are pods"))
        here.executors_run(2)
        for number in (3, 4):
            pod = {
                **pods.executor("clicks", f"clicks-1-exec-{number}"),
                "status": {"phase": "Pending"},
            }
            here.fleet.see_pod(here.cluster.put(PODS, pod))
        await rescaled(here)
        await here.answers(has(*OLD, target=4))
        await lives(here, 60)


@in_virtual_time
async def test_a_choice_that_is_refused_is_taken_back_and_not_made_again_for_a_while() -> None:
    async with world(metrics=Scraping) as here:
        crowded = Case(here, Stream(arriving=3500))
        await crowded.starts(scaling=SCALING)
        here.executors_run(2)
        here.cluster.refuse("rehearse", PODS, *[FULL] * 99)
        targets = here.agents.targets

        while not targets or targets[-1] < 4:
            await crowded.lives_without_room(timedelta(seconds=5))
        await crowded.lives_without_room(SOON + REFUSED - timedelta(seconds=10))
        assert targets[-1] >= 4
        await crowded.lives_without_room(timedelta(seconds=40))
        assert targets[-1] == 2
        (event,) = warnings(here.cluster)
        assert event["reason"] == "ExecutorsNotCome"
        assert f"the cluster had refused more for 60 s: {QUOTA}" in event["message"]
        told = len(targets)
        await crowded.lives_without_room(ROOM_AGAIN - timedelta(seconds=300))
        assert len(targets) == told
        assert "No more than 2 executors came" in scaling(here)
        assert "delete pods/clicks-driver" not in here.cluster.writes


@in_virtual_time
async def test_a_fixed_number_that_is_refused_stays_wanted() -> None:
    async with world() as here:
        here.cluster.refuse("rehearse", PODS, *[FULL] * 99)
        await lacking(here)
        await here.answers(has(*OLD, work("3"), target=4))
        await lives(here, 600)
        assert here.agents.targets == [4]
        assert here.cluster.status()["executors"]["wanted"] == 4
        assert QUOTA in (fault(here) or "")
