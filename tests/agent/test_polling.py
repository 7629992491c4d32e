"""The poller against queries of Java's shape: which record a run gets, and what is read when."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import Mock

import pytest
from prometheus_client.parser import text_string_to_metric_families

from sluice.agent import exposition, reading, state
from sluice.agent import kafka as agent_kafka
from sluice.agent.histogram import Histogram
from sluice.agent.latency import Timing
from sluice.agent.polling import SELDOM, Poller
from sluice.agent.reading import Query
from sluice.agent.records import BATCHES, CONTINUOUS, REAL_TIME, Look, Pace, StateLayout, Trigger
from sluice.agent.settings import from_environment
from sluice.agent.snapshot import WAITING as WAITING_FOR_LEASE
from sluice.agent.snapshot import Snapshot
from tests.agent.building import BEGIN, KAFKA, document, kafka

WAITING = {"message": "Waiting for next trigger", "isDataAvailable": True, "isTriggerActive": False}
WORKING = {"message": "Processing new data", "isDataAvailable": True, "isTriggerActive": True}
LOOKING = {
    "message": "Getting offsets from Kafka",
    "isDataAvailable": True,
    "isTriggerActive": True,
}


@dataclass
class Text:
    """Anything of Java that is only asked for its JSON."""

    text: str
    times_read: int = 0

    def json(self) -> str:
        self.times_read += 1
        return self.text


class Nothing:
    """Scala's None."""

    def isEmpty(self) -> bool:  # noqa: N802  # Java's name
        return True


@dataclass
class JavaQuery:
    """A streaming query as py4j shows it."""

    progress: list[Text] = field(default_factory=list)
    doing: dict[str, Any] = field(default_factory=lambda: WAITING)
    is_over: bool = False

    def report(self, **parts: Any) -> None:
        self.progress.append(Text(json.dumps(document(**parts))))

    def lastProgress(self) -> Text | None:  # noqa: N802
        return self.progress[-1] if self.progress else None

    def recentProgress(self) -> Sequence[Text]:  # noqa: N802
        return self.progress

    def isActive(self) -> bool:  # noqa: N802
        return not self.is_over

    def status(self) -> Text:
        return Text(json.dumps(self.doing))

    def exception(self) -> Nothing:
        return Nothing()


class Program:
    """A Spark with queries that come and go."""

    def __init__(self) -> None:
        self.running: dict[str, Query] = {}
        self.now = BEGIN
        snapshot = Snapshot(settings=from_environment({}), started_at=BEGIN, taken_at=BEGIN)
        self.poller = Poller(self, snapshot, now=lambda: self.now)  # type: ignore[arg-type]

    def starts(self, run: str, name: str | None = None, id: str = "") -> JavaQuery:
        java = JavaQuery()
        self.running[run] = Query(java=java, name=name, id=id or f"id of {run}", run_id=run)
        return java

    def learn_queries(self) -> bool:
        return not any(query.java.is_over for query in self.running.values())

    def queries(self) -> tuple[Query, ...]:
        return tuple(self.running.values())

    def new_reports(self, queries: Sequence[Query]) -> dict[str, str]:
        new = {}
        for query in queries:
            last = query.java.lastProgress()
            if last is not None and query.code != str(id(last)):
                query.code, new[query.run_id] = str(id(last)), last.json()
        return new

    def forget(self, run: str) -> None:
        self.running.pop(run)

    def context(self) -> None:
        return None

    def application(self) -> None:
        return None

    def jvm_exit_code(self) -> None:
        return None

    def labels(self) -> dict[str, str]:
        """Poll, and return the run of each label."""
        self.poller.poll()
        return {record.label: record.run_id for record in self.poller.snapshot.records}

    def query(self) -> Any:
        """Poll until what is asked seldom was asked as well, and return the state of the last query."""
        for _ in range(SELDOM):
            self.poller.poll()
        return state.document(self.poller.snapshot, self.now)["queries"][-1]


@pytest.fixture
def program() -> Program:
    return Program()


