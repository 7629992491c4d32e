"""Which executors are given no tasks, and when that is a fault."""

from dataclasses import replace
from typing import Any

import pytest

from sluice.core.observations import AgentReport, ExecutorWork
from sluice.core.spreading import Unused, all_used, unused
from tests.support.jobs import query, report, work

OLD = work("1", tasks=500, there=3600, batches=100, of_all=500)


def told(*executors: ExecutorWork, **more: Any) -> AgentReport:
    """A report of a query whose batches have a stage without state."""
    return report(work=executors, **{"registered": len(executors), **more})


def test_an_executor_that_got_none_of_more_tasks_than_the_others_have_slots_is_a_fault() -> None:
    found = unused(told(OLD, work("2", batches=6, of_all=48)), cores=4)
    assert found == Unused(ids=("2",), tasks=48, batches=6, width=6.0, slots=4)
    assert found.is_fault
    assert str(found) == "executor 2 got none of 48 tasks in 6 batches"


def test_several_are_named_together_and_judged_by_the_one_that_saw_least() -> None:
    found = unused(
        told(OLD, work("3", batches=9, of_all=90), work("4", batches=5, of_all=57)), cores=1
    )
    assert str(found) == "executors 3, 4 got none of 57 tasks in 5 batches"


def test_where_the_others_have_slots_for_all_tasks_it_is_no_fault() -> None:
    found = unused(told(OLD, work("2", batches=100, of_all=400)), cores=4)
    assert found is not None
    assert not found.is_fault


@pytest.mark.parametrize(
    "young",
    [
        work("2", there=59, batches=6, of_all=48),
        work("2", there=3600, batches=2, of_all=48),
        work("2", there=3600, batches=0, of_all=0),
        work("2", there=3600, batches=6, of_all=48, tasks=1),
    ],
    ids=["just joined", "few batches", "no rows", "has worked"],
)
def test_one_that_had_no_chance_or_took_it_is_not_unused(young: ExecutorWork) -> None:
    assert unused(told(OLD, young), cores=1) is None


def test_where_nobody_works_nobody_is_kept_from_it() -> None:
    idle = work("1", batches=9, of_all=0)
    assert unused(told(idle, replace(idle, id="2")), cores=1) is None


def test_an_agent_that_does_not_tell_leaves_it_open() -> None:
    assert unused(report(), cores=1) is None
    assert not all_used(report(), 2)


@pytest.mark.parametrize(
    ("partitions", "width"), [(4, 4.0), (6, 6.0), (2, 6.0)], ids=["even", "state", "sources"]
)
def test_tasks_that_wait_for_others_are_not_side_by_side(partitions: int, width: float) -> None:
    """Eight tasks a batch: those on the state follow those that read."""
    stateful = query(state_partitions=partitions)
    newcomer = work("2", batches=998, of_all=8000)
    found = unused(replace(told(OLD, newcomer), queries=(stateful,)), cores=1)
    assert found is not None
    assert found.width == pytest.approx(width)


def test_a_query_without_state_beside_one_with_state_leaves_the_stages_unknown() -> None:
    newcomer = work("2", batches=996, of_all=8000)
    several = (query(state_partitions=4), query())
    found = unused(replace(told(OLD, newcomer), queries=several), cores=1)
    assert found is not None
    assert found.width == pytest.approx(8.0)


def test_a_rescale_is_verified_when_each_wanted_executor_has_completed_a_task() -> None:
    both = (OLD, work("2", tasks=1))
    assert all_used(told(*both), 2)
    assert not all_used(told(*both), 3)
    assert not all_used(told(*both, work("3")), 2)


def test_one_that_left_is_not_waited_for_and_one_that_comes_gets_its_time() -> None:
    left = told(OLD, work("2", there=90, batches=9, of_all=80))
    came = told(OLD, work("3", there=5, batches=0, of_all=0))
    assert unused(left, cores=1) is not None
    assert unused(came, cores=1) is None
    assert not all_used(came, 2)
    assert all_used(told(OLD, work("3", there=70, tasks=4)), 2)
