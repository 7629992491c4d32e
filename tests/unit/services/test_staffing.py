"""A rescale that is not verified: from the agent's reports to the restart, the event and the next decisions."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from sluice.core.observations import AgentReport, ExecutorWork
from sluice.core.staffing import PATIENCE, ROOM_AGAIN
from sluice.ports import STREAM_JOBS
from tests.support import pods
from tests.support.cluster import MemoryCluster
from tests.support.jobs import query, report, work
from tests.support.streams import Stream
from tests.support.virtual_time import in_virtual_time
from tests.support.world import World, world
from tests.unit.services.test_autoscaling import SCALING, Case, Scraping

FOUR = {"min": 1, "max": 8, "initial": 4}
OLD = (work("1", tasks=90), work("2", tasks=70))
STUCK = (*OLD, *(work(id, batches=10, of_all=120) for id in ("3", "4")))


def has(*executors: ExecutorWork, **more: Any) -> AgentReport:
    """A driver that has these executors, and aims at as many."""
    count = len(executors)
    return report(**{"target": count, "registered": count, "work": executors, **more})


async def lives(here: World, seconds: float) -> None:
    """So much time goes by; the job is looked at every five seconds."""
    for _ in range(int(seconds / 5)):
        await asyncio.sleep(5)
        await here.look()


async def rescaled(here: World) -> None:
    """A driver with two executors that was asked for four."""
    await here.declare()
    here.runs()
    await here.look()
    await here.answers(has(*OLD))
    await lives(here, 10)
    await here.declare(generation=2, executors=FOUR)
    assert here.agents.targets == [4]


async def restarted(here: World) -> None:
    """The driver that was stopped is gone, and the next one runs."""
    here.agents.reports.pop(pods.ADDRESS)
    here.gone()
    await here.look()
    here.runs()
    await here.look()


def warnings(cluster: MemoryCluster) -> list[Mapping[str, Any]]:
    events = (call.body for call in cluster.calls if call.plural == "events")
    return [event for event in events if event["type"] == "Warning"]


def scaling(here: World) -> str:
    """What the condition of scaling says."""
    conditions = here.cluster.status()["conditions"]
    found = next(condition for condition in conditions if condition["type"] == "ScalingActive")
    return str(found["message"])


@in_virtual_time
async def test_executors_that_get_no_tasks_are_followed_by_one_restart_that_is_told() -> None:
    async with world() as here:
        await rescaled(here)
        await here.answers(has(*STUCK))
        await lives(here, 30)
        assert here.cluster.writes.count("delete pods/clicks-driver") == 1
        await restarted(here)
        assert here.cluster.status()["incarnation"] == 2
        again = query(committed_at=here.clock.now() + timedelta(seconds=3))
        await here.answers(replace(has(*STUCK, incarnation=2), queries=(again,)))
        await lives(here, 600)
        assert here.cluster.writes.count("delete pods/clicks-driver") == 1
        (event,) = warnings(here.cluster)
        assert event["reason"] == "ExecutorsNotUsed"
        assert "Executors 3, 4 got none of 120 tasks in 10 batches" in event["message"]
        assert "executors 3, 4 got none of 120 tasks in 10 batches" in scaling(here)
        (away,) = here.cluster.status()["recoveries"]["past"]
        assert away["cause"] == "Rescale"


@in_virtual_time
async def test_a_successor_does_not_restart_for_the_same_number_again() -> None:
    cluster = MemoryCluster()
    async with world(cluster) as here:
        await rescaled(here)
        await here.answers(has(*STUCK))
        await lives(here, 10)
        await restarted(here)
    async with world(cluster) as successor:
        await successor.look()
        await successor.answers(has(*STUCK, incarnation=2))
        await lives(successor, 60)
        assert cluster.writes.count("delete pods/clicks-driver") == 1
        assert cluster.status()["staffing"]["fallback"]["reason"] == "ExecutorsNotUsed"


@in_virtual_time
async def test_a_verified_rescale_is_in_the_status_and_nothing_follows() -> None:
    async with world() as here:
        await rescaled(here)
        await here.answers(has(*OLD, work("3", tasks=3), work("4", tasks=2)))
        await lives(here, 30)
        told = here.cluster.status()["staffing"]
        assert (told["executors"], told["former"]) == (4, 2)
        assert {"since", "cameAt", "usedAt"} <= set(told)
        assert "delete pods/clicks-driver" not in here.cluster.writes
        assert not warnings(here.cluster)


@in_virtual_time
async def test_the_report_of_an_older_agent_leads_to_nothing() -> None:
    async with world() as here:
        await rescaled(here)
        await here.answers(has(*STUCK, work=None))
        await lives(here, 600)
        assert "delete pods/clicks-driver" not in here.cluster.writes
        assert not warnings(here.cluster)
        assert "usedAt" not in here.cluster.status()["staffing"]


@in_virtual_time
async def test_what_has_no_room_is_taken_back_and_not_chosen_again_for_a_while() -> None:
    async with world(metrics=Scraping) as here:
        crowded = Case(here, Stream(arriving=3500))
        await crowded.starts(scaling=SCALING)
        targets = here.agents.targets

        await crowded.lives_without_room(timedelta(seconds=200))
        assert targets[-1] >= 4
        await crowded.lives_without_room(PATIENCE)
        assert targets[-1] == 2
        assert crowded.status["chosen"]["executors"] == 2
        (event,) = warnings(here.cluster)
        assert event["reason"] == "ExecutorsNotCome"
        told = len(targets)
        await crowded.lives_without_room(ROOM_AGAIN - timedelta(seconds=300))
        assert len(targets) == told
        assert "2 of these are allowed" in crowded.status["decision"]["reason"]
        assert "No more than 2 executors came" in scaling(here)
        await crowded.lives_without_room(timedelta(seconds=600))
        assert targets[told] >= 4, "there may be room by now"
        assert "delete pods/clicks-driver" not in here.cluster.writes


@in_virtual_time
async def test_a_fixed_number_without_room_stays_wanted_and_is_told() -> None:
    async with world() as here:
        await rescaled(here)
        await here.answers(has(*OLD, target=4))
        await lives(here, PATIENCE.total_seconds() + 60)
        assert here.agents.targets == [4]
        stored = here.cluster.stored(STREAM_JOBS, "clicks")
        assert stored is not None
        assert stored["status"]["executors"]["wanted"] == 4
        assert "4 executors were asked for at" in scaling(here)
        assert not warnings(here.cluster)
