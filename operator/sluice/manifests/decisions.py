"""The newest decision on a job's executors, and what was chosen by one, as the status tells them, and back."""

from collections.abc import Mapping
from typing import Any

from sluice.core.chosen import Chosen, Decided
from sluice.core.deciding.decision import Decision, Veto
from sluice.core.modelling.rescaling import Path
from sluice.manifests.moments import moment_text, read_moment

Json = dict[str, Any]

_KEPT_BY = ": "


def told(decided: Decided | None) -> Json:
    """The part of the status that tells of a decision."""
    if decided is None:
        return {}
    decision, veto = decided.decision, decided.decision.veto
    return {
        "id": decided.id,
        "at": moment_text(decided.at),
        "wanted": decision.wanted,
        "executors": decision.executors,
        "reason": decision.reason,
        "keptBy": f"{veto.guard}{_KEPT_BY}{veto.reason}" if veto else None,
        "pending": decided.pending,
        "expectedLatency": _rounded(decision.expected_latency),
        "likelyRecovery": _rounded(decided.likely_recovery),
        "expectedRecovery": _rounded(decision.expected_recovery),
        "smallestRecovery": _rounded(decision.smallest_recovery),
    }


def read(told: Mapping[str, Any]) -> Decided | None:
    """The decision that a stored status tells of. It has been followed: what it changed was chosen with it."""
    at = read_moment(told.get("at"))
    if at is None:
        return None
    decision = Decision(
        wanted=told["wanted"],
        executors=told["executors"],
        reason=told.get("reason", ""),
        veto=_veto(told.get("keptBy")),
        expected_latency=told.get("expectedLatency"),
        expected_recovery=told.get("expectedRecovery"),
        smallest_recovery=told.get("smallestRecovery"),
    )
    return Decided(
        id=told.get("id", ""),
        at=at,
        before=decision.executors,
        incarnation=0,
        decision=decision,
        likely_recovery=told.get("likelyRecovery"),
        pending=told.get("pending"),
    )


def told_chosen(chosen: Chosen | None) -> Json:
    """The part of the status that tells of a choice."""
    if chosen is None:
        return {}
    return {
        "executors": chosen.executors,
        "decision": chosen.decision,
        "at": moment_text(chosen.at),
        "reason": chosen.reason,
        "path": str(chosen.path),
        "incarnation": chosen.incarnation,
        "undoes": chosen.undoes,
        "approval": chosen.approval,
    }


def read_chosen(told: Mapping[str, Any]) -> Chosen | None:
    """A choice as it was told; one by a way of a newer operator is forgotten."""
    at = read_moment(told.get("at"))
    if at is None or told.get("path") not in frozenset(Path):
        return None
    return Chosen(
        executors=told["executors"],
        decision=told.get("decision", ""),
        at=at,
        reason=told.get("reason", ""),
        path=Path(told["path"]),
        incarnation=told.get("incarnation", 0),
        undoes=told.get("undoes"),
        approval=told.get("approval"),
    )


def _veto(kept_by: str | None) -> Veto | None:
    if kept_by is None:
        return None
    guard, _, reason = kept_by.partition(_KEPT_BY)
    return Veto(guard, reason)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
