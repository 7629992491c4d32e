"""An operator that takes over goes on exactly where the former one was."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from sluice.core.application import JobKey
from sluice.core.succession import LATE, SOON
from sluice.errors import ClusterUnavailable
from sluice.ports import LEASES, PODS, Clock, Json, Labelled, Resource
from sluice.services.polling import OLDEST
from tests.support import pods
from tests.support.cluster import MemoryCluster
from tests.support.jobs import NOW, query, report
from tests.support.streams import Stream
from tests.support.virtual_time import in_virtual_time
from tests.support.world import World, world
from tests.unit.services.test_autoscaling import SCALING, Case, Scraping
from tests.unit.services.test_reconciling import LEASE, started

FLOWING = report(query(arrival_rate=10.0, backlog_rows=150.0))


DECLARED: Json = {"scaling": SCALING, "recovery": {"target": "2m"}, "slo": {"objective": 0.5}}


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


async def decided(here: World, mode: str = "Auto", seconds: float = 60) -> None:
    """A job that is decided upon for so long, and whose status tells it."""
    case = Case(here, Stream(arriving=3500))
    await case.starts(**{**DECLARED, "scaling": {**SCALING, "mode": mode}})
    await case.lives(seconds)


class Judging(Scraping):
    """A server whose recording rules found nine good minutes of the last ten, and the last five bad."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        labels = {"namespace": "shop", "job": "clicks", "sli": "latency"}
        for part, value in {"sum_over_time": 9.0, "count_over_time": 10.0, "[5m]": 0.0}.items():
            self.answers[part] = [Labelled(labels, ((NOW, value),))]


def succeeding(here: World) -> Case:
    """The same job, whose driver answers the next operator."""
    case = Case(here, Stream(arriving=3500))
    here.agents.reports[pods.ADDRESS] = case.stream.told
    return case


def told_of_deciding(cluster: MemoryCluster) -> Mapping[str, Any]:
    """All that a status tells of decisions, but the wording."""
    told = conditions(cluster)
    claims = {kind: told[kind] for kind in ("ScalingActive", "RecoveryTargetFeasible")}
    return {
        "decision": cluster.status().get("decision"),
        **{kind: (claim["status"], claim["reason"]) for kind, claim in claims.items()},
    }


def told_of_metrics(cluster: MemoryCluster) -> Mapping[str, Any]:
    """All that a status tells of metrics."""
    status, told = cluster.status(), conditions(cluster)
    claims = {kind: told[kind] for kind in ("MetricsAvailable", "ObjectivesMet")}
    return {"slo": status["slo"], "summary": status["summary"]["slo"], **claims}


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


@in_virtual_time
async def test_what_the_former_operator_has_decided_is_told_until_its_successor_has() -> None:
    async with world(metrics=Scraping) as former:
        await decided(former)
    before = told_of_deciding(former.cluster)
    assert before["decision"]
    async with world(former.cluster, metrics=Scraping) as here:
        await asyncio.sleep(3600)
        here.reconciler.start_afresh()
        case = succeeding(here)
        here.watch()
        while here.autoscaler.decided(JobKey("shop", "clicks")) is None:
            assert told_of_deciding(here.cluster) == before
            await case.lives(5)
        await case.lives(5)
        after = told_of_deciding(here.cluster)
        assert after["decision"] != before["decision"]
        assert after["ScalingActive"] == before["ScalingActive"]


@in_virtual_time
async def test_what_the_former_operator_has_decided_is_told_until_its_successor_should_have() -> (
    None
):
    async with world(metrics=Scraping) as former:
        await decided(former)
    before = told_of_deciding(former.cluster)
    async with world(former.cluster, metrics=Scraping) as here:
        silent = Case(here, Stream(arriving=3500))
        await silent.lives(30 + LATE.total_seconds() - 5)
        assert told_of_deciding(here.cluster) == before
        await silent.lives(10)
        assert told_of_deciding(here.cluster) == {
            "decision": None,
            "ScalingActive": ("Unknown", "NotYetDecided"),
            "RecoveryTargetFeasible": ("Unknown", "NotPredicted"),
        }


@in_virtual_time
async def test_a_successor_that_has_not_asked_for_metrics_yet_does_not_say_that_there_are_none() -> (
    None
):
    async with world(metrics=Scraping) as former:
        await decided(former)
    before = told_of_deciding(former.cluster)
    async with world(former.cluster, metrics=Scraping) as here:
        case = succeeding(here)
        await here.look()
        await here.answers(case.stream.told(here.clock.now()))
        await here.look()
        assert here.cluster.writes[-1] == "apply streamjobs/clicks"
        assert told_of_deciding(here.cluster) == before


@in_virtual_time
async def test_what_prometheus_told_the_former_operator_is_told_until_it_was_asked() -> None:
    async with world(metrics=Judging) as former:
        await decided(former)
    before = told_of_metrics(former.cluster)
    assert before["slo"]["attainment"] == 0.9
    assert before["MetricsAvailable"]["reason"] == "Scraped"
    assert before["ObjectivesMet"]["reason"] == "BoundBroken"
    async with world(former.cluster, metrics=Judging) as here:
        case = succeeding(here)
        await here.look()
        await here.answers(case.stream.told(here.clock.now()))
        await here.look()
        assert here.cluster.writes[-1] == "apply streamjobs/clicks"
        assert told_of_metrics(here.cluster) == before


@in_virtual_time
async def test_of_a_prometheus_that_answers_nobody_it_is_told_soon_that_nothing_is_known() -> None:
    async with world(metrics=Judging) as former:
        await decided(former)
        await former.declare(generation=2, **DECLARED, suspend=True)
        former.gone()
        await former.look()
    before = told_of_metrics(former.cluster)
    async with world(former.cluster, metrics=Judging) as here:
        again = await here.look()
        assert told_of_metrics(here.cluster) == before
        assert again == SOON.total_seconds()
        await asyncio.sleep(SOON.total_seconds())
        await here.look()
        told = told_of_metrics(here.cluster)
        assert "attainment" not in told["slo"]
        assert told["MetricsAvailable"]["reason"] == "NotYetAsked"


@in_virtual_time
async def test_what_the_former_operator_has_asked_a_person_for_is_done_by_its_successor() -> None:
    async with world(metrics=Scraping) as former:
        await decided(former, "Approve", 300)
    told = former.cluster.status()["decision"]
    async with world(former.cluster, metrics=Scraping) as here:
        case = succeeding(here)
        await here.declare(
            scaling={**SCALING, "mode": "Approve"},
            recovery={"target": "2m"},
            annotations={"sluice.dev/approve": told["pending"]},
        )
        await case.lives(60)
        assert here.agents.targets == [told["wanted"]]


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
