"""What a source keeps against what its query has committed, as a record folds both."""

from dataclasses import replace
from typing import Any

import pytest

from sluice.agent.records import Failure, Look, Record
from sluice.agent.retention import Kept
from tests.agent.building import BEGIN, KAFKA, by_pattern, kafka, trigger

PATTERN = "KafkaV2[SubscribePattern[.*]]"


def record(*batches: dict[str, Any]) -> Record:
    """A query that has committed these batches, each with its only source."""
    built = Record(label="orders", name="orders", id="query-1", run_id="run-1", started_at=BEGIN)
    for batch, source in enumerate(batches):
        built = built.with_progress(trigger(batch=batch, at=batch, sources=[source]))
    return built


def keeps(*partitions: tuple[int, int], source: str = KAFKA, run: str = "run-1") -> Look:
    """A look at partitions of the topic orders that begin and end there."""
    begins, ends = (
        {f"orders-{number}": offset for number, offset in enumerate(told)}
        for told in zip(*partitions, strict=True)
    )
    return Look(run, source, BEGIN + 60, float(sum(ends.values())), Kept(begins, ends))


def read(*offsets: tuple[int, int], rows: int) -> dict[str, Any]:
    """A batch of so many rows of the partitions of the topic orders."""
    start, end = (
        {f"orders-{number}": offset for number, offset in enumerate(told)}
        for told in zip(*offsets, strict=True)
    )
    return by_pattern(start, end, None, rows)


def test_what_waits_is_told_as_a_share_of_what_the_partition_keeps() -> None:
    assert record(kafka(0, 500, 900)).with_look(keeps((100, 1100))).retention_used() == 0.6


def test_the_partition_that_is_nearest_to_losing_rows_counts() -> None:
    behind = record(read((0, 1000), (0, 300), rows=1300))

    look = keeps((100, 1100), (200, 400), source=PATTERN)
    assert behind.with_look(look).retention_used() == 0.5


@pytest.mark.parametrize(("committed", "used"), [(50, 1.0), (100, 1.0), (1100, 0.0), (1300, 0.0)])
def test_the_share_is_one_at_the_edge_and_beyond_and_zero_behind_the_last_row(
    committed: int, used: float
) -> None:
    assert record(kafka(0, committed, 900)).with_look(keeps((100, 1100))).retention_used() == used


def test_the_share_falls_with_each_batch_between_two_looks() -> None:
    behind = record(kafka(0, 500, 900)).with_look(keeps((100, 1100)))
    later = behind.with_progress(trigger(batch=1, at=5, sources=[kafka(500, 900, 900, 400)]))

    assert later.with_look(Look("run-1", KAFKA, BEGIN + 62, 1200)).retention_used() == 0.2


@pytest.mark.parametrize(
    "look",
    [
        keeps((0, 1100)),
        keeps((1100, 1100)),
        keeps((100, 1100), run="run-0"),
        Look("run-1", KAFKA, BEGIN + 60, 1100),
    ],
    ids=["nothing has expired yet", "nothing is kept", "of another run", "no beginning is told"],
)
def test_where_it_is_not_known_how_much_is_kept_there_is_no_share(look: Look) -> None:
    assert record(kafka(0, 500, 900)).with_look(look).retention_used() is None


def test_a_partition_that_no_batch_has_read_yet_has_no_share() -> None:
    look = keeps((100, 1100), (200, 400))
    assert record(kafka(0, 1100, 1100)).with_look(look).retention_used() == 0.0


def test_of_several_sources_the_worst_counts_and_one_that_is_not_kafka_does_not() -> None:
    payments = {**kafka(0, 200, 900), "description": "KafkaV2[Subscribe[payments]]"}
    files = {
        **kafka({"logOffset": 0}, {"logOffset": 1}, None),
        "description": "FileStreamSource[x]",
    }
    sources = [kafka(0, 500, 900), payments, files]
    looks = keeps((100, 1100), source="KafkaV2[Subscribe[payments]]"), keeps((100, 1100))
    both = record().with_progress(trigger(sources=sources))

    assert both.with_look(looks[0]).with_look(looks[1]).retention_used() == 0.9


def test_nothing_of_retention_is_known_before_a_look() -> None:
    behind = record(kafka(0, 500, 900, 500))

    assert (behind.retention_used(), behind.retention.expired_rows) == (None, None)
    assert record().with_look(keeps((100, 1100))) == record()


def test_behind_a_query_that_failed_the_share_stays_and_behind_one_that_was_stopped_it_is_gone() -> (
    None
):
    behind = record(kafka(0, 500, 900)).with_look(keeps((100, 1100)))

    assert behind.with_end(Failure("Boom", "it broke"), BEGIN + 70).retention_used() == 0.6
    stopped = behind.with_end(None, BEGIN + 70).with_look(keeps((100, 1100)))
    assert stopped.retention_used() is None


def expired(built: Record) -> float | None:
    return built.retention.expired_rows


