"""A person asks for another driver: once for each value of the annotation, whoever has started the present one."""

import pytest

from sluice.core.asking import RESTART
from tests.support.jobs import report
from tests.support.virtual_time import in_virtual_time
from tests.support.world import World, world
from tests.unit.services.test_lastgood import settles
from tests.unit.services.test_reconciling import ASKED_TO_STOP, started

ASKED = {RESTART: "2026-03-01T12:00:00Z"}


async def restarted(here: World) -> None:
    """The driver that was asked to stop has gone, and the next one runs and is looked at for a while."""
    here.gone()
    await settles(here)
    here.runs()
    await here.look()
    await here.answers(report(incarnation=here.cluster.status()["incarnation"]))
    await settles(here)


@in_virtual_time
async def test_a_driver_is_stopped_in_order_once_for_each_value() -> None:
    async with world() as here:
        await started(here)
        await here.declare(annotations=ASKED)
        assert here.cluster.writes == ASKED_TO_STOP
        status = here.cluster.status()
        assert status["stopping"] == f"{RESTART} asks for it: 2026-03-01T12:00:00Z"
        assert status["recoveries"]["present"]["cause"] == "SpecChange"
        await restarted(here)
        assert here.cluster.status()["incarnation"] == 2
        assert here.cluster.status()["failures"].get("inARow", 0) == 0
        assert here.cluster.writes.count("delete pods/clicks-driver") == 1
        await here.declare(annotations={RESTART: "again"})
        assert here.cluster.writes.count("delete pods/clicks-driver") == 2


@in_virtual_time
async def test_a_successor_of_the_operator_does_not_restart_for_the_same_value() -> None:
    async with world() as former:
        await started(former, annotations=ASKED)
    async with world(former.cluster) as here:
        await here.look()
        await here.answers(report())
        await settles(here)
        assert "delete pods/clicks-driver" not in here.cluster.writes


@pytest.mark.parametrize(
    ("before", "after"),
    [(ASKED, {}), ({}, {"sluice.dev/paused": "true", **ASKED})],
    ids=["nothing is asked any more", "the job is paused"],
)
@in_virtual_time
async def test_a_driver_goes_on_where_no_restart_is_asked_for_or_may_be_made(
    before: dict[str, str], after: dict[str, str]
) -> None:
    async with world() as here:
        await started(here, annotations=before)
        await here.declare(annotations=after)
        await settles(here)
        assert "delete pods/clicks-driver" not in here.cluster.writes
