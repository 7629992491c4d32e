"""Conditions in the form of metav1.Condition: positive names, and a time that moves with the status only."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

LONGEST_TEXT = 4096
"""The characters of a text in a spec or a status, where nothing else is said: without a bound, the API server would
refuse the rules over them by their estimated cost.
"""


class Status(StrEnum):
    """Whether a condition holds."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(StrEnum):
    """The conditions of a StreamJob, each with what it says when it is true."""

    SPEC_VALID = "SpecValid"
    """The operator can carry out the spec as it stands."""
    SPEC_IN_FORCE = "SpecInForce"
    """Every declared field is acted upon by this version."""
    SPEC_APPLIED = "SpecApplied"
    """What runs is what the spec says."""
    MANAGED = "Managed"
    """The operator acts on the job: nobody has paused it."""
    CHECKPOINT_HELD = "CheckpointHeld"
    """No other job uses this checkpoint or a place inside or around it."""
    DRIVER_RUNNING = "DriverRunning"
    """The driver's container is up and its agent answers."""
    PROGRESSING = "Progressing"
    """Each active query has committed a batch or seen an idle trigger lately."""
    METRICS_AVAILABLE = "MetricsAvailable"
    """Prometheus answers, and has fresh samples of the job's driver."""
    OBJECTIVES_MET = "ObjectivesMet"
    """Error budget is left, and the bounds held in the last minutes."""
    RECOVERY_TARGET_FEASIBLE = "RecoveryTargetFeasible"
    """Some number of executors within bounds recovers within the target."""
    SCALING_ACTIVE = "ScalingActive"
    """The operator chooses the number of executors."""
    READY = "Ready"
    """The job runs as declared."""


class DriverThere(StrEnum):
    """Reasons of the condition DriverRunning while there is a driver that has started."""

    RUNNING = "Running"
    UNTRIED_SPARK = "UntriedSpark"
    AGENT_SILENT = "AgentSilent"
    STOPPING = "Stopping"
    REMOVED = "Removed"
    NODE_LOST = "NodeLost"
    POD_HELD = "PodHeld"


TASKS_WAIT = "TasksWait"
"""The reason of Progressing where batches are made, and a good part of each is waiting that the program can avoid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One condition as it is now: `reason` is CamelCase for machines, `message` a sentence."""

    type: Condition
    status: Status
    reason: str
    message: str
    generation: int = 0
    since: datetime | None = None


def holds(kind: Condition, reason: str, message: str) -> Claim:
    """The condition is true."""
    return Claim(type=kind, status=Status.TRUE, reason=reason, message=message)


def fails(kind: Condition, reason: str, message: str) -> Claim:
    """The condition is false."""
    return Claim(type=kind, status=Status.FALSE, reason=reason, message=message)


def unknown(kind: Condition, reason: str, message: str) -> Claim:
    """Nothing is known about the condition."""
    return Claim(type=kind, status=Status.UNKNOWN, reason=reason, message=message)


def settle(
    claims: Iterable[Claim], before: Iterable[Claim], generation: int, now: datetime
) -> tuple[Claim, ...]:
    """Stamp the claims: the time of a condition's last transition stays while its status does."""
    known = {claim.type: claim for claim in before}
    return tuple(
        replace(claim, generation=generation, since=_since(claim, known.get(claim.type), now))
        for claim in claims
    )


def _since(claim: Claim, before: Claim | None, now: datetime) -> datetime:
    if before is not None and before.status == claim.status and before.since is not None:
        return before.since
    return now
