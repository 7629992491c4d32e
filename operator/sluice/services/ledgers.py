"""What the profiles of a job have told and cost, gathered from the profiles that are there."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from sluice.core.application import JobKey, StreamJob
from sluice.core.observations import ProfilingOutlook
from sluice.core.profiling import budget
from sluice.core.profiling.automatic import next_number, number_of
from sluice.core.profiling.records import Key, Problem, Profile, Reason, Run
from sluice.core.profiling.usage import DAY
from sluice.core.profiling.wanting import Former, Ledger
from sluice.errors import InvalidSpec
from sluice.services.copyviews import CopyViews
from sluice.services.profiles import Profiles

KEPT = 3
"""Automatic profiles of a job that are kept whatever they told."""


class Ledgers:
    """Accounts over all profiles that are known."""

    def __init__(self, profiles: Profiles, views: CopyViews) -> None:
        self._profiles = profiles
        self._views = views

    def of(self, job: StreamJob, now: datetime) -> Ledger:
        """The account of a job."""
        profiles, key = self._profiles.of_job(job.key), self._views.key(job)
        runs = {one.key: self._profiles.run(one.key) for one in profiles}
        open_ones = (one.key.name for one in profiles if runs[one.key].ended is None)
        return Ledger(
            points=self._profiles.known(job.key, key),
            bounds=self._profiles.bounded(job.key, key),
            has_model=any(run.capacities for run in runs.values()),
            under_way=next(open_ones, None),
            spent=sum(self._spent(job, one, run, now) for one, run in runs.items()),
            former=self._former(job, key),
            obstacle=self._invalid(job) or self._obstacle(job),
            crowd=self._crowd(job.key),
        )

    def newest(self, job: StreamJob) -> ProfilingOutlook:
        """The newest automatic profile of a job, as it is to be told."""
        mine = self._automatic(job)
        if not mine:
            return ProfilingOutlook()
        status = (self._profiles.resource(mine[-1].key) or {}).get("status") or {}
        return ProfilingOutlook(profile=mine[-1].key.name, phase=status.get("phase") or "Pending")

    def next_number(self, job: JobKey) -> int:
        """The number of the next automatic profile."""
        names = (key.name for key in self._profiles if key.namespace == job.namespace)
        return next_number(job.name, names)

    def superfluous(self, job: StreamJob, now: datetime) -> Iterator[tuple[str, str]]:
        """Names and uids of automatic profiles that are over for a day, and whose points are of no use any more.

        The newest that has measured anything stays: by it the job has a model, and its profiles have a share.
        """
        key, mine = self._views.key(job), self._automatic(job)
        used = {*self._profiles.known(job.key, key), *self._profiles.bounded(job.key, key)}
        measured = [one.key for one in mine if self._profiles.run(one.key).capacities]
        for one in mine[:-KEPT]:
            run = self._profiles.run(one.key)
            is_old = run.ended is not None and now - run.ended >= DAY
            if is_old and used.isdisjoint(run.points) and one.key not in measured[-1:]:
                yield one.key.name, one.uid

    def _spent(self, job: StreamJob, profile: JobKey, run: Run, now: datetime) -> float:
        """Core-seconds in the last day; what has ended cost what it did, whatever shape the job has by now."""
        whole = budget.spent(job, run.copies, now)
        part = budget.spent(job, run.copies, now, since=now - DAY)
        told = self._profiles.cost(profile)
        return part if told is None or not whole else told * part / whole

    def _former(self, job: StreamJob, key: Key) -> Former | None:
        mine, deleted = self._automatic(job), self._profiles.deleted(job.key)
        since = mine[-1].created if mine else job.created
        if deleted is not None and deleted.ended is not None and deleted.ended >= since:
            return deleted
        if not mine:
            return None
        run = self._profiles.run(mine[-1].key)
        # What failed with another image or configuration says nothing of this one.
        problem = run.problem if run.key is None or key.agrees_with(run.key) else None
        return Former(
            name=mine[-1].key.name,
            ended=run.ended,
            failures=0 if problem is None else mine[-1].former_failures + 1,
            why=None if problem is None else f"{problem.reason}: {problem.message}",
        )

    def _obstacle(self, job: StreamJob) -> Problem | None:
        """Why the job cannot be copied, with the name that the field of places has in a job."""
        found = self._views.obstacle(job, job.profiling.namespaces)
        if found is None:
            return None
        return replace(
            found, message=found.message.replace("spec.namespaces", "spec.profiling.namespaces")
        )

    def _invalid(self, job: StreamJob) -> Problem | None:
        """An automatic profile that this operator cannot read would not keep it from making another one."""
        for key in self._profiles:
            declared = self._profiles.declared(key)
            is_ours = key.namespace == job.key.namespace and number_of(job.key.name, key.name)
            if is_ours and isinstance(declared, InvalidSpec):
                told = f"StreamProfile {key.name} is not valid: {declared}; remove it"
                return Problem(Reason.REFUSED, told)
        return None

    def _automatic(self, job: StreamJob) -> tuple[Profile, ...]:
        """The automatic profiles of a job, the newest last; none of another job that had its name."""
        mine = (
            one
            for one in self._profiles.of_job(job.key)
            if one.is_automatic and one.created >= job.created
        )
        return tuple(sorted(mine, key=lambda one: number_of(job.key.name, one.key.name)))

    def _crowd(self, job: JobKey) -> int:
        """How many other jobs are profiled by themselves just now."""
        open_ones = (self._profiles.declared(key) for key in self._profiles.under_way())
        return len(
            {
                one.job
                for one in open_ones
                if isinstance(one, Profile) and one.is_automatic and one.job != job
            }
        )
