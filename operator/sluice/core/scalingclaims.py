"""The conditions of deciding: is the number of executors chosen, and can recoveries be as fast as promised."""

from dataclasses import replace
from datetime import datetime

from sluice.core import checkpoints, executorfaults, spreading, succession
from sluice.core.application import StreamJob
from sluice.core.asking import APPROVE, in_vain
from sluice.core.chosen import Decided
from sluice.core.conditions import Claim, Condition, Status, fails, holds, unknown
from sluice.core.deciding.situation import Mode
from sluice.core.measurement import NOT_YET_ASKED, Unmeasured
from sluice.core.observations import Observed
from sluice.core.parallelism import fixed_tasks
from sluice.core.quantities import format_duration, format_executors
from sluice.core.record import Record
from sluice.core.running import executors_of
from sluice.core.staffing import Staffing

_OFF = "Off"
_REASONS = {Mode.AUTO: "Deciding", Mode.APPROVE: "DecidingOnApproval", Mode.OBSERVE: "Observing"}


def scaling(job: StreamJob, record: Record, seen: Observed, now: datetime) -> Claim:
    """Whether decisions are made, the newest of them, and whether the executors are there and have work."""
    unmeasured = _still_unmeasured(job, record, seen, now)
    if unmeasured is not None:
        return unmeasured
    claim = _deciding(job, record, seen)
    running = replace(job, executors=executors_of(job, seen.driver))
    told = (
        _approved_in_vain(job, record)
        + _rescaled(record, seen, now)
        + executorfaults.told(job, seen, now)
        + (_idle(running, seen) or _unused(running, record, seen))
    )
    return replace(claim, message=claim.message + told)


def _still_unmeasured(
    job: StreamJob, record: Record, seen: Observed, now: datetime
) -> Claim | None:
    """What the former operator told where it had no metrics, as long as nobody knows whether there are any now."""
    former = succession.claim(Condition.SCALING_ACTIVE, record, seen, now)
    if former is None or job.scaling.mode is Mode.OFF:
        return None
    return former if former.status is Status.FALSE and former.reason != _OFF else None


def _deciding(job: StreamJob, record: Record, seen: Observed) -> Claim:
    kind, mode = Condition.SCALING_ACTIVE, job.scaling.mode
    if mode is Mode.OFF:
        return fails(kind, _OFF, "spec.scaling.mode is Off: executors.initial holds.")
    if isinstance(seen.measured, Unmeasured) and seen.measured != NOT_YET_ASKED:
        text = f"Nothing is rescaled without metrics: {seen.measured.message}"
        return fails(kind, seen.measured.reason, text)
    if record.decided is None:
        text = (
            "This operator has decided nothing yet; the first decision comes "
            f"{format_duration(job.scaling.interval)} after a driver has reported."
        )
        return unknown(kind, "NotYetDecided", text)
    return holds(kind, _REASONS[mode], _told(job, record.decided))


def _approved_in_vain(job: StreamJob, record: Record) -> str:
    """Point out that what a person approves does not wait. What is done because it was approved stays approved."""
    pending = record.decided.pending if record.decided is not None else None
    done = record.chosen.approval if record.chosen is not None else None
    if job.approved in (None, pending, done):
        return ""
    why = f"{pending!r} does" if pending is not None else "no decision waits for an approval"
    return f" {in_vain(APPROVE, job.approved, why)}"


