"""What the bodies of requests ask for; a body that asks for nothing sensible is refused by the name of its field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sluice.agent.records import Pace

_MOST_EXECUTORS = 10_000
_MOST_ROWS = 10**12
_LONGEST_PERIOD = 86_400


class RefusedError(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def target(body: bytes) -> int:
    """Read the number of executors of /v1/executors."""
    number = _document(body, '{"target": n}').get("target")
    # bool is an int to Python, but true is no number of executors.
    if (
        not isinstance(number, int)
        or isinstance(number, bool)
        or not 0 <= number <= _MOST_EXECUTORS
    ):
        raise RefusedError(
            400, f"target must be a whole number from 0 to {_MOST_EXECUTORS}, but is {number!r}"
        )
    return number


def executors(body: bytes) -> list[str]:
    """Read the ids of /v1/decommission."""
    ids = _document(body, '{"executors": [id, ...]}').get("executors")
    if not isinstance(ids, list) or not all(isinstance(id, str) for id in ids):
        raise RefusedError(400, f"executors must be a list of ids as texts, but is {ids!r}")
    return ids


def limits(body: bytes) -> tuple[str, Pace]:
    """Read the query and its limits of /v1/limits."""
    document = _document(body, '{"query": name, "mostRows": n, "triggerSeconds": s}')
    name = document.get("query")
    if not isinstance(name, str):
        raise RefusedError(400, f"query must be the name of a query, but is {name!r}")
    return name, Pace(
        trigger_seconds=_number(document, "triggerSeconds", 0, _LONGEST_PERIOD),
        most_rows=_number(document, "mostRows", 1, _MOST_ROWS),
    )


def _number(document: Mapping[str, Any], name: str, least: float, most: float) -> float | None:
    value = document.get(name)
    if value is None:
        return None
    # Python reads NaN in JSON, too, which lies between no bounds.
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not least <= value <= most:
        raise RefusedError(
            400, f"{name} must be a number from {least} to {most} or null, but is {value!r}"
        )
    return float(value)


def _document(body: bytes, form: str) -> Mapping[str, Any]:
    try:
        document = json.loads(body)
    except ValueError as error:
        raise RefusedError(400, f"the body must be {form}, but is not JSON: {error}") from error
    return document if isinstance(document, dict) else {}
