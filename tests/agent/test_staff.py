"""Who is seen to work, and since when; `test_executors` has those of a real Spark."""

from typing import Any
from unittest.mock import Mock

import pytest
from pyspark.status import SparkStageInfo

from sluice.agent import staff as staffs
from sluice.agent.executors import Work
from sluice.agent.roster import Entry
from sluice.agent.staff import Staff
from sluice.agent.tasks import Stages
from tests.agent.building import BEGIN, trigger


class Backend:
    """A scheduler's backend with the given executors."""

    def __init__(self, *ids: str) -> None:
        self.ids = ids

    def getExecutorIds(self) -> "Backend":  # noqa: N802  # Java's names
        return self

    def mkString(self, between: str) -> str:  # noqa: N802
        return between.join(self.ids)

    def isExecutorActive(self, _: str) -> bool:  # noqa: N802
        return True


def context_of(backend: Backend) -> Any:
    """A context of a Spark that tells no more than who is there."""
    context = Mock()
    context._jsc.sc.return_value.schedulerBackend.return_value = backend
    stages = {
        1: SparkStageInfo(1, 0, "one", numTasks=12, numActiveTasks=4, numCompletedTasks=3, numFailedTasks=2),
        2: SparkStageInfo(2, 0, "two", numTasks=6, numActiveTasks=1, numCompletedTasks=5, numFailedTasks=0),
        3: None,
    }  # fmt: skip
    tracker = context.statusTracker.return_value
    tracker.getActiveStageIds.return_value = list(stages)
    tracker.getStageInfo.side_effect = stages.get
    return context


def test_a_new_executor_makes_the_batch_cold_that_begins_after_it_was_seen() -> None:
    backend, staff = Backend("1"), Staff()
    staff.join(context_of(backend))
    assert staff.look(BEGIN) == ("1",)
    batches = [
        staff.batch(trigger(batch=number, at=10 * number + 1, rows=9)) for number in range(2)
    ]
    backend.ids = ("1", "2")
    assert staff.has_changed()
    staff.look(BEGIN + 20)
    batches += [
        staff.batch(trigger(batch=number, at=10 * number + 1, rows=9)) for number in range(2, 4)
    ]

    assert [(batch.executors, batch.cold) for batch in batches] == [
        (1, True),
        (1, False),
        (2, True),
        (2, False),
    ]


def test_the_tasks_that_wait_are_those_that_have_not_begun() -> None:
    staff = Staff()
    staff.join(context_of(Backend("1")))
    staff.look(BEGIN)
    assert staff.tasks is not None
    assert (staff.tasks.waiting, staff.tasks.completed, staff.tasks.failed) == (5, 8, 2)


def test_an_error_of_tasks_is_asked_for_once_until_another_one_fails() -> None:
    context = context_of(Backend("1"))
    tracker, store = context.statusTracker.return_value, context._jsc.sc().statusStore()
    told = store.taskList.return_value.head.return_value.errorMessage.return_value
    told.get.return_value = "Boom: it broke\n    at org.apache.spark.Some.thing(Some.scala:7)\n"
    stages = Stages(context)

    assert [stages.tasks().error for _ in range(3)] == ["Boom: it broke"] * 3
    assert store.taskList.call_count == 1
    tracker.getStageInfo.side_effect = lambda id: SparkStageInfo(id, 0, "one", 12, 4, 3, 3)
    assert stages.tasks().error == "Boom: it broke"
    assert store.taskList.call_count == 2
    tracker.getStageInfo.side_effect = lambda id: SparkStageInfo(id, 0, "one", 12, 4, 3, 0)
    assert stages.tasks().error is None


def test_a_spark_that_does_not_tell_why_tasks_failed_tells_how_many() -> None:
    context = context_of(Backend("1"))
    context._jsc.sc.return_value.statusStore.return_value.taskList.side_effect = TypeError("none")
    told = Stages(context).tasks()
    assert (told.failed, told.error) == (2, None)


def test_nobody_is_looked_for_while_nobody_comes_or_goes() -> None:
    backend, staff = Backend("1", "2"), Staff()
    staff.join(context_of(backend))

    assert [staff.has_changed() for _ in range(3)] == [True, False, False]
    backend.ids = ("2",)
    assert staff.has_changed()


def test_the_executors_of_another_context_are_all_new() -> None:
    staff = Staff()
    staff.join(context_of(Backend("1")))
    staff.look(BEGIN)
    staff.batch(trigger(at=1, rows=9))
    second = context_of(Backend("1"))
    assert not staff.is_of(second)
    staff.join(second)
    staff.look(BEGIN + 10)

    assert staff.batch(trigger(at=11, rows=9)).cold