def test_rows_that_a_batch_passed_over_are_counted_when_the_source_tells_where_it_begins() -> None:
    # Rows 1000 to 1400 are deleted; the batch is to read until 2000.
    skipped = record(kafka(1000, 2000, 2000, 600))
    assert expired(skipped) is None

    assert expired(skipped.with_look(keeps((1400, 2100)))) == 400


def test_nothing_has_expired_where_a_batch_had_a_row_for_each_offset() -> None:
    # What it has read was deleted after that, before anybody looked.
    read_in_time = record(kafka(1000, 2000, 2000, 1000))

    assert expired(read_in_time.with_look(keeps((1800, 2100)))) == 0


def test_markers_of_transactions_and_compacted_rows_have_not_expired() -> None:
    transactional = record(kafka(1000, 2000, 2000, 900))

    assert expired(transactional.with_look(keeps((500, 2100)))) == 0


def test_of_a_batch_that_is_deleted_as_a_whole_each_row_has_expired() -> None:
    limited = record(kafka(1000, 1100, 2000, 0), kafka(1100, 1200, 2000, 0))

    assert expired(limited.with_look(keeps((1500, 2100)))) == 200


def test_what_has_expired_behind_the_end_of_a_batch_is_none_of_its_rows() -> None:
    # Ten rows of the first partition, and fifty markers of the second.
    transactional = record(read((0, 10), (0, 100), rows=50))

    assert expired(transactional.with_look(keeps((90, 100), (0, 100), source=PATTERN))) == 10


def test_each_row_that_expired_is_counted_once() -> None:
    skipped = record(kafka(1000, 2000, 2000, 600)).with_look(keeps((1400, 2100)))
    again = skipped.with_look(keeps((1600, 2200)))
    assert expired(again) == 400

    further = trigger(batch=1, at=9, sources=[kafka(2000, 2300, 2300, 250)])
    assert expired(again.with_progress(further).with_look(keeps((2050, 2300)))) == 450


def test_gaps_are_counted_together_however_late_the_source_tells_where_it_begins() -> None:
    late = record(
        kafka(1000, 2000, 2000, 600), kafka(2000, 2100, 2100, 100), kafka(2100, 2200, 2200, 90)
    )

    assert len(late.retention.gaps) == 1
    assert expired(late.with_look(keeps((2110, 2200)))) == 410


def test_rows_of_all_partitions_and_sources_are_added_up() -> None:
    payments = {**kafka(0, 90, 90, 40), "description": "KafkaV2[Subscribe[payments]]"}
    orders = read((100, 200), (300, 400), rows=130)
    both = record().with_progress(trigger(sources=[orders, payments]))
    one = both.with_look(keeps((150, 250), (320, 450), source=PATTERN))
    assert expired(one) == 70

    assert expired(one.with_look(keeps((50, 90), source="KafkaV2[Subscribe[payments]]"))) == 120


def test_a_partition_that_was_added_begins_at_its_first_row() -> None:
    added = record(by_pattern({"orders-0": 0}, {"orders-0": 90, "orders-1": 100}, None, rows=170))

    assert expired(added.with_look(keeps((0, 90), (20, 100), source=PATTERN))) == 20


def test_the_first_batch_of_a_query_begins_where_it_was_told_to() -> None:
    first = record(kafka(None, 2000, 2000, 600)).with_look(keeps((1400, 2100)))

    assert expired(first) == 0
    assert first.retention_used() == pytest.approx(1 / 7)


def test_a_topic_that_was_made_anew_has_not_lost_the_offsets_of_the_former_one() -> None:
    anew = record(kafka(1000, 20, 50, 20)).with_look(keeps((0, 50)))

    assert (expired(anew), anew.retention_used()) == (0, None)


def test_a_sink_that_reads_its_batches_twice_tells_of_no_false_loss() -> None:
    twice = record(kafka(1000, 2000, 2000, 2000))

    assert expired(twice.with_look(keeps((1400, 2100)))) == 0


def test_what_has_expired_is_counted_on_in_the_next_run_and_under_another_query() -> None:
    ended = record(kafka(1000, 2000, 2000, 600)).with_look(keeps((1400, 2100))).with_end(None, 70)
    again, other = (ended.with_run(id, "run-2", BEGIN + 80) for id in ("query-1", "query-2"))

    assert (expired(again), expired(other)) == (400, 400)
    assert again.retention_used() == pytest.approx(1 / 7)
    assert other.retention_used() is None


def test_the_gaps_of_another_query_under_the_same_name_are_not_compared_with_its_source() -> None:
    ended = record(kafka(1000, 2000, 2000, 600)).with_end(None, BEGIN + 70)
    other = replace(ended.with_run("query-2", "run-2", BEGIN + 80), last=None)
    begun = other.with_progress(trigger(run="run-2", at=90, sources=[kafka(0, 10, 10, 10)]))

    assert expired(begun.with_look(keeps((1400, 2100), run="run-2"))) == 0
