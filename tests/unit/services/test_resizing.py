"""Executors are resized while they run, as the cluster sees it: which pods, with what, and what a refusal leads to."""

from typing import Any

import pytest

from sluice.core.resizing import PATIENCE
from sluice.errors import (
    ClusterUnavailable,
    InvalidSpec,
    NotAllowed,
    NotFound,
    Problem,
    SluiceError,
)
from sluice.ports import PODS, Json
from sluice.services.admission import SOON
from tests.support import pods
from tests.support.jobs import report
from tests.support.virtual_time import in_virtual_time
from tests.support.world import World, world
from tests.unit.services.test_admission import FULL
from tests.unit.services.test_reconciling import started
from tests.unit.services.test_staffing import lives

FIRST, SECOND, THIRD = (f"clicks-1-exec-{number}" for number in (1, 2, 3))


def application(**executor: Any) -> Json:
    return {"image": "shop/clicks:1", "mainFile": "/opt/clicks.py", "executor": executor}


def appears(here: World, name: str, **cpu: Any) -> None:
    """An executor runs, and a watch tells."""
    here.fleet.see_pod(here.cluster.put(PODS, pods.executor("clicks", name, **cpu)))


async def look(here: World) -> None:
    """A watch brings the executors as they are; then look."""
    for name in (FIRST, SECOND, THIRD):
        pod = here.cluster.pod(name)
        if pod is not None:
            here.fleet.see_pod(pod)
    await here.look()


async def staffed(here: World) -> None:
    await started(here, application=application(cpuLimit="2"))
    for name in (FIRST, SECOND):
        appears(here, name, limit="2")
    await look(here)
    here.cluster.calls.clear()


async def changed(here: World, **executor: Any) -> float | None:
    return await here.declare(generation=2, application=application(**executor))


def cpu(here: World, name: str) -> tuple[str, str]:
    pod = here.cluster.pod(name)
    assert pod is not None
    resources = pod["spec"]["containers"][0]["resources"]
    assert resources["limits"]["memory"] == "1408Mi", "which stays"
    return resources["requests"]["cpu"], resources["limits"]["cpu"]


@in_virtual_time
async def test_a_changed_share_reaches_the_pods_and_those_that_come_later_and_ends_none() -> None:
    async with world() as here:
        await staffed(here)
        await changed(here, cpuRequest="500m", cpuLimit="3")
        assert here.cluster.status()["change"] == {
            "kind": "Live",
            "fields": ["application.executor.cpuLimit", "application.executor.cpuRequest"],
        }
        assert [cpu(here, name) for name in (FIRST, SECOND)] == [("500m", "3")] * 2
        appears(here, THIRD, limit="2")
        await look(here)
        assert cpu(here, THIRD) == ("500m", "3")
        here.cluster.calls.clear()
        await look(here)
        assert not [call for call in here.cluster.calls if call.verb in ("resize", "delete")]
        assert here.cluster.status()["resize"] == {
            "incarnation": 1,
            "cpuRequest": "500m",
            "cpuLimit": "3",
        }


@pytest.mark.parametrize(
    "error",
    [
        InvalidSpec([Problem("pods/resize", None, "the cluster cannot resize running pods")]),
        NotAllowed('pods is forbidden: User "sluice" cannot patch "pods/resize"'),
    ],
    ids=lambda error: type(error).__name__,
)
@in_virtual_time
async def test_where_the_cluster_refuses_the_driver_is_restarted_and_it_is_said_why(
    error: SluiceError,
) -> None:
    async with world() as here:
        await staffed(here)
        here.cluster.refuse("resize", PODS, error)
        assert await changed(here, cpuLimit="3") == 0, "look again at once"
        assert await here.look() is not None
        assert here.cluster.writes[-1] == "delete pods/clicks-driver"
        status = here.cluster.status()
        assert str(error) in status["stopping"]
        assert str(error) in status["resize"]["refusal"]
        assert status["recoveries"]["present"]["cause"] == "SpecChange"
        here.gone()
        await here.look()
        here.runs()
        await here.look()
        assert "resize" not in here.cluster.status()
        assert here.cluster.status()["change"]["kind"] == "None"


@in_virtual_time
async def test_a_pod_that_has_gone_meanwhile_keeps_no_other_from_being_resized() -> None:
    async with world() as here:
        await staffed(here)
        here.cluster.refuse("resize", PODS, NotFound(f'pods "{FIRST}" not found'))
        await changed(here, cpuLimit="3")
        assert cpu(here, SECOND) == ("1", "3")
        assert "refusal" not in here.cluster.status()["resize"]


@in_virtual_time
async def test_a_cluster_that_does_not_answer_refuses_nothing() -> None:
    async with world() as here:
        await staffed(here)
        here.cluster.refuse("resize", PODS, ClusterUnavailable("timeout"))
        with pytest.raises(ClusterUnavailable):
            await changed(here, cpuLimit="3")
        await look(here)
        assert cpu(here, FIRST) == ("1", "3")


@in_virtual_time
async def test_what_is_refused_with_the_former_share_leads_to_a_driver_that_asks_for_the_new_one() -> (
    None
):
    """The cluster is asked for what the driver asks it for, not for what is declared by now."""
    async with world() as here:
        here.cluster.refuse("rehearse", PODS, *[FULL] * 9)
        await here.declare(application=application(cpuRequest="4"))
        here.runs()
        await here.look()
        await here.answers(report())
        await changed(here, cpuRequest="1")
        await lives(here, (2 * SOON + PATIENCE).total_seconds())
        asked = {
            pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]
            for pod in here.cluster.rehearsed
        }
        assert asked == {"4"}
        assert "delete pods/clicks-driver" in here.cluster.writes
        assert "exceeded quota" in here.cluster.status()["stopping"]