def test_a_start_is_from_the_lease_to_the_first_query_whatever_the_program_starts_later(
    program: Program,
) -> None:
    program.poller.set_phase(WAITING_FOR_LEASE)
    program.now = BEGIN + 20
    program.poller.begin()
    program.poller.poll()
    assert program.poller.snapshot.running_at is None
    program.now = BEGIN + 35
    program.starts("run-1", "orders").is_over = True
    program.poller.poll()
    program.now = BEGIN + 600
    program.starts("run-2", "orders")
    program.poller.poll()

    told = state.document(program.poller.snapshot, program.now)

    assert told["phase"] == "running"
    assert told["startedAt"] == "2026-11-21T11:55:20.000Z"
    assert told["runningAt"] == "2026-11-21T11:55:35.000Z"


def test_an_end_of_which_java_does_not_tell_at_once_is_told_by_the_next_poll(
    program: Program,
) -> None:
    """As a JVM does that has no memory left, of which the query has ended."""
    java = program.starts("run-1", "orders")
    program.poller.poll()
    java.is_over = True
    java.exception = Mock(side_effect=[ConnectionError("no answer"), Nothing()])  # type: ignore[method-assign]
    with pytest.raises(ConnectionError):
        program.poller.poll()

    program.poller.poll()

    (record,) = program.poller.snapshot.records
    assert not record.active


def test_an_unnamed_query_is_labelled_by_its_id(program: Program) -> None:
    program.starts("run-1", id="q")

    assert program.labels() == {"q": "run-1"}


def test_a_query_that_is_started_again_keeps_its_label(program: Program) -> None:
    program.starts("run-1", "orders").is_over = True
    program.labels()
    program.starts("run-2", "orders")

    assert program.labels() == {"orders": "run-2"}


def test_an_unnamed_query_that_is_started_again_from_its_checkpoint_keeps_its_label(
    program: Program,
) -> None:
    program.starts("run-1", id="q").is_over = True
    program.labels()
    program.starts("run-2", id="q")

    assert program.labels() == {"q": "run-2"}


def test_two_queries_of_one_name_are_two_series_whichever_ends(program: Program) -> None:
    first = program.starts("run-1", "orders", "a")
    program.starts("run-2", "orders", "b")
    assert program.labels() == {"orders": "run-1", "b": "run-2"}
    first.is_over = True
    assert program.labels() == {"orders": "run-1", "b": "run-2"}
    assert program.labels() == {"orders": "run-1", "b": "run-2"}
    program.starts("run-3", "orders", "a")

    assert program.labels() == {"orders": "run-3", "b": "run-2"}


def test_a_query_named_as_the_id_of_another_is_a_series_of_its_own(program: Program) -> None:
    program.starts("run-1", id="b")
    program.starts("run-2", "b", "c")
    program.starts("run-3", "c", "b")

    assert program.labels() == {"b": "run-1", "c": "run-2", "run-3": "run-3"}


def test_no_number_of_queries_of_whatever_names_makes_a_series_twice(program: Program) -> None:
    names = [
        "orders",
        'say "hi"',
        "two\nlines",
        "back\\slash",
        "Zürich 東京 🚀",
        "half \ud83d",
        None,
    ]
    for number in range(20):
        name = names[number % len(names)]
        program.starts(f"run-{number}", name, f"id-{number}").report(
            run=f"run-{number}", sources=[kafka(0, 100, 200, 100)], rows=100
        )
    program.poller.poll()
    text = exposition.render(program.poller.snapshot, program.now)
    families = list(text_string_to_metric_families(text))
    series = [
        (sample.name, tuple(sorted(sample.labels.items())))
        for family in families
        for sample in family.samples
    ]

    assert len(series) == len(set(series))
    (active,) = [family for family in families if family.name == "sluice_query_active"]
    labels = {sample.labels["query"] for sample in active.samples}
    assert len(labels) == 20
    assert {'say "hi"', "two\nlines", "back\\slash", "Zürich 東京 🚀"} <= labels
    text.encode()
    json.dumps(state.document(program.poller.snapshot, program.now))


def test_a_query_that_is_stuck_in_a_batch_tells_since_when(program: Program) -> None:
    java = program.starts("run-1", "orders")
    java.report(run="run-1")
    assert program.query()["inBatchSince"] is None
    java.doing = WORKING
    program.now = BEGIN + 10
    assert program.query()["inBatchSince"] == "2026-11-21T11:55:10.000Z"
    program.now = BEGIN + 300
    stuck = program.query()

    assert (stuck["inBatchSince"], stuck["doing"]) == (
        "2026-11-21T11:55:10.000Z",
        "Processing new data",
    )
    assert stuck["lastProgressAt"] == "2026-11-21T11:55:01.000Z"
    text = exposition.render(program.poller.snapshot, program.now)
    (family,) = [
        family
        for family in text_string_to_metric_families(text)
        if family.name == "sluice_query_batch_in_flight_seconds"
    ]
    assert family.samples[0].value == 290


