"""What a driver runs, where something else is declared."""

from dataclasses import replace
from typing import Any

import pytest

from sluice.core.changes import Change, ChangeClass
from sluice.core.proving import Proving, Rollback
from sluice.core.record import Record
from sluice.core.running import executors_of, is_as_declared
from tests.support.jobs import application, driver, job

PAIRS = job(
    executors={"min": 1, "max": 8, "cores": 4},
    application=application(sparkConf={"spark.task.cpus": "2"}),
)


def test_executors_have_the_cores_and_slots_of_their_driver_and_the_bounds_that_are_declared() -> (
    None
):
    declared = job(executors={"min": 2, "max": 5, "initial": 3, "cores": 16})
    found = executors_of(declared, driver(PAIRS))
    assert (found.cores, found.slots) == (4, 2)
    assert replace(found, cores=16, slots=16) == declared.executors


def test_without_a_driver_executors_are_those_that_are_declared() -> None:
    assert executors_of(PAIRS, None) == PAIRS.executors


@pytest.mark.parametrize(
    "document",
    [
        None,
        {},
        {"executors": 7, "application": {}},
        {"executors": {"cores": "many"}, "application": {}},
        {"executors": {"cores": 4}, "application": 7},
        {"executors": {"cores": 4}, "application": {"sparkConf": {"spark.task.cpus": "0"}}},
        {"executors": {"cores": 4}, "application": {"sparkConf": {"spark.task.cpus": "8"}}},
    ],
)
def test_of_a_driver_that_tells_no_cores_what_is_declared_is_the_best_guess(document: Any) -> None:
    assert executors_of(PAIRS, driver(PAIRS, document=document)) == PAIRS.executors


@pytest.mark.parametrize(
    ("changes", "is_so"),
    [
        ({}, True),
        ({"change": Change(kind=ChangeClass.LIVE)}, True),
        ({"change": Change(kind=ChangeClass.RESTART)}, False),
        ({"change": Change(kind=ChangeClass.MIGRATION)}, False),
        ({"proving": Proving(rollback=Rollback(generation=1, why="no room"))}, False),
        ({"proving": Proving(rollback=Rollback(generation=7, why="no room"))}, True),
    ],
)
def test_what_waits_or_was_refused_or_rolled_back_does_not_run(
    changes: dict[str, Any], is_so: bool
) -> None:
    assert is_as_declared(PAIRS, Record(**changes)) is is_so
