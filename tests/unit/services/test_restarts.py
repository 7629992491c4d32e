"""Only so many jobs are restarted at once by choice; who recovers from a failure waits for nobody."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from sluice.core.application import JobKey
from sluice.core.failures import put_off
from sluice.core.record import Failure, Record
from sluice.core.recoveries import LONGEST_RESTART, Cause, Recoveries
from sluice.ports import STREAM_JOBS, Resource
from sluice.services.admission import SOON
from sluice.services.reconciling import HELD_BACK_AGAIN
from sluice.services.restarts import Restarts
from tests.support.cluster import MemoryCluster
from tests.support.jobs import NOW, job, query, report
from tests.support.virtual_time import in_virtual_time
from tests.support.world import World, world

CHANGED = {"image": "shop/clicks:2", "mainFile": "/opt/clicks.py"}
ONE, OTHER = JobKey("shop", "one"), JobKey("shop", "other")


def restarting(cause: Cause = Cause.SPEC_CHANGE) -> Record:
    """A job that is away since NOW."""
    return Record(recoveries=Recoveries().begun(cause, 2, NOW, NOW), last_batch=7)


async def run_both(here: World) -> None:
    """Two jobs whose drivers run and have committed."""
    for name in ("one", "other"):
        await here.declare(name)
        here.runs(name)
        await here.look(name)
    await here.answers(report())
    await asyncio.sleep(10)
    for name in ("one", "other"):
        await here.look(name)
        assert here.cluster.status(name)["phase"] == "Running"
    here.cluster.calls.clear()


def deleted(here: World) -> list[str]:
    """The driver pods that were asked to stop."""
    return [write for write in here.cluster.writes if write.startswith("delete")]


def told(here: World, name: str, kind: str) -> tuple[str, str]:
    """Reason and message of a condition."""
    conditions = here.cluster.status(name)["conditions"]
    one = next(condition for condition in conditions if condition["type"] == kind)
    return one["reason"], one["message"]


@in_virtual_time
async def test_a_changed_job_waits_until_the_restart_of_another_has_committed() -> None:
    async with world(restarts=Restarts(1)) as here:
        await run_both(here)
        await here.declare("one", generation=2, application=CHANGED)
        pause = await here.declare("other", generation=2, application=CHANGED)
        assert deleted(here) == ["delete pods/one-driver"]
        assert pause is not None
        assert pause <= HELD_BACK_AGAIN
        assert here.cluster.status("other")["phase"] == "Running"
        reason, message = told(here, "other", "Managed")
        assert reason == "RestartWaits"
        assert "1 other jobs" in message
        assert "SLUICE_OPERATOR_CONCURRENT_RESTARTS" in message
        assert "waits" in told(here, "other", "SpecApplied")[1]
        here.gone("one")
        await here.look("one")
        here.runs("one")
        await here.look("one")
        await here.look("other")
        assert deleted(here) == ["delete pods/one-driver"]
        await here.answers(report(query(committed_at=here.clock.now()), incarnation=2))
        await here.look("one")
        await here.look("other")
        assert deleted(here) == ["delete pods/one-driver", "delete pods/other-driver"]


@in_virtual_time
async def test_two_jobs_that_are_looked_at_together_do_not_both_take_the_last_place() -> None:
    async with world(restarts=Restarts(1)) as here:
        await run_both(here)
        changes = (
            here.declare(name, generation=2, application=CHANGED) for name in ("one", "other")
        )
        await asyncio.gather(*changes)
        assert len(deleted(here)) == 1


class Slow(MemoryCluster):
    """It takes its time to say whether it would make a pod."""

    async def rehearse(self, resource: Resource, body: Mapping[str, Any]) -> None:
        await asyncio.sleep(1)
        await super().rehearse(resource, body)


@in_virtual_time
async def test_nor_do_two_of_which_it_is_asked_why_they_lack_executors() -> None:
    async with world(Slow(), restarts=Restarts(1)) as here:
        await run_both(here)
        await asyncio.sleep(SOON.total_seconds())
        await here.answers(report(at=here.clock.now()))
        here.cluster.rehearsed.clear()
        changes = (
            here.declare(name, generation=2, application=CHANGED) for name in ("one", "other")
        )
        await asyncio.gather(*changes)
        assert len(here.cluster.rehearsed) == 2
        assert len(deleted(here)) == 1


@in_virtual_time
async def test_a_successor_counts_the_restarts_that_it_finds() -> None:
    async with world(restarts=Restarts(1)) as here:
        await run_both(here)
        await here.declare("one", generation=2, application=CHANGED)
    async with world(here.cluster, restarts=Restarts(1)) as successor:
        async for resource in here.cluster.each(STREAM_JOBS, None):
            successor.reconciler.take_stock(resource)
        await successor.declare("other", generation=2, application=CHANGED)
        assert deleted(here) == ["delete pods/one-driver"]


@in_virtual_time
async def test_a_failed_driver_is_followed_whoever_restarts() -> None:
    async with world(restarts=Restarts(1)) as here:
        await run_both(here)
        await here.declare("one", generation=2, application=CHANGED)
        here.ends("other")
        await here.look("other")
        here.gone("other")
        await asyncio.sleep(60)
        await here.look("other")
        assert here.cluster.status("other")["incarnation"] == 2


@in_virtual_time
async def test_a_job_that_never_ran_waits_for_nobody() -> None:
    async with world(restarts=Restarts(1)) as here:
        await run_both(here)
        await here.declare("one", generation=2, application=CHANGED)
        await here.declare("fresh")
        here.runs("fresh")
        await here.declare("fresh", generation=2, application=CHANGED)
        assert deleted(here)[-1] == "delete pods/fresh-driver"


@in_virtual_time
async def test_a_job_that_was_deleted_makes_room() -> None:
    async with world(restarts=Restarts(1)) as here:
        await run_both(here)
        await here.declare("one", generation=2, application=CHANGED)
        here.delete("one")
        await here.look("one")
        await here.declare("other", generation=2, application=CHANGED)
        assert deleted(here)[-1] == "delete pods/other-driver"


def test_every_restart_by_choice_counts_and_no_recovery_from_a_failure_does() -> None:
    for cause in Cause:
        restarts = Restarts(1)
        restarts.note(ONE, restarting(cause))
        is_chosen = cause not in (Cause.DRIVER_LOSS, Cause.NODE_LOSS, Cause.EXECUTOR_LOSS)
        assert restarts.crowd(OTHER, NOW) == int(is_chosen), cause
        assert restarts.crowd(ONE, NOW) == 0, "its own does not stand in its way"


def test_a_restart_that_takes_too_long_or_fails_holds_nobody_up() -> None:
    restarts = Restarts(1)
    restarts.note(ONE, restarting())
    assert restarts.crowd(OTHER, NOW + LONGEST_RESTART - timedelta(seconds=1)) == 1
    assert restarts.crowd(OTHER, NOW + LONGEST_RESTART) == 0
    failure = Failure(incarnation=2, generation=2, reason="DriverFailed", message="", at=NOW)
    restarts.note(ONE, replace(restarting(), last_failure=failure))
    assert restarts.crowd(OTHER, NOW) == 0


def test_a_restart_that_the_cluster_puts_off_keeps_others_from_being_stopped_as_well() -> None:
    restarts = Restarts(1)
    restarts.note(ONE, put_off(job("one"), restarting(), "failed calling webhook", NOW))
    assert restarts.crowd(OTHER, NOW) == 1


@in_virtual_time
async def test_a_job_that_went_while_another_one_led_holds_no_restart_back() -> None:
    async with world(restarts=Restarts(1)) as here:
        await run_both(here)
        await here.declare("one", generation=2, application=CHANGED)
        here.delete("one")
        here.reconciler.start_afresh()
        await here.declare("other", generation=2, application=CHANGED)
        assert deleted(here)[-1] == "delete pods/other-driver"