def recovery(job: StreamJob, record: Record) -> Claim:
    """Whether some number of executors within the bounds recovers within the target."""
    kind, target = Condition.RECOVERY_TARGET_FEASIBLE, job.recovery_target
    if target is None:
        return unknown(kind, "NoTarget", "spec.recovery declares nothing.")
    if job.scaling.mode is Mode.OFF:
        return unknown(kind, _OFF, "Recoveries are predicted where spec.scaling.mode is not Off.")
    decision = record.decided.decision if record.decided is not None else None
    seconds = target.total_seconds()
    if decision is not None and decision.smallest_recovery is not None:
        text = f"spec.recovery.target: {seconds:.0f} s cannot be kept; {decision.smallest_recovery:.0f} s is the best"
        return fails(
            kind,
            "Infeasible",
            f"{text} that at most {format_executors(job.executors.maximum)} can do.",
        )
    if decision is None:
        return unknown(kind, "NotPredicted", "No recovery has been predicted yet.")
    if decision.expected_recovery is None:
        text = f"The newest decision predicts no recovery: {decision.reason}."
        return unknown(kind, "NotPredicted", text)
    if decision.expected_recovery > seconds:
        text = f"A lost driver would take {decision.expected_recovery:.0f} s at worst, the target is {seconds:.0f} s"
        return holds(kind, "NotAtThisSize", f"{text}: more executors are needed.")
    return holds(
        kind, "Feasible", f"A lost driver would take {decision.expected_recovery:.0f} s at worst."
    )


def _idle(job: StreamJob, seen: Observed) -> str:
    """Point out executors beyond what the state can use, or the topics that are read."""
    report = seen.report
    tasks = fixed_tasks(report) if report is not None else None
    if report is None or report.target is None or tasks is None:
        return ""
    useful = checkpoints.useful_executors(tasks, job.executors.slots)
    if report.target <= useful:
        return ""
    limit = "what it reads has" if report.state_tasks is None else "the state has"
    return (
        f" {report.target} executors of {job.executors.slots} task slots are wanted, but {limit} {tasks} partitions: "
        f"more than {useful} find no work on it."
    )


def _rescaled(record: Record, seen: Observed, now: datetime) -> str:
    """Point out what has become of the last rescale, if it did not go as it should."""
    staffing, room, told = record.staffing, record.room, ""
    if staffing is not None and staffing.fallback is not None:
        told += f" The driver was restarted for {staffing.executors} executors: {staffing.fallback.message}."
    driver, waiting = seen.driver, seen.waiting
    if staffing is not None and driver is not None and staffing.is_late(driver, waiting, now):
        told += (
            f" {staffing.executors} executors were asked for at {staffing.since:%H:%M:%S} UTC and have not all come, "
            f"{seen.executors_running} run: look at what the pods of the others wait for, or lower spec.executors."
        )
    if room is not None and now < room.until:
        told += f" No more than {room.executors} executors came; more are tried from {room.until:%H:%M} UTC on."
    return told


_REMEDY = ": lower spark.locality.wait in spec.application.sparkConf, or read from more partitions."
"""Tasks wait that long for an executor that has their state or their rows; those of one partition go to one."""


def _unused(job: StreamJob, record: Record, seen: Observed) -> str:
    """Point out executors that get no tasks; where that is a fault, something is done about it."""
    report = seen.report
    found = spreading.unused(report, job.executors.slots) if report is not None else None
    if found is None:
        return ""
    if not found.is_fault:
        return f" {found.slots} slots are enough for all tasks of a batch, more bring nothing: {found}."
    staffing = record.staffing
    if staffing is not None and staffing.futile is not None:
        return f" Without use: {found}; a restart has not helped before, so there is none for that{_REMEDY}"
    if staffing is not None and _is_spread_anew(staffing, seen):
        return f" Without use after that, too: {found}{_REMEDY}"
    return f" Without use so far: {found}."


def _is_spread_anew(staffing: Staffing, seen: Observed) -> bool:
    """Whether the driver is the one that was started so that each executor gets tasks."""
    if seen.driver is None or not staffing.is_restarted_for_use:
        return False
    return seen.driver.incarnation > staffing.incarnation


def _told(job: StreamJob, decided: Decided) -> str:
    decision = decided.decision
    text = f"Decision {decided.id}: {decision.reason}"
    if decision.veto is not None:
        text += f"; kept from it by {decision.veto.guard}: {decision.veto.reason}"
    if decided.pending is not None:
        named = f"{job.key.name} -n {job.key.namespace}"
        text += f". To approve: kubectl annotate sj {named} {APPROVE}={decided.pending} --overwrite"
    return f"{text}."
