"""A pod that does not start: its status does not tell all that its Events do."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from typing import Any

from sluice.core.application import JobKey
from sluice.errors import ClusterUnavailable, NotAllowed
from sluice.manifests.reading import newest_warning, ordered_node
from sluice.ports import EVENTS, PODS, STREAM_JOBS, Json, Resource
from sluice.services.statuses import SHORTEST_PAUSE
from tests.support import pods
from tests.support.cluster import MemoryCluster
from tests.support.jobs import NOW, application, query, report, resource
from tests.support.virtual_time import in_virtual_time
from tests.support.world import World, world
from tests.unit.services.test_lastgood import image, settles
from tests.unit.services.test_reconciling import started

NOT_FOUND = 'MountVolume.SetUp failed for volume "code" : configmap "no-such" not found'
EXECUTOR_UID = "uid-of-clicks-1-exec-1"
CLICKS = JobKey("shop", "clicks")


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


async def without_its_volume(here: World) -> None:
    """A job whose driver's pod cannot mount something, as was told at the last look."""
    pause = await waiting(here)
    happens(here, event("FailedMount", NOT_FOUND))
    await asyncio.sleep(pause)
    await here.look()


def condition(here: World, kind: str) -> Json:
    conditions: list[Json] = here.cluster.status()["conditions"]
    return next(one for one in conditions if one["type"] == kind)


def driver_running(here: World) -> tuple[str, str]:
    found = condition(here, "DriverRunning")
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
        await asyncio.sleep(10)
        await here.look()
        assert driver_running(here)[0] == "FailedMount"
        happens(here, event("Pulling", kind="Normal", at=NOW + timedelta(seconds=20)))
        await asyncio.sleep(10)
        await here.look()
        assert driver_running(here)[0] == "Pending"
        here.runs()
        assert await here.look() != 10
        assert driver_running(here)[0] != "Pending"


@in_virtual_time
async def test_events_are_asked_for_every_ten_seconds_however_often_a_job_is_looked_at() -> None:
    """It is with each answer of its agent, and each change of a pod, of which it may have hundreds."""
    async with world() as here:
        await without_its_volume(here)
        here.cluster.refuse("list", EVENTS, AssertionError("nobody should ask"))
        await asyncio.sleep(4)
        here.drive(pods.being_made)
        assert await here.look() == 6
        assert driver_running(here)[0] == "FailedMount", "a watch of the pod does not tell it"


@in_virtual_time
async def test_what_events_told_of_a_pod_is_not_said_of_the_next_one() -> None:
    async with world() as here:
        await without_its_volume(here)
        here.gone()
        await settles(here)
        here.drive(pods.being_made)
        await asyncio.sleep(6)
        await here.look()
        assert driver_running(here)[0] == "Pending"


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


async def changed(here: World) -> None:
    """A job that has worked, whose next driver is made with another image, and is to start within 20 s."""
    await started(here)
    wanted = application(image="shop/clicks:2")
    await here.declare(generation=2, application=wanted, restart={"rollbackAfter": "20s"})
    here.gone()
    await settles(here)


@in_virtual_time
async def test_a_change_that_asks_for_a_volume_which_is_missing_is_taken_back() -> None:
    async with world() as here:
        await changed(here)
        here.drive(pods.being_made)
        happens(here, event("FailedMount", NOT_FOUND))
        await asyncio.sleep(19)
        await settles(here)
        assert image(here.cluster) == "shop/clicks:2"
        assert driver_running(here)[0] == "FailedMount"
        await asyncio.sleep(1)
        await settles(here)
        here.gone()
        await settles(here)
        assert image(here.cluster) == "shop/clicks:1"
        applied = condition(here, "SpecApplied")
        assert applied["reason"] == "RolledBack"
        assert NOT_FOUND in applied["message"]


UNSCHEDULABLE = {
    "phase": "Pending",
    "conditions": [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/2 nodes are available: 2 Insufficient memory.",
        }
    ],
}


def executor(here: World, number: int, status: Json, *, node: str | None = None) -> None:
    """Spark has asked for an executor, whose pod has come so far."""
    pod = pods.executor("clicks", f"clicks-1-exec-{number}")
    pod["spec"] |= {} if node is None else {"nodeName": node}
    here.fleet.see_pod(here.cluster.put(PODS, {**pod, "status": status}))


