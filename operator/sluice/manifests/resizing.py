"""A live change of the executors' CPU, as the status tells it."""

from collections.abc import Mapping
from typing import Any

from sluice.core import quantities
from sluice.core.quantities import CpuShare, format_cpu
from sluice.core.resizing import Resize

Json = dict[str, Any]


def told(resize: Resize) -> Json:
    """The part of the status."""
    share = resize.share
    return {
        "incarnation": resize.incarnation,
        "cpuRequest": format_cpu(share.request),
        "cpuLimit": None if share.limit is None else format_cpu(share.limit),
        "refusal": resize.refusal or None,
    }


def read(told: Mapping[str, Any]) -> Resize | None:
    """What a stored status tells; what somebody has damaged is forgotten, and found again."""
    try:
        limit = told.get("cpuLimit")
        share = CpuShare(
            request=quantities.cpu(told["cpuRequest"]),
            limit=None if limit is None else quantities.cpu(limit),
        )
    except (KeyError, TypeError, ValueError):
        return None
    return Resize(
        incarnation=told.get("incarnation", 0), share=share, refusal=told.get("refusal", "")
    )
