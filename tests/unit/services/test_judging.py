"""A rescale that did harm, from the agent's reports to the notebook, the status, the event and the next operator."""

import json
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import pytest

from sluice.core.deciding.judging import Outcome
from sluice.core.deciding.storing import record_from_data
from sluice.manifests.moments import moment_text
from sluice.ports import CONFIG_MAPS, STREAM_JOBS, Json
from sluice.services.courses import Course
from tests.support import pods
from tests.support.cluster import MemoryCluster
from tests.support.jobs import NOW, resource
from tests.support.streams import Stream
from tests.support.virtual_time import in_virtual_time
from tests.support.world import World, world
from tests.unit.services.test_autoscaling import Case, Scraping

SPEC: Json = {
    "scaling": {"mode": "Auto", "interval": "30s", "policy": "static"},
    "slo": {"latency": {"percentile": 0.95, "bound": "5s"}},
}
"""The policy wants the two executors that are declared, whatever happens."""


async def shrunk(cluster: MemoryCluster, here: World) -> Case:
    """A job for whose load four executors are enough and two are not, and an operator that takes two away."""
    chosen = {"executors": 4, "at": moment_text(NOW - timedelta(hours=1)), "path": "Live"}
    cluster.put(STREAM_JOBS, {**resource(**SPEC), "status": {"chosen": chosen}})
    case = Case(here, Stream(arriving=2500, executors=4))
    await case.starts(**SPEC)
    await case.lives(1200)
    return case


def course(here: World) -> Course:
    found = here.autoscaler.course(next(iter(here.fleet)))
    assert found is not None
    return found


def book(cluster: MemoryCluster) -> dict[str, Json]:
    stored = cluster.stored(CONFIG_MAPS, "clicks-scaling")
    assert stored is not None
    return {name: json.loads(text) for name, text in stored["data"].items()}


def undos(cluster: MemoryCluster) -> Iterator[Mapping[str, Any]]:
    events = (call.body for call in cluster.calls if call.plural == "events")
    return (event for event in events if event["reason"] == "RescaleUndone")


@in_virtual_time
async def test_a_shrink_that_breaks_the_bound_is_undone_once_and_told() -> None:
    async with world(metrics=Scraping) as here:
        harmed = await shrunk(here.cluster, here)
        assert [count for count in here.agents.targets if count != 4] == [2]
        assert here.agents.targets[-1] == 4
        chosen = harmed.status["chosen"]
        assert (chosen["executors"], chosen["undoes"] in book(here.cluster)) == (4, True)
        (event,) = undos(here.cluster)
        assert event["type"] == "Warning"
        told = (
            f"4 executors, live: undoes decision {chosen['undoes']}: with 2 executors instead of 4"
        )
        assert told in event["message"]
        assert "the bound is 5.0 s" in event["message"]
        assert "harmful before" in harmed.status["decision"]["keptBy"]


@in_virtual_time
async def test_the_verdict_is_kept_with_its_decision_and_counted() -> None:
    async with world(metrics=Scraping) as here:
        harmed = await shrunk(here.cluster, here)
        verdict = book(here.cluster)[harmed.status["chosen"]["undoes"]]["verdict"]
        assert verdict["outcome"] == "Harmful"
        assert "with 2 executors instead of 4" in verdict["reason"]
        assert course(here).tally.judged == {
            Outcome.GOOD: 0,
            Outcome.HARMFUL: 1,
            Outcome.INCONCLUSIVE: 0,
        }


@in_virtual_time
async def test_an_undo_is_decided_again_from_its_record() -> None:
    async with world(metrics=Scraping) as here:
        harmed = await shrunk(here.cluster, here)
        chosen = harmed.status["chosen"]
        again = record_from_data(book(here.cluster)[chosen["decision"]]).decided()
        assert (again.executors, again.reason) == (4, chosen["reason"])
        assert again.undoes == chosen["undoes"]


@in_virtual_time
async def test_another_operator_does_not_repeat_the_harm() -> None:
    cluster = MemoryCluster()
    async with world(cluster, Scraping) as here:
        await shrunk(cluster, here)
    async with world(cluster, Scraping) as there:
        second = Case(there, Stream(arriving=2500, executors=4))
        there.watch()
        there.agents.reports[pods.ADDRESS] = second.stream.told
        await second.lives(600)
        assert set(there.agents.targets) <= {4}
        assert "harmful before" in second.status["decision"]["keptBy"]


@pytest.mark.parametrize(("cause", "is_known"), [("SpecChange", False), ("DriverLoss", True)])
@in_virtual_time
async def test_another_operator_forgets_what_a_job_did_before_it_was_changed(
    cause: str, is_known: bool
) -> None:
    cluster = MemoryCluster()
    async with world(cluster, Scraping) as here:
        harmed = await shrunk(cluster, here)
        past = [{"cause": cause, "began": moment_text(here.clock.now()), "caughtUp": 60.0}]
        status = {**harmed.status, "recoveries": {"count": 1, "past": past}}
    stored = cluster.stored(STREAM_JOBS, "clicks")
    assert stored is not None
    cluster.put(STREAM_JOBS, {**stored, "status": status})
    async with world(cluster, Scraping) as there:
        second = Case(there, Stream(arriving=2500, executors=4))
        there.watch()
        there.agents.reports[pods.ADDRESS] = second.stream.told
        await second.lives(60)
        assert bool(course(there).watcher.effects.harms) is is_known
