"""The latency of a copy that reads the live stream beside production, and whether it keeps up.

Latencies are those that the agent tells of production, too: from the source to the commit, of the rows that were
committed in the last minute. They count once all of these are of batches that began when warm executors had settled.

A copy falls behind if the rows that wait when a batch is committed, those that it left and those that arrived
meanwhile, are more from batch to batch. The lag alone would not do, for a batch without a limit leaves nothing, and
only takes longer than the one before. The fewer batches tell, the more may be chance: two that take minutes are enough
for a copy that is much too small. One near its capacity may be taken for too small while it still settles.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, linear_regression

from sluice.core.deciding.judging import FALLING_BEHIND
from sluice.core.learning.batches import BatchReport
from sluice.core.learning.sights import latency, look
from sluice.core.observations import AgentReport
from sluice.core.profiling.measuring import ENOUGH, LONG_ENOUGH, LOWER_BOUND, SETTLING, unheard
from sluice.core.profiling.records import LiveReading, Percentiles
from sluice.core.series import NoData

SURELY = 3.0
"""Standard errors beyond which rows wait more and more ..."""

CHANCE = 0.5
"""... by this share of the load at least, divided by the number of steps from batch to batch."""

BUSY = 0.9
"""Who leaves no rows and works for less than this share of the time has pauses, and does not fall behind."""

Line = Sequence[tuple[float, float]]
"""Moments in seconds, and rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirror:
    """What a copy has shown of the live stream, from report to report: batches with rows, and what else was told last.

    `waiting` are the rows that waited when a batch was committed, by that moment; `left` are those that the newest one
    might have had.
    """

    incarnation: int = 0
    batches: tuple[BatchReport, ...] = ()
    waiting: tuple[tuple[float, float], ...] = ()
    left: float = 0.0
    arriving: float = 0.0
    latency: Percentiles | None = None
    window: float = 0.0
    is_dry: bool = False
    leaves_out: bool = False

    def with_report(self, report: AgentReport) -> "Mirror":
        """With what an agent tells; another driver begins anew, because its executors are cold."""
        if self.incarnation not in (0, report.incarnation):
            return Mirror().with_report(report)
        told = look(report, None, percentile=0.5, cores=1).scrape
        found = replace(
            self, incarnation=report.incarnation, is_dry=not self.batches and _has_no_rows(report)
        )
        left = [query.left_rows for query in report.queries if query.left_rows is not None]
        if isinstance(told.arrival, NoData) or not left:
            # The next report tells of these batches again.
            return found
        new = unheard([batch for batch in told.batches if batch.rows > 0], self.batches)
        # Of the batches before the newest, nobody knows what they left.
        waiting = [(batch.end, sum(left) + told.arrival * batch.seconds) for batch in new[-1:]]
        return replace(
            found,
            batches=(*self.batches, *new),
            waiting=(*self.waiting, *waiting),
            left=sum(left),
            arriving=told.arrival,
            latency=_percentiles(report),
            window=max((query.latency_window or 0.0 for query in report.queries), default=0.0),
            leaves_out=any(query.profile == LOWER_BOUND for query in report.queries),
        )

    def reading(self, executors: int) -> LiveReading | None:
        """What it tells of so many executors; None before the first batch that counts."""
        if self.latency is None or not self.waiting:
            return None
        disturbed = _last_disturbed(self.batches, executors)
        falls_behind = self._falls_behind(disturbed)
        # A copy that falls behind does not settle. What was left before it was watched, nobody knows.
        settled = disturbed.end + (0.0 if falls_behind else SETTLING)
        watched = self.waiting[0][0]
        counted = [one for one in self.batches if one.start >= settled and one.end >= watched]
        if not counted:
            return None
        return LiveReading(
            latency=self.latency,
            window=self.window,
            arriving=self.arriving,
            batches=len(counted),
            seconds=counted[-1].end - counted[0].start,
            keeps_up=not falls_behind,
            is_lower_bound=self.leaves_out,
        )

    def _falls_behind(self, disturbed: BatchReport) -> bool:
        """Whether more and more rows wait since the last disturbance."""
        since = [batch for batch in self.batches if batch.start >= disturbed.start]
        worked = sum(batch.seconds for batch in since)
        if not self.left and worked < BUSY * (since[-1].end - since[0].start):
            return False
        line = [sample for sample in self.waiting if sample[0] >= disturbed.end]
        return _grows(line, self.arriving)


def is_certain(reading: LiveReading) -> bool:
    """Whether more batches would not tell much more."""
    if not reading.keeps_up:
        return True
    return reading.batches >= ENOUGH and reading.seconds >= max(LONG_ENOUGH, reading.window)


def _has_no_rows(report: AgentReport) -> bool:
    """Whether all queries that count have looked at their sources, and none has found a row yet."""
    return bool(report.queries) and all(
        query.is_under_way
        and query.in_batch_since is None
        and not any(batch.rows for batch in query.batches)
        for query in report.counting
    )


def _percentiles(report: AgentReport) -> Percentiles | None:
    p50, p95, p99 = (latency(report, share) for share in (0.5, 0.95, 0.99))
    if isinstance(p50, NoData) or isinstance(p95, NoData) or isinstance(p99, NoData):
        return None
    return Percentiles(p50=p50, p95=p95, p99=p99)


def _last_disturbed(batches: Sequence[BatchReport], executors: int) -> BatchReport:
    """The last batch on cold executors, or on another number; else the first, as one without rows warms nobody."""
    disturbed = (batch for batch in reversed(batches) if batch.cold or batch.executors != executors)
    return next(disturbed, batches[0])


def _grows(waiting: Line, arriving: float) -> bool:
    """Whether the rows that wait surely grow by more than a share of those that arrive."""
    if len(waiting) < 2 or waiting[-1][0] - waiting[0][0] < LONG_ENOUGH:
        return False
    slope, error = _slope(waiting)
    share = max(FALLING_BEHIND, CHANCE / (len(waiting) - 1))
    return slope - SURELY * error > share * arriving


def _slope(line: Line) -> tuple[float, float]:
    """Rows per second, and the standard error of that; two samples leave no error."""
    times, rows = [at - line[0][0] for at, _ in line], [number for _, number in line]
    slope, intercept = linear_regression(times, rows)
    misses = sum(
        (number - intercept - slope * at) ** 2 for at, number in zip(times, rows, strict=True)
    )
    middle = fmean(times)
    spread = sum((at - middle) ** 2 for at in times)
    return slope, math.sqrt(misses / max(1, len(line) - 2) / spread)
