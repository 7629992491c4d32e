import json

import pytest

from sluice.agent import progress
from sluice.agent.progress import StateSize
from tests.agent import building

# Recorded from Spark 4.2.0: an aggregation over the rate source.
RECORDED = """{"id":"1a2efbcc-6037-489f-b904-7f72e553517a","runId":"84bd719b-76bf-4648-ad0e-1d1b64d03364",
"name":"a","timestamp":"2026-11-21T11:44:41.250Z","batchId":5,"batchDuration":427,"numInputRows":10,
"inputRowsPerSecond":10.0,"processedRowsPerSecond":23.4,"durationMs":{"addBatch":319,"commitOffsets":54,
"getBatch":0,"latestOffset":0,"queryPlanning":13,"triggerExecution":427,"walCommit":40},
"eventTime":{"avg":"2026-11-21T11:44:39.500Z","max":"2026-11-21T11:44:40.000Z",
"min":"2026-11-21T11:44:39.000Z","watermark":"1970-01-01T00:00:00.000Z"},
"stateOperators":[{"operatorName":"stateStoreSave","numRowsTotal":60,"numRowsUpdated":10,
"allUpdatesTimeMs":79,"numRowsRemoved":0,"allRemovalsTimeMs":0,"commitTimeMs":119,"memoryUsedBytes":15808,
"numRowsDroppedByWatermark":0,"numShufflePartitions":2,"numStateStoreInstances":2,
"customMetrics":{"loadedMapCacheHitCount":20,"stateOnCurrentVersionSizeBytes":12784}}],
"sources":[{"description":"RateStreamV2[rowsPerSecond=10, rampUpTimeSeconds=0, numPartitions=default",
"startOffset":5,"endOffset":6,"latestOffset":6,"numInputRows":10,"inputRowsPerSecond":10.0,
"processedRowsPerSecond":23.4}],"sink":{"description":"NoopTable","numOutputRows":10}}"""


def test_a_recorded_progress_is_read_in_seconds_and_bytes() -> None:
    read = progress.parse(RECORDED)

    assert read.key == ("84bd719b-76bf-4648-ad0e-1d1b64d03364", 5, 1_795_261_481.25)
    assert read.committed_at == pytest.approx(1_795_261_481.677)
    assert read.is_batch
    assert dict(read.phases)["add_batch"] == 0.319
    assert dict(read.phases)["trigger_execution"] == 0.427
    assert read.state == StateSize(rows=60, bytes=15808, partitions=2, provider="hdfs")
    assert (read.rows, read.output_rows, read.processed_rows_per_second) == (10, 10, 23.4)
    assert read.event_time_max == 1_795_261_480.0
    assert (read.sources[0].start, read.sources[0].end, read.sources[0].latest) == (50, 60, 60)


def test_a_watermark_of_1970_is_none_yet() -> None:
    assert progress.parse(RECORDED).watermark is None


@pytest.mark.parametrize("year", ["+58882", "-0044"])
def test_event_times_of_a_year_that_python_does_not_know_are_unknown_and_the_rest_is_read(
    year: str,
) -> None:
    """As Spark 4.2.0 tells of a program that takes milliseconds for seconds."""
    text = RECORDED.replace("2026-11-21T11:44:40", f"{year}-06-24T02:11:05").replace(
        "1970-01-01T00:00:00", f"{year}-06-24T02:04:24"
    )

    read = progress.parse(text)

    assert (read.event_time_max, read.watermark) == (None, None)
    assert (read.batch_id, read.rows) == (5, 10)


def test_a_trigger_without_add_batch_is_no_batch() -> None:
    assert not building.trigger(is_batch=False).is_batch


def test_minus_one_output_rows_are_unknown() -> None:
    assert building.trigger(sink={"description": "Sink", "numOutputRows": -1}).output_rows is None


def test_rocksdb_is_known_by_its_metrics() -> None:
    operator = {"numRowsTotal": 1, "customMetrics": {"rocksdbGetCount": 3}}

    state = building.trigger(stateOperators=[operator]).state

    assert state is not None
    assert state.provider == "rocksdb"


def test_offsets_as_json_text_read_as_the_values_do() -> None:
    values = building.kafka(1, 4, 9)
    texts = {**values, **{name: json.dumps(values[name]) for name in values if "Offset" in name}}

    assert building.trigger(sources=[texts]).sources == building.trigger(sources=[values]).sources


def test_missing_parts_are_unknown_and_do_not_fail() -> None:
    bare = {"runId": "r", "batchId": 0, "timestamp": "2026-11-21T11:55:00.000Z", "durationMs": None}

    read = progress.parse(json.dumps({**bare, "sources": [building.kafka(None, None, None)]}))

    assert (read.state, read.output_rows, read.sources[0].latest) == (None, None, None)
