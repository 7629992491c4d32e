"""A driver whose container is not made tells why: the pod's status does not, its Events do."""

import asyncio
from datetime import datetime, timedelta

from sluice.core.application import JobKey
from sluice.errors import ClusterUnavailable, NotAllowed
from sluice.manifests.reading import newest_warning
from sluice.ports import EVENTS, Json
from tests.support import pods
from tests.support.jobs import NOW
from tests.support.virtual_time import in_virtual_time
from tests.support.world import World, world

KEY = JobKey("shop", "clicks")
NOT_FOUND = 'MountVolume.SetUp failed for volume "code" : configmap "no-such" not found'


def event(reason: str, message: str = "", *, kind: str = "Warning", at: datetime = NOW) -> Json:
    told = f"{at:%Y-%m-%dT%H:%M:%SZ}"
    return {
        "metadata": {"name": f"clicks-driver.{reason}", "namespace": "shop"},
        "type": kind,
        "reason": reason,
        "message": message,
        "lastTimestamp": told,
    }


def happens(here: World, told: Json) -> None:
    """Kubernetes tells of the driver's pod."""
    pod = here.cluster.pod("clicks-driver")
    assert pod is not None
    here.cluster.put(EVENTS, {**told, "involvedObject": {"uid": pod["metadata"]["uid"]}})


async def waiting(here: World) -> float:
    """A job whose driver's pod has a node, and no container for ten seconds; the pause until the next look."""
    await here.declare()
    here.drive(pods.being_made)
    await here.look()
    await asyncio.sleep(10)
    pause = await here.look()
    assert pause is not None
    return pause


def driver_running(here: World) -> tuple[str, str]:
    conditions = here.cluster.status()["conditions"]
    found = next(one for one in conditions if one["type"] == "DriverRunning")
    return found["reason"], found["message"]


@in_virtual_time
async def test_a_volume_that_cannot_be_mounted_is_told_with_its_remedy() -> None:
    async with world() as here:
        pause = await waiting(here)
        assert driver_running(here)[0] == "Pending"
        assert pause <= 10
        happens(here, event("FailedMount", NOT_FOUND))
        await asyncio.sleep(pause)
        await here.look()
        reason, message = driver_running(here)
        assert reason == "FailedMount"
        assert NOT_FOUND in message
        assert "create the Secret or ConfigMap" in message


@in_virtual_time
async def test_what_has_passed_is_told_no_more() -> None:
    async with world() as here:
        await waiting(here)
        happens(here, event("FailedMount", "failed to sync configmap cache: timed out"))
        await here.look()
        assert driver_running(here)[0] == "FailedMount"
        happens(here, event("Pulling", kind="Normal", at=NOW + timedelta(seconds=20)))
        await here.look()
        assert driver_running(here)[0] == "Pending"
        here.runs()
        assert await here.look() != 10
        assert driver_running(here)[0] != "Pending"


@in_virtual_time
async def test_events_of_another_pod_of_that_name_say_nothing() -> None:
    async with world() as here:
        await waiting(here)
        former = {**event("FailedMount", NOT_FOUND), "involvedObject": {"uid": "its-predecessor"}}
        here.cluster.put(EVENTS, former)
        await here.look()
        assert driver_running(here)[0] == "Pending"


@in_virtual_time
async def test_an_operator_that_cannot_read_events_goes_on_without() -> None:
    for error in (NotAllowed("events is forbidden"), ClusterUnavailable("timeout")):
        async with world() as here:
            await waiting(here)
            happens(here, event("FailedMount", NOT_FOUND))
            here.cluster.refuse("list", EVENTS, error)
            assert await here.look() == 10
            assert driver_running(here)[0] == "Pending"


@in_virtual_time
async def test_a_container_that_is_made_in_time_costs_no_request() -> None:
    async with world() as here:
        await here.declare()
        here.drive(pods.being_made)
        here.cluster.refuse("list", EVENTS, AssertionError("nobody should ask"))
        pause = await here.look()
        assert pause is not None
        assert pause <= 5


def test_the_newest_event_decides_and_a_warning_of_the_same_second() -> None:
    mounting, pulling = event("FailedMount", NOT_FOUND), event("Pulling", kind="Normal")
    assert newest_warning([]) is None
    assert newest_warning([mounting, pulling]) == ("FailedMount", NOT_FOUND)
    later = event("Pulled", kind="Normal", at=NOW + timedelta(seconds=1))
    assert newest_warning([later, mounting]) is None
    series = {"lastObservedTime": f"{NOW + timedelta(seconds=2):%Y-%m-%dT%H:%M:%S}.000000Z"}
    again = {**mounting, "lastTimestamp": None, "eventTime": None, "series": series}
    assert newest_warning([later, again]) == ("FailedMount", NOT_FOUND)
