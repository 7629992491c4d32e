import math
from dataclasses import replace

import pytest

from sluice.agent.records import REAL_TIME, Activity, Asking, Failure, Look, Record, Trigger
from tests.agent.building import BEGIN, KAFKA, by_pattern, kafka, trigger


def record(*triggers: dict[str, object]) -> Record:
    built = Record(label="orders", name="orders", id="query-1", run_id="run-1", started_at=BEGIN)
    for parts in triggers:
        built = built.with_progress(trigger(**parts))
    return built


def without_timestamps(built: Record) -> Record:
    """Count what waits for timestamps by the arrival curve."""
    return replace(built, latency=built.latency.with_patience_until(math.inf))


def committed(batch: int, at: int, start: int, end: int, latest: int | None) -> dict[str, object]:
    """A batch of one second that began at `at` and committed the rows from start to end."""
    rows = end - start
    sources = [kafka(start, end, latest, rows)]
    return {"batch": batch, "at": at, "rows": rows, "sources": sources}


def test_arrivals_are_counted_by_the_newest_offsets_not_by_admitted_rows() -> None:
    limited = record(committed(0, 0, 0, 10, 1000), committed(1, 10, 10, 20, 2000))

    assert limited.input_rows == 20
    assert limited.arrived_rows == 1000
    assert limited.arrival_rows_per_second() == 100
    assert limited.backlog_rows() == 1980


def test_the_backlog_is_as_old_as_its_oldest_row() -> None:
    behind = record(committed(0, 0, 0, 100, 100), committed(1, 10, 100, 600, 1100))

    assert behind.backlog_seconds(BEGIN + 11) == pytest.approx(6.0)
    slower = record(committed(0, 0, 0, 100, 100), committed(1, 10, 100, 150, 200))
    assert slower.backlog_seconds(BEGIN + 10) == pytest.approx(5.0)
    burst = record(
        committed(0, 0, 0, 10, 10), committed(1, 60, 10, 20, 1000), committed(2, 80, 20, 30, 1001)
    )
    assert burst.backlog_seconds(BEGIN + 80) == pytest.approx(78.8, abs=0.1), "the rate has fallen"


def test_a_backlog_from_before_the_first_sample_is_as_long_as_its_arrival_would_take() -> None:
    behind = record(committed(0, 0, 0, 10, 1000), committed(1, 10, 10, 20, 2000))

    assert behind.backlog_seconds(BEGIN + 10) == pytest.approx(19.8)


def test_a_backlog_from_before_the_first_sample_is_not_younger_though_nothing_more_arrives() -> (
    None
):
    behind = record(committed(0, 0, 0, 10, 1000), committed(1, 10, 10, 20, 1000))

    assert behind.arrival_rows_per_second() == 0
    assert behind.backlog_seconds(BEGIN + 40) == pytest.approx(40.0)
    slower = record(committed(0, 0, 0, 10, 1000), committed(1, 10, 10, 990, 1900))
    assert slower.backlog_seconds(BEGIN + 40) == pytest.approx(40.0), "910 rows at 90/s are 10 s"


def look(at: float, rows: float, run_id: str = "run-1") -> Look:
    return Look(run_id, KAFKA, BEGIN + at, rows)


def test_rows_that_arrive_during_a_batch_are_backlog_though_no_trigger_has_seen_them() -> None:
    busy = record(committed(0, 0, 0, 100, 100), committed(1, 10, 100, 200, 200))
    for at in (12, 22, 32):
        busy = busy.with_look(look(at, 200 + 10 * (at - 10)))

    assert busy.backlog_rows() == 220
    assert busy.backlog_seconds(BEGIN + 40) == pytest.approx(30.0)
    assert busy.arrival_rows_per_second() == 10
    assert (busy.left_rows(), busy.arrived_rows) == (0, 100)


def test_what_arrived_during_a_batch_is_backlog_when_it_is_committed() -> None:
    busy = record(committed(0, 0, 0, 100, 100))
    for at in (8, 18, 28):
        busy = busy.with_look(look(at, 100 + 10 * at))
    done = busy.with_progress(trigger(seconds=20.0, **committed(1, 10, 100, 200, 200)))

    assert done.backlog_rows() == 180
    assert done.left_rows() == 0
    assert done.backlog_seconds(BEGIN + 30) == pytest.approx(20.0)


def test_rows_are_counted_and_timed_by_triggers_alone() -> None:
    batches = committed(0, 0, 0, 100, 100), committed(1, 10, 100, 1100, 1100)
    busy = record(batches[0]).with_look(look(9, 100)).with_progress(trigger(**batches[1]))
    known = record(*batches)

    assert (busy.arrived_rows, busy.curves) == (known.arrived_rows, known.curves)
    assert busy.latency == known.latency


