import json
from dataclasses import replace

from sluice.agent import state
from sluice.agent.batches import Batch
from sluice.agent.executors import Work
from sluice.agent.records import Checkpoint, Failure, Pace, Record, Replaced
from tests.agent.building import BEGIN, kafka, trigger
from tests.agent.test_exposition import busy, snapshot


def test_the_state_describes_the_job_for_the_operator() -> None:
    failed = busy().with_end(Failure("Boom", "it broke"), BEGIN + 12)

    document = state.document(snapshot("orders", failed), BEGIN + 20)

    assert document["version"] == 1
    assert document["job"]["namespace"] == "shop"
    assert document["phase"] == "starting"
    assert document["startedAt"] == "2026-11-21T11:55:00.000Z"
    assert document["runningAt"] is None
    assert document["spark"] == {
        "version": "4.2.0",
        "applicationId": "app-1",
        "uiPort": None,
        "overridden": {},
    }
    assert document["executors"] == {
        "target": 3,
        "registered": 2,
        "ids": ["1", "2"],
        "cpu": 12.5,
        "work": None,
        "waitingTasks": None,
        "failingTasks": None,
    }
    (query,) = document["queries"]
    assert query["error"] == {"class": "Boom", "message": "it broke"}
    assert query["endedAt"] == "2026-11-21T11:55:12.000Z"
    assert query["lastBatch"] == {
        "id": 1,
        "committedAt": "2026-11-21T11:55:11.000Z",
        "rows": 50.0,
        "durationSeconds": 1.0,
    }
    assert query["state"] == {"rows": 7, "bytes": 700, "partitions": 4, "provider": "rocksdb"}
    assert set(query["latencySeconds"]) == {"p50", "p95", "p99"}
    assert query["latencyWindowSeconds"] == 60
    json.dumps(document)


def test_the_work_of_each_executor_is_told_with_its_age() -> None:
    work = Work(id="2", joined=BEGIN + 8.75, tasks=0, batches=5, tasks_of_all=57)
    told = snapshot("orders")
    told = replace(told, executors=replace(told.executors, work=(work,)))

    assert state.document(told, BEGIN + 20)["executors"]["work"] == [
        {"id": "2", "seconds": 11.2, "tasks": 0, "batches": 5, "tasksOfAll": 57}
    ]


def test_what_is_not_known_yet_is_null() -> None:
    record = Record(label="q", name=None, id="q", run_id="run-1", started_at=BEGIN)

    (query,) = state.document(snapshot("orders", record), BEGIN)["queries"]

    known = {"name", "id", "runId", "active", "processing", "startedAt", "idle", "batches"}
    assert {value for name, value in query.items() if name not in known} == {None}


def test_a_query_that_commits_nothing_has_no_latency() -> None:
    record = Record(label="q", name=None, id="q", run_id="run-1", started_at=BEGIN)
    caught_up = record.with_progress(trigger(sources=[kafka(0, 0, 0)]))

    (query,) = state.document(snapshot("orders", caught_up), BEGIN)["queries"]

    assert query["latencySeconds"] is None
    assert query["backlogSeconds"] == 0


def with_batches(name: str, count: int) -> Record:
    """A query that committed many batches, of long numbers."""
    record = Record(label=name, name=name, id=name, run_id="run-1", started_at=BEGIN)
    for number in range(count):
        batch = Batch(
            id=1_000_000 + number,
            started_at=BEGIN + number,
            duration=12.345,
            rows=1234567.0,
            executors=100,
            cold=False,
            processed_rows_per_second=98765.4321,
        )
        record = record.with_recent(batch)
    return record


def test_the_last_batches_are_told_oldest_first() -> None:
    record = with_batches("orders", 70)

    (query,) = state.document(snapshot("orders", record), BEGIN)["queries"]

    assert [batch["id"] for batch in query["batches"]] == list(range(1_000_010, 1_000_070))
    assert query["batches"][0] == {
        "id": 1_000_010,
        "startedAt": "2026-11-21T11:55:10.000Z",
        "durationSeconds": 12.345,
        "rows": 1234567.0,
        "executors": 100,
        "cold": False,
        "processedRowsPerSecond": 98765.4,
    }


