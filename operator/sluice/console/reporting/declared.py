"""What an owner declares, in seconds; what is not declared, or was stored under other rules, is None."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sluice.core import quantities
from sluice.core.foreseen import AHEAD

DEFAULT_HORIZON = timedelta(minutes=15)


def latency_bound(spec: Mapping[str, Any]) -> float | None:
    """The bound on the record latency."""
    return _seconds(spec, "slo", "latency", "bound")


def recovery_target(spec: Mapping[str, Any]) -> float | None:
    """The longest time from a failure until the job has caught up."""
    return _seconds(spec, "recovery", "target")


def ahead(spec: Mapping[str, Any]) -> timedelta:
    """How long before its moment a forecast is told: a horizon may be shorter than that usually is."""
    horizon = _seconds(spec, "scaling", "horizon") or DEFAULT_HORIZON.total_seconds()
    return timedelta(seconds=min(AHEAD, horizon))


def _seconds(spec: Mapping[str, Any], *path: str) -> float | None:
    found: Any = spec
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    try:
        return quantities.duration(str(found)).total_seconds() if found else None
    except ValueError:
        return None