@pytest.mark.parametrize(
    "older", [look(5, 100), look(12, 150), look(12, 900, "run-0")], ids=["early", "fewer", "other"]
)
def test_a_look_from_before_the_last_trigger_or_of_another_run_says_nothing(older: Look) -> None:
    behind = record(committed(0, 0, 0, 100, 100), committed(1, 10, 100, 160, 200))

    assert behind.with_look(older).backlog_rows() == behind.backlog_rows() == 40


def test_a_look_at_one_source_says_nothing_of_another() -> None:
    other = {**kafka(0, 50, 50, 50), "description": "KafkaV2[Subscribe[payments]]"}
    two = record({"sources": [kafka(0, 100, 100, 100), other], "rows": 150})

    assert two.with_look(look(5, 130)).backlog_rows() == 30


def test_a_source_that_was_made_anew_is_known_with_its_next_trigger() -> None:
    before = record(committed(0, 0, 0, 100, 100)).with_look(look(5, 300))
    anew = before.with_progress(trigger(**committed(1, 10, 0, 20, 50)))

    assert anew.backlog_rows() == 30
    assert anew.with_look(look(15, 60)).backlog_rows() == 40


def test_after_a_batch_that_was_begun_by_an_earlier_driver_a_look_tells_the_backlog() -> None:
    # Spark does such a batch again by its log, and has not asked how far the source is.
    done_again = record(committed(7, 0, 100, 200, None))
    assert done_again.backlog_rows() is None

    looked = done_again.with_look(look(5, 900)).with_look(look(7, 920))
    assert looked.backlog_rows() == 720
    assert looked.arrival_rows_per_second() == 10
    behind = looked.with_progress(trigger(**committed(8, 2, 200, 500, 890)))
    assert (behind.backlog_rows(), behind.arrived_rows) == (420, 0)


def test_a_query_that_caught_up_has_a_backlog_of_zero() -> None:
    assert record(committed(0, 0, 0, 100, 100)).backlog_seconds(BEGIN + 50) == 0


def test_in_real_time_mode_the_commit_does_not_tell_the_latency() -> None:
    rows = (committed(0, 0, 0, 100, 100), committed(1, 10, 100, 1100, 1100))
    fast = replace(record(), trigger=Trigger(REAL_TIME, 300))
    for parts in rows:
        fast = fast.with_progress(trigger(**parts))
    assert (fast.batches, fast.input_rows) == (2, 1100)
    assert fast.latency == record().latency
    assert record(*rows).latency != record().latency


def test_without_timestamps_the_latency_of_rows_runs_from_arrival_to_commit() -> None:
    steady = record(committed(0, 0, 0, 100, 100), committed(1, 10, 100, 1100, 1100))
    latency = without_timestamps(steady).latency

    # The thousand rows arrived from second 0 to 10 and were committed at second 11.
    assert latency.histogram.count == latency.estimated_rows == pytest.approx(1000)
    assert latency.histogram.sum / 1000 == pytest.approx(6.0)


def test_a_batch_of_kafka_waits_for_the_timestamps_of_its_records() -> None:
    steady = record(committed(0, 0, 0, 100, 100), committed(1, 10, 100, 1100, 1100))

    assert [batch.rows for batch in steady.latency.waiting] == [100, 1000]
    assert steady.latency.waiting[1].ranges == [("orders-0", 100, 1100)]
    assert steady.latency.histogram.count == 0


def test_a_batch_without_kafka_is_counted_at_once() -> None:
    rate = {"description": "RatePerMicroBatchStream[rowsPerBatch=10]", "numInputRows": 10}
    first = {**rate, "startOffset": None, "endOffset": {"offset": 10}, "latestOffset": None}

    assert record({"sources": [first], "rows": 10}).latency.untimed_rows == 10


def test_a_compacted_topic_has_fewer_rows_than_offsets() -> None:
    sparse = record({"sources": [kafka(100, 200, 200, 40)], "rows": 40})
    (batch,) = sparse.latency.waiting

    assert (batch.rows, batch.weight()) == (40, 0.4)


@pytest.mark.parametrize("counted", [0, 200])
def test_a_sink_that_reads_a_batch_twice_or_never_does_not_change_its_rows(counted: int) -> None:
    odd = record({"sources": [kafka(100, 200, 200, counted)], "rows": counted})

    assert odd.latency.waiting[0].rows == 100


