"""Decide the next steps in the life of a profile, from what is declared, remembered and seen.

    job missing, not valid, cannot be copied -> fail
    an older profile of the job is under way -> wait
    job's image or configuration has changed -> end all copies, fail
    a copy runs another image than the job ---> end all copies, fail
    production needs the room ---------------> end all copies, fail
    budget spent ----------------------------> end all copies with what they have told
    copy certain, or at its deadline --------> note its point, end it: that it falls behind is one
    copy failed -----------------------------> note why, end it; the others go on
    room for another, something to measure --> make a copy
    nothing open, nothing left to measure ---> finish

Each step follows from what is remembered and seen alone: a copy that is to be there and is not is made, one that has
ended and is there is removed, so a crash at any point is met again by the next look.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import assert_never

from sluice.core.application import StreamJob
from sluice.core.deciding.situation import Bounds
from sluice.core.modelling.shapes import Slots
from sluice.core.profiling import budget, measuring, mirroring, planning
from sluice.core.profiling.places import copy_namespace
from sluice.core.profiling.records import (
    Copy,
    CopyPhase,
    CopySeen,
    EndCopy,
    Key,
    LiveReading,
    MakeCopy,
    Phase,
    Plan,
    Point,
    Problem,
    Profile,
    Reading,
    Reason,
    Run,
    Seen,
    Start,
    Step,
    Verdict,
)
from sluice.core.quantities import format_executors
from sluice.errors import InvalidSpec

AGAIN = 5.0
"""Seconds between two looks at copies that run."""

AWAITED = timedelta(seconds=30)
"""A job, or what mends its spec, may be applied together with its profile, and be heard of after it."""

COMING = 2.0
"""Seconds after which it is looked for again."""

WAITING = 30.0
"""Seconds between two looks at what is waited for."""

PATIENCE = timedelta(minutes=3)
"""Pods that have no place for so long will have none."""

FEWEST = 3
"""Warm batches without which a deadline leaves no measurement."""


_OF_ALL_COPIES = frozenset((Reason.NOT_REPLAYABLE, Reason.NOT_PROFILABLE, Reason.NO_LOAD))
"""Problems that every copy has, whatever its size."""

_DRY = {
    Start.EARLIEST: Problem(
        Reason.HISTORY_TOO_SHORT,
        "the source has too few rows to read again: the copy had caught up before it was measured; "
        "keep more history in the topics, or profile later",
    ),
    Start.LATEST: Problem(
        Reason.NO_LOAD,
        "nothing arrived at the source within spec.copyDeadline, and a latency is that of rows; "
        "profile while the job has load, or spec.from: Earliest",
    ),
}
"""What it means that there is nothing to read."""


def next_steps(profile: Profile, run: Run, seen: Seen, now: datetime) -> Verdict:
    """Decide the next steps of a valid profile."""
    if run.ended is not None:
        return _verdict(run, seen)
    job = seen.job
    if not isinstance(job, StreamJob):
        lack = _lack(profile, job)
        if run.began is None and now < profile.created + AWAITED:
            return Verdict(phase=Phase.PENDING, run=replace(run, problem=lack), again=COMING)
        return _verdict(_failed(run, lack, now), seen)
    if run.began is None:
        return _begun(profile, job, run, seen, now)
    return _verdict(_gone_on(profile, job, run, seen, now), seen)


def _lack(profile: Profile, job: InvalidSpec | None) -> Problem:
    if job is None:
        told = f"spec.job: there is no StreamJob {profile.job.name!r} in {profile.job.namespace}"
        return Problem(Reason.JOB_NOT_FOUND, told)
    return Problem(Reason.JOB_INVALID, f"StreamJob {profile.job.name!r} is not valid: {job}")


def _begun(profile: Profile, job: StreamJob, run: Run, seen: Seen, now: datetime) -> Verdict:
    """Begin, unless it has to wait or cannot work."""
    if seen.obstacle is not None:
        return _verdict(_failed(run, seen.obstacle, now), seen)
    if seen.rival is not None:
        told = f"profile {seen.rival} of the same job is older and under way; one runs at a time"
        waiting = replace(run, problem=Problem(Reason.ANOTHER_PROFILE, told))
        return Verdict(phase=Phase.PENDING, run=waiting, again=WAITING)
    if seen.yields is not None:
        return Verdict(phase=Phase.PENDING, run=replace(run, problem=seen.yields), again=WAITING)
    known = () if profile.executors else seen.known
    begun = replace(run, began=now, key=seen.key, points=known, problem=None)
    begun = replace(begun, plan=_plan(profile, job, known))
    if (
        profile.executors
        and begun.plan
        and begun.plan.core_seconds > profile.allowance.core_seconds
    ):
        return _verdict(_failed(begun, _too_dear(profile, begun.plan.core_seconds), now), seen)
    return _verdict(_gone_on(profile, job, begun, seen, now), seen)


def _plan(profile: Profile, job: StreamJob, known: tuple[Point, ...]) -> Plan:
    sizes = _sizes(profile, job)
    measured = {point.executors for point in known}
    left = [executors for executors in sizes if executors not in measured]
    return budget.plan(job, left, profile.parallel)


def _too_dear(profile: Profile, price: float) -> Problem:
    hours, allowed = price / 3600, profile.allowance.core_seconds / 3600
    told = (
        f"spec.budget.coreHours: {len(profile.executors)} copies will take about {hours:.2g} core-hours and "
        f"{allowed:.2g} are allowed; raise it in another profile, or measure fewer executors"
    )
    return Problem(Reason.BUDGET_SPENT, told)


def _gone_on(profile: Profile, job: StreamJob, run: Run, seen: Seen, now: datetime) -> Run:
    """Take in what copies have told, end those that are over, and begin others."""
    if seen.key is None or not seen.key.agrees_with(run.key):
        return _failed(run, _superseded(job, run.key, seen.key), now)
    run = _identified(run, seen)
    strange = _strange_copy(job, run, seen)
    if strange is not None:
        return _failed(run, strange, now)
    is_spent = budget.is_spent(job, run, profile.allowance, now)
    for copy in run.open:
        run = _looked_at(profile, run, copy, seen, now, is_spent=is_spent)
    for copy in run.copies:
        if copy.problem is not None and copy.problem.reason in _OF_ALL_COPIES:
            return _failed(run, copy.problem, now)
    if seen.yields is not None and (run.open or _wanted(profile, job, run, seen) is not None):
        return _failed(run, seen.yields, now)
    while (executors := _next(profile, job, run, seen, now)) is not None:
        namespace = _free_place(profile, run, seen, executors)
        if namespace is None:
            return run if run.open else replace(run, problem=_without_place(profile))
        run = run.with_copy(Copy(executors=executors, namespace=namespace, began=now))
        run = replace(run, problem=None)
    return run if run.open else _finished(profile, job, run, seen, now)


def _superseded(job: StreamJob, before: Key | None, now: Key | None) -> Problem:
    """What of the job has changed: of its image the digest alone, if the name was moved and the driver came back."""
    told = f"the configuration of StreamJob {job.key.name!r}, spec.job or spec.from has changed since the profile began"
    if before is not None and now is not None and replace(before, digest=now.digest) == now:
        told = f"StreamJob {job.key.name!r} runs {now.digest} as {now.image}, and the profile is of {before.digest}"
    return Problem(Reason.SUPERSEDED, f"{told}; profile it again")


def _identified(run: Run, seen: Seen) -> Run:
    """The run with the digest behind the image's name, once production or a copy has told it."""
    run = run.with_digest(seen.key.digest if seen.key is not None else None)
    for copy in run.open:
        run = run.with_digest(seen.of(copy).digest)
    return run


