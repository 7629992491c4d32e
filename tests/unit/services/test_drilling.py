"""A drill as the operator sees it: asked for, answered, and after the kill measured, event by event."""

import asyncio
import copy
from dataclasses import replace
from typing import Any

from sluice.core.drilling.records import ANNOTATION, Drill, Victim
from sluice.manifests import pods as manifests
from sluice.ports import PODS
from tests.support.jobs import job, query, report
from tests.support.virtual_time import in_virtual_time
from tests.support.world import World, world
from tests.unit.services.test_reconciling import started

DRILLS = {"target": "2m", "drills": {"allowed": ["Executor", "Driver"]}}
FIRST, SECOND = "clicks-1-exec-1", "clicks-1-exec-2"


def executor(name: str) -> dict[str, Any]:
    """A running executor pod."""
    body = copy.deepcopy(manifests.executor_template(job(), 1))
    body["metadata"] |= {"name": name, "namespace": "shop", "uid": name}
    return {**body, "status": {"phase": "Running"}}


async def staffed(here: World, **changes: Any) -> None:
    """A job that may be drilled, with its two executors."""
    await started(here, recovery=DRILLS, **changes)
    for name in (FIRST, SECOND):
        here.fleet.see_pod(here.cluster.put(PODS, executor(name)))
    await here.look()


async def asked(here: World, victim: Victim, pod: str = "") -> None:
    """A person asks for a drill."""
    text = str(Drill(victim=victim, at=here.clock.now(), pod=pod))
    await here.declare(recovery=DRILLS, annotations={ANNOTATION: text})


def told(here: World, reason: str) -> list[str]:
    """The events of a reason."""
    return [
        call.body["message"]
        for call in here.cluster.calls
        if call.plural == "events" and call.body["reason"] == reason
    ]


@in_virtual_time
async def test_a_drill_of_the_driver_is_answered_measured_and_told() -> None:
    async with world() as here:
        await staffed(here)
        await asked(here, Victim.DRIVER)
        assert here.cluster.status()["drill"]["accepted"]
        here.gone()
        await here.look()
        status = here.cluster.status()
        assert status["drill"]["done"]
        assert status["recoveries"]["present"]["drilled"] == 1
        assert status["incarnation"] == 2
        assert not status["failures"]["inARow"]
        assert told(here, "Drilled") == ["A drill has killed the driver of incarnation 1"]
        # The command takes the annotation away, and the recovery stays a drill's.
        await here.declare(recovery=DRILLS)
        assert "drill" not in here.cluster.status()
        here.runs()
        await here.look()
        for _ in range(3):
            now = here.clock.now()
            newest = query(committed_at=now, backlog_rows=0.0)
            await here.answers(replace(report(newest), at=now, incarnation=2, application_id="app"))
            await asyncio.sleep(10)
            await here.look()
        (past,) = here.cluster.status()["recoveries"]["past"]
        assert past["drilled"] == 1
        assert told(here, "Recovered")[0].startswith("DriverLoss (drill): ")


@in_virtual_time
async def test_a_successor_of_the_operator_knows_of_the_drill() -> None:
    async with world() as here:
        await staffed(here)
        await asked(here, Victim.DRIVER)
        here.gone()
    async with world(here.cluster) as successor:
        await successor.look()
        assert here.cluster.status()["recoveries"]["present"]["drilled"] == 1


@in_virtual_time
async def test_a_drill_of_an_executor_begins_when_its_pod_is_gone_and_stops_no_driver() -> None:
    async with world() as here:
        await staffed(here)
        await asked(here, Victim.EXECUTOR, FIRST)
        assert "present" not in here.cluster.status()["recoveries"]
        here.fleet.lose_pod(here.cluster.remove(PODS, "shop", FIRST))
        await here.look()
        present = here.cluster.status()["recoveries"]["present"]
        assert (present["cause"], present["drilled"]) == ("ExecutorLoss", 1)
        assert here.cluster.status()["incarnation"] == 1
        assert not [call for call in here.cluster.calls if call.verb == "delete"]


@in_virtual_time
async def test_a_refused_drill_is_told_with_its_reason_and_its_loss_is_none() -> None:
    async with world() as here:
        await staffed(here)
        await asked(here, Victim.EXECUTOR, "strange")
        assert here.cluster.status()["drill"] == {
            "asked": f"executor/strange@{here.clock.now().isoformat().replace('+00:00', 'Z')}",
            "accepted": False,
            "message": "the job has no running executor 'strange'",
            "done": False,
        }
        assert len(told(here, "DrillRefused")) == 1
        here.fleet.lose_pod(here.cluster.remove(PODS, "shop", FIRST))
        await here.look()
        assert "present" not in here.cluster.status()["recoveries"]
