"""What became of a job's last rescale, as its status tells it, and back."""

from collections.abc import Mapping
from typing import Any

from sluice.core.staffing import Fallback, Room, Staffing
from sluice.manifests.moments import moment_text, read_moment

Json = dict[str, Any]


def told(staffing: Staffing | None) -> Json:
    """The part of the status; how often a driver was told its number is not worth writing."""
    if staffing is None:
        return {}
    return {
        "executors": staffing.executors,
        "former": staffing.former,
        "incarnation": staffing.incarnation,
        "since": moment_text(staffing.since),
        "cameAt": moment_text(staffing.came),
        "usedAt": moment_text(staffing.used),
        "fallback": _told_fallback(staffing.fallback),
        "futile": _told_fallback(staffing.futile),
    }


def read(told: Mapping[str, Any]) -> Staffing | None:
    """What a stored status tells."""
    since = read_moment(told.get("since"))
    if since is None:
        return None
    return Staffing(
        executors=told["executors"],
        former=told["former"],
        incarnation=told.get("incarnation", 0),
        since=since,
        came=read_moment(told.get("cameAt")),
        used=read_moment(told.get("usedAt")),
        fallback=_fallback(told.get("fallback", {})),
        futile=_fallback(told.get("futile", {})),
    )


def told_room(room: Room | None) -> Json:
    """The part of the status that tells of room."""
    return {} if room is None else {"executors": room.executors, "until": moment_text(room.until)}


def read_room(told: Mapping[str, Any]) -> Room | None:
    """The room that a stored status tells of."""
    until = read_moment(told.get("until"))
    return None if until is None else Room(executors=told["executors"], until=until)


def _told_fallback(fallback: Fallback | None) -> Json | None:
    return None if fallback is None else {"reason": fallback.reason, "message": fallback.message}


def _fallback(told: Mapping[str, Any]) -> Fallback | None:
    if "reason" not in told:
        return None
    return Fallback(reason=told["reason"], message=told.get("message", ""))