def test_of_a_query_whose_source_does_not_answer_it_is_told_which_and_since_when(
    program: Program,
) -> None:
    java = program.starts("run-1", "orders")
    java.doing = LOOKING
    program.query()
    program.now += 60

    asking = {"source": "Kafka", "since": "2026-11-21T11:55:00.000Z"}
    assert program.query()["asking"] == asking
    java.doing = WORKING
    assert program.query()["asking"] is None


@pytest.mark.parametrize("doing", [WAITING, LOOKING])
def test_a_query_that_waits_for_rows_is_not_in_a_batch(
    doing: dict[str, Any], program: Program
) -> None:
    java = program.starts("run-1", "orders")
    java.doing = doing

    query = program.query()

    assert (query["inBatchSince"], query["doing"]) == (None, doing["message"])


def test_no_batch_is_missed_between_two_polls_and_none_is_read_twice(program: Program) -> None:
    java = program.starts("run-1", "orders")
    committed = 0
    for batches in (1, 1, 3, 1, 0, 2):
        for _ in range(batches):
            java.report(run="run-1", batch=committed, at=len(java.progress))
            committed += 1
        java.report(run="run-1", batch=committed, at=len(java.progress), is_batch=False)
        program.poller.poll()
        program.poller.poll()

    assert program.poller.snapshot.records[0].batches == committed
    assert sum(report.times_read for report in java.progress) < 2 * len(java.progress)


def test_the_last_words_of_a_query_are_read_before_it_is_forgotten(program: Program) -> None:
    java = program.starts("run-1", "orders")
    program.poller.poll()

    class Last(JavaQuery):
        def isActive(self) -> bool:  # noqa: N802
            self.report(run="run-1", batch=7)
            return False

    last = Last(java.progress, is_over=True)
    program.running["run-1"] = Query(java=last, name="orders", id="q", run_id="run-1")
    query = program.query()

    assert (query["active"], query["lastBatch"]["id"]) == (False, 7)
    assert program.running == {}


def test_a_query_tells_when_it_ended_until_it_is_started_again(program: Program) -> None:
    java = program.starts("run-1", "orders")
    assert program.query()["endedAt"] is None
    java.is_over, program.now = True, BEGIN + 20
    program.query()
    program.now = BEGIN + 25
    assert program.query()["endedAt"] == "2026-11-21T11:55:20.000Z"
    program.starts("run-2", "orders")

    assert program.query()["endedAt"] is None


