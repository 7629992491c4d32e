"""Do the clocks agree, and do the jobs work?"""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from sluice.console.clocks import Reading
from sluice.console.doctor.checks import Check, bad, fine, odd, unknown
from sluice.console.installation import Installation
from sluice.console.job import Job, Told
from sluice.core.conditions import TASKS_WAIT, DriverThere
from sluice.core.quantities import format_duration
from sluice.core.record import Phase

TOLERATED = timedelta(seconds=5)
"""Half the shortest time between two samples that anyone uses, and a third of the operator's Lease."""

_MOST_JOBS = 20
_ODDITIES = {
    DriverThere.UNTRIED_SPARK: "docs/writing-a-job.md says what is known of other releases",
    TASKS_WAIT: "Nothing is lost by it, and executors do more; docs/writing-a-job.md says why",
}
_ON_THE_WAY = frozenset({Phase.PENDING, Phase.STARTING, Phase.STOPPING})


def clock_check(subject: str, whose: str, reading: Reading | None) -> Check:
    """Whether a clock shows the same time as this machine's."""
    if reading is None:
        return unknown(subject, f"{whose} does not tell its time")
    skew = reading.skew
    if abs(skew) <= TOLERATED:
        return fine(subject, f"{whose} and this machine agree")
    way = "ahead of" if skew > timedelta(0) else "behind"
    told = f"{whose} is {format_duration(abs(skew))} {way} this machine"
    return odd(subject, told, "Set both by NTP; ages and curves are wrong by as much")


def jobs_checks(jobs: Sequence[Job], operators: Sequence[Installation]) -> Iterator[Check]:
    """Each job that is not well, or of which its owner should know something; the others in one line.

    `operators` are all of the cluster; empty if they are not known.
    """
    troubled = [job for job in jobs if not job.is_fine or _is_orphan(job, operators)]
    if len(troubled) < len(jobs):
        well = len(jobs) - len(troubled)
        yield fine("Jobs", f"{well} of {len(jobs)} are Ready, or suspended on purpose")
    elif not jobs:
        yield unknown("Jobs", "there are none")
    strange = [(job, one) for job in jobs for one in job.conditions if one.is_odd]
    yield from (_odd(job, one) for job, one in strange[:_MOST_JOBS])
    if len(strange) > _MOST_JOBS:
        more = len(strange) - _MOST_JOBS
        yield odd("Job", f"{more} more are told something by their status", "kubectl get sj -A")
    for job in troubled[:_MOST_JOBS]:
        yield _orphan(job) if _is_orphan(job, operators) else _troubled(job)
    if len(troubled) > _MOST_JOBS:
        yield bad(
            "Job", f"{len(troubled) - _MOST_JOBS} more are not Ready", "kubectl sluice top -A"
        )


def _odd(job: Job, told: Told) -> Check:
    return odd("Job", f"{job.namespace}/{job.name}: {told.message}", _ODDITIES[told.reason])


def _is_orphan(job: Job, operators: Sequence[Installation]) -> bool:
    """Whether there are operators, and none of them looks after this job."""
    return bool(operators) and not any(one.looks_after(job.namespace) for one in operators)


def _orphan(job: Job) -> Check:
    told = f"{job.namespace}/{job.name}: no operator looks after the namespace {job.namespace}"
    return bad("Job", told, f"Add {job.namespace} to watchNamespaces in the chart of one of them")


def _troubled(job: Job) -> Check:
    told = f"{job.namespace}/{job.name} is {job.phase}: {job.why}"
    verdict = odd if job.phase in _ON_THE_WAY else bad
    return verdict("Job", told, f"kubectl sluice status {job.name} -n {job.namespace}")
