"""Rows per second of a copy at saturation, from its warm batches, and how certain they are.

    seconds = overhead + rows / capacity          (learning.overheads)

A batch counts if it ran on as many executors as are measured, all of them warm, and if more rows waited behind it.
That is known afterwards: a backlog only shrinks, so where rows wait now, they have waited behind every batch so far.

Executors that are warm still get faster, because the JVM goes on compiling. So the first batches are left out that make
the standard error larger (MSER; White, 1997), half of them at most.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sluice.core.learning.batches import BatchReport
from sluice.core.learning.overheads import NOISE, Overhead, fitted_overhead
from sluice.core.learning.sights import look
from sluice.core.observations import AgentReport, Processing, QueryReport
from sluice.core.profiling.records import Reading

ENOUGH = 5
"""Warm batches that a measurement has at least."""

CERTAIN = 0.05
"""A measurement ends when its standard error is below this share of the rate."""

SEPARABLE = 0.1
"""The overhead is told from the rows if that leaves less than this share of the rate open."""

SETTLING = 30.0
"""Seconds of warm batches that never count."""

LONG_ENOUGH = 60.0
"""Seconds of batches that a measurement has at least."""

FULL = 0.8
"""A batch has taken all that it might, if it has this share of its limit: partitions share it out unevenly."""

LOWER_BOUND = "lowerBound"
"""What an agent tells of a query whose own work is left out; see `QueryReport.profile`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """The batches of a copy, from report to report: those that had more rows behind them, and the rest."""

    incarnation: int = 0
    saturated: tuple[BatchReport, ...] = ()
    rest: tuple[BatchReport, ...] = ()
    is_dry: bool = False
    leaves_out: bool = False

    def with_report(self, report: AgentReport) -> "Batches":
        """With what an agent tells; another driver begins anew, because its executors are cold."""
        if self.incarnation not in (0, report.incarnation):
            return Batches().with_report(report)
        batches = look(report, None, percentile=0.5, cores=1).scrape.batches
        # How many rows a batch of a copy has is told by a limit, and not by how long the one before took.
        told = [replace(batch, interval=None) for batch in batches]
        new = unheard(told, (*self.saturated, *self.rest))
        if not _tells_what_waits(report):
            # The next report tells of these batches again.
            return self
        found = replace(
            self,
            incarnation=report.incarnation,
            is_dry=not any(_waits(query) for query in report.queries),
            leaves_out=any(query.profile == LOWER_BOUND for query in report.queries),
        )
        if found.is_dry:
            return replace(found, rest=(*self.rest, *new))
        return replace(found, saturated=(*self.saturated, *new))

    def reading(self, executors: int) -> Reading | None:
        """What they tell about so many executors; None before the first warm batch."""
        full = _warm(self.saturated, executors)
        settled = _settled(full)
        if len(settled) < ENOUGH and self.is_dry:
            # More will not come.
            found = self._bound(full, executors)
        else:
            found = _without_warming(settled) if settled else None
        if found is None:
            return None
        return replace(found, is_dry=self.is_dry, is_upper_bound=self.leaves_out)

    def _bound(self, full: Sequence[BatchReport], executors: int) -> Reading | None:
        """What too few batches tell: at least so much, because the copy would have become faster, or was not full."""
        if len(full) >= ENOUGH:
            return replace(_without_warming(full), is_lower_bound=True)
        known = _warm((*self.saturated, *self.rest), executors)
        return replace(_throughput(known), is_lower_bound=True) if known else None


def unheard(told: Sequence[BatchReport], known: Sequence[BatchReport]) -> tuple[BatchReport, ...]:
    """The batches that were committed after all known ones."""
    upto = max((batch.end for batch in known), default=0.0)
    return tuple(batch for batch in told if batch.end > upto)


def is_certain(reading: Reading) -> bool:
    """Whether more batches would not tell much more."""
    if reading.is_lower_bound:
        return False
    is_long = reading.batches >= ENOUGH and reading.seconds >= LONG_ENOUGH
    return is_long and reading.relative_error < CERTAIN


def _tells_what_waits(report: AgentReport) -> bool:
    """Whether it is known if rows wait: of a query in its first batch nobody knows, and what the others do beside it
    is not what all do.
    """
    begins = any(
        query.processing is Processing.BATCHES and not query.is_under_way
        for query in report.running
    )
    return not begins and any(query.left_rows is not None for query in report.queries)


def _waits(query: QueryReport) -> bool:
    """Whether the next batch can be full, too. Rows that arrive during a batch are no backlog."""
    left = query.left_rows or 0.0
    if query.most_rows is not None:
        return left >= FULL * query.most_rows
    return left > 0


def _warm(batches: Sequence[BatchReport], executors: int) -> tuple[BatchReport, ...]:
    return tuple(
        batch
        for batch in batches
        if not batch.cold and batch.executors == executors and batch.rows > 0 and batch.seconds > 0
    )


def _settled(batches: tuple[BatchReport, ...]) -> tuple[BatchReport, ...]:
    """Without those that began too soon after the first."""
    return tuple(batch for batch in batches if batch.start >= batches[0].start + SETTLING)


def _without_warming(batches: Sequence[BatchReport]) -> Reading:
    """The most certain reading of all but the first batches."""
    most = min(len(batches) // 2, max(0, len(batches) - ENOUGH))
    readings = [_measured(batches[first:]) for first in range(most + 1)]
    return min(readings, key=lambda one: (one.is_lower_bound, one.relative_error))


def _measured(batches: Sequence[BatchReport]) -> Reading:
    overhead = fitted_overhead(batches)
    worked = sum(batch.seconds for batch in batches) - len(batches) * overhead.seconds
    if worked <= 0 or len(batches) * overhead.error >= SEPARABLE * worked:
        # Batches of one size: what they have in common cannot be told from their rows.
        return replace(_throughput(batches), is_lower_bound=True)
    rate = sum(batch.rows for batch in batches) / worked
    noise = _noise(batches, overhead, rate)
    scatter = noise * math.hypot(*(batch.seconds for batch in batches)) / worked
    # The overhead's error was told for batches that scatter by NOISE.
    shared = max(1.0, noise / NOISE) * len(batches) * overhead.error / worked
    return Reading(
        rate=rate,
        error=rate * math.hypot(scatter, shared),
        batches=len(batches),
        seconds=sum(batch.seconds for batch in batches),
        overhead=overhead.seconds,
    )


def _throughput(batches: Sequence[BatchReport]) -> Reading:
    rate = sum(batch.rows for batch in batches) / sum(batch.seconds for batch in batches)
    noise = _noise(batches, Overhead(seconds=0.0, error=0.0), rate)
    return Reading(
        rate=rate,
        error=rate * noise / math.sqrt(len(batches)),
        batches=len(batches),
        seconds=sum(batch.seconds for batch in batches),
        overhead=0.0,
    )


def _noise(batches: Sequence[BatchReport], overhead: Overhead, rate: float) -> float:
    """The standard deviation of a batch's length, relative to it; NOISE where too few can tell."""
    if len(batches) < 3:
        return NOISE
    misses = (1 - (overhead.seconds + batch.rows / rate) / batch.seconds for batch in batches)
    return math.sqrt(sum(miss**2 for miss in misses) / (len(batches) - 2))
