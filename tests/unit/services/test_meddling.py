"""People write what is the operator's, and change their minds at any moment: each ends in a state that was declared."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from sluice.core.application import JobKey
from sluice.errors import ClusterUnavailable, Conflict
from sluice.manifests import names
from sluice.ports import LEASES, PODS, STREAM_JOBS
from tests.support.cluster import MemoryCluster
from tests.support.jobs import report
from tests.support.virtual_time import in_virtual_time
from tests.support.world import World, world


async def running(here: World, incarnation: int = 1, **spec: Any) -> None:
    """A job whose driver runs and whose agent answers."""
    await here.declare(**spec)
    here.runs()
    await here.look()
    await here.answers(report(incarnation=incarnation))
    await here.look()


def status(cluster: MemoryCluster) -> dict[str, Any]:
    """The job's status as it is stored."""
    stored = cluster.stored(STREAM_JOBS, "clicks")
    assert stored is not None
    return stored["status"]  # type: ignore[no-any-return]  # plain data


@in_virtual_time
async def test_a_status_emptied_by_hand_does_not_give_an_incarnation_twice() -> None:
    cluster = MemoryCluster()
    async with world(cluster) as here:
        await running(here)
        here.ends()
        await here.look()
        here.gone()
        await asyncio.sleep(60)
        await here.look()
        assert status(cluster)["incarnation"] == 2
    stored = cluster.stored(STREAM_JOBS, "clicks")
    assert stored is not None
    cluster.put(STREAM_JOBS, {**stored, "status": {}})
    async with world(cluster) as there:
        there.runs()
        await there.look()
        assert status(cluster)["incarnation"] == 2
        there.ends()
        await there.look()
        there.gone()
        await asyncio.sleep(60)
        await there.look()
        assert status(cluster)["incarnation"] == 3


@in_virtual_time
async def test_a_status_emptied_by_hand_is_written_again_though_nothing_has_happened() -> None:
    async with world() as here:
        await here.declare(suspend=True)
        before = status(here.cluster)
        stored = here.cluster.stored(STREAM_JOBS, "clicks")
        assert stored is not None
        here.cluster.put(STREAM_JOBS, {**stored, "status": {}})
        await here.look()
        assert status(here.cluster) == before


@in_virtual_time
async def test_a_job_that_was_deleted_and_made_again_has_none_of_the_old_ones_progress() -> None:
    """`kubectl replace --force` with another checkpoint; the garbage collector takes the old driver later."""
    async with world() as here:
        await running(here)
        assert status(here.cluster)["checkpoint"]["lastBatch"] == 7
        here.delete()
        await here.declare(uid="another", checkpoint={"claim": "checkpoints", "path": "v2"})
        assert "lastBatch" not in status(here.cluster).get("checkpoint", {})
        assert status(here.cluster)["phase"] == "Stopping"


@in_virtual_time
async def test_a_spec_that_changes_five_times_during_a_restart_gets_one_driver_of_the_last() -> (
    None
):
    async with world() as here:
        await running(here)
        here.cluster.calls.clear()
        for generation in range(2, 7):
            application = {"image": f"shop/clicks:{generation}", "mainFile": "/opt/clicks.py"}
            await here.declare(generation=generation, application=application)
        here.ends(exit_code=143)
        await here.look()
        here.gone()
        await here.look()
        await here.look()
        assert here.cluster.writes.count("create pods/clicks-driver") == 1
        pod = here.cluster.pod()
        assert pod is not None
        assert pod["spec"]["containers"][0]["image"] == "shop/clicks:6"
        assert status(here.cluster)["incarnation"] == 2


@in_virtual_time
async def test_a_number_that_comes_while_a_job_is_suspended_is_that_of_the_next_driver() -> None:
    async with world() as here:
        await running(here)
        await here.declare(generation=2, suspend=True)
        here.ends(exit_code=0)
        await here.look()
        here.gone()
        await here.look()
        sizes = {"min": 1, "max": 8, "initial": 5}
        await here.declare(generation=3, suspend=True, executors=sizes)
        assert here.cluster.pod() is None
        assert here.agents.targets == []
        assert status(here.cluster)["executors"]["wanted"] == 0
        await here.declare(generation=4, suspend=False, executors=sizes)
        pod = here.cluster.pod()
        assert pod is not None
        variables = {one["name"]: one for one in pod["spec"]["containers"][0]["env"]}
        assert variables["SLUICE_EXECUTORS"]["value"] == "5"