def _strange_copy(job: StreamJob, run: Run, seen: Seen) -> Problem | None:
    """Why copies do not all run the program of the job: one name may lead to several images."""
    if run.key is None:
        return None
    is_told = seen.key is not None and seen.key.digest is not None
    expected = f"StreamJob {job.key.name!r} runs" if is_told else "the profile is of"
    for copy in run.open:
        digest = seen.of(copy).digest
        if digest not in (None, run.key.digest):
            told = (
                f"spec.application.image: {run.key.image}: {expected} {run.key.digest}, and the copy in "
                f"{copy.namespace} runs {digest}; give all nodes the same image, or declare it by its digest, "
                "and profile again"
            )
            return Problem(Reason.OTHER_IMAGE, told)
    return None


def _looked_at(
    profile: Profile, run: Run, copy: Copy, around: Seen, now: datetime, *, is_spent: bool
) -> Run:
    """The run with what a copy has told."""
    seen = around.of(copy)
    reading = seen.reading
    if seen.problem is not None:
        return _copy_failed(run, copy, seen.problem, now)
    # What a former operator has begun may have been measured meanwhile: it is heard before it ends.
    is_last_look = is_spent and not (seen.is_unheard and copy.began < around.since)
    is_late = is_last_look or now - max(copy.began, around.since) >= profile.copy_deadline
    # The live stream is dry until something arrives.
    is_over = is_late or (seen.is_dry and profile.start is Start.EARLIEST)
    if reading is not None and (_is_certain(reading) or (is_over and reading.batches >= FEWEST)):
        measured = replace(copy, phase=CopyPhase.MEASURED, ended=now, problem=None)
        return run.with_point(reading.point(copy.executors, now)).with_copy(measured)
    if is_over or _has_waited(copy, seen, now):
        return _copy_failed(run, copy, _why(profile, copy, seen, is_last_look), now)
    is_whole = seen.registered == copy.executors
    phase = CopyPhase.MEASURING if is_whole else copy.phase
    return run.with_copy(replace(copy, phase=phase, problem=None if is_whole else seen.obstacle))


