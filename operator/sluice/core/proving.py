"""Which spec of a job is known to work, and when to go back to it.

    a driver of another spec starts ----------------> its trial begins
    each of its queries goes on, a batch is committed -> it is the good one from now on
    two of its drivers ended unasked in a row, or for
    spec.restart.rollbackAfter its pod could not start,
    or had no executor -----------------------------> the next driver has the good spec, once for each generation
    a person asks for another try of it ------------> the next driver has it, and its trial begins anew

Specs are told apart by the fingerprint of what needs a restart. What the good one says is kept elsewhere; here is
only what of it must be known to decide. A moved checkpoint is never moved back: that would be a migration, unasked.
Nor is a spec tried again unasked: nobody here can see that the image is there by now, or the quota. Once a driver of it
has had an executor, what keeps the next one from it for a while is not the spec's fault: a node that is lost, a quota.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sluice.core.application import StreamJob
from sluice.core.observations import AgentReport

TRIES = 2
"""Failures in a row after which a spec that never worked is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Good:
    """The last spec that worked."""

    generation: int
    fingerprint: str
    checkpoint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A spec that has been started and has not worked yet.

    `failures` counts its drivers that ended unasked in a row, `is_staffed` tells that one has had an executor. Releases
    that tried each change anew stored no fingerprint.
    """

    generation: int
    since: datetime
    failures: int = 0
    is_staffed: bool = False
    fingerprint: str = ""

    def is_of(self, job: StreamJob) -> bool:
        """Whether what is declared differs from what was started in nothing that needs a driver."""
        return job.generation == self.generation or job.fingerprint == self.fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollback:
    """The generation that was given up, why, the incarnation of its last driver (0 is not known), and its fingerprint.

    Releases that let each change try the spec anew stored no fingerprint.
    """

    generation: int
    why: str
    incarnation: int = 0
    fingerprint: str = ""

    @property
    def retry(self) -> str:
        """The value of the annotation `asking.RETRY` that asks for another try."""
        return str(self.incarnation)

    def is_of(self, job: StreamJob) -> bool:
        """Whether what is declared differs from what was given up in nothing that needs a driver."""
        return job.generation == self.generation or job.fingerprint == self.fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class Proving:
    """What is known of a job's specs."""

    good: Good | None = None
    trial: Trial | None = None
    rollback: Rollback | None = None

    def is_rolled_back(self, generation: int) -> bool:
        """Whether the good spec is in force instead of this generation's."""
        return self.rollback is not None and self.rollback.generation == generation

    def has_given_up(self, job: StreamJob) -> bool:
        """Whether what is declared was given up, though numbers of executors or bounds of an SLO may have changed."""
        return self.rollback is not None and self.rollback.is_of(job)

    def retried(self, job: StreamJob) -> "Proving":
        """Nothing was given up if a person asks for another try; other executors or bounds of an SLO ask for none."""
        rollback = self.rollback
        if rollback is None or not rollback.is_of(job):
            return self
        if job.retry == rollback.retry:
            return Proving(good=self.good)
        if rollback.generation == job.generation:
            return self
        return replace(self, rollback=replace(rollback, generation=job.generation))

    def started(self, job: StreamJob, now: datetime) -> "Proving":
        """A driver of this spec is about to start."""
        if self.good is None or self.good.fingerprint == job.fingerprint:
            return replace(self, trial=None)
        if self.trial is not None and self.trial.is_of(job):
            return self
        trial = Trial(generation=job.generation, since=now, fingerprint=job.fingerprint)
        return replace(self, trial=trial)

    def put_off(self, now: datetime) -> "Proving":
        """The cluster could not make that driver: its spec has not been tried yet."""
        return self if self.trial is None else replace(self, trial=replace(self.trial, since=now))

    def staffed(self) -> "Proving":
        """The driver has an executor."""
        if self.trial is None or self.trial.is_staffed:
            return self
        return replace(self, trial=replace(self.trial, is_staffed=True))

    def forgiven(self) -> "Proving":
        """The driver has run for so long that former failures count no more."""
        if self.trial is None or not self.trial.failures:
            return self
        return replace(self, trial=replace(self.trial, failures=0))

    def worked(self, job: StreamJob) -> "Proving":
        """A driver of this spec has committed."""
        if self.is_rolled_back(job.generation):
            return self
        good = Good(
            generation=job.generation,
            fingerprint=job.fingerprint,
            checkpoint=job.checkpoint_location,
        )
        return Proving(good=good) if good != self.good or self.trial else self

    def failed(self, job: StreamJob, rollback: Rollback, *, is_last: bool) -> "Proving":
        """A driver of this spec has ended unasked; `is_last` says that no other one of it is going to be started."""
        if self.trial is None or not self.trial.is_of(job):
            return self
        trial = replace(self.trial, failures=self.trial.failures + 1)
        proving = replace(self, trial=trial)
        return proving._given_up(job, rollback) if is_last or trial.failures >= TRIES else proving

    def hindered(self, job: StreamJob, rollback: Rollback, now: datetime) -> "Proving":
        """A driver of this spec cannot start."""
        due = self.due(job)
        return self._given_up(job, rollback) if due is not None and due <= now else self

    def due(self, job: StreamJob) -> datetime | None:
        """When a driver that cannot start is given up; None if there is no reason, or nothing to go back to."""
        if self.trial is None or not self.trial.is_of(job) or self.trial.is_staffed:
            return None
        return self.trial.since + job.restart.rollback_after if self._may_go_back(job) else None

    def refuses(self, job: StreamJob) -> bool:
        """Whether this generation would have been given up, were its checkpoint not another one."""
        trial = self.trial
        if trial is None or not trial.is_of(job) or trial.failures < TRIES:
            return False
        return self.good is not None and self.good.checkpoint != job.checkpoint_location

    def _given_up(self, job: StreamJob, rollback: Rollback) -> "Proving":
        return Proving(good=self.good, rollback=rollback) if self._may_go_back(job) else self

    def _may_go_back(self, job: StreamJob) -> bool:
        is_wanted = job.restart.rollback_after > timedelta(0)
        stays = self.good is not None and self.good.checkpoint == job.checkpoint_location
        return is_wanted and stays and not self.is_rolled_back(job.generation)


def has_worked(report: AgentReport | None) -> bool:
    """Whether every query of a driver that counts is under way, and one at least has committed a batch."""
    if report is None or not report.queries:
        return False
    is_under_way = all(query.is_under_way for query in report.counting)
    return is_under_way and any(query.committed_at is not None for query in report.queries)
