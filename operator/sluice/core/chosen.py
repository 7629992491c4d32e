"""What was decided of a job's executors, by whichever operator, and the number that it is to have because of it."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sluice.core.application import StreamJob
from sluice.core.deciding.decision import Decision
from sluice.core.modelling.rescaling import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The newest decision: its id, when it was made, for how many executors, and while which driver ran.

    `likely_recovery` are the seconds that a recovery from a driver that is lost then takes, as likely more as less.
    `pending` is the id by which a person can approve what is wanted, `approval` the one by which a person has.
    """

    id: str
    at: datetime
    before: int
    incarnation: int
    decision: Decision
    likely_recovery: float | None = None
    pending: str | None = None
    approval: str | None = None

    @property
    def grows(self) -> bool:
        """Whether the job is to have more executors than before."""
        return self.decision.executors > self.before

    @property
    def changes(self) -> bool:
        """Whether the job is to have another number of executors than before."""
        return self.decision.executors != self.before


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """How many executors, by which decision, and by which way they are to come.

    `incarnation` is the driver that ran when it was decided: a restart is done when there is a later one. `undoes` is
    the id of the decision whose harm is undone so. `approval` is the id by which a person has approved it.
    """

    executors: int
    decision: str
    at: datetime
    reason: str
    path: Path = Path.LIVE
    incarnation: int = 0
    undoes: str | None = None
    approval: str | None = None


def wanted_executors(job: StreamJob, chosen: Chosen | None) -> int:
    """What was chosen, within the bounds of now; else what the owner declares to begin with."""
    if chosen is None or not job.scaling.chooses:
        return job.executors.initial
    return _allowed(job, chosen.executors)


def _allowed(job: StreamJob, executors: int) -> int:
    """As many as the present bounds allow."""
    return min(max(executors, job.executors.minimum), job.executors.maximum)


CLOCKS_APART = timedelta(minutes=1)
"""How far the clock of a former operator may have been ahead."""


def newly_chosen(
    job: StreamJob, chosen: Chosen | None, decided: Decided | None, now: datetime
) -> Chosen | None:
    """What is chosen after the newest decision; only one that changes the number is remembered.

    Bounds may have been narrowed after it: that changes the number, too, and is not its doing. A choice of the future
    is older than any decision: a clock was set back, or somebody has edited the status.
    """
    if not job.scaling.chooses:
        return None
    if job.paused_by is not None or decided is None:
        return chosen
    if chosen is not None and decided.at <= chosen.at <= now + CLOCKS_APART:
        return chosen
    if _allowed(job, decided.decision.executors) == wanted_executors(job, chosen):
        return chosen
    if chosen is None and not decided.changes:
        # It keeps what the owner had declared by then: what is declared now holds until a decision changes it.
        return None
    return Chosen(
        executors=decided.decision.executors,
        decision=decided.id,
        at=decided.at,
        reason=decided.decision.reason,
        path=decided.decision.path,
        incarnation=decided.incarnation,
        undoes=decided.decision.undoes,
        approval=decided.approval,
    )


def sized(job: StreamJob, chosen: Chosen | None) -> StreamJob:
    """The job as its driver is to be started: with the executors that it is to have."""
    executors = replace(job.executors, initial=wanted_executors(job, chosen))
    return replace(job, executors=executors)
