"""How a job is profiled by itself, as its status tells it, and back."""

from collections.abc import Mapping
from typing import Any

from sluice.core.observations import ProfilingOutlook
from sluice.manifests.moments import moment_text, read_moment

Json = dict[str, Any]


def told(outlook: ProfilingOutlook | None) -> Json:
    """The part of the status."""
    if outlook is None:
        return {}
    return {
        "profile": outlook.profile,
        "phase": outlook.phase,
        "points": outlook.points or None,
        "reason": outlook.reason,
        "message": outlook.message,
        "nextLook": moment_text(outlook.until, timespec="seconds"),
    }


def read(told: Mapping[str, Any]) -> ProfilingOutlook | None:
    """What a stored status tells."""
    if "reason" not in told:
        return None
    return ProfilingOutlook(
        profile=told.get("profile"),
        phase=told.get("phase"),
        points=told.get("points", ""),
        reason=told["reason"],
        message=told.get("message", ""),
        until=read_moment(told.get("nextLook")),
    )