@in_virtual_time
async def test_a_number_that_changes_during_a_rescale_is_followed_by_the_last_one() -> None:
    async with world() as here:
        await running(here)
        for number, generation in ((4, 2), (8, 3), (3, 4)):
            sizes = {"min": 1, "max": 8, "initial": number}
            await here.declare(generation=generation, executors=sizes)
        assert here.agents.targets[-1] == 3
        assert status(here.cluster)["incarnation"] == 1


@in_virtual_time
async def test_a_lease_that_somebody_has_taken_away_keeps_no_job_from_starting() -> None:
    async with world() as here:
        await running(here)
        name = next(call.name for call in here.cluster.calls if call.plural == "leases")
        here.cluster.remove(LEASES, "shop", name)
        here.gone()
        await here.look()
        lease = here.cluster.stored(LEASES, name)
        assert lease is not None
        assert lease["spec"]["holderIdentity"] == "uid-of-clicks/2"
        assert here.cluster.pod() is not None


@in_virtual_time
async def test_a_driver_whose_label_is_taken_away_and_given_back_is_the_jobs_again() -> None:
    async with world() as here:
        await running(here)
        pod = here.cluster.pod()
        assert pod is not None
        labels = pod["metadata"]["labels"]
        others = {name: text for name, text in labels.items() if name != names.JOB_LABEL}
        bare = here.cluster.put(PODS, {**pod, "metadata": {**pod["metadata"], "labels": others}})
        # A watch that selects by it tells that the pod is gone, as it was, at the version of the change.
        version = bare["metadata"]["resourceVersion"]
        here.fleet.lose_pod({**pod, "metadata": {**pod["metadata"], "resourceVersion": version}})
        with suppress(Conflict):
            await here.reconciler.reconcile(JobKey("shop", "clicks"))
        await here.reconciler.reconcile(JobKey("shop", "clicks"))
        assert "is not this job's" in status(here.cluster)["failures"]["message"]
        here.cluster.put(PODS, {**bare, "metadata": {**bare["metadata"], "labels": labels}})
        await here.look()
        await asyncio.sleep(here.poller_pause)
        await here.look()
        assert status(here.cluster)["phase"] == "Running"


@in_virtual_time
async def test_a_driver_that_was_left_behind_by_its_job_is_told_of_with_the_remedy() -> None:
    """`kubectl delete --cascade=orphan`, and the job is made again: nothing collects the pod."""
    async with world() as here:
        await running(here)
        here.drive(lambda pod: {**pod, "metadata": {**pod["metadata"], "ownerReferences": []}})
        here.delete()
        await here.declare(uid="another")
        conditions = {one["type"]: one for one in status(here.cluster)["conditions"]}
        assert "kubectl delete pod clicks-driver -n shop" in conditions["DriverRunning"]["message"]


@in_virtual_time
async def test_annotations_of_another_operator_change_nothing() -> None:
    async with world() as here:
        await running(here)
        here.cluster.calls.clear()
        await here.declare(annotations={"sparkoperator.k8s.io/paused": "true", "sluice.dev/x": "1"})
        assert here.cluster.pod() is not None
        assert here.cluster.writes == []


@in_virtual_time
async def test_a_driver_that_was_not_stopped_after_all_fails_as_any_other() -> None:
    async with world() as here:
        await running(here)
        here.cluster.refuse("delete", PODS, ClusterUnavailable("timeout"))
        with pytest.raises(ClusterUnavailable):
            await here.declare(generation=2, suspend=True)
        assert status(here.cluster)["stopping"] == "spec.suspend is true"
        await here.declare(generation=3, suspend=False)
        assert "stopping" not in status(here.cluster)
        assert status(here.cluster)["phase"] == "Running"
        here.ends(message="boom")
        await here.look()
        assert status(here.cluster)["failures"]["inARow"] == 1


@in_virtual_time
async def test_a_driver_that_was_not_replaced_after_all_is_not_taken_for_one_that_is_away() -> None:
    async with world() as here:
        await running(here)
        await here.look()
        here.cluster.refuse("delete", PODS, ClusterUnavailable("timeout"))
        other = {"image": "shop/clicks:2", "mainFile": "/opt/clicks.py"}
        with pytest.raises(ClusterUnavailable):
            await here.declare(generation=2, application=other)
        assert status(here.cluster)["recoveries"]["present"]["cause"] == "SpecChange"
        await here.declare(generation=3)
        assert "present" not in status(here.cluster)["recoveries"]