def _is_certain(reading: Reading | LiveReading) -> bool:
    match reading:
        case Reading():
            return measuring.is_certain(reading)
        case LiveReading():
            return mirroring.is_certain(reading)
        case _:
            assert_never(reading)


def _has_waited(copy: Copy, seen: CopySeen, now: datetime) -> bool:
    """Whether its pods have no place, and will have none. Where all had one, one may be lost and come again."""
    since = _waiting_since(copy, seen)
    if copy.phase is not CopyPhase.STARTING or since is None or seen.is_on_its_way:
        return False
    return now - max(copy.began, since) >= PATIENCE


def _waiting_since(copy: Copy, seen: CopySeen) -> datetime | None:
    """Since when pods wait for a place; None if none does: before they are made, it is the operator that they wait
    for, which may have been away.
    """
    if seen.driver_since is None:
        return seen.driver_made
    if seen.registered is None:
        # Another operator has not asked its agent yet: that says nothing of executors.
        return None
    return seen.driver_since if seen.registered < copy.executors else None


def _why(profile: Profile, copy: Copy, seen: CopySeen, is_last_look: bool) -> Problem:
    """Why a copy has ended without a measurement."""
    if is_last_look:
        told = (
            f"the budget was spent before {format_executors(copy.executors)} had been measured; "
            "raise spec.budget in another profile"
        )
        return Problem(Reason.BUDGET_SPENT, told)
    is_whole = (seen.registered or 0) >= copy.executors
    if seen.is_dry and (is_whole or profile.start is Start.EARLIEST):
        return _DRY[profile.start]
    if not is_whole:
        if seen.obstacle is not None:
            return seen.obstacle
        if seen.driver_made is None:
            told = "no driver of it was made within spec.copyDeadline; profile again"
            return Problem(Reason.COPY_FAILED, told)
        if seen.driver_since is not None and seen.registered is None:
            told = "its driver runs, and its agent does not answer; read the log of the driver"
            return Problem(Reason.COPY_FAILED, told)
        if seen.is_on_its_way:
            told = (
                "pods were still being made at the end of spec.copyDeadline: their images are pulled, or nodes for "
                "them are added; raise it in another profile"
            )
            return Problem(Reason.COPY_FAILED, told)
        told = f"{seen.registered or 0} of {format_executors(copy.executors)} came"
        return Problem(Reason.NO_CAPACITY, f"{told}; make room, or measure fewer executors")
    batches = seen.reading.batches if seen.reading is not None else 0
    told = (
        f"{batches} warm batches on {format_executors(copy.executors)} within spec.copyDeadline; "
        "raise it in another profile"
    )
    if profile.start is Start.LATEST:
        told += ", or measure more executors: batches become ever longer where too few work on them"
    return Problem(Reason.COPY_FAILED, told)


