"""Which batches are cold: those that an executor joined since an earlier batch began."""

from sluice.agent.batches import Crew
from sluice.agent.progress import Progress
from tests.agent.building import BEGIN, by_pattern, kafka, trigger


def worked(*, batch: int = 0, at: int, seconds: float = 5.0) -> Progress:
    """A batch with rows, of five seconds."""
    return trigger(batch=batch, at=at, seconds=seconds, rows=9)


def colds(crew: Crew, *starts: int, seconds: float = 5.0) -> list[bool]:
    """Let batches run one after another, and tell which were cold."""
    told = []
    for number, start in enumerate(starts):
        batch = worked(batch=number, at=start, seconds=seconds)
        told.append(crew.batch_of(batch).cold)
        crew = crew.with_batch(batch)
    return told


def test_the_first_batch_after_a_start_is_cold() -> None:
    crew = Crew().with_executors({"1": BEGIN, "2": BEGIN})

    assert colds(crew, 10, 20, 30) == [True, False, False]


def test_a_driver_without_executors_is_cold_once() -> None:
    assert colds(Crew(), 10, 20) == [True, False]


def test_a_batch_without_rows_warms_nobody() -> None:
    crew = Crew().with_executors({"1": BEGIN}).with_batch(trigger(batch=0, at=10, rows=0))

    assert colds(crew, 20, 30) == [True, False]


def test_the_first_batch_that_begins_with_a_new_executor_is_cold() -> None:
    small = Crew().with_executors({"1": BEGIN}).with_batch(worked(at=10))
    larger = small.with_executors({"1": BEGIN, "2": BEGIN + 17})

    assert colds(larger, 20, 30) == [True, False]


def test_a_batch_under_way_is_cold_and_does_not_warm_the_executor_that_joins_it() -> None:
    small = Crew().with_executors({"1": BEGIN}).with_batch(worked(at=10))
    larger = small.with_executors({"1": BEGIN, "2": BEGIN + 17})

    assert colds(larger, 15, 20, 25) == [True, True, False]


def test_batches_of_two_queries_at_once_are_both_cold() -> None:
    first = worked(at=10)
    second = worked(at=12)
    crew = Crew().with_executors({"1": BEGIN}).with_batch(first)

    assert crew.batch_of(second).cold


def test_fewer_executors_are_not_cold() -> None:
    large = Crew().with_executors({"1": BEGIN, "2": BEGIN}).with_batch(worked(at=10))
    smaller = large.with_executors({"1": BEGIN})

    batch = smaller.batch_of(worked(at=20))
    assert (batch.cold, batch.executors) == (False, 1)


def test_an_executor_whose_joining_is_not_told_counts_from_its_first_sight() -> None:
    crew = Crew().with_executors({"1": BEGIN}).with_executors({"1": BEGIN + 60})

    assert colds(crew, 10, 20) == [True, False]


def test_a_batch_tells_its_offsets_where_all_sources_count_them() -> None:
    compacted = trigger(rows=20, sources=[kafka(100, 400, 900, rows=20)])
    assert Crew().batch_of(compacted).offsets == 300
    first = trigger(rows=20, sources=[kafka(None, 400, 900, rows=20)])
    assert Crew().batch_of(first).offsets is None
    joined = trigger(rows=30, sources=[by_pattern({"a-0": 10}, {"a-0": 20, "b-0": 500}, None, 30)])
    assert Crew().batch_of(joined).offsets == 30
    assert Crew().batch_of(trigger(rows=20)).offsets is None
