"""What has a name that a job needs, and is not the job's, is never written; the job waits for the name, and says so."""

import asyncio
from typing import Any

import pytest

from sluice.errors import InvalidSpec, Problem
from sluice.manifests import names
from sluice.ports import (
    CONFIG_MAPS,
    DISRUPTION_BUDGETS,
    LEASES,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    Json,
    Resource,
)
from tests.support.jobs import job, query, report, resource
from tests.support.virtual_time import in_virtual_time
from tests.support.world import World, world
from tests.unit.services.test_autoscaling import SCALING

ONCE = {"maximumFailures": 1}
"""A job that would stay down after one failure."""

NEEDED = [
    (SERVICE_ACCOUNTS, "clicks-driver", "ServiceAccount"),
    (ROLES, "clicks-driver", "Role"),
    (ROLE_BINDINGS, "clicks-driver", "RoleBinding"),
    (CONFIG_MAPS, "clicks-conf", "ConfigMap"),
    (SECRETS, "clicks-auth", "Secret"),
]
each_child = pytest.mark.parametrize(("kind", "name", "word"), NEEDED)


def users(here: World, kind: Resource, name: str) -> Json:
    """A user has an object of that name."""
    body = {"metadata": {"name": name, "namespace": "shop"}, "data": {"password": "mine"}}
    return here.cluster.put(kind, body)


def told(here: World) -> tuple[str, str]:
    """Reason and message of the condition of the driver."""
    conditions = {one["type"]: one for one in here.cluster.status()["conditions"]}
    return conditions["DriverRunning"]["reason"], conditions["DriverRunning"]["message"]


async def waits(here: World, seconds: int) -> None:
    """So much time goes by, with a look each second."""
    for _ in range(seconds):
        await here.look()
        await asyncio.sleep(1)


@in_virtual_time
@each_child
async def test_an_object_of_somebody_else_is_left_alone_and_named_with_the_remedy(
    kind: Resource, name: str, word: str
) -> None:
    async with world() as here:
        before = users(here, kind, name)
        await here.declare(restart=ONCE)
        await waits(here, 200)
        assert here.cluster.stored(kind, name) == before
        assert here.cluster.pod() is None
        reason, message = told(here)
        assert reason == "StartBackOff"
        assert f"{word} shop/{name} is there and is not this job's; delete or rename it" in message
        assert here.cluster.status()["failures"]["inARow"] == 0
        assert here.cluster.status()["phase"] == "BackingOff"


@in_virtual_time
@each_child
async def test_a_job_starts_when_what_was_in_its_way_is_gone(
    kind: Resource, name: str, word: str
) -> None:
    async with world() as here:
        users(here, kind, name)
        await here.declare(restart=ONCE)
        await waits(here, 10)
        here.cluster.remove(kind, "shop", name)
        await waits(here, 20)
        assert here.cluster.pod() is not None
        child = here.cluster.stored(kind, name)
        assert child is not None
        assert child["metadata"]["ownerReferences"][0]["uid"] == job().uid


@in_virtual_time
async def test_a_pod_of_somebody_else_is_named_and_tried_past_at_the_usual_pace() -> None:
    async with world() as here:
        before = users(here, PODS, "clicks-driver")
        await here.declare(restart=ONCE)
        await waits(here, 300)
        assert here.cluster.pod() == before
        reason, message = told(here)
        assert reason == "StartBackOff"
        assert "Pod shop/clicks-driver is there and is not this job's; delete" in message
        assert here.cluster.status()["failures"]["inARow"] == 0
        assert here.cluster.writes.count("create pods/clicks-driver") <= 12
        here.cluster.remove(PODS, "shop", "clicks-driver")
        await waits(here, 80)
        assert here.cluster.pod() is not None


@in_virtual_time
async def test_a_user_who_takes_a_name_while_the_job_runs_keeps_what_he_has() -> None:
    async with world() as here:
        await here.declare()
        here.cluster.remove(SECRETS, "shop", "clicks-auth")
        before = users(here, SECRETS, "clicks-auth")
        here.gone()
        await waits(here, 10)
        assert here.cluster.stored(SECRETS, "clicks-auth") == before
        assert told(here)[0] == "StartBackOff"


@in_virtual_time
@each_child
async def test_a_job_that_is_made_anew_waits_for_what_its_predecessor_has_left(
    kind: Resource, name: str, word: str
) -> None:
    async with world() as here:
        await here.declare()
        left = here.cluster.stored(kind, name)
        here.delete()
        await here.look()
        here.gone()
        here.collect()
        assert left is not None
        before = here.cluster.put(kind, left)
        await here.declare(uid="another-uid", restart=ONCE)
        await waits(here, 5)
        assert here.cluster.stored(kind, name) == before
        reason, message = told(here)
        assert reason == "StartBackOff"
        assert f"{word} shop/{name} is a deleted job's of the same name" in message
        here.collect()
        await waits(here, 10)
        assert here.cluster.pod() is not None
        assert here.cluster.status()["failures"]["inARow"] == 0


