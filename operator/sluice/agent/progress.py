"""What Spark reports about one trigger of a query, read from the JSON of StreamingQueryProgress.

Only what the agent serves is kept, in seconds and bytes. What Spark leaves out, or fills with a stand-in (a
watermark of 1970, -1 rows), is None here.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sluice.agent import joining, offsets
from sluice.agent.joining import Joined

_CAPITAL = re.compile(r"(?<!^)([A-Z])")


@dataclass(frozen=True)
class SourceProgress:
    """One source in one trigger: rows from its beginning until the batch's start, its end, and the newest.

    `starts` and `ends` are the offsets of Kafka's partitions, empty where they are not known. Topics that have `joined`
    although they are older have no start: until the batch's end they count as if they had been before it. One that no
    batch has read yet does not count at all.
    """

    description: str
    start: float | None
    end: float | None
    latest: float | None
    rows: float
    starts: Mapping[str, int]
    ends: Mapping[str, int]
    joined: Joined = joining.NONE


@dataclass(frozen=True)
class StateSize:
    """The state of all stateful operators together; partitions of the widest."""

    rows: int
    bytes: int
    partitions: int
    provider: str


@dataclass(frozen=True)
class Progress:
    """One trigger of one run of a query; it was a batch if rows were committed or state moved on."""

    run_id: str
    batch_id: int
    timestamp: float
    duration: float
    is_batch: bool
    rows: float
    output_rows: float | None
    processed_rows_per_second: float | None
    phases: tuple[tuple[str, float], ...]
    watermark: float | None
    event_time_max: float | None
    sources: tuple[SourceProgress, ...]
    state: StateSize | None

    @property
    def key(self) -> tuple[str, int, float]:
        """Tell one trigger from another: an idle one has the batch id of the batch to come."""
        return self.run_id, self.batch_id, self.timestamp

    @property
    def committed_at(self) -> float:
        """Return the end of the trigger, which is when its batch was committed."""
        return self.timestamp + self.duration


def parse(text: str) -> Progress:
    """Read the JSON of one progress."""
    document: dict[str, Any] = json.loads(text)
    phases = _phases(document.get("durationMs") or {})
    event_time = document.get("eventTime") or {}
    return Progress(
        run_id=document["runId"],
        batch_id=int(document["batchId"]),
        timestamp=_seconds(document["timestamp"]) or 0.0,
        duration=_duration(document, phases),
        is_batch="add_batch" in phases,
        rows=float(document.get("numInputRows") or 0),
        output_rows=_not_negative((document.get("sink") or {}).get("numOutputRows")),
        processed_rows_per_second=_not_negative(document.get("processedRowsPerSecond")),
        phases=tuple(sorted(phases.items())),
        watermark=_seconds(event_time.get("watermark")),
        event_time_max=_seconds(event_time.get("max")),
        sources=tuple(_source(source) for source in document.get("sources") or ()),
        state=_state(document.get("stateOperators") or ()),
    )


def _phases(milliseconds: Mapping[str, float]) -> dict[str, float]:
    return {_snake_case(name): value / 1000 for name, value in milliseconds.items()}


@functools.lru_cache(maxsize=64)
def _snake_case(name: str) -> str:
    return _CAPITAL.sub(r"_\1", name).lower()


def _duration(document: Mapping[str, Any], phases: Mapping[str, float]) -> float:
    whole = document.get("batchDuration")
    return phases.get("trigger_execution", 0.0) if whole is None else float(whole) / 1000


def _source(document: Mapping[str, Any]) -> SourceProgress:
    description = str(document.get("description") or "")
    told = [document.get(f"{name}Offset") for name in ("start", "end", "latest")]
    start, end, latest = (offsets.rows_until(description, offset) for offset in told)
    starts, ends, newest = (offsets.by_partition(description, offset) for offset in told)
    rows = float(document.get("numInputRows") or 0)
    begun = joining.starts(starts, ends, rows)
    joined = joining.joined(begun, ends, newest, rows)
    if ends and not newest.keys() <= ends.keys():
        latest = float(sum(joining.of_topics(newest, ends).values()))
    return SourceProgress(
        description=description,
        start=None if start is None else start + joined.end,
        end=end,
        latest=latest,
        rows=rows,
        starts=begun,
        ends=ends,
        joined=joined,
    )


def _state(operators: Any) -> StateSize | None:
    if not operators:
        return None
    metrics = [name for operator in operators for name in operator.get("customMetrics") or ()]
    is_rocksdb = any(name.startswith("rocksdb") for name in metrics)
    return StateSize(
        rows=sum(int(operator.get("numRowsTotal") or 0) for operator in operators),
        bytes=sum(int(operator.get("memoryUsedBytes") or 0) for operator in operators),
        partitions=max(int(operator.get("numShufflePartitions") or 0) for operator in operators),
        provider="rocksdb" if is_rocksdb else "hdfs",
    )


def _seconds(text: str | None) -> float | None:
    """Read 2026-11-21T11:44:41.000Z; Spark says 1970 where it knows no event time yet.

    A program that takes milliseconds for seconds has event times of the year +58882, which no calendar of Python's has.
    """
    if not text:
        return None
    try:
        seconds = datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None
    return seconds if seconds > 0 else None


def _not_negative(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and value >= 0 else None
