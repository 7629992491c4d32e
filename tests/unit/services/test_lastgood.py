"""Going back to the last spec that worked: what is kept, when it is read, and that no crash on the way matters."""

import asyncio
import json
from typing import Any

import pytest

from sluice.core.application import JobKey
from sluice.core.observations import QueryFailure
from sluice.errors import ClusterUnavailable, Declined, InvalidSpec, Problem
from sluice.manifests.reading import document_of
from sluice.ports import CONFIG_MAPS, PODS, STREAM_JOBS
from sluice.services.lastgood import DECLINED_AGAIN, REFUSED_AGAIN
from tests.support.cluster import MemoryCluster
from tests.support.jobs import query, report
from tests.support.virtual_time import in_virtual_time
from tests.support.world import World, world
from tests.unit.services.test_reconciling import KEPT, started

BROKEN = {"image": "shop/clicks:broken", "mainFile": "/opt/clicks.py"}
INVALID = {"min": 5, "max": 2}


def image(cluster: MemoryCluster) -> str:
    """The image of the present driver pod."""
    pod = cluster.pod()
    assert pod is not None
    found: str = pod["spec"]["containers"][0]["image"]
    return found


def condition(cluster: MemoryCluster, kind: str) -> dict[str, Any]:
    """A condition of the job."""
    found: dict[str, Any] = next(
        one for one in cluster.status()["conditions"] if one["type"] == kind
    )
    return found


async def settles(here: World) -> None:
    """Look for as long as the next look is due at once."""
    while await here.look() == 0.0:
        pass


async def fails(here: World) -> None:
    """The driver runs, ends at once, goes, and is followed when its pause is over."""
    here.runs()
    here.ends()
    await settles(here)
    here.gone()
    await asyncio.sleep(60)
    await settles(here)


async def rolled_back(here: World) -> None:
    """A job that worked, whose change never did."""
    await started(here)
    await here.declare(generation=2, application=BROKEN)
    here.gone()
    await settles(here)
    assert image(here.cluster) == "shop/clicks:broken"
    await fails(here)
    assert image(here.cluster) == "shop/clicks:broken"
    await fails(here)


@in_virtual_time
async def test_the_spec_of_a_job_that_works_is_kept_once_before_its_status_says_so() -> None:
    async with world() as here:
        await here.declare()
        here.runs()
        await here.look()
        here.cluster.calls.clear()
        await here.answers(report())
        for _ in range(3):
            await here.look()
        assert here.cluster.writes == [KEPT, "apply streamjobs/clicks"]
        kept = here.cluster.stored(CONFIG_MAPS, "clicks-last-good")
        assert kept is not None
        assert kept["metadata"]["ownerReferences"][0]["uid"] == "uid-of-clicks"
        assert here.cluster.status()["proving"]["good"]["generation"] == 1


@in_virtual_time
async def test_a_change_that_fails_twice_is_followed_by_the_last_spec_that_worked() -> None:
    async with world() as here:
        await rolled_back(here)
        assert image(here.cluster) == "shop/clicks:1"
        assert condition(here.cluster, "SpecApplied")["reason"] == "RolledBack"
        here.runs()
        await settles(here)
        await here.answers(report(incarnation=here.cluster.status()["incarnation"]))
        for _ in range(3):
            await settles(here)
        assert here.cluster.status()["phase"] == "Running"
        assert condition(here.cluster, "SpecApplied")["reason"] == "RolledBack"
        assert condition(here.cluster, "Ready")["message"] == (
            "The job runs, by the last spec that worked."
        )
        assert here.cluster.status()["proving"]["good"]["generation"] == 1


@in_virtual_time
async def test_what_runs_live_and_what_nothing_needs_a_driver_for_stays_as_declared() -> None:
    async with world() as here:
        await started(here)
        wanted = {"min": 1, "max": 8, "initial": 3, "cores": 4}
        await here.declare(generation=2, application=BROKEN, executors=wanted)
        here.gone()
        await settles(here)
        await fails(here)
        await fails(here)
        document = document_of(here.cluster.pod() or {}, lambda spec: dict(spec))  # type: ignore[call-overload]
        assert document is not None
        assert document["executors"]["initial"] == 3
        assert document["executors"]["cores"] == 1


