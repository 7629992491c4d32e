"""A StreamJob as a person reads it. It takes whatever is stored, also what a newer or older operator has written."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sluice.console.trends import Key
from sluice.core.conditions import TASKS_WAIT, Condition, DriverThere, Status

_ODD = frozenset({DriverThere.UNTRIED_SPARK, TASKS_WAIT})

UNSEEN = "Unseen"
"""In place of a phase, as in the operator's metrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One condition."""

    type: str
    status: str
    reason: str
    message: str
    since: datetime | None

    @property
    def is_true(self) -> bool:
        """Whether all is well as far as this goes."""
        return self.status == Status.TRUE

    @property
    def is_odd(self) -> bool:
        """Whether its owner should know of it, though all goes well."""
        return self.is_true and self.reason in _ODD


@dataclass(frozen=True, slots=True)
class Job:
    """A stored StreamJob."""

    resource: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.resource["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return str(self.resource["metadata"]["namespace"])

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return self.namespace, self.name

    @property
    def created(self) -> datetime:
        """When it was created."""
        return datetime.fromisoformat(self.resource["metadata"]["creationTimestamp"])

    @property
    def spec(self) -> Mapping[str, Any]:
        """What its owner declares."""
        return self.resource.get("spec") or {}

    @property
    def status(self) -> Mapping[str, Any]:
        """What the operator reports; empty before the first time."""
        return self.resource.get("status") or {}

    def part(self, name: str) -> Mapping[str, Any]:
        """A part of the status; what is not known is not in it."""
        return self.status.get(name) or {}

    def moment(self, part: str, field: str) -> datetime | None:
        """A time in the status."""
        return _time(self.part(part).get(field))

    @property
    def phase(self) -> str:
        """Its state in a word."""
        return self.status.get("phase") or UNSEEN

    @property
    def is_suspended(self) -> bool:
        """Whether its owner wants it stopped."""
        return bool(self.spec.get("suspend"))

    @property
    def mode(self) -> str:
        """Who chooses the number of its executors: what becomes of the operator's decisions."""
        return str((self.spec.get("scaling") or {}).get("mode", "Off"))

    @property
    def annotations(self) -> Mapping[str, str]:
        """What people and programs have noted on it."""
        return self.resource["metadata"].get("annotations") or {}

    @property
    def unseen_change(self) -> str:
        """What the operator has not looked at yet; empty if it has seen all."""
        wanted, seen = (
            self.resource["metadata"].get("generation", 1),
            self.status.get("observedGeneration"),
        )
        if seen is None:
            return (
                "The operator has not looked at this job yet; `sluice doctor` says whether it can."
            )
        if seen < wanted:
            return (
                f"The operator has not looked at the newest spec yet (it knows {seen} of {wanted})."
            )
        return ""

    @property
    def conditions(self) -> tuple[Told, ...]:
        """All conditions, as the operator orders them."""
        return tuple(
            Told(
                type=one["type"],
                status=one["status"],
                reason=one.get("reason", ""),
                message=one.get("message", ""),
                since=_time(one.get("lastTransitionTime")),
            )
            for one in self.status.get("conditions", ())
        )

    @property
    def ready(self) -> Told | None:
        """The condition that sums up the others; None before the first time."""
        return next((one for one in self.conditions if one.type == Condition.READY), None)

    @property
    def is_fine(self) -> bool:
        """Whether it does what its owner wants: it is Ready, or stopped on purpose."""
        if self.is_suspended:
            return self.phase == "Suspended"
        return self.ready is not None and self.ready.is_true and not self.unseen_change

    @property
    def why(self) -> str:
        """Why it is as it is, in a sentence."""
        return self.unseen_change or (self.ready.message if self.ready is not None else "")


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
