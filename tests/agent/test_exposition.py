import math
import re
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from sluice.agent import exposition, metrics
from sluice.agent.executors import Executors
from sluice.agent.records import Failure, Look, Pace, Record, StateLayout, Trigger
from sluice.agent.retention import Kept
from sluice.agent.settings import from_environment
from sluice.agent.snapshot import Snapshot
from sluice.agent.spark import Application
from tests.agent.building import BEGIN, KAFKA, kafka, trigger

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def snapshot(name: str = "orders", *records: Record) -> Snapshot:
    settings = from_environment({"SLUICE_JOB_NAMESPACE": "shop", "SLUICE_JOB_NAME": name})
    return Snapshot(
        settings=settings,
        started_at=BEGIN,
        taken_at=BEGIN,
        application=Application(version="4.2.0", id="app-1", ui_port=None),
        executors=Executors(target=3, ids=("1", "2"), task_seconds=12.5),
        records=records,
    )


def busy() -> Record:
    operator = {"numRowsTotal": 7, "memoryUsedBytes": 700, "numShufflePartitions": 4}
    event_time = {"max": "2026-11-21T11:55:05.000Z", "watermark": "2026-11-21T11:54:35.000Z"}
    record = Record(label="q", name="q", id="query-1", run_id="run-1", started_at=BEGIN)
    record = record.with_progress(trigger(at=0, rows=100, sources=[kafka(0, 100, 100, 100)]))
    second = trigger(
        batch=1,
        at=10,
        rows=50,
        sources=[kafka(100, 150, 200, 50)],
        stateOperators=[operator],
        eventTime=event_time,
    )
    record = replace(record.with_progress(second), layout=StateLayout(4, "rocksdb"))
    kept = Kept({"orders-0": 120}, {"orders-0": 200})
    record = record.with_look(Look("run-1", KAFKA, BEGIN + 10, 200, kept))
    return replace(timed(record), failures=1, trigger=Trigger(seconds=60.0))


def timed(record: Record) -> Record:
    """Let the batches that wait for timestamps lose their patience."""
    return replace(record, latency=record.latency.with_patience_until(math.inf))


def families(text: str) -> dict[str, object]:
    return {family.name: family for family in text_string_to_metric_families(text)}


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (busy(), ["60.0"]),
        (replace(busy(), pace=Pace(trigger_seconds=0.0, most_rows=None)), ["0.0"]),
        (replace(busy(), trigger=Trigger()), []),
        (replace(busy(), active=False), []),
    ],
)
def test_the_period_of_a_trigger_is_the_one_in_force_while_a_query_runs(
    record: Record, told: list[str]
) -> None:
    text = exposition.render(snapshot("orders", record), BEGIN + 20)

    lines = (line for line in text.splitlines() if line.startswith("sluice_query_trigger_seconds{"))
    assert [line.rpartition(" ")[2] for line in lines] == told


def test_prometheus_reads_every_metric_of_the_catalogue() -> None:
    text = exposition.render(snapshot("orders", busy()), BEGIN + 20)

    declared = {metric.name for metric in (*metrics.QUERY_METRICS, *metrics.JOB_METRICS)}
    # The parser drops _total from the names of counters.
    assert set(families(text)) == {re.sub(r"_total$", "", name) for name in declared}


