"""Who is seen to work, and since when; `test_streaming` has the executors of a real Spark."""

from typing import Any
from unittest.mock import Mock

from sluice.agent.staff import Staff
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
    return context


def test_a_new_executor_makes_the_batch_cold_that_begins_after_it_was_seen() -> None:
    backend, staff = Backend("1"), Staff()
    staff.join(context_of(backend))
    assert staff.look(BEGIN) == ("1",)
    batches = [staff.batch(trigger(batch=number, at=10 * number + 1)) for number in range(2)]
    backend.ids = ("1", "2")
    assert staff.has_changed()
    staff.look(BEGIN + 20)
    batches += [staff.batch(trigger(batch=number, at=10 * number + 1)) for number in range(2, 4)]

    assert [(batch.executors, batch.cold) for batch in batches] == [
        (1, True),
        (1, False),
        (2, True),
        (2, False),
    ]


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
    staff.batch(trigger(at=1))
    second = context_of(Backend("1"))
    assert not staff.is_of(second)
    staff.join(second)
    staff.look(BEGIN + 10)

    assert staff.batch(trigger(at=11)).cold


def test_a_spark_that_does_not_tell_what_executors_did_leaves_it_unknown() -> None:
    staff = Staff()
    staff.join(context_of(Backend("1")))
    staff.look(BEGIN)

    assert staff.task_seconds is None
