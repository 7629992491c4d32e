"""Say what has happened to a job: each news is one Event, found by comparing two records."""

from collections.abc import Iterator
from dataclasses import dataclass

from sluice.core.conditions import Condition, DriverThere, Status
from sluice.core.quantities import format_executors
from sluice.core.record import Record
from sluice.core.recoveries import Recovery


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """Something that people want to hear of once: it becomes an Event of the job."""

    reason: str
    message: str
    is_warning: bool = False


def news(before: Record, after: Record) -> Iterator[News]:
    """What has happened between two records of a job."""
    failure = after.last_failure
    if failure is not None and failure != before.last_failure:
        is_counted = after.failures > 0 and not failure.is_put_off
        count = f" (failure {after.failures})" if is_counted else ""
        told = f"Incarnation {failure.incarnation}: {failure.message}{count}"
        yield News(reason=failure.reason, message=told, is_warning=True)
    if after.gave_up and not before.gave_up:
        told = f"Failed {after.failures} times in a row; change the spec to try again"
        yield News(reason="GaveUp", message=told, is_warning=True)
    rollback = after.proving.rollback
    if rollback is not None and rollback != before.proving.rollback:
        yield News(reason="RolledBack", message=told_of_rollback(after), is_warning=True)
    if after.stopping and after.stopping != before.stopping:
        told = f"Incarnation {after.incarnation} stops: {after.stopping}"
        yield News(reason="DriverStopping", message=told)
    if after.incarnation > before.incarnation:
        resumed = "" if after.last_batch is None else f", after batch {after.last_batch}"
        told = f"Incarnation {after.incarnation} starts{resumed}"
        yield News(reason="DriverStarting", message=told)
    yield from _of_executors(before, after)
    yield from _of_drill(before, after)
    for recovery in after.recoveries.past[len(after.recoveries.past) - _newly(before, after) :]:
        yield News(reason="Recovered", message=_told_of(recovery))
    yield from _newly_failed(before, after)


def _of_drill(before: Record, after: Record) -> Iterator[News]:
    answer = after.drill
    if answer is None or answer == before.drill:
        return
    if answer.refusal:
        told = f"{answer.asked} is not done: {answer.refusal}"
        yield News(reason="DrillRefused", message=told, is_warning=True)
    elif answer.done and after.recoveries.present is not None:
        who, hit = answer.asked.partition("@")[0], after.recoveries.present.drilled
        told = f"A drill has killed the {who} of incarnation {hit}"
        yield News(reason="Drilled", message=told)


def _of_executors(before: Record, after: Record) -> Iterator[News]:
    fallback = after.staffing.fallback if after.staffing is not None else None
    if fallback is not None and (before.staffing is None or fallback != before.staffing.fallback):
        text = f"{fallback.message[0].upper()}{fallback.message[1:]}"
        yield News(reason=fallback.reason, message=text, is_warning=True)
    chosen = after.chosen
    if chosen is None or chosen == before.chosen:
        return
    told = f"Decision {chosen.decision}: {format_executors(chosen.executors)}, {chosen.path.lower()}: {chosen.reason}"
    if after.room is not None and after.room != before.room:
        yield News(reason="ExecutorsNotCome", message=told, is_warning=True)
        return
    is_undo = chosen.undoes is not None
    yield News(reason="RescaleUndone" if is_undo else "Rescaling", message=told, is_warning=is_undo)


def _newly(before: Record, after: Record) -> int:
    return min(after.recoveries.count - before.recoveries.count, len(after.recoveries.past))


def _told_of(recovery: Recovery) -> str:
    stages = {
        "detected": recovery.detected,
        "container": recovery.started,
        "session": recovery.connected,
        "first batch": recovery.committed,
        "caught up": recovery.caught_up,
    }
    told = ", ".join(
        f"{stage} after {recovery.seconds(moment):.1f} s"
        for stage, moment in stages.items()
        if moment is not None
    )
    drill = " (drill)" if recovery.drilled else ""
    short = "" if recovery.caught_up is not None else "; it had not caught up"
    return f"{recovery.cause}{drill}: {told}{short}"


def _newly_failed(before: Record, after: Record) -> Iterator[News]:
    known = {(claim.type, claim.status, claim.reason) for claim in before.conditions}
    for claim in after.conditions:
        is_new = (claim.type, claim.status, claim.reason) not in known
        if is_new and claim.status is Status.FALSE and (claim.type, claim.reason) in _WORTH_TELLING:
            yield News(reason=claim.reason, message=claim.message, is_warning=True)


_WORTH_TELLING = frozenset(
    {
        (Condition.DRIVER_RUNNING, DriverThere.REMOVED),
        (Condition.SPEC_VALID, "InvalidSpec"),
        (Condition.SPEC_APPLIED, "MigrationRefused"),
        (Condition.SPEC_APPLIED, "IgnoredByCheckpoint"),
        (Condition.SPEC_APPLIED, "OverriddenByProgram"),
        (Condition.CHECKPOINT_HELD, "CheckpointInUse"),
        (Condition.CHECKPOINT_HELD, "CheckpointElsewhere"),
    }
)


def told_of_rollback(record: Record) -> str:
    """Which spec was given up, why, and which is in force."""
    good, rollback = record.proving.good, record.proving.rollback
    assert good is not None
    assert rollback is not None
    return (
        f"Generation {rollback.generation} never worked: {rollback.why.rstrip('.')}. In force is the spec of "
        f"generation {good.generation}, the last that did; change the spec to try again."
    )
