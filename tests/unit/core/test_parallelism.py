"""How many tasks a stage has, by what a driver tells."""

from typing import Any

import pytest

from sluice.core.modelling.fetching import Fetching
from sluice.core.observations import AgentReport, Processing, QueryReport
from sluice.core.parallelism import fixed_tasks
from tests.support.jobs import query, report, work

KAFKA = Fetching(partitions=8, longest=0.5)


def reading(*queries: QueryReport, batches: int = 100, of_all: int = 800) -> AgentReport:
    """What a driver tells whose one query reads eight partitions, with a task for each in every batch."""
    young = work("2", batches=3, of_all=600)
    workers = (young, work("1", tasks=400, batches=batches, of_all=of_all))
    return report(*queries or (query(fetching=KAFKA),), work=workers)


def test_a_query_that_only_reads_kafka_has_a_task_for_each_partition() -> None:
    assert fixed_tasks(reading()) == 8


def test_partitions_without_rows_have_no_tasks_in_most_batches_and_some_in_others() -> None:
    assert fixed_tasks(reading(of_all=120)) == 8


def test_a_look_at_the_rows_beside_them_is_no_other_stage() -> None:
    assert fixed_tasks(reading(of_all=1000)) == 8


def test_a_program_that_spreads_its_rows_anew_has_more_tasks_and_nobody_knows_of_which_stage() -> (
    None
):
    assert fixed_tasks(reading(of_all=1001), known=8) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"fetching": None},
        {"processing": Processing.REAL_TIME},
        {"processing": Processing.CONTINUOUS},
    ],
    ids=["another source", "real time", "continuous"],
)
def test_of_other_queries_nobody_knows(changes: dict[str, Any]) -> None:
    assert fixed_tasks(reading(query(**{"fetching": KAFKA, **changes})), known=8) is None


def test_two_queries_have_tasks_side_by_side_that_nobody_can_tell_apart() -> None:
    two = (query(fetching=KAFKA), query(name="other", fetching=KAFKA))
    assert fixed_tasks(reading(*two), known=8) is None
    assert fixed_tasks(reading(two[0], query(name="other", state_partitions=4)), known=8) is None


def test_a_stage_with_state_has_the_partitions_of_the_checkpoint_whatever_is_read() -> None:
    assert fixed_tasks(reading(query(fetching=KAFKA, state_partitions=4))) == 4


@pytest.mark.parametrize("known", [None, 8, 200])
@pytest.mark.parametrize(
    "told",
    [
        reading(batches=9, of_all=72),
        report(query(fetching=KAFKA)),
        reading(query(fetching=KAFKA, committed_at=None)),
    ],
    ids=["few batches", "an agent that does not tell of tasks", "none committed"],
)
def test_what_is_known_stands_until_the_driver_tells(told: AgentReport, known: int | None) -> None:
    assert fixed_tasks(told, known) == known
