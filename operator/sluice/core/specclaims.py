"""The conditions of the spec: can it be carried out, is all of it acted upon, and does it apply to what runs."""

from collections.abc import Iterable
from dataclasses import replace

from sluice.core import checkpoints, ownedconf, resizing
from sluice.core.application import StreamJob
from sluice.core.asking import ALLOW_MIGRATION, RETRY, in_vain
from sluice.core.changes import ChangeClass
from sluice.core.chosen import wanted_executors
from sluice.core.conditions import Claim, Condition, fails, holds, unknown
from sluice.core.news import told_of_rollback
from sluice.core.observations import Observed
from sluice.core.record import Record
from sluice.core.resizing import Resize
from sluice.core.restarting import moves_checkpoint
from sluice.core.steps import Verdict


def invalid(message: str, seen: Observed) -> tuple[Claim, ...]:
    """The conditions of a job whose spec cannot be carried out."""
    kept = "; the driver goes on with the last valid spec" if seen.driver is not None else ""
    return (
        fails(Condition.SPEC_VALID, "InvalidSpec", message),
        fails(Condition.SPEC_APPLIED, "InvalidSpec", f"The spec is not valid{kept}."),
        fails(Condition.READY, "InvalidSpec", message),
    )


def without_spec(claims: Iterable[Claim], message: str, verdict: Verdict) -> tuple[Claim, ...]:
    """The conditions of a job whose spec cannot be carried out, and whose last good one is in its place."""
    good = verdict.record.proving.good
    last = f"generation {good.generation}, the last that worked" if good else "the last valid one"
    replaced = (
        fails(Condition.SPEC_VALID, "InvalidSpec", message),
        fails(Condition.SPEC_APPLIED, "InvalidSpec", f"The spec is not valid; in force is {last}."),
        fails(Condition.READY, "InvalidSpec", message),
    )
    told = {claim.type: claim for claim in (*claims, *replaced)}
    return tuple(told.values())


def in_force(job: StreamJob) -> Claim:
    """Whether this version acts upon all that is declared."""
    if not job.not_in_force:
        return holds(Condition.SPEC_IN_FORCE, "AllInForce", "Every declared field is acted upon.")
    named = ", ".join(f"spec.{name}" for name in job.not_in_force)
    message = f"Checked and stored, but not acted upon by this version: {named}."
    return fails(Condition.SPEC_IN_FORCE, "NotYetInForce", message)


def applied(job: StreamJob, verdict: Verdict, seen: Observed) -> Claim:
    """Whether what runs is what the spec says, or why not, and what follows."""
    kind, record, change = Condition.SPEC_APPLIED, verdict.record, verdict.record.change
    if record.proving.is_rolled_back(job.generation):
        return fails(kind, "RolledBack", _told_of_rollback(job, record))
    if record.proving.refuses(job):
        return fails(kind, "RollbackRefused", _told_of_refusal(job, record))
    if moves_checkpoint(job, record):
        return fails(kind, "MigrationRefused", _told_of_move(job, record))
    if seen.driver is None:
        return unknown(kind, "NoDriver", "The spec applies when the next driver starts.")
    ignored = _ignored(job, record)
    match change.kind:
        case ChangeClass.NONE | ChangeClass.MIGRATION if ignored:
            return fails(kind, "IgnoredByCheckpoint", ignored)
        case ChangeClass.NONE:
            return _as_started(seen)
        case ChangeClass.LIVE:
            return _live(job, verdict, seen)
        case ChangeClass.RESTART:
            waits = f" {told_of_crowd(seen)}" if verdict.held_back else ""
            message = f"A new driver is needed: {change} changed.{waits}"
            return fails(kind, "RestartNeeded", message)
        case ChangeClass.MIGRATION:
            message = (
                f"{change} changed, which the state in the checkpoint fixes: Spark would ignore it or "
                "fail. The driver goes on as it was; change it back, or use a new checkpoint"
            )
            return fails(kind, "MigrationRefused", f"{message}.")


def _as_started(seen: Observed) -> Claim:
    """Whether the driver has what it was started with, or has set otherwise what the operator decides."""
    kind, found = Condition.SPEC_APPLIED, seen.report.overridden if seen.report is not None else {}
    if not found:
        return holds(kind, "UpToDate", "The driver was started with this spec.")
    told = "; ".join(
        f"{name} to {value!r}: {ownedconf.remedy(name)}" for name, value in found.items()
    )
    message = f"The program sets in its SparkSession.builder what the operator decides: {told}."
    return fails(kind, "OverriddenByProgram", message)


