"""Profiles, copies and batches with good defaults: a test names only what it is about."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from sluice.core.application import JobKey, StreamJob
from sluice.core.learning.batches import BatchReport
from sluice.core.observations import AgentReport, DriverPod, PodPhase
from sluice.core.profiling.keys import key_of
from sluice.core.profiling.records import (
    Allowance,
    Copy,
    CopySeen,
    LivePoint,
    LiveReading,
    Percentiles,
    Point,
    Profile,
    Reading,
    Run,
    Seen,
    Storage,
    Verdict,
)
from sluice.core.profiling.stepping import next_steps
from sluice.core.quantities import MEBIBYTE, Bytes
from tests.support.jobs import NOW, job, query, report

ONE = f"sha256:{'1' * 64}"
TWO = f"sha256:{'2' * 64}"
"""Digests of two builds that have had the same tag."""

JOB = job(executors={"min": 1, "max": 4})
KEY = key_of(JOB)

LIVE_POINT = LivePoint(
    executors=1,
    latency=Percentiles(p50=0.5, p95=1.4, p99=2.25),
    arriving=1200.5,
    batches=7,
    keeps_up=True,
    at=NOW,
)

RUNS = CopySeen(has_place=True, has_job=True, driver_made=NOW, driver_since=NOW)


def profile(**changes: Any) -> Profile:
    """A profile of the job clicks with scale-outs of its own choice."""
    declared = Profile(
        key=JobKey("shop", "clicks-1"),
        uid="uid-0f1e2d",
        generation=1,
        created=NOW,
        job=JobKey("shop", "clicks"),
        allowance=Allowance(core_seconds=7200, wall=timedelta(minutes=30)),
        storage=Storage(size=Bytes(1024 * MEBIBYTE)),
    )
    return replace(declared, **changes)


def driver(of: StreamJob = JOB, digest: str | None = ONE, **changes: Any) -> DriverPod:
    """The driver of a job, as it is declared, of which the kubelet has told the digest."""
    made = DriverPod(
        name="clicks-driver",
        uid="pod-1",
        owner_uid=of.uid,
        incarnation=1,
        phase=PodPhase.RUNNING,
        created=NOW,
        document=of.document,
        digest=digest,
    )
    return replace(made, **changes)


def seen(**changes: Any) -> Seen:
    """A valid job and no copies."""
    return replace(Seen(job=JOB, since=NOW, key=KEY), **changes)


def reading(rate: float = 1000.0, error: float = 0.02, **changes: Any) -> Reading:
    """A measurement that is certain; `error` is relative."""
    told = Reading(rate=rate, error=error * rate, batches=8, seconds=90.0, overhead=0.3)
    return replace(told, **changes)


def live_reading(**changes: Any) -> LiveReading:
    """The latency of a copy that keeps up, after a minute."""
    told = LiveReading(
        latency=Percentiles(p50=0.5, p95=1.4, p99=2.0),
        window=60.0,
        arriving=1200.0,
        batches=20,
        seconds=70.0,
        keeps_up=True,
    )
    return replace(told, **changes)


def point(executors: int, rate: float) -> Point:
    """A point of a former profile."""
    return Point(executors=executors, rate=rate, error=1.0, batches=5, overhead=0.2, at=NOW)


def runs(copy: Copy, **changes: Any) -> CopySeen:
    """A copy whose executors are all there."""
    return replace(RUNS, registered=copy.executors, **changes)


def batch(start: float, seconds: float, rows: float, **changes: Any) -> BatchReport:
    """A warm batch on two executors."""
    whole = BatchReport(start=start, seconds=seconds, rows=rows, executors=2)
    return replace(whole, **changes)


def told(
    batches: Sequence[BatchReport], *, waiting: float | None = 1e6, **changes: Any
) -> AgentReport:
    """What a copy's agent tells of these batches, with so many rows behind them."""
    telling = query(batches=tuple(batches), backlog_rows=waiting, left_rows=waiting, **changes)
    return report(telling)


class Story:
    """A profile that is looked at again and again, with what a test says is seen of its copies."""

    def __init__(self, **declared: Any) -> None:
        self.profile = profile(**declared)
        self.run = Run()
        self.now = NOW
        self.verdict: Verdict | None = None

    def look(self, after: float = 0.0, **around: Any) -> Verdict:
        """Look once, so many seconds later; every copy that is not mentioned has just been made."""
        self.now += timedelta(seconds=after)
        copies = around.pop("copies", {})
        there = {copy.namespace: RUNS for copy in self.run.open}
        known = {"key": key_of(JOB, self.profile.start), "copies": {**there, **copies}, **around}
        self.verdict = next_steps(self.profile, self.run, seen(**known), self.now)
        self.run = self.verdict.run
        return self.verdict

    def measured(self, *rates: float) -> Verdict:
        """Each open copy has told its rate, in their order."""
        copies = {
            copy.namespace: runs(copy, reading=reading(rate))
            for copy, rate in zip(self.run.open, rates, strict=True)
        }
        return self.look(60, copies=copies)

    @property
    def open(self) -> list[int]:
        """The executors of the copies that run."""
        return [copy.executors for copy in self.run.open]