@pytest.mark.parametrize(
    ("sample", "value"),
    [
        ("sluice_query_active", 1),
        ("sluice_query_failures_total", 1),
        ("sluice_query_batches_total", 2),
        ("sluice_query_batch_id", 1),
        ("sluice_query_last_commit_timestamp_seconds", BEGIN + 11),
        ("sluice_query_input_rows_total", 150),
        ("sluice_query_output_rows_total", 150),
        ("sluice_query_arrived_rows_total", 100),
        ("sluice_query_arrival_rows_per_second", 10),
        ("sluice_query_backlog_rows", 50),
        ("sluice_query_backlog_seconds", 15),
        ("sluice_query_retention_used_ratio", 0.625),
        ("sluice_query_expired_rows_total", 0),
        ("sluice_query_event_time_lag_seconds", 15),
        ("sluice_query_watermark_lag_seconds", 45),
        ("sluice_query_state_rows", 7),
        ("sluice_query_state_bytes", 700),
        ("sluice_query_state_partitions", 4),
        ("sluice_query_untimed_rows_total", 100),
        ("sluice_query_estimated_rows_total", 50),
        ("sluice_query_record_latency_seconds_count", 50),
        ("sluice_executors_target", 3),
        ("sluice_executors_registered", 2),
    ],
)
def test_a_metric_has_the_value_of_the_record(sample: str, value: float) -> None:
    text = exposition.render(snapshot("orders", busy()), BEGIN + 20)

    lines = [line for line in text.splitlines() if line.startswith(sample + "{")]
    assert len(lines) == 1
    assert float(lines[0].rpartition(" ")[2]) == pytest.approx(value)


def test_what_is_unknown_is_left_out() -> None:
    fresh = Record(label="q", name=None, id="q", run_id="run-1", started_at=BEGIN)

    text = exposition.render(snapshot("orders", fresh), BEGIN)

    assert "sluice_query_active" in text
    assert "sluice_query_backlog_rows" not in text


def test_a_batch_without_rows_does_not_hide_how_old_the_newest_event_is() -> None:
    idle = trigger(batch=2, at=20, rows=0, sources=[kafka(150, 150, 200, 0)])

    text = exposition.render(snapshot("orders", busy().with_progress(idle)), BEGIN + 40)

    lag = next(
        line
        for line in text.splitlines()
        if line.startswith("sluice_query_event_time_lag_seconds{")
    )
    assert float(lag.rpartition(" ")[2]) == pytest.approx(35)


def test_a_query_that_was_stopped_leaves_its_counters_and_its_last_batch() -> None:
    stopped = exposition.render(snapshot("orders", busy().with_end(None, BEGIN + 12)), BEGIN + 20)
    running = exposition.render(snapshot("orders", busy()), BEGIN + 20)

    gone = set(families(running)) - set(families(stopped))
    assert gone == {
        "sluice_query_processed_rows_per_second",
        "sluice_query_arrival_rows_per_second",
        "sluice_query_backlog_rows",
        "sluice_query_backlog_seconds",
        "sluice_query_trigger_seconds",
        "sluice_query_retention_used_ratio",
        "sluice_query_event_time_lag_seconds",
        "sluice_query_watermark_lag_seconds",
        "sluice_query_state_rows",
        "sluice_query_state_bytes",
        "sluice_query_state_partitions",
    }


def test_what_waits_behind_a_failed_query_is_told_until_another_run_of_it() -> None:
    failed = busy().with_end(Failure("Boom", "it broke"), BEGIN + 12)

    text = exposition.render(snapshot("orders", failed), BEGIN + 20)

    assert "sluice_query_backlog_seconds{" in text
    assert "sluice_query_retention_used_ratio{" in text
    assert "sluice_query_watermark_lag_seconds{" in text
    assert "sluice_query_arrival_rows_per_second{" not in text


def test_labels_survive_any_name() -> None:
    name = 'a "quoted"\\ name\nin two lines'

    text = exposition.render(snapshot(name), BEGIN)

    (info,) = [f for f in text_string_to_metric_families(text) if f.name == "sluice_agent_info"]
    assert info.samples[0].labels["job"] == name


@pytest.mark.parametrize(
    "metric", [*metrics.QUERY_METRICS, *metrics.JOB_METRICS], ids=lambda metric: metric.name
)
def test_names_follow_the_conventions(metric: metrics.QueryMetric | metrics.JobMetric) -> None:
    assert re.fullmatch(r"sluice_[a-z_]+", metric.name)
    assert metric.name.endswith("_total") == (metric.type == metrics.COUNTER)
    assert metric.meaning
