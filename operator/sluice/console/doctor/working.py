"""Do the clocks agree, and do the jobs work?"""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from sluice.console.clocks import Reading
from sluice.console.doctor.checks import Check, bad, fine, odd, unknown
from sluice.console.job import Job
from sluice.core.quantities import format_duration
from sluice.core.record import Phase

TOLERATED = timedelta(seconds=5)
"""Half the shortest time between two samples that anyone uses, and a third of the operator's Lease."""

_MOST_JOBS = 20
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


def jobs_checks(jobs: Sequence[Job]) -> Iterator[Check]:
    """Each job that is not well, with the reason; the others in one line."""
    troubled = [job for job in jobs if not job.is_fine]
    if len(troubled) < len(jobs):
        well = len(jobs) - len(troubled)
        yield fine("Jobs", f"{well} of {len(jobs)} are Ready, or suspended on purpose")
    elif not jobs:
        yield unknown("Jobs", "there are none")
    for job in troubled[:_MOST_JOBS]:
        told = f"{job.namespace}/{job.name} is {job.phase}: {job.why}"
        verdict = odd if job.phase in _ON_THE_WAY else bad
        yield verdict("Job", told, f"kubectl sluice status {job.name} -n {job.namespace}")
    if len(troubled) > _MOST_JOBS:
        yield bad(
            "Job", f"{len(troubled) - _MOST_JOBS} more are not Ready", "kubectl sluice top -A"
        )