@in_virtual_time
async def test_a_successor_goes_back_as_well() -> None:
    async with world() as here:
        await started(here)
        await here.declare(generation=2, application=BROKEN)
        here.gone()
        await settles(here)
        await fails(here)
        here.runs()
        here.ends()
        await here.look()
    async with world(here.cluster) as successor:
        successor.watch()
        successor.gone()
        await settles(successor)
        assert image(here.cluster) == "shop/clicks:1"
        assert condition(here.cluster, "SpecApplied")["reason"] == "RolledBack"


@in_virtual_time
async def test_nothing_is_started_before_the_last_good_spec_could_be_read() -> None:
    async with world() as here:
        await started(here)
        await here.declare(generation=2, application=BROKEN)
        here.gone()
        await settles(here)
        await fails(here)
        here.runs()
        here.ends()
        await here.look()
        here.gone()
        here.cluster.refuse("get", CONFIG_MAPS, ClusterUnavailable("busy"))
        with pytest.raises(ClusterUnavailable):
            await here.look()
        assert here.cluster.pod() is None
        await settles(here)
        assert image(here.cluster) == "shop/clicks:1"


@in_virtual_time
async def test_a_further_change_is_tried() -> None:
    async with world() as here:
        await rolled_back(here)
        mended = {"image": "shop/clicks:mended", "mainFile": "/opt/clicks.py"}
        await here.declare(generation=3, application=mended)
        here.gone()
        await settles(here)
        assert image(here.cluster) == "shop/clicks:mended"
        assert condition(here.cluster, "SpecApplied")["reason"] != "RolledBack"


async def asks_again(here: World) -> None:
    """A person does what the condition tells to do."""
    told = condition(here.cluster, "SpecApplied")["message"]
    asked = told.partition("sluice.dev/retry=")[2].split()[0]
    await here.declare(generation=2, application=BROKEN, annotations={"sluice.dev/retry": asked})
    await settles(here)
    here.gone()
    await settles(here)


@in_virtual_time
async def test_the_same_spec_is_tried_again_if_a_person_asks_and_is_good_if_it_works() -> None:
    async with world() as here:
        await rolled_back(here)
        here.runs()
        await settles(here)
        await asks_again(here)
        assert image(here.cluster) == "shop/clicks:broken"
        assert condition(here.cluster, "SpecApplied")["reason"] != "RolledBack"
        here.runs()
        await settles(here)
        await here.answers(report(incarnation=here.cluster.status()["incarnation"]))
        await settles(here)
        assert here.cluster.status()["proving"]["good"]["generation"] == 2
        assert "rollback" not in here.cluster.status()["proving"]


@in_virtual_time
async def test_a_wrong_request_for_another_try_is_told_in_the_condition_and_by_no_event() -> None:
    async with world() as here:
        await rolled_back(here)
        before = condition(here.cluster, "SpecApplied")
        here.cluster.calls.clear()
        await here.declare(
            generation=2, application=BROKEN, annotations={"sluice.dev/retry": "yes"}
        )
        await asyncio.sleep(10)
        await settles(here)
        after = condition(here.cluster, "SpecApplied")
        assert "sluice.dev/retry: 'yes' asks for nothing" in after["message"]
        assert {**after, "message": before["message"]} == before
        assert {call.plural for call in here.cluster.calls} == {"streamjobs"}
        assert len(here.cluster.calls) == 1