@in_virtual_time
@pytest.mark.parametrize("has_started", [False, True])
async def test_a_lease_that_is_about_to_be_collected_is_given_to_nobody(has_started: bool) -> None:
    """Its driver would be ended as soon as the Lease is gone."""
    lease = names.lease(job().checkpoint_location)
    async with world() as here:
        await here.declare()
        left = here.cluster.stored(LEASES, lease)
        here.delete()
        await here.look()
        here.gone()
        here.collect()
        assert left is not None
        if has_started:
            await here.declare(uid="another-uid")
            here.gone()
        here.cluster.put(LEASES, left)
        await here.declare(uid="another-uid")
        assert here.cluster.pod() is None
        await here.look()
        assert f"Lease shop/{lease} is a deleted job's" in told(here)[1]
        here.collect()
        await waits(here, 5)
        assert here.cluster.pod() is not None
        found = here.cluster.stored(LEASES, lease)
        assert found is not None
        assert found["metadata"]["ownerReferences"][0]["uid"] == "another-uid"


@in_virtual_time
async def test_a_lease_that_has_gone_is_made_again_for_the_driver_that_waits_for_it() -> None:
    """As where the garbage collector had made up its mind about it while a job got another name."""
    lease, place = names.lease(job().checkpoint_location), resource()["spec"]["checkpoint"]
    async with world() as here:
        await here.declare()
        here.takes_lease()
        here.gone()
        here.delete()
        await here.declare("views", checkpoint=place)
        here.runs("views")
        await here.look("views")
        await here.answers(report(phase="waiting", queries=()))
        await here.look("views")
        found = here.cluster.stored(LEASES, lease)
        assert found is not None
        assert found["spec"]["holderIdentity"] == "uid-of-clicks/1"
        here.cluster.remove(LEASES, "shop", lease)
        await here.look("views")
        found = here.cluster.stored(LEASES, lease)
        assert found is not None
        assert found["metadata"]["ownerReferences"][0]["uid"] == "uid-of-views"
        # Whoever had the former one may live: the driver has to wait all the same.
        assert found["spec"]["holderIdentity"] == "uid-of-views/0"


@in_virtual_time
async def test_the_lease_of_a_place_does_not_go_with_a_job_that_has_moved_from_there() -> None:
    """Who has the place now would be ended for that."""
    lease, place = names.lease(job().checkpoint_location), resource()["spec"]["checkpoint"]
    elsewhere = {"claim": "checkpoints", "path": "elsewhere"}
    async with world() as here:
        await here.declare()
        here.takes_lease()
        here.gone()
        await here.declare(generation=2, checkpoint=elsewhere)
        await here.declare("views", checkpoint=place)
        found = here.cluster.stored(LEASES, lease)
        assert found is not None
        assert found["spec"]["holderIdentity"] == "uid-of-clicks/1"
        here.delete()
        here.collect()
        assert here.cluster.stored(LEASES, lease) is not None


@in_virtual_time
async def test_a_quota_that_the_child_itself_has_used_up_keeps_no_job_from_starting() -> None:
    async with world() as here:
        ours = names.owned_metadata(job(), "clicks-auth")
        here.cluster.put(SECRETS, {"metadata": ours})
        full = InvalidSpec([Problem("clicks-auth", None, "exceeded quota: secrets")])
        here.cluster.refuse("create", SECRETS, full)
        await here.declare()
        assert here.cluster.pod() is not None


async def runs_well(here: World, **spec: Any) -> None:
    """The job's driver runs, and has committed."""
    await here.declare(**spec)
    here.runs()
    await here.look()
    await here.answers(report(query(committed_at=here.clock.now()), at=here.clock.now()))
    await here.look()


@in_virtual_time
@pytest.mark.parametrize("name", ["clicks-last-good", "clicks-scaling"])
async def test_a_config_map_of_somebody_else_is_not_used_as_a_memory(name: str) -> None:
    async with world() as here:
        before = users(here, CONFIG_MAPS, name)
        await runs_well(here, scaling={**SCALING, "mode": "Observe"})
        await asyncio.sleep(120)
        await here.look()
        assert here.autoscaler.decided(job().key) is not None
        assert here.cluster.stored(CONFIG_MAPS, name) == before
        assert here.cluster.status()["phase"] == "Running"


@in_virtual_time
async def test_a_budget_of_somebody_else_is_left_alone_and_asked_about_once() -> None:
    async with world() as here:
        before = users(here, DISRUPTION_BUDGETS, "clicks-driver")
        await here.cordons.ask()
        await runs_well(here)
        assert here.cluster.stored(DISRUPTION_BUDGETS, "clicks-driver") == before
        assert here.cluster.status()["phase"] == "Running"
        here.cluster.calls.clear()
        await waits(here, 5)
        assert not [call for call in here.cluster.calls if call.plural == "poddisruptionbudgets"]


@in_virtual_time
async def test_a_driver_gets_its_budget_when_that_of_the_predecessor_is_gone() -> None:
    async with world() as here:
        await here.cordons.ask()
        await here.declare()
        left = here.cluster.stored(DISRUPTION_BUDGETS, "clicks-driver")
        assert left is not None
        here.delete()
        await here.look()
        here.gone()
        here.collect()
        here.cluster.put(DISRUPTION_BUDGETS, left)
        await here.declare(uid="another-uid")
        assert here.cluster.pod() is not None
        here.collect()
        await here.look()
        budget = here.cluster.stored(DISRUPTION_BUDGETS, "clicks-driver")
        assert budget is not None
        assert budget["metadata"]["ownerReferences"][0]["uid"] == "another-uid"