def _copy_failed(run: Run, copy: Copy, problem: Problem, now: datetime) -> Run:
    return run.with_copy(replace(copy, phase=CopyPhase.FAILED, ended=now, problem=problem))


def _next(profile: Profile, job: StreamJob, run: Run, seen: Seen, now: datetime) -> int | None:
    """The executors of the copy to start now."""
    if len(run.open) >= profile.parallel:
        return None
    executors = _wanted(profile, job, run, seen)
    if executors is None or not budget.affords(job, run, profile.allowance, executors, now):
        return None
    return executors


def _wanted(profile: Profile, job: StreamJob, run: Run, seen: Seen) -> int | None:
    """The executors to measure next, whatever that costs."""
    tried = {copy.executors for copy in run.copies}
    if profile.executors or profile.start is Start.LATEST:
        return next((one for one in _sizes(profile, job) if one not in tried), None)
    return planning.next_scale_out(
        _bounds(job),
        Slots(cores=job.executors.slots, tasks=seen.tasks),
        [(point.executors, point.rate) for point in run.capacities],
        under_way={copy.executors for copy in run.open},
        failed={copy.executors for copy in run.copies if copy.phase is CopyPhase.FAILED},
    )


def _sizes(profile: Profile, job: StreamJob) -> tuple[int, ...]:
    """The numbers of executors that are measured, unless capacities tell of better ones on the way."""
    return profile.executors or planning.scale_outs(_bounds(job))


def _bounds(job: StreamJob) -> Bounds:
    return Bounds(smallest=job.executors.minimum, largest=job.executors.maximum)


def _free_place(profile: Profile, run: Run, seen: Seen, executors: int) -> str | None:
    """The namespace of the next copy; None while all of those that may be used are in use."""
    if not profile.namespaces:
        return copy_namespace(profile, executors)
    used = {copy.namespace for copy in run.open}
    used |= {namespace for namespace, copy in seen.copies.items() if copy.has_place}
    return next((one for one in profile.namespaces if one not in used), None)


def _without_place(profile: Profile) -> Problem:
    told = (
        f"spec.namespaces: former copies in {', '.join(profile.namespaces)} are still to go with their pods; if they "
        "stay, see why, or name another namespace"
    )
    return Problem(Reason.NO_CAPACITY, told)


def _finished(profile: Profile, job: StreamJob, run: Run, seen: Seen, now: datetime) -> Run:
    """End with success if all that was wanted has been measured."""
    problem = next((copy.problem for copy in run.copies if copy.problem is not None), None)
    unmeasured = _wanted(profile, job, run, seen)
    if problem is None and unmeasured is not None:
        told = (
            f"nothing is left of the budget for {format_executors(unmeasured)}; "
            "raise spec.budget in another profile"
        )
        waited = f". It has waited: {run.problem.message}" if run.problem is not None else ""
        problem = Problem(Reason.BUDGET_SPENT, told + waited)
    return replace(run, ended=now, problem=problem)


def _failed(run: Run, problem: Problem, now: datetime) -> Run:
    """End the profile with all its copies, which have no problem of their own."""
    copies = tuple(
        replace(copy, phase=CopyPhase.FAILED, ended=now) if copy.is_open else copy
        for copy in run.copies
    )
    return replace(run, copies=copies, ended=now, problem=problem)


def _verdict(run: Run, seen: Seen) -> Verdict:
    steps = tuple(step for copy in run.copies for step in _steps(copy, run, seen))
    if run.ended is None:
        return Verdict(phase=Phase.PROFILING, run=run, steps=steps, again=AGAIN)
    phase = Phase.FAILED if run.problem is not None else Phase.SUCCEEDED
    return Verdict(phase=phase, run=run, steps=steps, again=AGAIN if steps else None)


def _steps(copy: Copy, run: Run, seen: Seen) -> tuple[Step, ...]:
    there = seen.of(copy)
    if copy.is_open:
        return () if there.has_job else (MakeCopy(copy),)
    is_used_again = any(other.namespace == copy.namespace for other in run.open)
    return (EndCopy(copy),) if there.has_place and not is_used_again else ()
