"""Agents are asked steadily, together not too often, and nobody waits for one that is silent."""

import asyncio

import pytest

from sluice.core.application import JobKey
from sluice.manifests.children import agent_token
from sluice.services.polling import OLDEST, Pace
from tests.support import pods
from tests.support.jobs import report
from tests.support.virtual_time import in_virtual_time
from tests.support.world import KEY, World, world

CLICKS = JobKey("shop", "clicks")


async def running(here: World) -> None:
    """A job whose driver runs, and which has been looked at since."""
    await here.declare()
    here.runs()
    await here.look()


@in_virtual_time
async def test_an_agent_is_asked_every_interval_with_its_jobs_token() -> None:
    async with world() as here:
        here.agents.reports[pods.ADDRESS] = report()
        await running(here)
        await asyncio.sleep(21)
        assert len(here.agents.asked) == 5
        assert set(here.agents.tokens) == {agent_token("uid-of-clicks", KEY)}
        assert here.told == [CLICKS] * 5


@in_virtual_time
async def test_a_silent_agent_is_asked_less_and_less_and_what_it_said_last_is_kept_a_while() -> (
    None
):
    async with world() as here:
        here.agents.reports[pods.ADDRESS] = report()
        await running(here)
        await asyncio.sleep(1)
        del here.agents.reports[pods.ADDRESS]
        driver = here.fleet.driver(CLICKS)
        assert driver is not None
        await asyncio.sleep(10)
        told, silence = here.poller.report(CLICKS, driver)
        assert told is not None
        assert silence is not None
        assert "nobody answers" in silence
        await asyncio.sleep(OLDEST.total_seconds())
        assert here.poller.report(CLICKS, driver)[0] is None
        asked = len(here.agents.asked)
        await asyncio.sleep(600)
        assert 9 <= len(here.agents.asked) - asked <= 12


@in_virtual_time
async def test_an_agent_has_as_long_for_its_first_answer_as_a_report_is_fresh() -> None:
    async with world() as here:
        await running(here)
        driver = here.fleet.driver(CLICKS)
        assert driver is not None
        await asyncio.sleep(OLDEST.total_seconds())
        assert len(here.agents.asked) > 1
        assert here.poller.report(CLICKS, driver) == (None, None)
        await asyncio.sleep(1)
        assert here.poller.report(CLICKS, driver)[1] is not None


@in_virtual_time
async def test_a_driver_that_ended_is_not_asked_any_more() -> None:
    async with world() as here:
        here.agents.reports[pods.ADDRESS] = report()
        await running(here)
        await asyncio.sleep(1)
        here.ends()
        here.watch()
        asked = len(here.agents.asked)
        await asyncio.sleep(60)
        assert len(here.agents.asked) == asked


@in_virtual_time
async def test_what_one_incarnation_told_says_nothing_of_the_next() -> None:
    async with world() as here:
        here.agents.reports[pods.ADDRESS] = report()
        await running(here)
        await asyncio.sleep(1)
        here.ends()
        await here.look()
        here.gone()
        await asyncio.sleep(20)
        await here.look()
        here.runs()
        here.watch()
        driver = here.fleet.driver(CLICKS)
        assert driver is not None
        assert here.poller.report(CLICKS, driver) == (None, None)


@in_virtual_time
async def test_a_job_whose_agent_is_silent_for_long_is_left_alone_until_it_speaks() -> None:
    async with world() as here:
        await running(here)
        await asyncio.sleep(300)
        here.told.clear()
        await asyncio.sleep(300)
        assert here.told == []
        here.agents.reports[pods.ADDRESS] = report()
        await asyncio.sleep(120)
        assert here.told != []


@in_virtual_time
async def test_an_answer_for_another_incarnation_is_no_answer() -> None:
    async with world() as here:
        here.agents.reports[pods.ADDRESS] = report(incarnation=9)
        await running(here)
        await asyncio.sleep(OLDEST.total_seconds() + 5)
        driver = here.fleet.driver(CLICKS)
        assert driver is not None
        assert here.poller.report(CLICKS, driver) == (None, "it answers for incarnation 9")


@pytest.mark.parametrize(("jobs", "pause"), [(1, 5), (250, 5), (500, 10), (5000, 100)])
def test_all_agents_together_are_asked_at_most_so_often(jobs: int, pause: float) -> None:
    assert Pace(interval=5, per_second=50).pause(jobs) == pause
