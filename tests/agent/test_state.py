import json

from sluice.agent import state
from sluice.agent.records import Record
from tests.agent.building import BEGIN, kafka, trigger
from tests.agent.test_exposition import busy, snapshot


def test_the_state_describes_the_job_for_the_operator() -> None:
    document = state.document(snapshot("orders", busy()), BEGIN + 20)

    assert document["version"] == 1
    assert document["job"]["namespace"] == "shop"
    assert document["phase"] == "starting"
    assert document["startedAt"] == "2026-11-21T11:55:00.000Z"
    assert document["spark"] == {"version": "4.2.0", "applicationId": "app-1", "uiPort": None}
    assert document["executors"] == {"target": 3, "registered": 2, "ids": ["1", "2"]}
    (query,) = document["queries"]
    assert query["error"] == {"class": "Boom", "message": "it broke"}
    assert query["lastBatch"] == {
        "id": 1,
        "committedAt": "2026-11-21T11:55:11.000Z",
        "rows": 50.0,
        "durationSeconds": 1.0,
    }
    assert query["state"] == {"rows": 7, "bytes": 700, "partitions": 4, "provider": "rocksdb"}
    assert set(query["latencySeconds"]) == {"p50", "p95", "p99"}
    json.dumps(document)


def test_what_is_not_known_yet_is_null() -> None:
    record = Record(label="q", name=None, id="q", run_id="run-1", started_at=BEGIN)

    (query,) = state.document(snapshot("orders", record), BEGIN)["queries"]

    known = {"name", "id", "runId", "active", "startedAt"}
    assert {value for name, value in query.items() if name not in known} == {None}


def test_a_query_that_commits_nothing_has_no_latency() -> None:
    record = Record(label="q", name=None, id="q", run_id="run-1", started_at=BEGIN)
    caught_up = record.with_progress(trigger(sources=[kafka(0, 0, 0)]))

    (query,) = state.document(snapshot("orders", caught_up), BEGIN)["queries"]

    assert query["latencySeconds"] is None
    assert query["backlogSeconds"] == 0