@in_virtual_time
async def test_one_try_is_made_for_each_time_that_a_person_asks_also_by_a_successor() -> None:
    async with world() as here:
        await rolled_back(here)
        await asks_again(here)
        assert image(here.cluster) == "shop/clicks:broken"
        await fails(here)
        await fails(here)
        assert image(here.cluster) == "shop/clicks:1"
        assert condition(here.cluster, "SpecApplied")["reason"] == "RolledBack"
    async with world(here.cluster) as successor:
        successor.watch()
        await settles(successor)
        assert image(here.cluster) == "shop/clicks:1"
        await asks_again(successor)
        assert image(here.cluster) == "shop/clicks:broken"


@in_virtual_time
async def test_a_good_spec_that_somebody_deleted_is_not_gone_back_to() -> None:
    async with world() as here:
        await started(here)
        await here.declare(generation=2, application=BROKEN)
        here.gone()
        await settles(here)
        here.cluster.remove(CONFIG_MAPS, "shop", "clicks-last-good")
        await fails(here)
        await fails(here)
        assert image(here.cluster) == "shop/clicks:broken"
        assert "rollback" not in here.cluster.status().get("proving", {})


@in_virtual_time
async def test_a_good_spec_of_a_former_job_of_that_name_is_not_gone_back_to() -> None:
    async with world() as here:
        await started(here)
        kept = here.cluster.stored(CONFIG_MAPS, "clicks-last-good")
        assert kept is not None
        kept["metadata"]["ownerReferences"][0]["uid"] = "another"
        here.cluster.put(CONFIG_MAPS, kept)
        await here.declare(generation=2, application=BROKEN)
        here.gone()
        await settles(here)
        await fails(here)
        await fails(here)
        assert image(here.cluster) == "shop/clicks:broken"


@in_virtual_time
async def test_a_good_spec_that_the_cluster_does_not_take_is_done_without() -> None:
    async with world() as here:
        await refused(here)
        here.cluster.calls.clear()
        await here.look()
        assert here.cluster.status()["phase"] == "Running"
        assert "proving" not in here.cluster.status()
        assert here.cluster.writes == []


async def commits(here: World) -> None:
    """The agent tells what has worked, and the job is looked at."""
    await here.answers(report(query(committed_at=here.clock.now()), at=here.clock.now()))
    await here.look()


QUOTA = InvalidSpec([Problem("configmaps", None, "quota")])


async def refused(here: World, refusal: Exception = QUOTA) -> None:
    """A job that works, whose spec the cluster has refused to keep once."""
    await here.declare()
    here.runs()
    await here.look()
    here.cluster.refuse("create", CONFIG_MAPS, refusal)
    await commits(here)
    assert here.cluster.stored(CONFIG_MAPS, "clicks-last-good") is None


@in_virtual_time
async def test_a_good_spec_that_was_refused_is_kept_when_there_is_room_for_it() -> None:
    async with world() as here:
        await refused(here)
        await asyncio.sleep(REFUSED_AGAIN)
        await commits(here)
        assert here.cluster.stored(CONFIG_MAPS, "clicks-last-good") is not None
        assert here.cluster.status()["proving"]["good"]["generation"] == 1


@in_virtual_time
async def test_a_good_spec_that_cannot_be_kept_now_holds_nothing_up_and_is_kept_soon() -> None:
    async with world() as here:
        await refused(here, Declined("failed calling webhook"))
        assert here.cluster.status()["phase"] == "Running"
        await here.look()
        assert here.cluster.stored(CONFIG_MAPS, "clicks-last-good") is None
        await asyncio.sleep(DECLINED_AGAIN)
        await commits(here)
        assert here.cluster.stored(CONFIG_MAPS, "clicks-last-good") is not None


@in_virtual_time
async def test_that_a_good_spec_was_refused_is_forgotten_when_another_one_has_led() -> None:
    async with world() as here:
        await refused(here)
        here.reconciler.start_afresh()
        await commits(here)
        assert here.cluster.stored(CONFIG_MAPS, "clicks-last-good") is not None


@in_virtual_time
async def test_that_a_good_spec_was_refused_is_forgotten_with_its_job() -> None:
    async with world() as here:
        await refused(here)
        here.delete()
        here.gone()
        here.collect()
        await here.look()
        await here.declare()
        here.runs()
        await here.look()
        await commits(here)
        assert here.cluster.stored(CONFIG_MAPS, "clicks-last-good") is not None