def test_a_spark_that_does_not_tell_what_executors_did_leaves_it_unknown() -> None:
    staff = Staff()
    staff.join(context_of(Backend("1")))
    staff.look(BEGIN)

    assert staff.task_seconds is None
    assert staff.work is None


class Listed:
    """A status store's list, with the tasks that each executor has completed."""

    def __init__(self) -> None:
        self.joined: dict[str, float] = {}
        self.tasks: dict[str, int] = {}

    def has(self, at: float, **tasks: int) -> None:
        """From a moment on it has these executors, named e1 and so on here, with so many tasks."""
        for name, count in tasks.items():
            self.joined.setdefault(name[1:], at)
            self.tasks[name[1:]] = count

    def entries(self) -> list[Entry]:
        return [Entry(id, self.joined[id], 1.0, tasks) for id, tasks in self.tasks.items()]


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Listed:
    """The list that the staff reads."""
    roster = Listed()
    monkeypatch.setattr(staffs, "roster_of", lambda _: roster)
    return roster


def test_an_executor_is_compared_with_what_all_did_since_it_joined(listed: Listed) -> None:
    backend, staff = Backend("1"), Staff()
    staff.join(context_of(backend))
    listed.has(BEGIN, e1=0)
    staff.look(BEGIN)
    staff.batch(trigger(batch=0, at=1, rows=9))
    backend.ids = ("1", "2")
    listed.has(BEGIN + 5, e1=40, e2=0)
    staff.look(BEGIN + 5)
    for number in range(1, 4):
        staff.batch(trigger(batch=number, at=10 * number, rows=9))
    listed.has(BEGIN + 5, e1=97)
    staff.look(BEGIN + 35)

    assert staff.work == (
        Work(id="1", joined=BEGIN, tasks=97, batches=4, tasks_of_all=97),
        Work(id="2", joined=BEGIN + 5, tasks=0, batches=3, tasks_of_all=57),
    )


def test_a_batch_that_was_in_flight_or_had_no_rows_is_no_chance_for_an_executor(
    listed: Listed,
) -> None:
    backend, staff = Backend("1"), Staff()
    staff.join(context_of(backend))
    listed.has(BEGIN + 5, e1=0)
    staff.look(BEGIN + 5)
    staff.batch(trigger(batch=0, at=4, seconds=3, rows=9))
    staff.batch(trigger(batch=1, at=8, rows=0))
    staff.look(BEGIN + 10)

    assert staff.work == (Work(id="1", joined=BEGIN + 5, tasks=0, batches=0, tasks_of_all=0),)


def test_the_tasks_of_one_that_left_stay_and_it_is_told_of_no_more(listed: Listed) -> None:
    backend, staff = Backend("1", "2"), Staff()
    staff.join(context_of(backend))
    listed.has(BEGIN, e1=0, e2=0)
    staff.look(BEGIN)
    listed.has(BEGIN, e1=30, e2=12)
    backend.ids = ("1",)
    staff.look(BEGIN + 5)

    assert staff.work == (Work(id="1", joined=BEGIN, tasks=30, batches=0, tasks_of_all=42),)


def test_one_that_is_not_listed_yet_is_told_of_by_the_next_look(listed: Listed) -> None:
    backend, staff = Backend("1"), Staff()
    staff.join(context_of(backend))
    assert staff.look(BEGIN) == ("1",)
    assert not staff.work
    listed.has(BEGIN, e1=2)
    staff.look(BEGIN + 5)

    assert staff.work == (Work(id="1", joined=BEGIN, tasks=2, batches=0, tasks_of_all=2),)


def test_the_work_in_another_context_begins_anew(listed: Listed) -> None:
    staff = Staff()
    staff.join(context_of(Backend("1", "2")))
    listed.has(BEGIN, e1=0, e2=0)
    staff.look(BEGIN)
    listed.has(BEGIN, e1=30, e2=12)
    staff.look(BEGIN + 5)
    staff.join(context_of(Backend("1")))
    assert staff.work is None
    listed.joined, listed.tasks = {}, {}
    listed.has(BEGIN + 9, e1=4)
    staff.look(BEGIN + 10)

    assert staff.work == (Work(id="1", joined=BEGIN + 9, tasks=4, batches=0, tasks_of_all=4),)
