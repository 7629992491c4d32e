"""One look after the other at one job: what is written, in which order, and what is left alone."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from sluice.core.application import JobKey
from sluice.errors import ClusterUnavailable, Conflict, Declined, InvalidSpec, Problem
from sluice.manifests import names
from sluice.manifests.children import agent_token
from sluice.ports import CONFIG_MAPS, EVENTS, LEASES, PODS, SECRETS, STREAM_JOBS, Json, Resource
from sluice.services.reconciling import REFUSED_AGAIN, RESYNC
from sluice.services.statuses import SHORTEST_PAUSE
from tests.support import pods
from tests.support.cluster import MemoryCluster
from tests.support.jobs import NOW, driver, job, query, report, resource
from tests.support.virtual_time import in_virtual_time
from tests.support.world import KEY, World, world

LEASE = names.lease(job().checkpoint_location)

START = [
    "apply streamjobs/clicks",
    f"create leases/{LEASE}",
    "create serviceaccounts/clicks-driver",
    "create roles/clicks-driver",
    "create configmaps/clicks-conf",
    "create secrets/clicks-auth",
    "create rolebindings/clicks-driver",
    "create pods/clicks-driver",
]
START_AGAIN = [
    START[0],
    f"replace leases/{LEASE}",
    *(write.replace("create", "amend") for write in START[2:-1]),
    START[-1],
]
KEPT = "create configmaps/clicks-last-good"
KEPT_AGAIN = KEPT.replace("create", "amend")
ASKED_TO_STOP = ["apply streamjobs/clicks", "delete pods/clicks-driver"]


async def started(here: World, **changes: Any) -> None:
    """A job whose driver runs and whose agent answers."""
    await here.declare(**changes)
    here.runs()
    await here.look()
    await here.answers(report())
    await here.look()
    await asyncio.sleep(SHORTEST_PAUSE)
    await here.look()
    here.cluster.calls.clear()


@in_virtual_time
async def test_a_start_is_recorded_before_anything_is_made_and_the_pod_comes_last() -> None:
    async with world() as here:
        await here.declare()
        assert here.cluster.writes == START
        recorded = here.cluster.calls[0].body["status"]
        assert recorded["incarnation"] == 1
        assert recorded["checkpoint"]["location"] == "claim://shop/checkpoints/clicks"


@in_virtual_time
async def test_children_that_are_there_from_a_start_that_broke_off_are_brought_up_to_date() -> None:
    async with world() as here:
        stale = names.owned_metadata(job(), "clicks-conf")
        here.cluster.put(CONFIG_MAPS, {"metadata": stale, "data": {"old": "yes"}})
        await here.declare()
        assert here.cluster.pod() is not None
        found = here.cluster.stored(CONFIG_MAPS, "clicks-conf")
        assert found is not None
        assert "old" not in found["data"]


@in_virtual_time
async def test_the_lease_passes_on_from_a_dead_driver_and_is_left_to_one_that_may_live() -> None:
    async with world() as here:
        await started(here)
        here.takes_lease()
        here.gone()
        await here.look()
        lease = here.cluster.stored(LEASES, LEASE)
        assert lease is not None
        assert lease["spec"]["holderIdentity"] == "uid-of-clicks/1"
        here.runs()
        here.ends()
        await here.look()
        here.gone()
        await asyncio.sleep(60)
        await here.look()
        lease = here.cluster.stored(LEASES, LEASE)
        assert lease is not None
        assert lease["spec"]["holderIdentity"] == "uid-of-clicks/3"


@in_virtual_time
async def test_a_driver_that_was_refused_leaves_the_lease_to_the_next() -> None:
    async with world() as here:
        here.cluster.refuse("create", PODS, InvalidSpec([Problem("pods", None, "quota exceeded")]))
        await here.declare()
        await asyncio.sleep(60)
        await here.look()
        lease = here.cluster.stored(LEASES, LEASE)
        assert lease is not None
        assert lease["spec"]["holderIdentity"] == "uid-of-clicks/2"


class Wrong(MemoryCluster):
    """It makes the first pod, and says that it has not."""

    def __init__(self, why: Exception) -> None:
        super().__init__()
        self._why = why

    async def create(self, resource: Resource, body: Mapping[str, Any]) -> Json:
        made = await super().create(resource, body)
        if self.writes.count("create pods/clicks-driver") == 1 and resource == PODS:
            raise self._why
        return made


@in_virtual_time
@pytest.mark.parametrize(
    "why", [InvalidSpec([Problem("pods", None, "quota exceeded")]), Declined("500")], ids=str
)
async def test_a_driver_is_not_taken_for_dead_because_its_pod_was_refused(why: Exception) -> None:
    async with world(Wrong(why)) as here:
        await here.declare()
        here.runs()
        here.takes_lease()
        here.watch()
        here.gone()
        await asyncio.sleep(60)
        await here.look()
        assert here.cluster.pod() is not None
        lease = here.cluster.stored(LEASES, LEASE)
        assert lease is not None
        assert lease["spec"]["holderIdentity"] == "uid-of-clicks/1"


@in_virtual_time
async def test_a_driver_that_was_made_after_all_fails_as_any_other() -> None:
    async with world(Wrong(Declined("500"))) as here:
        await here.declare()
        await here.look()
        assert here.cluster.status()["phase"] == "Pending"
        here.runs()
        await here.look()
        here.ends(message="boom")
        await here.look()
        failures = here.cluster.status()["failures"]
        assert failures["inARow"] == 1
        assert "boom" in failures["message"]
        assert here.cluster.writes.count("create pods/clicks-driver") == 1


@in_virtual_time
async def test_a_start_is_written_only_over_the_object_that_was_decided_about() -> None:
    async with world() as here:
        here.cluster.put(STREAM_JOBS, resource())
        here.watch()
        here.cluster.put(STREAM_JOBS, resource(generation=2, suspend=True))
        with pytest.raises(Conflict):
            await here.reconciler.reconcile(JobKey("shop", "clicks"))
        assert here.cluster.writes == ["apply streamjobs/clicks"]
        assert here.cluster.pod() is None


@in_virtual_time
async def test_a_crash_between_the_record_and_the_pod_costs_a_number_and_no_second_driver() -> None:
    async with world() as here:
        here.cluster.refuse("create", PODS, ClusterUnavailable("timeout"))
        with pytest.raises(ClusterUnavailable):
            await here.declare()
    async with world(here.cluster) as successor:
        await successor.look()
        assert here.cluster.status()["incarnation"] == 2
        pod = here.cluster.pod()
        assert pod is not None
        assert pod["metadata"]["labels"]["sluice.dev/incarnation"] == "2"


@in_virtual_time
async def test_a_successor_finds_a_running_driver_and_leaves_it_alone() -> None:
    async with world() as here:
        await started(here)
        pod = here.cluster.pod()
    async with world(here.cluster) as successor:
        await successor.look()
        assert here.cluster.pod() == pod
        assert here.cluster.status()["incarnation"] == 1


@in_virtual_time
async def test_a_driver_pod_that_was_not_seen_is_waited_for() -> None:
    async with world() as here:
        former = driver(job(), owner_uid="uid-of-a-former-job")
        body = {
            "metadata": {
                "name": former.name,
                "namespace": "shop",
                "labels": {"sluice.dev/job": "clicks", "sluice.dev/role": "driver"},
                "ownerReferences": [{"uid": former.owner_uid}],
            },
            "spec": {},
        }
        here.cluster.put(STREAM_JOBS, resource())
        here.watch()
        here.cluster.put(PODS, body)
        with pytest.raises(Conflict):
            await here.reconciler.reconcile(JobKey("shop", "clicks"))
        here.cluster.calls.clear()
        await here.look()
        assert here.cluster.writes == ["apply streamjobs/clicks"]
        assert here.cluster.status()["phase"] == "Stopping"
        here.gone()
        await here.look()
        assert here.cluster.writes[-1] == "create pods/clicks-driver"


@in_virtual_time
async def test_a_conflict_with_a_pod_that_has_gone_since_is_told_as_one() -> None:
    async with world() as here:
        here.cluster.refuse("create", PODS, Conflict("clicks-driver exists"))
        with pytest.raises(Conflict, match="clicks-driver exists"):
            await here.declare()
        await here.look()
        assert here.cluster.pod() is not None


@in_virtual_time
async def test_a_pod_that_the_cluster_refuses_is_a_failure_with_a_back_off() -> None:
    async with world() as here:
        problem = Problem("clicks-driver", None, "exceeded quota: small")
        here.cluster.refuse("create", PODS, InvalidSpec([problem]))
        assert await here.declare() == 0
        await here.look()
        failures = here.cluster.status()["failures"]
        assert failures["inARow"] == 1
        assert failures["reason"] == "DriverRefused"
        assert "exceeded quota: small" in failures["message"]
        here.cluster.calls.clear()
        await asyncio.sleep(5)
        pause = await here.look()
        assert here.cluster.pod() is None
        assert here.cluster.status()["phase"] == "BackingOff"
        assert pause is not None
        await asyncio.sleep(pause)
        await here.look()
        assert here.cluster.pod() is not None


@in_virtual_time
async def test_a_failed_driver_is_recorded_removed_and_followed_after_its_pause() -> None:
    async with world() as here:
        await started(here)
        here.ends(message="boom")
        await here.look()
        assert here.cluster.writes == ASKED_TO_STOP
        assert here.cluster.status()["failures"]["message"].startswith("exit code 1: boom")
        here.gone()
        pause = await here.look()
        assert pause is not None
        assert 0 < pause < 13
        here.cluster.calls.clear()
        await asyncio.sleep(pause)
        await here.look()
        assert here.cluster.writes == START_AGAIN
        assert here.cluster.status()["incarnation"] == 2


@in_virtual_time
async def test_executors_that_a_former_driver_has_left_behind_go_when_the_next_one_starts() -> None:
    async with world() as here:
        await started(here)
        left = pods.executor("clicks", "clicks-1-exec-3")
        for pod in (left, pods.executor("orders", "orders-1-exec-1")):
            pod["metadata"]["labels"][names.INCARNATION_LABEL] = "1"
            here.cluster.put(PODS, pod)
        young = pods.executor("clicks", "clicks-2-exec-1")
        young["metadata"]["labels"][names.INCARNATION_LABEL] = "2"
        here.cluster.put(PODS, young)
        here.ends()
        await here.look()
        here.gone()
        pause = await here.look()
        assert pause is not None
        await asyncio.sleep(pause)
        await here.look()
        deleted = [write for write in here.cluster.writes if write.startswith("delete")]
        assert deleted == ["delete pods/clicks-driver", "delete pods/clicks-1-exec-3"]


@in_virtual_time
async def test_suspending_records_the_stop_and_deletes_that_pod_by_its_uid() -> None:
    async with world() as here:
        await started(here)
        await here.declare(generation=2, suspend=True)
        assert here.cluster.writes == ASKED_TO_STOP
        assert here.cluster.status()["stopping"] == "spec.suspend is true"
        here.gone()
        await here.look()
        assert here.cluster.status()["phase"] == "Suspended"
        assert here.cluster.status()["checkpoint"]["lastBatch"] == 7


@in_virtual_time
async def test_a_paused_operator_tells_of_a_failed_driver_and_leaves_everything_as_it_is() -> None:
    async with world() as here:
        await started(here)
    async with world(here.cluster, paused_by="a switch") as paused:
        paused.watch()
        paused.ends(message="boom")
        await paused.look()
        assert here.cluster.writes == ["apply streamjobs/clicks"]
        assert here.cluster.status()["phase"] == "Paused"
        told = [condition["message"] for condition in here.cluster.status()["conditions"]]
        assert any("boom" in message and "a switch" in message for message in told)
    async with world(here.cluster) as resumed:
        await resumed.look()
        assert here.cluster.writes[1:] == ASKED_TO_STOP


@in_virtual_time
async def test_nothing_is_written_when_nothing_has_changed() -> None:
    async with world() as here:
        await started(here)
        here.executors_run(2)
        await asyncio.sleep(10)
        await here.look()
        here.cluster.calls.clear()
        for _ in range(5):
            await asyncio.sleep(60)
            assert await here.look() == RESYNC
        assert here.cluster.writes == []


@in_virtual_time
async def test_numbers_alone_are_written_at_most_every_ten_seconds() -> None:
    async with world() as here:
        await started(here)
        await asyncio.sleep(10)
        here.cluster.calls.clear()
        for batch in range(100, 130):
            here.agents.reports[pods.ADDRESS] = report(query(batch_id=batch))
            await asyncio.sleep(1)
            await here.look()
        assert here.cluster.writes == ["apply streamjobs/clicks"] * 3


@in_virtual_time
async def test_a_usual_lag_that_changes_is_a_number() -> None:
    async with world() as here:
        await started(here)
        await asyncio.sleep(10)
        here.cluster.calls.clear()
        for lag in range(10):
            await here.answers(report(query(backlog_rows=100.0 * lag, arrival_rate=10.0)))
            await here.look()
        assert len(here.cluster.writes) == 5
        assert here.cluster.status()["recoveries"]["usualLag"] == 80


@in_virtual_time
async def test_what_people_want_to_hear_of_is_written_at_once() -> None:
    async with world() as here:
        await started(here)
        await here.declare(generation=2, progressDeadline="9m")
        assert here.cluster.writes == [KEPT_AGAIN, "apply streamjobs/clicks"]
        assert here.cluster.status()["observedGeneration"] == 2


@in_virtual_time
async def test_a_new_number_of_executors_goes_to_the_agent_with_the_jobs_token() -> None:
    async with world() as here:
        await started(here)
        await here.declare(generation=2, executors={"min": 1, "max": 8, "initial": 5})
        assert here.agents.targets == [5]
        assert set(here.agents.tokens) == {agent_token("uid-of-clicks", KEY)}


@in_virtual_time
async def test_an_agent_that_takes_no_number_is_asked_again_and_holds_nothing_up() -> None:
    async with world() as here:
        await started(here)
        silent = here.agents.reports.pop(pods.ADDRESS)
        await here.declare(generation=2, executors={"min": 1, "max": 8, "initial": 5})
        assert here.agents.targets == []
        here.agents.reports[pods.ADDRESS] = silent
        await here.look()
        assert here.agents.targets == [5]


@in_virtual_time
async def test_an_invalid_spec_says_why_and_makes_nothing() -> None:
    async with world() as here:
        await here.declare(executors={"min": 5, "max": 2})
        assert here.cluster.writes == ["apply streamjobs/clicks"]
        status = here.cluster.status()
        assert status["phase"] == "Invalid"
        conditions = {condition["type"]: condition for condition in status["conditions"]}
        assert conditions["SpecValid"]["status"] == "False"
        assert "executors" in conditions["SpecValid"]["message"]
        await here.look()
        assert here.cluster.writes == ["apply streamjobs/clicks"]


@in_virtual_time
async def test_a_driver_goes_on_while_the_spec_is_invalid_and_nothing_is_forgotten() -> None:
    async with world() as here:
        await started(here)
        await here.declare(generation=2, executors={"min": 5, "max": 2})
        assert here.cluster.writes == ["apply streamjobs/clicks"]
        assert here.cluster.status()["incarnation"] == 1
        assert here.cluster.status()["checkpoint"]["lastBatch"] == 7
        assert here.cluster.pod() is not None


@in_virtual_time
async def test_a_driver_that_has_ended_while_nothing_can_be_read_of_the_job_does_not_go_on() -> (
    None
):
    async with world() as here:
        await started(here)
        await here.declare(annotations={"sluice.dev/paused": "True"})
        assert here.cluster.status()["phase"] == "Running"
        here.ends()
        while await here.look() == 0.0:
            pass
        status = here.cluster.status()
        assert status["phase"] == "Invalid"
        assert "the driver goes on" not in str(status["conditions"])


@in_virtual_time
async def test_the_second_job_on_a_checkpoint_waits_until_the_first_ones_driver_is_gone() -> None:
    shared = {"claim": "checkpoints", "path": "shared"}
    async with world() as here:
        await here.declare("first", checkpoint=shared)
        here.runs("first")
        here.watch("first")
        assert await here.declare("second", checkpoint=shared) == REFUSED_AGAIN
        assert here.cluster.status("second")["phase"] == "Refused"
        here.delete("first")
        await here.look("second")
        assert here.cluster.pod("second-driver") is None
        here.gone("first")
        await here.look("second")
        assert here.cluster.pod("second-driver") is not None


@in_virtual_time
async def test_an_older_job_that_comes_while_another_starts_on_the_checkpoint_is_refused() -> None:
    class Slow(MemoryCluster):
        """Every write takes a second."""

        async def apply(
            self, resource: Resource, body: Mapping[str, Any], *, subresource: str = ""
        ) -> Json:
            await asyncio.sleep(1)
            return await super().apply(resource, body, subresource=subresource)

    shared = {"claim": "checkpoints", "path": "shared"}
    async with world(Slow()) as here:
        starting = asyncio.create_task(here.declare("young", checkpoint=shared))
        await asyncio.sleep(0.5)
        await here.declare("old", checkpoint=shared, created=NOW - timedelta(days=1))
        await starting
        assert here.cluster.pod("young-driver") is not None
        assert here.cluster.pod("old-driver") is None
        assert here.cluster.status("old")["phase"] == "Refused"


@in_virtual_time
async def test_a_job_that_is_made_anew_begins_at_its_first_incarnation() -> None:
    async with world() as here:
        await started(here)
        here.delete()
        await here.look()
        here.gone()
        here.collect()
        await here.declare(uid="another-uid")
        assert here.cluster.status()["incarnation"] == 1
        pod = here.cluster.pod()
        assert pod is not None
        assert pod["metadata"]["ownerReferences"][0]["uid"] == "another-uid"


@in_virtual_time
async def test_a_job_that_is_being_deleted_is_left_alone() -> None:
    async with world() as here:
        body = resource()
        body["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
        here.cluster.put(STREAM_JOBS, body)
        assert await here.look() is None
        assert here.cluster.calls == []


@in_virtual_time
async def test_each_news_is_one_event() -> None:
    async with world() as here:
        await started(here)
        here.ends(message="boom")
        await here.look()
        await here.look()
        events = [call.body for call in here.cluster.calls if call.plural == "events"]
        assert [(event["type"], event["reason"]) for event in events] == [
            ("Warning", "DriverFailed")
        ]
        assert "exit code 1: boom" in events[0]["message"]
        assert events[0]["involvedObject"]["uid"] == "uid-of-clicks"


@in_virtual_time
async def test_an_event_that_cannot_be_posted_holds_nothing_up() -> None:
    async with world() as here:
        here.cluster.refuse("create", EVENTS, ClusterUnavailable("busy"))
        await here.declare()
        assert here.cluster.pod() is not None


@in_virtual_time
async def test_after_another_one_has_led_its_record_counts() -> None:
    async with world() as here:
        await started(here)
        async with world(here.cluster) as other:
            other.watch()
            other.ends()
            await other.look()
            other.gone()
            await asyncio.sleep(30)
            await other.look()
        assert here.cluster.status()["incarnation"] == 2
        here.reconciler.start_afresh()
        await here.look()
        assert here.cluster.status()["incarnation"] == 2


@in_virtual_time
async def test_the_operator_reads_no_secret_of_a_job() -> None:
    async with world() as here:
        here.cluster.refuse("get", SECRETS, AssertionError("a Secret was read"))
        await started(here)


@in_virtual_time
@pytest.mark.parametrize("kind", [CONFIG_MAPS, SECRETS, LEASES])
async def test_what_the_cluster_refuses_of_a_drivers_surroundings_is_a_failure_with_a_back_off(
    kind: Resource,
) -> None:
    async with world() as here:
        problem = Problem("clicks", None, "exceeded quota: objects")
        here.cluster.refuse("create", kind, InvalidSpec([problem]))
        await here.declare()
        pause = await here.look()
        failures = here.cluster.status()["failures"]
        assert failures["reason"] == "DriverRefused"
        assert "exceeded quota: objects" in failures["message"]
        assert here.cluster.status()["phase"] == "BackingOff"
        assert here.cluster.pod() is None
        assert pause is not None
        await asyncio.sleep(pause)
        await here.look()
        assert here.cluster.pod() is not None


@in_virtual_time
@pytest.mark.parametrize("kind", [CONFIG_MAPS, SECRETS, LEASES])
async def test_what_of_a_drivers_surroundings_cannot_be_made_now_puts_its_start_off(
    kind: Resource,
) -> None:
    async with world() as here:
        here.cluster.refuse("create", kind, Declined("500: failed calling webhook"))
        await here.declare()
        pause = await here.look()
        assert here.cluster.status()["failures"]["reason"] == "StartBackOff"
        assert here.cluster.pod() is None
        assert pause is not None
        await asyncio.sleep(pause)
        await here.look()
        assert here.cluster.pod() is not None


@in_virtual_time
async def test_the_recovery_from_a_driver_that_somebody_deletes_is_measured_and_no_failure() -> (
    None
):
    async with world() as here:
        await started(here)
        here.gone()
        await here.look()
        status = here.cluster.status()
        assert status["recoveries"]["present"]["cause"] == "DriverLoss"
        assert status["recoveries"]["present"]["incarnation"] == status["incarnation"] == 2
        assert not status["failures"].get("inARow")


@in_virtual_time
async def test_a_successor_measures_the_loss_of_a_driver_that_nobody_saw_go() -> None:
    async with world() as here:
        await started(here)
        here.gone()
    async with world(here.cluster) as successor:
        await successor.look()
        assert here.cluster.status()["recoveries"]["present"]["cause"] == "DriverLoss"


@in_virtual_time
async def test_a_job_that_is_resumed_recovers_from_nothing() -> None:
    async with world() as here:
        await started(here)
        await here.declare(generation=2, suspend=True)
        here.gone()
        await here.look()
        await here.declare(generation=3)
        assert here.cluster.status()["incarnation"] == 2
        assert "present" not in here.cluster.status().get("recoveries", {})


@in_virtual_time
async def test_a_driver_that_somebody_deletes_in_order_is_measured_once_it_is_gone() -> None:
    async with world() as here:
        await started(here)
        going = {"deletionTimestamp": NOW.isoformat(), "deletionGracePeriodSeconds": 40}
        here.drive(lambda pod: {**pod, "metadata": {**pod["metadata"], **going}})
        await here.look()
        assert "present" not in here.cluster.status().get("recoveries", {})
        here.gone()
        await here.look()
        assert here.cluster.status()["recoveries"]["present"]["cause"] == "DriverLoss"


@in_virtual_time
@pytest.mark.parametrize("path", ["prod/clicks", "prod//clicks", "/prod/clicks/"])
async def test_a_checkpoint_is_one_place_however_its_path_is_written(path: str) -> None:
    async with world() as here:
        await here.declare(checkpoint={"claim": "checkpoints", "path": path})
        here.runs()
        await here.look()
        await here.declare("views", checkpoint={"claim": "checkpoints", "path": "prod/clicks"})
        assert here.cluster.status("views")["phase"] == "Refused"
        # Its driver stops when it is deleted, and tells by its own spec alone which place it still has.
        here.delete()
        pod = here.cluster.pod()
        assert pod is not None
        pod["metadata"]["deletionTimestamp"] = here.clock.now().isoformat()
        here.fleet.see_pod(here.cluster.put(PODS, pod))
        await here.look("views")
        assert here.cluster.pod("views-driver") is None
        here.gone()
        await here.look("views")
        assert here.cluster.pod("views-driver") is not None
