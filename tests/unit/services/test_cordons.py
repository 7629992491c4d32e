"""A cordoned node is left in order: the driver is moved, executors are replaced, and nothing moves twice."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from sluice.core.application import JobKey
from sluice.errors import ClusterUnavailable, InvalidSpec, NotAllowed, Problem
from sluice.manifests import names
from sluice.ports import DISRUPTION_BUDGETS, NODES, PODS
from tests.support.cluster import MemoryCluster
from tests.support.jobs import NOW, report
from tests.support.virtual_time import in_virtual_time
from tests.support.world import World, world
from tests.unit.services.test_reconciling import ASKED_TO_STOP, started

KEY = JobKey("shop", "clicks")


def node(
    cluster: MemoryCluster,
    name: str = "node-1",
    *,
    is_cordoned: bool = True,
    taints: Sequence[str] = (),
) -> None:
    """Somebody cordons a node, or uncordons it, or taints it."""
    spec: dict[str, Any] = {"unschedulable": True} if is_cordoned else {}
    spec["taints"] = [{"key": key, "effect": "NoSchedule"} for key in taints]
    cluster.put(NODES, {"metadata": {"name": name}, "spec": spec})


def executor(here: World, number: int, place: str, **metadata: Any) -> None:
    """An executor runs on a node."""
    labels = {
        **names.labels("clicks", names.EXECUTOR, 1),
        "spark-exec-id": str(number),
    }
    body = {
        "metadata": {
            "name": f"exec-{number}",
            "namespace": "shop",
            "labels": labels,
            "creationTimestamp": NOW.isoformat(),
            **metadata,
        },
        "spec": {"nodeName": place},
        "status": {"phase": "Running"},
    }
    here.fleet.see_pod(here.cluster.put(PODS, body))


@in_virtual_time
async def test_a_driver_on_a_cordoned_node_is_stopped_in_order_and_started_again() -> None:
    async with world() as here:
        await started(here)
        node(here.cluster)
        await here.cordons.ask()
        await here.look()
        assert here.cluster.writes == ASKED_TO_STOP
        status = here.cluster.status()
        assert status["stopping"] == "its node node-1 is cordoned"
        assert status["recoveries"]["present"]["cause"] == "PlannedMove"
        here.gone()
        pause = await here.look()
        told = here.cluster.status()
        assert (told["phase"], told["incarnation"]) == ("Stopping", 1)
        assert pause is not None
        assert 5 < pause <= 6, "a drain that asks every five seconds meets no next driver"
        await asyncio.sleep(pause)
        await here.look()
        assert here.cluster.status()["incarnation"] == 2
        assert here.cluster.status()["failures"].get("inARow", 0) == 0


OF_REMOVAL = "karpenter.sh/disrupted"


@pytest.mark.parametrize(
    "taint", [OF_REMOVAL, "karpenter.sh/disruption", "ToBeDeletedByClusterAutoscaler"]
)
@in_virtual_time
async def test_a_driver_leaves_a_node_that_an_autoscaler_removes(taint: str) -> None:
    async with world() as here:
        await started(here)
        node(here.cluster, is_cordoned=False, taints=["dedicated", taint])
        await here.cordons.ask()
        await here.look()
        assert here.cluster.writes == ASKED_TO_STOP
        why = f"its node node-1 is being removed, as its taint {taint} says"
        assert here.cluster.status()["stopping"] == why
        assert here.cluster.status()["recoveries"]["present"]["cause"] == "PlannedMove"


@in_virtual_time
async def test_a_driver_that_tolerates_its_removal_and_comes_again_is_left_there() -> None:
    async with world() as here:
        await started(here)
        node(here.cluster, is_cordoned=False, taints=[OF_REMOVAL])
        await here.cordons.ask()
        here.gone()
        await here.cordons.ask()
        later = NOW + timedelta(minutes=1)
        here.clock.now = lambda: later  # type: ignore[method-assign]
        executor(here, 1, "node-1")
        await here.cordons.ask()
        assert here.cordons.why_leave("node-1", NOW)
        assert not here.cordons.why_leave("node-1", later)
        here.cluster.remove(NODES, "", "node-1")
        await here.cordons.ask()
        assert not here.cordons.why_leave("node-1", NOW)


@in_virtual_time
async def test_executors_leave_a_node_that_an_autoscaler_removes() -> None:
    async with world() as here:
        await started(here)
        executor(here, 1, "node-2")
        executor(here, 2, "node-3")
        node(here.cluster, "node-2", is_cordoned=False, taints=[OF_REMOVAL])
        node(here.cluster, "node-3", is_cordoned=False, taints=["dedicated"])
        await here.cordons.ask()
        await here.look()
        assert here.agents.leaving == [("1",)]


@in_virtual_time
async def test_a_successor_goes_on_with_a_move() -> None:
    async with world() as here:
        await started(here)
        node(here.cluster)
        await here.cordons.ask()
        here.cluster.refuse("delete", PODS, ClusterUnavailable("timeout"))
        with pytest.raises(ClusterUnavailable):
            await here.look()
    async with world(here.cluster) as successor:
        await successor.cordons.ask()
        successor.watch()
        await successor.look()
        await successor.answers(report())
        await successor.look()
        assert here.cluster.writes[-1] == "delete pods/clicks-driver"


@in_virtual_time
async def test_a_driver_that_was_put_on_a_cordoned_node_afterwards_is_left_there() -> None:
    async with world() as here:
        node(here.cluster)
        await here.cordons.ask()
        here.clock.now = lambda: NOW + timedelta(minutes=1)  # type: ignore[method-assign]
        assert here.cordons.why_leave("node-1", NOW)
        assert not here.cordons.why_leave("node-1", NOW + timedelta(seconds=1))
        assert not here.cordons.why_leave("node-2", NOW)
        assert not here.cordons.why_leave(None, NOW)


@in_virtual_time
async def test_an_operator_that_starts_anew_leaves_there_what_came_after_the_taint() -> None:
    """Its own clock tells when it looked, the taint tells since when nothing is to come there."""
    added, later = NOW - timedelta(hours=2), NOW - timedelta(hours=1)
    for key, is_cordoned in (("node.kubernetes.io/unschedulable", True), (OF_REMOVAL, False)):
        async with world() as here:
            taint = {"key": key, "effect": "NoSchedule", "timeAdded": added.isoformat()}
            spec = {"taints": [taint], **({"unschedulable": True} if is_cordoned else {})}
            executor(here, 1, "node-1")
            here.cluster.put(NODES, {"metadata": {"name": "node-1"}, "spec": spec})
            await here.cordons.ask()
            assert here.cordons.why_leave("node-1", added)
            assert not here.cordons.why_leave("node-1", later)


@in_virtual_time
async def test_a_node_that_is_uncordoned_concerns_nobody_any_more() -> None:
    async with world() as here:
        node(here.cluster)
        await here.cordons.ask()
        node(here.cluster, is_cordoned=False)
        await here.cordons.ask()
        assert not here.cordons.why_leave("node-1", NOW)


@in_virtual_time
async def test_executors_on_a_cordoned_node_are_replaced_by_their_ids() -> None:
    async with world() as here:
        await started(here)
        for number, place in ((1, "node-2"), (2, "node-3"), (10, "node-2")):
            executor(here, number, place)
        late = (NOW + timedelta(hours=1)).isoformat()
        executor(here, 11, "node-2", creationTimestamp=late)
        node(here.cluster, "node-2")
        await here.cordons.ask()
        await here.look()
        assert here.agents.leaving == [("1", "10")]
        assert "delete pods/clicks-driver" not in here.cluster.writes


@in_virtual_time
async def test_an_agent_that_replaces_no_executor_holds_nothing_up() -> None:
    async with world() as here:
        await started(here)
        executor(here, 1, "node-2")
        node(here.cluster, "node-2")
        await here.cordons.ask()
        here.agents.reports.clear()
        await here.look()
        assert here.agents.leaving == []


@in_virtual_time
async def test_the_jobs_of_a_newly_cordoned_node_are_looked_at_once() -> None:
    async with world() as here:
        await started(here)
        executor(here, 1, "node-2")
        here.told.clear()
        node(here.cluster, "node-2")
        await here.cordons.ask()
        await here.cordons.ask()
        node(here.cluster, "node-9")
        await here.cordons.ask()
        assert here.told == [KEY]


@in_virtual_time
async def test_without_an_answer_what_is_known_stays() -> None:
    async with world() as here:
        node(here.cluster)
        await here.cordons.ask()
        assert here.cordons.are_known
        here.cluster.refuse("list", NODES, ClusterUnavailable("403: nodes is forbidden"))
        await here.cordons.ask()
        assert here.cordons.why_leave("node-1", NOW)
        assert not here.cordons.are_known


@in_virtual_time
async def test_evictions_of_drivers_are_refused_only_where_they_are_moved() -> None:
    async with world() as here:
        await here.declare()
        assert here.cluster.stored(DISRUPTION_BUDGETS, "clicks-driver") is None
    async with world(MemoryCluster()) as here:
        await here.cordons.ask()
        await here.declare()
        budget = here.cluster.stored(DISRUPTION_BUDGETS, "clicks-driver")
        assert budget is not None
        assert budget["spec"]["minAvailable"] == 1
        pod = here.cluster.pod()
        assert pod is not None
        wanted = budget["spec"]["selector"]["matchLabels"]
        assert wanted.items() <= pod["metadata"]["labels"].items()
        made = [write for write in here.cluster.writes if write.startswith("create")]
        assert made[-2:] == [
            "create pods/clicks-driver",
            "create poddisruptionbudgets/clicks-driver",
        ]


@in_virtual_time
async def test_a_paused_job_stays_and_says_that_a_drain_waits() -> None:
    async with world() as here:
        await started(here, annotations={"sluice.dev/paused": "false"})
        node(here.cluster)
        await here.cordons.ask()
        await here.declare(annotations={"sluice.dev/paused": "true"})
        assert here.cluster.pod() is not None
        assert "delete pods/clicks-driver" not in here.cluster.writes
        told = {one["type"]: one["message"] for one in here.cluster.status()["conditions"]}
        assert "node-1 is cordoned, and a drain of it waits" in told["Managed"]


@in_virtual_time
async def test_a_budget_that_could_not_be_made_with_its_driver_comes_with_the_next_look() -> None:
    async with world() as here:
        await here.cordons.ask()
        here.cluster.refuse("create", DISRUPTION_BUDGETS, ClusterUnavailable("timeout"))
        with pytest.raises(ClusterUnavailable):
            await here.declare()
        assert here.cluster.pod() is not None
        await here.look()
        assert here.cluster.stored(DISRUPTION_BUDGETS, "clicks-driver") is not None


@in_virtual_time
async def test_a_driver_without_a_budget_gets_one_from_whoever_looks_after_it_next() -> None:
    async with world() as here:
        await started(here)
        assert here.cluster.stored(DISRUPTION_BUDGETS, "clicks-driver") is None
        await here.cordons.ask()
        await here.look()
        assert here.cluster.stored(DISRUPTION_BUDGETS, "clicks-driver") is not None
    here.cluster.remove(DISRUPTION_BUDGETS, "shop", "clicks-driver")
    async with world(here.cluster) as successor:
        await successor.cordons.ask()
        await successor.look()
        assert here.cluster.stored(DISRUPTION_BUDGETS, "clicks-driver") is not None
        here.cluster.calls.clear()
        await successor.look()
        assert here.cluster.writes == []


@in_virtual_time
@pytest.mark.parametrize(
    "refusal",
    [
        InvalidSpec([Problem("clicks-driver", None, "exceeded quota: budgets")]),
        NotAllowed("poddisruptionbudgets.policy is forbidden: User sluice cannot create"),
    ],
    ids=["a quota", "a right that is missing"],
)
async def test_a_budget_that_is_refused_holds_nothing_up(refusal: Exception) -> None:
    async with world() as here:
        await here.cordons.ask()
        here.cluster.refuse("create", DISRUPTION_BUDGETS, *[refusal] * 9)
        await here.declare()
        here.runs()
        await here.look()
        assert here.cluster.status()["phase"] == "Starting"


@in_virtual_time
async def test_budgets_refuse_nothing_any_more_where_nodes_are_not_asked_about_since() -> None:
    async with world() as here:
        await here.cordons.ask()
        await started(here)
        budget = here.cluster.stored(DISRUPTION_BUDGETS, "clicks-driver")
        assert budget is not None
        assert budget["spec"]["minAvailable"] == 1
    async with world(here.cluster, asks=False) as blind:
        await blind.look()
        budget = here.cluster.stored(DISRUPTION_BUDGETS, "clicks-driver")
        assert budget is not None
        assert budget["spec"]["minAvailable"] == 0
        here.cluster.calls.clear()
        await blind.look()
        assert here.cluster.writes == []


@in_virtual_time
async def test_where_nodes_are_not_asked_about_no_budget_is_made() -> None:
    async with world(asks=False) as here:
        await started(here)
        assert here.cluster.stored(DISRUPTION_BUDGETS, "clicks-driver") is None


@in_virtual_time
async def test_a_driver_leaves_a_cordoned_node_also_while_its_spec_is_invalid() -> None:
    async with world() as here:
        await started(here)
        await here.declare(generation=2, executors={"min": 5, "max": 2})
        node(here.cluster)
        await here.cordons.ask()
        while await here.look() == 0.0:
            pass
        assert here.cluster.writes[-1] == "delete pods/clicks-driver"