def test_a_first_batch_from_the_beginning_of_the_topic_has_known_offsets() -> None:
    first = record({"sources": [kafka(None, 100, 100, 100)], "rows": 100})

    assert first.latency.waiting[0].ranges == [("orders-0", 0, 100)]


def test_a_first_batch_from_the_middle_of_a_topic_has_unknown_offsets() -> None:
    first = record({"sources": [kafka(None, 100, 100, 60)], "rows": 60})

    assert (first.latency.waiting, first.latency.untimed_rows) == ((), 60)


def test_the_arrivals_of_a_long_backlog_are_remembered_until_it_is_committed() -> None:
    late = record(
        committed(0, 0, 0, 0, 0), committed(1, 100, 0, 10, 1000), committed(2, 200, 10, 1500, 2000)
    )

    latency = without_timestamps(late).latency
    assert latency.histogram.count == pytest.approx(1500)
    assert latency.untimed_rows == 0


def test_rows_whose_arrival_is_unknown_are_counted_apart() -> None:
    started = record(committed(0, 0, 0, 100, 100), committed(1, 10, 100, 1100, 1100))

    assert without_timestamps(started).latency.untimed_rows == 100


def test_an_idle_trigger_samples_arrivals_and_is_no_batch() -> None:
    idle = {"batch": 1, "at": 10, "is_batch": False, "sources": [kafka(100, 100, 100)]}
    record_ = record(committed(0, 0, 0, 100, 100), idle)

    assert record_.batches == 1
    assert record_.last_batch is not None
    assert record_.last_batch.batch_id == 0
    assert record_.arrival_rows_per_second() == 0


def test_sources_whose_offsets_are_no_rows_leave_arrivals_and_backlog_unknown() -> None:
    offsets = {"startOffset": {"logOffset": 1}, "endOffset": {"logOffset": 2}, "latestOffset": None}
    file = {"description": "FileStreamSource[file:/data]", **offsets, "numInputRows": 10}
    mixed = record({"sources": [kafka(0, 5, 9, 5), file], "rows": 15})

    unknown = (mixed.arrived_rows, mixed.arrival_rows_per_second(), mixed.backlog_rows())
    assert (*unknown, mixed.backlog_seconds(BEGIN)) == (None, None, None, None)


def test_a_run_is_idle_from_a_trigger_that_found_nothing_until_its_next_batch() -> None:
    nothing = {"batch": 1, "at": 10, "is_batch": False, "sources": [kafka(100, 100, 100)]}
    idle = record(committed(0, 0, 0, 100, 100), nothing)

    assert not record().is_idle, "it has not looked yet"
    assert not record(committed(0, 0, 0, 100, 100)).is_idle
    assert idle.is_idle
    assert not idle.with_activity(Activity("Processing new data", in_batch=True), BEGIN).is_idle
    assert not idle.with_run("query-1", "run-2", BEGIN + 20).is_idle, "its next run has not looked"
    assert not idle.with_end(None, BEGIN + 20).is_idle
    assert not idle.with_progress(trigger(**committed(1, 20, 100, 200, 200))).is_idle


def test_offsets_that_spark_left_null_do_not_forget_the_arrivals() -> None:
    null = {"batch": 2, "at": 20, "is_batch": False, "sources": [kafka(None, None, None)]}
    known = record(committed(0, 0, 0, 100, 100), committed(1, 10, 100, 200, 200), null)

    assert known.arrived_rows == 100
    assert known.arrival_rows_per_second() == 10


def test_a_batch_is_in_flight_from_its_first_sight_until_the_next_report() -> None:
    at_work, resting = Activity("Processing new data", in_batch=True), Activity("Waiting")
    stuck = record(committed(0, 0, 0, 100, 100)).with_activity(at_work, 5).with_activity(at_work, 9)

    assert (stuck.in_batch_since, stuck.doing) == (5, "Processing new data")
    assert stuck.with_activity(resting, 10).in_batch_since is None
    assert stuck.with_progress(trigger(**committed(1, 10, 100, 110, 110))).in_batch_since is None
    assert stuck.with_end(None, BEGIN + 12).in_batch_since is None
    assert stuck.with_run("query-1", "run-2", 11).in_batch_since is None


def test_a_source_is_asked_from_the_first_sight_of_that_until_it_has_answered() -> None:
    orders, clicks = (
        Activity(f"Getting offsets from {it}", asks=it) for it in ("orders", "clicks")
    )
    asks = record(committed(0, 0, 0, 100, 100)).with_activity(orders, 5).with_activity(orders, 9)

    assert asks.asking == Asking("orders", 5)
    assert asks.with_activity(clicks, 10).asking == Asking("clicks", 10)
    assert asks.with_activity(Activity("Waiting"), 10).asking is None
    idle = trigger(**(committed(1, 10, 100, 100, 100) | {"is_batch": False}))
    assert asks.with_progress(idle).asking is None
    assert asks.with_end(None, BEGIN + 12).asking is None
    assert asks.with_run("query-1", "run-2", 11).asking is None