PROMISE = "pod triggered scale-up: [{workers 2->3 (max: 10)}]"


async def hears(here: World, told: Json, uid: str = EXECUTOR_UID) -> None:
    """The cluster's autoscaler tells of a pod, and the operator looks when it has said it would."""
    here.cluster.put(EVENTS, {**told, "involvedObject": {"uid": uid}})
    assert await told_again(here) == 10


async def told_again(here: World) -> float | None:
    await asyncio.sleep(10)
    return await told(here)


async def without_batches(here: World) -> None:
    """A job whose driver runs and has started its query; no executor has come."""
    await here.declare()
    here.runs()
    await here.look()
    await here.answers(report(query(batch_id=None, committed_at=None)))
    await here.look()


async def told(here: World) -> float | None:
    """Look when words alone are written, too; the pause until the next look."""
    await asyncio.sleep(SHORTEST_PAUSE)
    return await here.look()


@in_virtual_time
async def test_executors_without_room_are_told_with_what_they_need() -> None:
    async with world() as here:
        await without_batches(here)
        assert condition(here, "Ready")["message"] == "No batch has been committed yet."
        executor(here, 1, UNSCHEDULABLE)
        executor(here, 2, UNSCHEDULABLE)
        await told(here)
        for kind in ("Ready", "ScalingActive"):
            message = condition(here, kind)["message"]
            assert "2 executors, clicks-1-exec-1 among them, do not start" in message
            assert "2 Insufficient memory" in message
            assert "spec.executors.memory" in message
        executor(here, 1, {"phase": "Running"}, node="node-1")
        executor(here, 2, {"phase": "Running"}, node="node-1")
        await told(here)
        assert "not start" not in condition(here, "ScalingActive")["message"]


@in_virtual_time
async def test_a_node_that_is_added_for_executors_is_told_and_may_be_withdrawn() -> None:
    async with world() as here:
        await without_batches(here)
        executor(here, 1, UNSCHEDULABLE)
        await hears(here, event("TriggeredScaleUp", PROMISE, kind="Normal"))
        message = condition(here, "ScalingActive")["message"]
        assert f"The cluster's autoscaler adds a node: {PROMISE}." in message
        assert "add a node." not in message, "nobody else has to"
        later = NOW + timedelta(seconds=60)
        await hears(here, event("NotTriggerScaleUp", "1 max node group size reached", at=later))
        message = condition(here, "ScalingActive")["message"]
        assert "adds a node" not in message
        assert "add a node." in message


@in_virtual_time
async def test_of_several_executors_one_that_cannot_be_made_is_told_of_first() -> None:
    async with world() as here:
        await without_batches(here)
        executor(here, 1, UNSCHEDULABLE)
        executor(here, 2, {"phase": "Pending"}, node="node-1")
        await hears(here, event("FailedMount", NOT_FOUND), "uid-of-clicks-1-exec-2")
        assert {pod.obstacle for pod in here.fleet.waiting(CLICKS)} > {("FailedMount", NOT_FOUND)}


@in_virtual_time
async def test_a_node_stays_ordered_while_the_scheduler_tells_again_that_there_is_none() -> None:
    async with world() as here:
        await without_batches(here)
        executor(here, 1, UNSCHEDULABLE)
        await hears(here, event("TriggeredScaleUp", PROMISE, kind="Normal"))
        executor(here, 1, UNSCHEDULABLE)
        (waiting,) = here.fleet.waiting(CLICKS)
        assert waiting.ordered_node == PROMISE
        executor(here, 1, {"phase": "Pending"}, node="node-3")
        (waiting,) = here.fleet.waiting(CLICKS)
        assert waiting.ordered_node == ""


@in_virtual_time
async def test_a_change_that_waits_for_a_node_is_not_taken_back_until_no_node_can_be_coming() -> (
    None
):
    async with world() as here:
        await changed(here)
        here.drive(lambda pod: {**pod, "status": UNSCHEDULABLE})
        happens(here, event("TriggeredScaleUp", PROMISE, kind="Normal"))
        await asyncio.sleep(600)
        await settles(here)
        assert image(here.cluster) == "shop/clicks:2"
        reason, message = driver_running(here)
        assert reason == "Unschedulable"
        assert PROMISE in message
        await asyncio.sleep(300)
        await settles(here)
        here.gone()
        await settles(here)
        assert image(here.cluster) == "shop/clicks:1"