def _told_of_move(job: StreamJob, record: Record) -> str:
    place, allowed = job.checkpoint_location, job.allowed_migration
    told = (
        f"spec.checkpoint: {place!r}: the job's progress (batch {record.last_batch}) is in {record.checkpoint!r}; "
        "no driver is started, and one that runs is not restarted by choice, until that is undone or allowed; to leave "
        f"it behind, annotate the job with {ALLOW_MIGRATION}={place}"
    )
    if allowed is None:
        return told
    return f"{told}. {in_vain(ALLOW_MIGRATION, allowed, f'{place!r} does')}"


def _live(job: StreamJob, verdict: Verdict, seen: Observed) -> Claim:
    kind, record = Condition.SPEC_APPLIED, verdict.record
    if record.resize is not None and _is_resizing(record.resize, seen):
        return fails(kind, *_told_of_resize(record.resize, verdict, seen))
    return holds(kind, "Live", _told_of_live(job, record))


def _told_of_live(job: StreamJob, record: Record) -> str:
    """What the running driver has taken, and what of it waits for the owner's own number to be in force again."""
    change, initial = record.change, "executors.initial"
    wanted = wanted_executors(job, record.chosen)
    if wanted == job.executors.initial or initial not in change.fields:
        return f"Taken by the running driver: {change}."
    others = replace(change, fields=tuple(field for field in change.fields if field != initial))
    taken = f"Taken by the running driver: {others}. " if others.fields else ""
    return (
        f"{taken}spec.{initial}: {job.executors.initial} is not followed in mode {job.scaling.mode}, where decisions "
        f"choose the executors, at present {wanted}; spec.executors.min and max are followed at once, and in mode "
        "Observe this field is, too."
    )


def _is_resizing(resize: Resize, seen: Observed) -> bool:
    has_obstacle = any(one.obstacle is not None for one in seen.executors)
    return bool(resize.refusal) or has_obstacle or bool(resizing.lacking(resize, seen.executors))


def _told_of_resize(resize: Resize, verdict: Verdict, seen: Observed) -> tuple[str, str]:
    """Why the executors have not the CPU that is declared, as reason and message."""
    if resize.refusal:
        waits = f" {told_of_crowd(seen)}" if verdict.held_back else ""
        return "RestartNeeded", f"A new driver is needed: {resize.refusal}.{waits}"
    told = f"The executors that run are given other CPU ({resize.share}), without a restart"
    obstacles = [one.obstacle for one in seen.executors if one.obstacle is not None]
    return "Resizing", f"{told}: {obstacles[0][0]}: {obstacles[0][1]}" if obstacles else f"{told}."


def _told_of_rollback(job: StreamJob, record: Record) -> str:
    rollback = record.proving.rollback
    assert rollback is not None
    named = f"{job.key.name} -n {job.key.namespace}"
    command = f"kubectl annotate sj {named} {RETRY}={rollback.retry} --overwrite"
    told = f"{told_of_rollback(record)} To try it as it is: {command}."
    if job.retry is None or job.retry == rollback.retry:
        return told
    return f"{told} {in_vain(RETRY, job.retry, f'{rollback.retry!r} does')}"


def _told_of_refusal(job: StreamJob, record: Record) -> str:
    good = record.proving.good
    assert good is not None
    return (
        f"Generation {job.generation} never worked. Generation {good.generation}, the last that did, had its "
        f"checkpoint in {good.checkpoint!r}: going back there would leave {job.checkpoint_location!r} behind, so it is "
        "not done unasked. Mend the spec, or change it back and allow the move as before."
    )


def _ignored(job: StreamJob, record: Record) -> str:
    """What of the spec Spark leaves aside for the checkpoint's sake, and the way out; empty if nothing."""
    if record.checkpoint != job.checkpoint_location:
        return ""
    found = checkpoints.ignored(job.application.spark_conf, record.pinned)
    told = "; ".join(str(one) for one in found)
    remedy = "The driver goes on as it was. Write what the checkpoint has, or begin anew: another spec.checkpoint"
    return f"{told}. {remedy}." if told else ""


def told_of_crowd(seen: Observed) -> str:
    """Why a restart waits for those of other jobs."""
    return (
        f"That waits for the restarts of {seen.crowd} other jobs, and no more are made at once "
        "(SLUICE_OPERATOR_CONCURRENT_RESTARTS)."
    )