def test_counters_go_on_in_the_next_run_of_the_query() -> None:
    failed = record(committed(0, 0, 0, 100, 100)).with_end(Failure("Boom", "it broke"), BEGIN + 12)
    again = failed.with_run("query-1", "run-2", BEGIN + 60)

    assert (failed.active, failed.failures) == (False, 1)
    assert (again.active, again.failure, again.failures, again.batches) == (True, None, 1, 1)


def test_a_query_that_was_stopped_tells_no_rate_and_no_backlog_and_keeps_what_it_counted() -> None:
    behind = record(committed(0, 0, 0, 100, 100), committed(1, 10, 100, 160, 200))
    stopped = behind.with_look(look(13, 300)).with_end(None, BEGIN + 12).with_look(look(14, 400))

    told = (stopped.arrival_rows_per_second(), stopped.processed_rows_per_second())
    assert (*told, stopped.backlog_rows(), stopped.backlog_seconds(BEGIN + 60)) == (None,) * 4
    assert (stopped.arrived_rows, stopped.input_rows, stopped.batches) == (100, 160, 2)


def test_rows_behind_a_failed_query_grow_older_though_nobody_sees_more_arrive() -> None:
    behind = record(committed(0, 0, 0, 100, 100), committed(1, 10, 100, 160, 200))
    failed = behind.with_end(Failure("Boom", "it broke"), BEGIN + 12)

    assert failed.backlog_rows() == 40
    assert failed.backlog_seconds(BEGIN + 66) == pytest.approx(60)
    assert failed.arrival_rows_per_second() is None


@pytest.mark.parametrize("failure", [None, Failure("Boom", "it broke")])
def test_rows_that_arrive_between_two_runs_of_a_query_are_counted(failure: Failure | None) -> None:
    ended = record(committed(0, 0, 0, 100, 100), committed(1, 10, 100, 160, 200)).with_end(
        failure, BEGIN + 12
    )
    again = ended.with_run("query-1", "run-2", BEGIN + 15)
    assert again.backlog_rows() == 40, "until its first trigger has looked"

    later = again.with_progress(trigger(run="run-2", **committed(2, 20, 160, 200, 500)))
    assert (later.arrived_rows, later.backlog_rows()) == (400, 300)
    assert later.arrival_rows_per_second() == 30


def test_another_query_under_the_same_name_brings_no_false_arrivals() -> None:
    first = record(committed(0, 0, 0, 100, 100)).with_end(None, BEGIN + 12)
    other = first.with_run("query-2", "run-2", BEGIN + 60)

    assert other.backlog_rows() is None
    assert other.with_progress(trigger(sources=[kafka(0, 9000, 9000)], at=61)).arrived_rows == 0


def reading(
    batch: int,
    start: dict[str, int],
    end: dict[str, int],
    latest: dict[str, int] | None = None,
    *,
    rows: int,
    **parts: object,
) -> dict[str, object]:
    """A batch of whatever topics there are, ten seconds after the one before; by default of all their rows."""
    source = by_pattern(start, end, end if latest is None else latest, rows)
    return {"batch": batch, "at": 10 * batch, "rows": rows, "sources": [source], **parts}


STEADY = (
    reading(0, {"a-0": 0}, {"a-0": 1000}, rows=1000),
    reading(1, {"a-0": 1000}, {"a-0": 2000}, rows=1000),
)
"""A hundred rows a second."""


def test_what_is_left_of_an_older_topic_that_joins_is_backlog_and_has_not_arrived_now() -> None:
    # Kafka has kept the last million rows of b; the batch may have a hundred of them.
    end, latest = {"a-0": 3000, "b-0": 4_999_000_100}, {"a-0": 3000, "b-0": 5_000_000_000}
    joined = record(*STEADY, reading(2, {"a-0": 2000}, end, latest, rows=1100))
    assert (joined.arrived_rows, joined.arrival_rows_per_second()) == (2000, 100)
    assert (joined.backlog_rows(), joined.left_rows()) == (999_900, 999_900)
    assert joined.backlog_seconds(BEGIN + 21) == pytest.approx(9999)

    further, newest = {"a-0": 4000, "b-0": 4_999_500_100}, {"a-0": 4000, "b-0": 5_000_000_500}
    after = joined.with_progress(trigger(**reading(3, end, further, newest, rows=501_000)))
    assert (after.arrived_rows, after.arrival_rows_per_second()) == (3500, 150)