def of_karpenter(reason: str, message: str, at: datetime = NOW) -> Json:
    return {**event(reason, message, at=at), "source": {"component": "karpenter"}}


def test_of_a_node_the_last_word_of_the_autoscaler_counts_and_no_word_of_the_scheduler() -> None:
    later = NOW + timedelta(seconds=30)
    scheduler = {**event("FailedScheduling", at=later), "reportingComponent": "default-scheduler"}
    nominated = of_karpenter("Nominated", "Pod should schedule on: nodeclaim/default-x")
    assert ordered_node([]) == ""
    assert ordered_node([scheduler]) == ""
    assert ordered_node([nominated, scheduler]) == "Pod should schedule on: nodeclaim/default-x"
    failed = of_karpenter("FailedScheduling", "no instance type met the requirements", later)
    assert ordered_node([failed, nominated]) == ""
    assert ordered_node([event("TriggeredScaleUp", kind="Normal")]) == "TriggeredScaleUp"


@in_virtual_time
async def test_an_executor_whose_volume_cannot_be_mounted_is_told_of() -> None:
    async with world() as here:
        await without_batches(here)
        executor(here, 1, {"phase": "Pending"}, node="node-1")
        lost = {**event("FailedMount", NOT_FOUND), "involvedObject": {"uid": EXECUTOR_UID}}
        here.cluster.put(EVENTS, lost)
        assert await told(here) == 10
        message = condition(here, "Ready")["message"]
        assert "Executor clicks-1-exec-1 does not start: FailedMount" in message
        assert NOT_FOUND in message
        here.fleet.lose_pod(here.cluster.remove(PODS, "shop", "clicks-1-exec-1"))
        await told(here)
        assert "not start" not in condition(here, "Ready")["message"]


def test_a_config_map_that_spark_has_not_made_yet_is_nobodys_fault() -> None:
    late = event(
        "FailedMount",
        'MountVolume.SetUp failed for volume "spark-conf-volume-exec" : '
        'configmap "spark-exec-12fd60a22591de24-conf-map" not found',
    )
    assert newest_warning([late]) is None
    assert newest_warning([late, event("FailedMount", NOT_FOUND)]) == ("FailedMount", NOT_FOUND)


def test_the_newest_event_decides_and_a_warning_of_the_same_second() -> None:
    mounting, pulling = event("FailedMount", NOT_FOUND), event("Pulling", kind="Normal")
    assert newest_warning([]) is None
    assert newest_warning([mounting, pulling]) == ("FailedMount", NOT_FOUND)
    later = event("Pulled", kind="Normal", at=NOW + timedelta(seconds=1))
    assert newest_warning([later, mounting]) is None
    series = {"lastObservedTime": f"{NOW + timedelta(seconds=2):%Y-%m-%dT%H:%M:%S}.000000Z"}
    again = {**mounting, "lastTimestamp": None, "eventTime": None, "series": series}
    assert newest_warning([later, again]) == ("FailedMount", NOT_FOUND)


class Interrupted(MemoryCluster):
    """Something happens while it is asked for Events."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], None] = lambda: None

    async def each(self, resource: Resource, *args: Any, **how: Any) -> AsyncIterator[Json]:
        if resource == EVENTS:
            self.meanwhile()
        async for body in super().each(resource, *args, **how):
            yield body


@in_virtual_time
async def test_a_job_that_is_made_again_while_events_are_read_has_nothing_of_the_old_ones() -> None:
    cluster = Interrupted()

    async with world(cluster) as here:

        def made_again() -> None:
            here.delete()
            here.fleet.see_job(cluster.put(STREAM_JOBS, resource(uid="another")))

        await waiting(here)
        await asyncio.sleep(10)
        cluster.meanwhile = made_again
        await here.reconciler.reconcile(CLICKS)
        assert cluster.status()["incarnation"] == 0
        cluster.meanwhile = here.delete
        await here.reconciler.reconcile(CLICKS)
