"""Whether a job is to be profiled by itself now, what that may cost, and otherwise why not.

    a profile of the job is under way, or none is possible ----> not now
    all that is needed is known -------------------------------> not before it is too old
    production is disturbed, away, too young, or without room -> not now
    the last one failed ---------------------------------------> not before a pause that doubles
    the day's share of core-hours is used up ------------------> not now
    else ------------------------------------------------------> what is needed, as far as the money goes

The first measurements of a job may take what spec.profiling.budget allows; from then on all of a day together may
take a share of what the job itself took.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from sluice.core.application import StreamJob
from sluice.core.changes import ChangeClass
from sluice.core.chosen import wanted_executors
from sluice.core.conditions import Claim, Condition, Status
from sluice.core.profiling import budget
from sluice.core.profiling.needing import Need, need, outdated
from sluice.core.profiling.planning import Measured
from sluice.core.profiling.records import Plan, Point, Problem, Reason
from sluice.core.quantities import format_duration, format_executors
from sluice.core.record import Record

SETTLED = timedelta(minutes=10)
"""A job is left alone for so long after it has become ready."""

FIRST_PAUSE = timedelta(minutes=30)
"""After a profile that failed; it doubles with each further one."""

LONGEST_PAUSE = timedelta(days=1)

AT_A_TIME = 2
"""Jobs that are profiled by themselves at a time: after an upgrade of all jobs they would all begin at once."""


class Hold(StrEnum):
    """Why no profile begins, in a word."""

    UNDER_WAY = "ProfileUnderWay"
    MEASURED = "Measured"
    PAUSED = "Paused"
    SUSPENDED = "Suspended"
    NO_ROOM = "NoRoom"
    NOT_READY = "NotReady"
    SETTLING = "Settling"
    RECOVERING = "Recovering"
    CHANGING = "Changing"
    ROLLED_BACK = "RolledBack"
    RESCALING = "Rescaling"
    OBJECTIVE_MISSED = "ObjectiveMissed"
    BLACKOUT = "Blackout"
    BACKING_OFF = "BackingOff"
    BUDGET_TOO_SMALL = "BudgetTooSmall"
    SHARE_SPENT = "ShareSpent"
    OTHERS_FIRST = "OthersFirst"


@dataclass(frozen=True, slots=True, kw_only=True)
class Production:
    """How the job does. `capacity` are its learned pairs of executors and rows per second, those of profiles included.

    `running` counts executors; `grows`: it was just decided to have more. `core_seconds` are those of the last day.
    `without_room` names a job of which a pod finds no room.
    """

    record: Record
    running: int
    grows: bool = False
    without_room: str | None = None
    tasks: int | None = None
    capacity: Measured = ()
    core_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Former:
    """The newest profile that the operator made of the job by itself; why it has failed, and so many in a row, if it
    has.
    """

    name: str
    ended: datetime | None = None
    failures: int = 0
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What profiles of the job have told and cost.

    `points` are the newest exact ones of the job as it is, `bounds` those of other numbers of executors that are mere
    bounds. `has_model`: some were measured before, of the job as it is or was. `spent` are core-seconds of all copies
    in the last day. `under_way` names a profile that is not over, `obstacle` is why the job cannot be copied, and
    `crowd` counts other jobs that are profiled by themselves.
    """

    points: Sequence[Point] = ()
    bounds: Sequence[Point] = ()
    has_model: bool = False
    under_way: str | None = None
    spent: float = 0.0
    former: Former | None = None
    obstacle: Problem | None = None
    crowd: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WantProfile:
    """A profile that is to be made. No `executors` means that it chooses from measurement to measurement.

    It is expected to cost what the plan says, and may cost `core_seconds`. `failures` in a row came before it.
    """

    executors: tuple[int, ...]
    plan: Plan
    core_seconds: float
    failures: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotNow:
    """Why no profile begins; `until` is the earliest moment at which one may, where that is known."""

    reason: Hold | Reason
    message: str
    until: datetime | None = None


def wanted_profile(
    job: StreamJob, production: Production, ledger: Ledger, now: datetime
) -> WantProfile | NotNow:
    """Decide on the next profile of a job with spec.profiling enabled."""
    if ledger.under_way is not None:
        return NotNow(reason=Hold.UNDER_WAY, message=f"{ledger.under_way} is under way.")
    if ledger.obstacle is not None:
        return NotNow(reason=ledger.obstacle.reason, message=f"{ledger.obstacle.message}.")
    needed = need(
        job,
        ledger.points,
        bounds=ledger.bounds,
        production=production.capacity,
        tasks=production.tasks,
        now=now,
    )
    if needed is None:
        return _measured(job, ledger)
    for hold in (*_disturbances(job, production, now), *_own_holds(ledger, now)):
        return hold
    return _afforded(job, needed, production, ledger)


def _measured(job: StreamJob, ledger: Ledger) -> NotNow:
    told = "What the models need has been measured."
    if not ledger.points:
        told = "Mere bounds were measured, of which nothing is learned; measuring again would find them again."
    until = outdated(job, (*ledger.points, *ledger.bounds))
    return NotNow(reason=Hold.MEASURED, message=told, until=until)


