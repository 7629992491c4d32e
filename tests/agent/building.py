"""Progress documents as Spark 4.2 writes them, with the parts that a test cares about."""

import json
from typing import Any

from sluice.agent import progress
from sluice.agent.progress import Progress

KAFKA = "KafkaV2[Subscribe[orders]]"
BEGIN = 1_795_262_100.0
"""2026-11-21T11:55:00Z: the instant from which tests count seconds."""


def document(
    *,
    batch: int = 0,
    at: int = 0,
    seconds: float = 1.0,
    sources: list[dict[str, Any]] | None = None,
    rows: int = 0,
    is_batch: bool = True,
    run: str = "run-1",
    **more: Any,
) -> dict[str, Any]:
    """Return one progress; `at` is in seconds after BEGIN, below one minute per hour of care."""
    milliseconds = int(seconds * 1000)
    phases = {"latestOffset": 2, "triggerExecution": milliseconds}
    if is_batch:
        phases |= {"addBatch": milliseconds - 10, "walCommit": 5, "commitOffsets": 3}
    return {
        "id": "query-1",
        "runId": run,
        "name": "orders",
        "timestamp": f"2026-11-21T{11 + (55 * 60 + at) // 3600:02d}"
        f":{(55 * 60 + at) // 60 % 60:02d}:{at % 60:02d}.000Z",
        "batchId": batch,
        "batchDuration": milliseconds,
        "numInputRows": rows,
        "inputRowsPerSecond": 0.0,
        "processedRowsPerSecond": rows / seconds,
        "durationMs": phases,
        "stateOperators": [],
        "sources": sources if sources is not None else [],
        "sink": {"description": "NoopTable", "numOutputRows": rows},
        **more,
    }


def kafka(start: Any, end: Any, latest: Any, rows: int = 0) -> dict[str, Any]:
    """Return a Kafka source whose one partition holds the given offsets, or whatever they are."""
    return {
        "description": KAFKA,
        "startOffset": _offset(start),
        "endOffset": _offset(end),
        "latestOffset": _offset(latest),
        "numInputRows": rows,
        "inputRowsPerSecond": 0.0,
        "processedRowsPerSecond": 0.0,
        "metrics": {"avgOffsetsBehindLatest": "0.0", "maxOffsetsBehindLatest": "0"},
    }


def by_pattern(
    start: dict[str, int], end: dict[str, int], latest: dict[str, int] | None, rows: int = 0
) -> dict[str, Any]:
    """Return a Kafka source of any topics, with the offsets of partitions such as orders-0."""
    newest = None if latest is None else _by_topic(latest)
    told = kafka(_by_topic(start), _by_topic(end), newest, rows)
    return {**told, "description": "KafkaV2[SubscribePattern[.*]]"}


def trigger(**parts: Any) -> Progress:
    """Return one parsed progress."""
    return progress.parse(json.dumps(document(**parts)))


def _by_topic(offsets: dict[str, int]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for name, offset in offsets.items():
        topic, _, partition = name.rpartition("-")
        found.setdefault(topic, {})[partition] = offset
    return found


def _offset(value: Any) -> Any:
    return {"orders": {"0": value}} if isinstance(value, int) else value
