"""What a former operator has told of a job holds until its successor knows, or should: whoever waits on a job, or is
alerted of it, sees no operator come and go.

    all, while a driver runs ----> until its agent answers, or is known to be silent
    what rests on Prometheus ----> until that was asked, for a minute at most
    how it is profiled ----------> until that was looked at, for a minute at most
    the newest decision ---------> until there is another one, or one is overdue
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from sluice.core.application import StreamJob
from sluice.core.chosen import Decided
from sluice.core.conditions import Claim, Condition, Status
from sluice.core.deciding.situation import Mode
from sluice.core.measurement import NOT_YET_ASKED, Attained, attained
from sluice.core.observations import Observed, ProfilingOutlook
from sluice.core.record import Record
from sluice.core.series import NoData
from sluice.core.steps import StartDriver, StopDriver, Verdict

SOON = timedelta(minutes=1)
"""How long an operator may take to ask Prometheus, and to look at profiles, for the first time."""

LATE = timedelta(minutes=2)
"""How much longer than an interval the first decision of an operator may take: it sees all jobs before, waits for what
their agents answer, and forecasts for one job after the other.
"""

_NEVER = datetime.max.replace(tzinfo=UTC)

T = TypeVar("T")


def _newest(known: T | None, former: T | None, *, due: datetime, now: datetime) -> T | None:
    """What this operator knows; until it does, or should, what the former one has told."""
    return former if known is None and now < due else known


def inherited(job: StreamJob, record: Record, seen: Observed, now: datetime) -> Record:
    """The record of a job with what is known of it, be it by this operator or still by the former one."""
    return replace(
        record,
        decided=_decided(job, record, seen, now),
        attained=_attained(job, record, seen, now),
        profiling=_profiling(job, record, seen, now),
    )


def claim(kind: Condition, record: Record, seen: Observed, now: datetime) -> Claim | None:
    """What was claimed by what Prometheus told the former operator; None once this one has asked, or should have."""
    if seen.measured != NOT_YET_ASKED:
        return None
    former = next((claim for claim in record.conditions if claim.type is kind), None)
    return _newest(None, former, due=seen.led_since + SOON, now=now)


def knows_less(record: Record, verdict: Verdict, seen: Observed) -> bool:
    """Whether the status tells more than is seen: a former operator has heard the driver's agent, and this one has not.

    What it told holds until then. Only a start or a stop is told all the same, because it must be before it is done.
    """
    if not seen.is_unheard or isinstance(verdict.step, StartDriver | StopDriver):
        return False
    assert seen.driver is not None
    was_heard = any(
        claim.type is Condition.DRIVER_RUNNING and claim.status is Status.TRUE
        for claim in record.conditions
    )
    return was_heard and seen.driver.incarnation == record.incarnation


def _decided(job: StreamJob, record: Record, seen: Observed, now: datetime) -> Decided | None:
    if job.scaling.mode is Mode.OFF:
        return seen.decided
    # Nothing is decided of such a job, by whoever leads.
    is_left_alone = job.suspend or job.paused_by is not None
    due = _NEVER if is_left_alone else seen.audible_since + job.scaling.interval + LATE
    return _newest(seen.decided, record.decided, due=due, now=now)


def _attained(
    job: StreamJob, record: Record, seen: Observed, now: datetime
) -> Attained | NoData | None:
    if job.objective is None:
        return None
    if seen.measured != NOT_YET_ASKED:
        return attained(job.objective, seen.measured, job.created)
    met = claim(Condition.OBJECTIVES_MET, record, seen, now)
    # What is attained of another objective says nothing of this one.
    return record.attained if met is not None and met.generation == job.generation else None


def _profiling(
    job: StreamJob, record: Record, seen: Observed, now: datetime
) -> ProfilingOutlook | None:
    if not job.profiling.enabled:
        return None
    return _newest(seen.profiling, record.profiling, due=seen.led_since + SOON, now=now)
