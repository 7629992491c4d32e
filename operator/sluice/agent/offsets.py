"""How many rows an offset of a streaming source stands for, where that is known.

Kafka and the two rate sources count rows. A file source counts its own log, other sources anything: their
answer is None, so that arrivals and backlog are unknown rather than wrong. Kafka offsets also count the
markers of transactions, so that a transactional topic shows a few rows more than it has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

Offsets = Mapping[str, int]
"""An offset of each partition of Kafka, as `by_partition` names them."""

_RATE = re.compile(r"^RateStreamV2\[rowsPerSecond=(\d+), rampUpTimeSeconds=0\b")


def rows_until(description: str, offset: Any) -> float | None:
    """Return the rows from the beginning of the source until the offset."""
    offset = _value(offset)
    if is_kafka(description):
        partitions = by_partition(description, offset)
        return float(sum(partitions.values())) if partitions else None
    if description.startswith("RatePerMicroBatchStream"):
        return _number(offset.get("offset")) if isinstance(offset, dict) else None
    return _rate_rows(description, offset)


def by_partition(description: str, offset: Any) -> dict[str, int]:
    """Return the offset of each of Kafka's partitions; nothing for other sources and odd offsets."""
    offset = _value(offset)
    if not is_kafka(description) or not isinstance(offset, dict):
        return {}
    found = {
        f"{topic}-{partition}": value
        for topic, partitions in offset.items()
        if isinstance(partitions, dict)
        for partition, value in partitions.items()
    }
    is_plain = all(isinstance(value, int) and value >= 0 for value in found.values())
    return found if is_plain else {}


def is_kafka(description: str) -> bool:
    """Tell whether a source is Kafka, by Spark's words for it."""
    return description.startswith("Kafka")


def _value(offset: Any) -> Any:
    """Read JSON text, which Python's progress objects hold where the JSON holds values."""
    if not isinstance(offset, str):
        return offset
    try:
        return json.loads(offset)
    except ValueError:
        return None


def _rate_rows(description: str, offset: Any) -> float | None:
    """Turn the seconds since the start, which are this source's offset, into rows."""
    rate = _RATE.match(description)
    seconds = _number(offset)
    return None if rate is None or seconds is None else seconds * int(rate.group(1))


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and value >= 0 else None
