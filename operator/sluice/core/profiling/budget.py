"""What copies of a job cost: cores times time, from their start to their end, at the cluster's own price of nothing."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from sluice.core.application import StreamJob
from sluice.core.profiling.records import Allowance, Copy, Plan, Run

EXPECTED = timedelta(seconds=150)
"""From the start of a copy to its measurement: pods and session, cold batches, warm ones."""

RESERVE = 1.5
"""What a copy may cost in comparison with what it is expected to, before it is begun by itself: some take longer."""

_EVER = datetime.min.replace(tzinfo=UTC)


def cores(job: StreamJob, executors: int) -> float:
    """Cores of a copy: the slots of its executors, and what its driver reserves."""
    return executors * job.executors.cores + job.application.driver.cpu_request / 1000


def expected(job: StreamJob, executors: int) -> float:
    """Core-seconds of a copy that goes as most do."""
    return cores(job, executors) * EXPECTED.total_seconds()


def plan(job: StreamJob, scale_outs: Sequence[int], parallel: int) -> Plan:
    """What copies of these sizes will cost, so many of them at a time."""
    rounds = -(-len(scale_outs) // max(1, parallel))
    return Plan(
        copies=len(scale_outs),
        core_seconds=sum(expected(job, executors) for executors in scale_outs),
        wall_seconds=rounds * EXPECTED.total_seconds(),
    )


def spent(
    job: StreamJob, copies: Iterable[Copy], now: datetime, *, since: datetime = _EVER
) -> float:
    """Core-seconds from a moment until now. A copy counts from the moment at which it was decided upon."""
    return sum(
        cores(job, copy.executors)
        * max(0.0, ((copy.ended or now) - max(copy.began, since)).total_seconds())
        for copy in copies
    )


def committed(job: StreamJob, copies: Iterable[Copy], now: datetime) -> float:
    """Core-seconds so far, with what open copies are expected to cost yet."""
    return sum(
        max(spent(job, [copy], now), expected(job, copy.executors))
        if copy.is_open
        else spent(job, [copy], now)
        for copy in copies
    )


def affords(job: StreamJob, run: Run, allowance: Allowance, executors: int, now: datetime) -> bool:
    """Whether one more copy may be started."""
    began = run.began or now
    in_time = now - began + EXPECTED <= allowance.wall
    price = committed(job, run.copies, now) + expected(job, executors)
    return in_time and price <= allowance.core_seconds


def is_spent(job: StreamJob, run: Run, allowance: Allowance, now: datetime) -> bool:
    """Whether even what runs must end."""
    began = run.began or now
    return now - began >= allowance.wall or spent(job, run.copies, now) >= allowance.core_seconds