@in_virtual_time
async def test_a_driver_that_dies_under_an_invalid_spec_is_followed_by_the_last_good_one() -> None:
    async with world() as here:
        await started(here)
        await here.declare(generation=2, executors=INVALID)
        here.ends()
        await settles(here)
        assert here.cluster.writes[-1] == "delete pods/clicks-driver"
        assert here.cluster.status()["failures"]["inARow"] == 1
        here.gone()
        await asyncio.sleep(60)
        await settles(here)
        assert image(here.cluster) == "shop/clicks:1"
        for kind in ("SpecValid", "SpecApplied", "Ready"):
            assert condition(here.cluster, kind)["reason"] == "InvalidSpec"
        assert "generation 1" in condition(here.cluster, "SpecApplied")["message"]


@in_virtual_time
async def test_a_driver_whose_queries_die_under_an_invalid_spec_is_followed_by_the_last_good_one() -> (
    None
):
    async with world() as here:
        await started(here)
        await here.declare(generation=2, executors=INVALID)
        at = here.clock.now()
        dead = query(active=False, failure=QueryFailure("Boom", "it broke"), ended_at=at)
        await here.answers(report(dead, at=at))
        await asyncio.sleep(60)
        await here.answers(report(dead, at=here.clock.now()))
        await settles(here)
        assert here.cluster.writes[-1] == "delete pods/clicks-driver"
        here.gone()
        await asyncio.sleep(60)
        await settles(here)
        assert image(here.cluster) == "shop/clicks:1"


@in_virtual_time
async def test_a_good_spec_that_nobody_can_use_any_more_is_not_said_to_be_in_force() -> None:
    async with world() as here:
        await rolled_back(here)
        assert condition(here.cluster, "SpecApplied")["reason"] == "RolledBack"
        kept = here.cluster.stored(CONFIG_MAPS, "clicks-last-good")
        assert kept is not None
        spec = json.loads(kept["data"]["spec.json"])
        spec["application"]["mainFile"] = ""
        here.cluster.put(CONFIG_MAPS, {**kept, "data": {"spec.json": json.dumps(spec)}})
    async with world(here.cluster) as successor:
        await settles(successor)
        assert condition(here.cluster, "SpecApplied")["reason"] != "RolledBack"


@in_virtual_time
async def test_a_successor_finds_the_good_spec_of_a_job_whose_own_is_invalid() -> None:
    async with world() as here:
        await started(here)
        await here.declare(generation=2, executors=INVALID)
        here.gone()
    async with world(here.cluster) as successor:
        await settles(successor)
        assert image(here.cluster) == "shop/clicks:1"


@in_virtual_time
async def test_a_paused_job_is_not_started_under_an_invalid_spec_either() -> None:
    async with world() as here:
        await started(here)
        pause = {"sluice.dev/paused": "true"}
        await here.declare(generation=2, executors=INVALID, annotations=pause)
        here.gone()
        await settles(here)
        assert here.cluster.stored(PODS, "clicks-driver") is None


@in_virtual_time
async def test_an_invalid_job_that_never_worked_stays_down() -> None:
    async with world() as here:
        await here.declare()
        here.runs()
        await here.declare(generation=2, executors=INVALID)
        here.ends()
        await settles(here)
        here.gone()
        await asyncio.sleep(60)
        await settles(here)
        assert here.cluster.pod() is None
        assert here.cluster.status()["phase"] == "Invalid"


@in_virtual_time
async def test_nothing_is_read_of_a_job_that_goes_on() -> None:
    async with world() as here:
        here.cluster.refuse("get", CONFIG_MAPS, AssertionError("it was read"))
        await started(here)
        await here.declare(generation=2, executors=INVALID)
        await here.reconciler.reconcile(JobKey("shop", "clicks"))
        assert here.cluster.stored(STREAM_JOBS, "clicks") is not None
