"""What each driver's agent exports. Counters begin at 0 with each driver."""

from sluice.catalogue.metric import Scope

# fmt: off
STREAM_BUCKETS = (
    0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
    90.0, 120.0, 180.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 14400.0, 43200.0, 86400.0,
)
# fmt: on
"""From a fast batch to an hour: durations and latencies of streams."""

_query = Scope(("namespace", "job", "query"))
_job = Scope(("namespace", "job"))

RECORD_LATENCY = _query.histogram(
    "sluice_query_record_latency_seconds",
    "From a record's timestamp, else a row's arrival at the source, to the commit of its batch, "
    "one count per row",
    buckets=STREAM_BUCKETS,
)

QUERY_METRICS = (
    _query.gauge("sluice_query_active", "1 while the query runs, 0 after it ended"),
    _query.counter("sluice_query_failures_total", "Runs of the query that ended by an error"),
    _query.counter("sluice_query_batches_total", "Batches committed by this driver"),
    _query.gauge("sluice_query_batch_id", "Id of the last committed batch"),
    _query.gauge(
        "sluice_query_last_commit_timestamp_seconds", "When the last batch was committed, Unix time"
    ),
    _query.counter(
        "sluice_query_input_rows_total",
        "Rows admitted into batches, each once where offsets tell; else as Spark counts them",
    ),
    _query.counter("sluice_query_output_rows_total", "Rows written, for sinks that count them"),
    _query.gauge(
        "sluice_query_processed_rows_per_second",
        "Rows of the last batch per second of its duration",
    ),
    _query.counter(
        "sluice_query_arrived_rows_total",
        "Rows that arrived at the sources since the first trigger, admitted or not",
    ),
    _query.gauge(
        "sluice_query_arrival_rows_per_second",
        "Growth of the sources over the last 15 s, or between two triggers, from their newest offsets",
    ),
    _query.gauge(
        "sluice_query_backlog_rows",
        "Rows at the sources that no committed batch has processed",
    ),
    _query.gauge(
        "sluice_query_backlog_seconds",
        "Age of the oldest row of the backlog; of one from before the first look, a guess of it",
    ),
    _query.gauge(
        "sluice_query_trigger_seconds",
        "Period of its trigger, or how long a real-time batch lasts; 0 if the next follows at once",
    ),
    _query.gauge(
        "sluice_query_retention_used_ratio",
        "Share of the rows kept by Kafka that waits, in the partition that is nearest to losing some unread",
    ),
    _query.counter(
        "sluice_query_expired_rows_total",
        "Rows that batches passed over because Kafka had deleted them already",
    ),
    _query.gauge(
        "sluice_query_event_time_lag_seconds",
        "Age of the newest event time in the last batch that had rows",
    ),
    _query.gauge("sluice_query_watermark_lag_seconds", "Age of the watermark"),
    _query.gauge("sluice_query_state_rows", "Rows in the state of all operators"),
    _query.gauge("sluice_query_state_bytes", "Memory that the state uses"),
    _query.gauge(
        "sluice_query_state_partitions", "Partitions of the state, as the checkpoint has them"
    ),
    _query.histogram(
        "sluice_query_batch_duration_seconds",
        "Duration of committed batches",
        buckets=STREAM_BUCKETS,
    ),
    _query.gauge(
        "sluice_query_batch_in_flight_seconds",
        "How long the batch that runs now was seen to run; 0 between batches",
    ),
    RECORD_LATENCY,
    _query.counter(
        "sluice_query_estimated_rows_total",
        "Rows in the latency histogram by their arrival at the source, without a usable timestamp",
    ),
    _query.counter(
        "sluice_query_untimed_rows_total",
        "Committed rows that are not in the latency histogram: when they arrived is unknown",
    ),
)

DRIVER_METRICS = (
    _job.gauge(
        "sluice_query_last_batch_duration_seconds",
        "Duration of each phase of the last batch",
        "query",
        "phase",
    ),
    _job.gauge("sluice_executors_target", "Executors asked for"),
    _job.gauge("sluice_executors_registered", "Executors that can be given tasks"),
    _job.gauge(
        "sluice_agent_info",
        "The agent and its Spark application; always 1",
        "version",
        "spark_version",
        "application_id",
        "incarnation",
    ),
)