def test_queries_tell_when_their_jvm_was_lost(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    program.starts("run-1", "orders")
    program.poller.poll()
    monkeypatch.setattr(program, "jvm_exit_code", lambda: -9)
    program.now = BEGIN + 20
    program.poller.poll()
    program.now = BEGIN + 30
    query = program.query()

    assert (query["error"]["class"], query["endedAt"]) == (
        "DRIVER_JVM_LOST",
        "2026-11-21T11:55:20.000Z",
    )


def test_the_newest_run_of_a_name_is_told_last(program: Program) -> None:
    for run in ("a", "b"):
        program.starts(f"run-{run}", "orders", run)
    program.poller.poll()
    program.running["run-b"].java.is_over = True
    program.poller.poll()
    program.running["run-a"].java.is_over = True
    program.poller.poll()

    told = state.document(program.poller.snapshot, program.now)["queries"]
    assert [query["runId"] for query in told] == ["run-b", "run-a"]


def test_the_layout_of_the_state_is_the_checkpoints(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    layouts = [StateLayout(3, "rocksdb")]
    monkeypatch.setattr(reading, "state_layout", lambda _: layouts.pop())
    operator = {"numRowsTotal": 7, "memoryUsedBytes": 700, "numShufflePartitions": 5}
    java = program.starts("run-1", "orders")
    java.report(run="run-1", stateOperators=[operator])
    program.query()
    java.report(run="run-1", batch=1, at=1, stateOperators=[operator])

    assert program.query()["state"] == {
        "rows": 7,
        "bytes": 700,
        "partitions": 3,
        "provider": "rocksdb",
    }


ROWS = "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows"


def test_rows_of_a_state_that_are_not_counted_are_not_known(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    uncounted = StateLayout(3, "rocksdb", counts_rows=False)
    monkeypatch.setattr(reading, "state_layout", lambda _: uncounted)
    operator = {"numRowsTotal": 0, "memoryUsedBytes": 700, "numShufflePartitions": 3}
    program.starts("run-1", "orders").report(run="run-1", stateOperators=[operator])

    told = program.query()["state"]
    assert (told["rows"], told["bytes"], told["partitions"]) == (None, 700, 3)
    text = exposition.render(program.poller.snapshot, program.now)
    assert "sluice_query_state_rows" not in text
    assert "sluice_query_state_bytes" in text


@pytest.mark.parametrize(
    ("provider", "told"),
    [
        ("org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider", "rocksdb"),
        ("org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider", "hdfs"),
        ("com.shop.OwnProvider", "OwnProvider"),
    ],
)
def test_the_layout_is_read_from_what_the_query_took_from_its_offset_log(
    provider: str, told: str
) -> None:
    conf = {
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.streaming.stateStore.providerClass": provider,
    }
    metadata = Text(json.dumps({"batchWatermarkMs": 0, "conf": conf}))
    of_spark_3 = Mock(spec=["sparkSession", "sparkSessionForStream", "offsetSeqMetadata"])
    of_spark_3.offsetSeqMetadata.return_value = metadata
    of_spark_4 = Mock(spec=["sparkSession", "sparkSessionForStream", "getLatestExecutionContext"])
    of_spark_4.getLatestExecutionContext.return_value.offsetSeqMetadata.return_value = metadata

    for running, version in ((of_spark_3, "3.5.9"), (of_spark_4, "4.2.0")):
        running.sparkSession.return_value.version.return_value = version
        query = Mock(spec=["streamingQuery"])
        query.streamingQuery.return_value = running
        for is_told, is_counted in (("true", True), ("false", told != "rocksdb")):
            running.sparkSessionForStream.return_value.conf.return_value.get = {ROWS: is_told}.get
            assert reading.state_layout(query) == StateLayout(3, told, is_counted)
    assert reading.state_layout(JavaQuery()) is None


class Lines:
    """A collection of Scala."""

    def __init__(self, *lines: str) -> None:
        self._lines = lines

    def mkString(self, between: str) -> str:  # noqa: N802
        return between.join(self._lines)


@pytest.mark.parametrize(
    ("trigger", "limits", "pace"),
    [
        ("ProcessingTimeTrigger(2500)", ["MaxRows: 300", "MaxRows: 7"], Pace(2.5, 307)),
        ("ProcessingTimeTrigger(0)", ["All Available"], Pace(0, None)),
        ("AvailableNowTrigger", ["MaxRows: 300", "All Available"], Pace(None, None)),
        ("ContinuousTrigger(1000)", ["MaxFiles: 5"], Pace(None, None)),
        ("OneTimeTrigger", [], Pace(None, None)),
    ],
)
def test_the_pace_is_read_from_the_running_query(
    trigger: str, limits: list[str], pace: Pace
) -> None:
    chain = Mock(spec=["streamingQuery"])
    running = chain.streamingQuery.return_value
    running.trigger.return_value.toString.return_value = trigger
    running.uniqueSources.return_value.values.return_value = Lines(*limits)

    assert reading.pace_of(chain) == pace


def test_a_spark_that_does_not_tell_the_pace_is_logged_once_in_each_run(
    program: Program, capfd: pytest.CaptureFixture[str]
) -> None:
    java = program.starts("run-1", "orders")
    for batch in range(3):
        java.report(run="run-1", batch=batch, at=batch)
        query = program.query()

    assert (query["triggerSeconds"], query["mostRows"]) == (None, None)
    assert capfd.readouterr().err.count("does not tell the trigger") == 1


def test_the_pace_is_read_once_in_each_run(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    paces = [Pace(5, 500), Pace(1, 100)]
    monkeypatch.setattr(reading, "pace_of", lambda _: paces.pop())
    java = program.starts("run-1", "orders")
    java.report(run="run-1")
    assert program.query()["triggerSeconds"] == 1
    java.report(run="run-1", batch=1, at=1)
    assert program.query()["mostRows"] == 100
    java.is_over = True
    program.query()
    program.starts("run-2", "orders").report(run="run-2", batch=2, at=2)

    assert program.query()["mostRows"] == 500


def test_how_long_tasks_wait_for_rows_is_read_once_in_each_run(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = [None, 0.5]
    monkeypatch.setattr(agent_kafka, "longest_wait", lambda _: waits.pop())
    java = program.starts("run-1", "orders")
    source = kafka(0, 10, 10)
    for batch in range(2):
        java.report(run="run-1", batch=batch, at=batch, sources=[source])
        assert program.query()["fetching"] == {"partitions": 1, "longestWaitSeconds": 0.5}
    java.is_over = True
    program.query()
    program.starts("run-2", "orders").report(run="run-2", batch=2, at=2, sources=[source])

    assert program.query()["fetching"] is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ProcessingTimeTrigger(2500)", Trigger(BATCHES, 2.5)),
        ("AvailableNowTrigger", Trigger(BATCHES)),
        ("RealTimeTrigger(300000)", Trigger(REAL_TIME, 300)),
        ("ContinuousTrigger(5000)", Trigger(CONTINUOUS)),
    ],
)
def test_how_a_query_processes_is_told_by_its_trigger(text: str, told: Trigger) -> None:
    java = Mock()
    java.streamingQuery.return_value.trigger.return_value.toString.return_value = text
    assert reading.trigger_of(java) == told
    assert reading.trigger_of(JavaQuery()) == Trigger(), "of a Spark with other names"


def test_how_long_a_batch_lasts_is_known_before_the_first_is_committed(program: Program) -> None:
    program.starts("run-1", "orders")
    program.running["run-1"].trigger = Trigger(REAL_TIME, 300)
    query = program.query()
    assert query["lastBatch"] is None
    assert (query["processing"], query["triggerSeconds"]) == ("realTime", 300)


def test_each_batch_is_told_with_what_it_cost_and_an_idle_trigger_is_none(
    program: Program,
) -> None:
    java = program.starts("run-1", "orders")
    java.report(run="run-1", batch=7, at=1, seconds=0.5, rows=20)
    assert not program.query()["idle"]
    java.report(run="run-1", batch=8, at=2, is_batch=False)
    assert program.query()["idle"]
    java.report(run="run-1", batch=8, at=3, seconds=0.5, rows=10)

    assert program.query()["batches"] == [
        {
            "id": 7,
            "startedAt": "2026-11-21T11:55:01.000Z",
            "durationSeconds": 0.5,
            "rows": 20.0,
            "executors": 0,
            "cold": True,
            "processedRowsPerSecond": 40.0,
        },
        {
            "id": 8,
            "startedAt": "2026-11-21T11:55:03.000Z",
            "durationSeconds": 0.5,
            "rows": 10.0,
            "executors": 0,
            "cold": False,
            "processedRowsPerSecond": 20.0,
        },
    ]


def test_a_spark_that_does_not_tell_the_layout_is_believed_by_its_progress(
    program: Program,
) -> None:
    operator = {"numRowsTotal": 7, "memoryUsedBytes": 700, "numShufflePartitions": 5}
    program.starts("run-1", "orders").report(run="run-1", stateOperators=[operator])

    assert program.query()["state"]["partitions"] == 5


def test_rows_that_came_since_the_last_trigger_are_told_with_the_next_poll(
    program: Program,
) -> None:
    java = program.starts("run-1", "orders")
    java.report(sources=[kafka(0, 100, 120, 100)], rows=100)
    program.poller.poll()
    program.poller.deliver(Look("run-1", KAFKA, BEGIN + 5, 300))

    told = program.query()
    assert (told["backlogRows"], told["leftRows"]) == (200, 20)


def test_each_batch_is_counted_by_its_own_timing_whatever_comes_with_it(program: Program) -> None:
    for run in ("run-1", "run-2"):
        program.starts(run, run).report(run=run, sources=[kafka(0, 100, 100, 100)], rows=100)
    program.poller.poll()
    for record, age in zip(program.poller.snapshot.records, (0.3, 40.0), strict=True):
        (batch,) = record.latency.waiting
        program.poller.deliver(Timing(batch, Histogram().observed(age, age, 100)))
    program.poller.poll()

    latencies = [record.latency for record in program.poller.snapshot.records]
    assert [(one.histogram.sum, one.waiting) for one in latencies] == [(30, ()), (4000, ())]