def _disturbances(job: StreamJob, production: Production, now: datetime) -> Iterator[NotNow]:
    """What of production must not be disturbed now."""
    record = production.record
    if job.paused_by is not None:
        yield NotNow(reason=Hold.PAUSED, message=f"{job.paused_by} pauses the job.")
    if job.suspend:
        yield NotNow(reason=Hold.SUSPENDED, message="spec.suspend is true.")
    if production.without_room is not None:
        told = f"Pods of StreamJob {production.without_room} find no room; copies would take more."
        yield NotNow(reason=Hold.NO_ROOM, message=told)
    yield from _unready(_claim(record, Condition.READY), now)
    yield from _transitions(job, production)
    objective = _claim(record, Condition.OBJECTIVES_MET)
    if objective is not None and objective.status is Status.FALSE:
        told = f"The objective is missed: {objective.message}"
        yield NotNow(reason=Hold.OBJECTIVE_MISSED, message=told)
    for window in job.scaling.blackouts:
        if window.covers(now.timestamp()):
            told = f"spec.scaling.blackouts: {window.start:%H:%M} to {window.end:%H:%M} {window.time_zone}."
            yield NotNow(reason=Hold.BLACKOUT, message=told)


def _transitions(job: StreamJob, production: Production) -> Iterator[NotNow]:
    """What the job is on its way to."""
    record = production.record
    if record.recoveries.present is not None:
        told = f"The job recovers ({record.recoveries.present.cause})."
        yield NotNow(reason=Hold.RECOVERING, message=told)
    if record.stopping or record.change.kind in (ChangeClass.RESTART, ChangeClass.MIGRATION):
        yield NotNow(reason=Hold.CHANGING, message="A change of the spec is not applied yet.")
    if record.proving.has_given_up(job):
        told = "What is declared never worked, and the job runs by another spec; see the condition SpecApplied."
        yield NotNow(reason=Hold.ROLLED_BACK, message=told)
    wanted = wanted_executors(job, record.chosen)
    if production.running != wanted:
        told = f"{production.running} of {format_executors(wanted)} run."
        yield NotNow(reason=Hold.RESCALING, message=told)
    if production.grows:
        yield NotNow(reason=Hold.RESCALING, message="The job is to have more executors.")


def _unready(ready: Claim | None, now: datetime) -> Iterator[NotNow]:
    if ready is None or ready.status is not Status.TRUE or ready.since is None:
        yield NotNow(reason=Hold.NOT_READY, message="The job is not ready.")
    elif now - ready.since < SETTLED:
        told = f"The job has not been ready for {format_duration(SETTLED)} yet."
        yield NotNow(reason=Hold.SETTLING, message=told, until=ready.since + SETTLED)


def _own_holds(ledger: Ledger, now: datetime) -> Iterator[NotNow]:
    """What of former and other profiles stands against a new one."""
    former = ledger.former
    if former is not None and former.why is not None and former.ended is not None:
        until = former.ended + pause_after(former.failures)
        if now < until:
            told = (
                f"{former.name} has failed, {former.failures} in a row; the next comes after "
                f"{until.astimezone(UTC):%Y-%m-%d %H:%M} UTC. {former.why}"
            )
            yield NotNow(reason=Hold.BACKING_OFF, message=told, until=until)
    if ledger.crowd >= AT_A_TIME:
        told = f"{ledger.crowd} other jobs are profiled, and no more are at a time."
        yield NotNow(reason=Hold.OTHERS_FIRST, message=told)


def pause_after(failures: int) -> timedelta:
    """The pause after so many failures in a row."""
    times: int = 2 ** min(max(0, failures - 1), 16)
    return min(LONGEST_PAUSE, FIRST_PAUSE * times)


def _afforded(
    job: StreamJob, needed: Need, production: Production, ledger: Ledger
) -> WantProfile | NotNow:
    """As much of what is needed as the budget and the share allow."""
    allowed = job.profiling.core_seconds
    share = job.profiling.max_share * production.core_seconds - ledger.spent
    money = min(allowed, share) if ledger.has_model else allowed
    executors = _as_far_as_it_goes(job, needed, money)
    if not executors:
        return _too_dear(job, needed.executors[0], share if ledger.has_model else allowed)
    is_open = needed.is_open and executors == needed.executors
    former = ledger.former
    return WantProfile(
        executors=() if is_open else executors,
        plan=budget.plan(job, executors, job.profiling.parallel),
        core_seconds=money,
        failures=former.failures if former is not None and former.why is not None else 0,
        why=needed.why,
    )


def _as_far_as_it_goes(job: StreamJob, needed: Need, money: float) -> tuple[int, ...]:
    chosen: tuple[int, ...] = ()
    for executors in needed.executors:
        price = sum(budget.expected(job, one) for one in (*chosen, executors))
        if budget.RESERVE * price <= money:
            chosen = (*chosen, executors)
    return chosen


def _too_dear(job: StreamJob, executors: int, money: float) -> NotNow:
    price = budget.RESERVE * budget.expected(job, executors)
    hours = f"{price / 3600:.2g} core-hours"
    if price > job.profiling.core_seconds:
        told = (
            f"spec.profiling.budget.coreHours: {job.profiling.core_seconds / 3600:.2g}: a copy with "
            f"{format_executors(executors)} may take {hours}; raise it, or measure fewer executors."
        )
        return NotNow(reason=Hold.BUDGET_TOO_SMALL, message=told)
    told = (
        f"spec.profiling.maxShare: {job.profiling.max_share:g}: of the last 24 hours {max(0.0, money) / 3600:.1g} "
        f"core-hours are left for profiles; a copy with {format_executors(executors)} may take {hours}."
    )
    return NotNow(reason=Hold.SHARE_SPENT, message=told)


def _claim(record: Record, kind: Condition) -> Claim | None:
    return next((claim for claim in record.conditions if claim.type is kind), None)
