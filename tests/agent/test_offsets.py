from typing import Any

import pytest

from sluice.agent import offsets

KAFKA = "KafkaV2[Subscribe[orders]]"
RATE = "RateStreamV2[rowsPerSecond=10, rampUpTimeSeconds=0, numPartitions=default"


@pytest.mark.parametrize(
    ("description", "offset", "rows"),
    [
        (KAFKA, {"orders": {"0": 603, "1": 20}}, 623),
        (KAFKA, {"orders": {"0": 1}, "payments": {"0": 2}}, 3),
        (KAFKA, '{"orders":{"0":603}}', 603),
        (KAFKA, {"orders": {"0": 0}}, 0),
        (RATE, 6, 60),
        (RATE, "6", 60),
        ("RatePerMicroBatchStream[rowsPerBatch=10]", {"offset": 230, "timestamp": 23000}, 230),
    ],
)
def test_offsets_of_known_sources_count_rows(description: str, offset: Any, rows: float) -> None:
    assert offsets.rows_until(description, offset) == rows


@pytest.mark.parametrize(
    ("description", "offset"),
    [
        (KAFKA, None),
        (KAFKA, {}),
        (KAFKA, "earliest"),
        (KAFKA, {"orders": {"0": "latest"}}),
        (KAFKA, {"orders": {"0": -1, "1": 5}}),
        (RATE, None),
        ("RateStreamV2[rowsPerSecond=10, rampUpTimeSeconds=5, numPartitions=default", 6),
        ("FileStreamSource[file:/data]", {"logOffset": 3}),
        ("SomeSource", 7),
        ("", None),
    ],
)
def test_what_an_unknown_offset_counts_is_unknown(description: str, offset: Any) -> None:
    assert offsets.rows_until(description, offset) is None
