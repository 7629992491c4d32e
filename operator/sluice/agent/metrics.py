"""The catalogue of the agent's metrics: the one place for their names, types, labels and meaning.

`exposition` renders it. Names follow Prometheus' conventions: base units, `_total` on counters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sluice.agent import VERSION
from sluice.agent.histogram import Histogram
from sluice.agent.progress import Progress, StateSize
from sluice.agent.records import Record, StateLayout
from sluice.agent.snapshot import Snapshot

COUNTER, GAUGE, HISTOGRAM = "counter", "gauge", "histogram"
Labels = dict[str, str]


@dataclass(frozen=True)
class QueryMetric:
    """A metric of each query; a value of None is not exposed."""

    name: str
    type: str
    meaning: str
    value: Callable[[Record, float], float | Histogram | None]


@dataclass(frozen=True)
class JobMetric:
    """A metric of the whole job, or one with labels of its own."""

    name: str
    type: str
    meaning: str
    values: Callable[[Snapshot], Iterator[tuple[Labels, float | None]]]


def _of_batch(read: Callable[[Progress], float | None]) -> Callable[[Record, float], float | None]:
    return lambda record, _: read(record.last_batch) if record.last_batch else None


def _of_state(read: Callable[[StateSize], float]) -> Callable[[Record, float], float | None]:
    value = _of_batch(lambda batch: read(batch.state) if batch.state else None)
    return lambda record, now: None if record.is_done else value(record, now)


def _in_batch(record: Record, now: float) -> float:
    return 0.0 if record.in_batch_since is None else max(0.0, now - record.in_batch_since)


def _of_layout(read: Callable[[StateLayout], float]) -> Callable[[Record, float], float | None]:
    return lambda record, _: read(record.layout) if record.layout and not record.is_done else None


QUERY_METRICS = (
    QueryMetric(
        "sluice_query_active",
        GAUGE,
        "1 while the query runs, 0 after it ended",
        lambda record, _: float(record.active),
    ),
    QueryMetric(
        "sluice_query_failures_total",
        COUNTER,
        "Runs of the query that ended by an error",
        lambda record, _: record.failures,
    ),
    QueryMetric(
        "sluice_query_batches_total",
        COUNTER,
        "Batches committed by this driver",
        lambda record, _: record.batches,
    ),
    QueryMetric(
        "sluice_query_batch_id",
        GAUGE,
        "Id of the last committed batch",
        _of_batch(lambda batch: batch.batch_id),
    ),
    QueryMetric(
        "sluice_query_last_commit_timestamp_seconds",
        GAUGE,
        "When the last batch was committed, Unix time",
        _of_batch(lambda batch: batch.committed_at),
    ),
    QueryMetric(
        "sluice_query_input_rows_total",
        COUNTER,
        "Rows admitted into batches, each once where offsets tell; else as Spark counts them",
        lambda record, _: record.input_rows,
    ),
    QueryMetric(
        "sluice_query_output_rows_total",
        COUNTER,
        "Rows written, for sinks that count them",
        lambda record, _: record.output_rows,
    ),
    QueryMetric(
        "sluice_query_processed_rows_per_second",
        GAUGE,
        "Rows of the last batch per second of its duration",
        lambda record, _: record.processed_rows_per_second(),
    ),
    QueryMetric(
        "sluice_query_arrived_rows_total",
        COUNTER,
        "Rows that arrived at the sources since the first trigger, admitted or not",
        lambda record, _: record.arrived_rows,
    ),
    QueryMetric(
        "sluice_query_arrival_rows_per_second",
        GAUGE,
        "Growth of the sources over the last 15 s, or between two triggers, from their newest offsets",
        lambda record, _: record.arrival_rows_per_second(),
    ),
    QueryMetric(
        "sluice_query_backlog_rows",
        GAUGE,
        "Rows at the sources that no committed batch has processed",
        lambda record, _: record.backlog_rows(),
    ),
    QueryMetric(
        "sluice_query_backlog_seconds",
        GAUGE,
        "Age of the oldest row of the backlog; of one from before the first look, a guess of it",
        lambda record, now: record.backlog_seconds(now),
    ),
    QueryMetric(
        "sluice_query_trigger_seconds",
        GAUGE,
        "Period of its trigger, or how long a real-time batch lasts; 0 if the next follows at once",
        lambda record, _: record.trigger_seconds if record.active else None,
    ),
    QueryMetric(
        "sluice_query_retention_used_ratio",
        GAUGE,
        "Share of the rows kept by Kafka that waits, in the partition that is nearest to losing some unread",
        lambda record, _: record.retention_used(),
    ),
    QueryMetric(
        "sluice_query_expired_rows_total",
        COUNTER,
        "Rows that batches passed over because Kafka had deleted them already",
        lambda record, _: record.retention.expired_rows,
    ),
    QueryMetric(
        "sluice_query_event_time_lag_seconds",
        GAUGE,
        "Age of the newest event time in the last batch that had rows",
        lambda record, now: record.event_time_lag_seconds(now),
    ),
    QueryMetric(
        "sluice_query_watermark_lag_seconds",
        GAUGE,
        "Age of the watermark",
        lambda record, now: record.watermark_lag_seconds(now),
    ),
    QueryMetric(
        "sluice_query_state_rows",
        GAUGE,
        "Rows in the state of all operators",
        lambda record, _: None if record.is_done else record.state_rows(),
    ),
    QueryMetric(
        "sluice_query_state_bytes",
        GAUGE,
        "Memory that the state uses",
        _of_state(lambda state: state.bytes),
    ),
    QueryMetric(
        "sluice_query_state_partitions",
        GAUGE,
        "Partitions of the state, as the checkpoint has them",
        _of_layout(lambda layout: layout.partitions),
    ),
    QueryMetric(
        "sluice_query_batch_duration_seconds",
        HISTOGRAM,
        "Duration of committed batches",
        lambda record, _: record.durations,
    ),
    QueryMetric(
        "sluice_query_batch_in_flight_seconds",
        GAUGE,
        "How long the batch that runs now was seen to run; 0 between batches",
        _in_batch,
    ),
    QueryMetric(
        "sluice_query_record_latency_seconds",
        HISTOGRAM,
        "From a record's timestamp, else a row's arrival at the source, to the commit of its batch, "
        "one count per row",
        lambda record, _: record.latency.histogram,
    ),
    QueryMetric(
        "sluice_query_estimated_rows_total",
        COUNTER,
        "Rows in the latency histogram by their arrival at the source, without a usable timestamp",
        lambda record, _: record.latency.estimated_rows,
    ),
    QueryMetric(
        "sluice_query_untimed_rows_total",
        COUNTER,
        "Committed rows that are not in the latency histogram: when they arrived is unknown",
        lambda record, _: record.latency.untimed_rows,
    ),
)


def _phases(snapshot: Snapshot) -> Iterator[tuple[Labels, float | None]]:
    for record in snapshot.records:
        for phase, seconds in record.last_batch.phases if record.last_batch else ():
            yield {"query": record.label, "phase": phase}, seconds


def _info(snapshot: Snapshot) -> Iterator[tuple[Labels, float | None]]:
    application = snapshot.application
    labels = {
        "version": VERSION,
        "spark_version": application.version if application else "",
        "application_id": application.id if application else "",
        "incarnation": snapshot.settings.incarnation,
    }
    yield labels, 1.0


def _registered(snapshot: Snapshot) -> Iterator[tuple[Labels, float | None]]:
    yield {}, len(snapshot.executors.ids) if snapshot.application else None


def _target(snapshot: Snapshot) -> Iterator[tuple[Labels, float | None]]:
    yield {}, snapshot.executors.target


JOB_METRICS = (
    JobMetric(
        "sluice_query_last_batch_duration_seconds",
        GAUGE,
        "Duration of each phase of the last batch",
        _phases,
    ),
    JobMetric("sluice_executors_target", GAUGE, "Executors asked for", _target),
    JobMetric(
        "sluice_executors_registered", GAUGE, "Executors that can be given tasks", _registered
    ),
    JobMetric("sluice_agent_info", GAUGE, "The agent and its Spark application; always 1", _info),
)