def test_rows_of_an_older_topic_are_untimed_in_the_batch_that_is_the_first_to_read_it() -> None:
    end = {"a-0": 3000, "b-0": 5_000_000_000}
    joined = record(*STEADY, reading(2, {"a-0": 2000}, end, rows=1100))
    newest = joined.latency.waiting[-1]
    assert (newest.rows, newest.ranges) == (1000, [("a-0", 2000, 3000)])
    assert joined.latency.untimed_rows == 100

    counted, before = (
        without_timestamps(joined).latency,
        without_timestamps(record(*STEADY)).latency,
    )
    assert counted.estimated_rows - before.estimated_rows == pytest.approx(1000)
    assert counted.histogram.sum - before.histogram.sum == pytest.approx(1000 * 6)


def test_rows_of_an_older_topic_are_counted_once_also_where_they_are_the_only_ones() -> None:
    end = {"a-0": 2000, "b-0": 5_000_000_000}
    joined = record(*STEADY, reading(2, {"a-0": 2000}, end, rows=100))

    assert joined.latency.untimed_rows == 100
    assert len(joined.latency.waiting) == 2


@pytest.mark.parametrize("rows", [1500, 1100, 3000], ids=["plain", "transactions", "read twice"])
def test_the_rows_of_a_new_topic_have_arrived_since_the_batch_before(rows: int) -> None:
    new = record(*STEADY, reading(2, {"a-0": 2000}, {"a-0": 3000, "b-0": 500}, rows=rows))

    assert new.arrived_rows == 2500
    assert new.latency.waiting[-1].ranges == [("a-0", 2000, 3000), ("b-0", 0, 500)]
    assert new.latency.untimed_rows == 0


def test_the_rows_of_a_new_partition_have_arrived_also_if_the_sink_reads_none() -> None:
    end = {"a-0": 3000, "a-1": 500}
    new = record(*STEADY, reading(2, {"a-0": 2000}, end, rows=0))

    assert new.arrived_rows == 2500
    assert new.latency.waiting[-1].ranges == [("a-0", 2000, 3000), ("a-1", 0, 500)]


def test_a_topic_that_no_batch_has_read_yet_is_no_backlog() -> None:
    # With minOffsetsPerTrigger a trigger tells of it, and leaves it.
    waits = reading(2, {"a-0": 2000}, {"a-0": 2000}, {"a-0": 2100, "b-0": 5_000}, rows=0)
    left = record(*STEADY, {**waits, "is_batch": False})

    assert (left.backlog_rows(), left.arrived_rows) == (100, 1100)


def test_what_was_looked_at_while_a_topic_joined_is_kept() -> None:
    known = record(*STEADY)
    seen = known.with_look(replace(look(22, 2200), source="KafkaV2[SubscribePattern[.*]]"))
    end = {"a-0": 2100, "b-0": 5_000_000_000}
    joined = seen.with_progress(trigger(**reading(2, {"a-0": 2000}, end, rows=200, seconds=5.0)))

    assert joined.backlog_rows() == 100
    assert joined.arrival_rows_per_second() == pytest.approx(200 / 12)


def test_a_topic_that_joined_with_a_batch_that_is_done_again_begins_a_new_count() -> None:
    again = reading(2, {"a-0": 2000}, {"a-0": 3000, "b-0": 5_000_000_000}, {}, rows=1100)
    done = record(*STEADY, again)
    assert (done.arrived_rows, done.backlog_rows()) == (1000, None)

    start, end = {"a-0": 3000, "b-0": 5_000_000_000}, {"a-0": 4000, "b-0": 5_000_000_500}
    after = done.with_progress(trigger(**reading(3, start, end, rows=1500)))
    assert (after.arrived_rows, after.backlog_rows()) == (1000, 0)


def test_rows_that_spark_counts_twice_are_counted_once_where_offsets_tell() -> None:
    twice = record(
        {"batch": 0, "at": 0, "sources": [kafka(0, 100, 100, 200)], "rows": 200},
        {"batch": 1, "at": 10, "sources": [kafka(100, 150, 200, 100)], "rows": 100},
    )
    assert twice.input_rows == 150
    compacted = record({"batch": 0, "at": 0, "sources": [kafka(0, 100, 100, 40)], "rows": 40})
    assert compacted.input_rows == 40
    files = record({"batch": 0, "at": 0, "sources": [], "rows": 40})
    assert files.input_rows == 40