def test_the_batches_of_any_number_of_queries_are_told_in_a_bounded_answer() -> None:
    settings = tuple((f"spark.sql.streaming.aSettingOfSomeLength{n}", "2") for n in range(18))
    full = Checkpoint("s3a://bucket/checkpoints/orders", 7, BEGIN, "v1", settings)
    twenty = [replace(with_batches(f"query-{number}", 60), checkpoint=full) for number in range(20)]
    crowd = [with_batches(f"query-{number}", 2) for number in range(900)]

    assert len(json.dumps(state.document(snapshot("orders", *twenty), BEGIN))) < 150_000
    told = state.document(snapshot("orders", *crowd), BEGIN)["queries"]
    assert sum(len(query["batches"]) for query in told) == 0


def test_the_batches_of_a_query_that_ended_take_no_room_from_the_others() -> None:
    ended = [
        with_batches(f"ended-{number}", 60).with_end(None, BEGIN + 12) for number in range(100)
    ]
    running = with_batches("orders", 60)

    told = state.document(snapshot("orders", *ended, running), BEGIN)["queries"]

    assert [len(query["batches"]) for query in told] == [0] * 100 + [60]


def test_the_pace_of_a_query_is_told() -> None:
    record = replace(with_batches("orders", 1), pace=Pace(2.5, 900.0))

    (query,) = state.document(snapshot("orders", record), BEGIN)["queries"]

    assert (query["triggerSeconds"], query["mostRows"]) == (2.5, 900.0)


def test_what_tasks_wait_for_is_told_of_a_query_that_reads_kafka() -> None:
    two = {"orders": {"0": 10, "1": 20}}
    reading = with_batches("orders", 1).with_progress(trigger(sources=[kafka(two, two, two)]))

    def told(record: Record) -> object:
        (query,) = state.document(snapshot("orders", record), BEGIN)["queries"]
        return query["fetching"]

    assert told(replace(reading, longest_wait=0.25)) == {
        "partitions": 2,
        "longestWaitSeconds": 0.25,
    }
    assert told(reading) is None
    assert told(replace(with_batches("files", 1), longest_wait=0.25)) is None


def test_the_checkpoint_of_a_query_is_told_as_it_was_found() -> None:
    found = Checkpoint(
        "s3a://bucket/orders", 7, BEGIN, "v1", (("spark.sql.shuffle.partitions", "4"),)
    )
    record = replace(with_batches("orders", 1), checkpoint=found)

    (query,) = state.document(snapshot("orders", record), BEGIN)["queries"]

    assert query["checkpoint"] == {
        "location": "s3a://bucket/orders",
        "lastBatch": 7,
        "committedAt": "2026-11-21T11:55:00.000Z",
        "formatVersion": "v1",
        "settings": {"spark.sql.shuffle.partitions": "4"},
    }


def test_what_a_profile_has_replaced_is_told_in_a_profile_only() -> None:
    replaced = replace(with_batches("orders", 1), replaced=Replaced("kafka", "dropped"))
    plain = snapshot("orders", replaced, with_batches("past the writer", 1))
    profiled = replace(plain, settings=replace(plain.settings, is_profile=True))

    told = state.document(profiled, BEGIN)["queries"]
    assert [query["profile"] for query in told] == [{"sink": "kafka", "kind": "dropped"}, None]
    assert "profile" not in state.document(plain, BEGIN)["queries"][0]


def test_offsets_of_a_batch_are_told_where_they_are_not_its_rows() -> None:
    record = with_batches("orders", 1)
    (batch,) = record.recent
    record = record.with_recent(replace(batch, id=2, offsets=batch.rows))
    record = record.with_recent(replace(batch, id=3, offsets=9e6))

    (query,) = state.document(snapshot("orders", record), BEGIN)["queries"]

    assert [one.get("offsets") for one in query["batches"]] == [None, None, 9e6]
