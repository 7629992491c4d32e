"""How many rows an offset of a streaming source stands for, where that is known.

Kafka and the two rate sources count rows. A file source counts its own log, other sources anything: their
answer is None, so that arrivals and backlog are unknown rather than wrong. Kafka offsets also count the
markers of transactions, so that a transactional topic shows a few rows more than it has.
"""

from __future__ import annotations

import json
import re
from typing import Any

_RATE = re.compile(r"^RateStreamV2\[rowsPerSecond=(\d+), rampUpTimeSeconds=0\b")


def rows_until(description: str, offset: Any) -> float | None:
    """Return the rows from the beginning of the source until the offset."""
    if isinstance(
        offset, str
    ):  # Python's progress objects hold JSON text where the JSON holds values
        offset = _parsed(offset)
    if description.startswith("Kafka"):
        return _kafka_rows(offset)
    if description.startswith("RatePerMicroBatchStream"):
        return _number(offset.get("offset")) if isinstance(offset, dict) else None
    return _rate_rows(description, offset)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _kafka_rows(offset: Any) -> float | None:
    """Add up {topic: {partition: offset}}."""
    if not isinstance(offset, dict):
        return None
    partitions = [partitions for partitions in offset.values() if isinstance(partitions, dict)]
    offsets = [_number(value) for topic in partitions for value in topic.values()]
    known = [value for value in offsets if value is not None]
    return sum(known) if known and len(known) == len(offsets) else None


def _rate_rows(description: str, offset: Any) -> float | None:
    """Turn the seconds since the start, which are this source's offset, into rows."""
    rate = _RATE.match(description)
    seconds = _number(offset)
    return None if rate is None or seconds is None else seconds * int(rate.group(1))


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and value >= 0 else None
