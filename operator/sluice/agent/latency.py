"""How long rows took from their source to the commit of their batch, counted per row; values only.

A committed batch waits a little for the timestamps of its records. Rows that get none are timed by the
arrival curve (`arrivals`), which is counted apart, and rows that neither knows are counted as untimed.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sluice.agent.histogram import Histogram

SHORT_WINDOW_SECONDS, LONG_WINDOW_SECONDS = 60.0, 300.0
"""Percentiles are of the last minute; of the last five where a minute saw no commit."""

_RESOLUTION_SECONDS = 5.0

_MOST_DISORDER_SECONDS = 60.0
"""By how much a batch may be counted after a later one: each waits for its timestamps for half of that."""


@dataclass(frozen=True)
class Committed:
    """The rows of one source in one committed batch.

    Offsets are by partition, where they are known; `estimate` is what the arrival curve says. There are
    fewer rows than offsets where Kafka has compacted a topic or marked transactions in it.
    """

    run_id: str
    batch_id: int
    source: str
    committed_at: float
    rows: float
    estimate: Histogram
    starts: Mapping[str, int] = field(default_factory=dict)
    ends: Mapping[str, int] = field(default_factory=dict)

    @functools.cached_property
    def ranges(self) -> list[tuple[str, int, int]]:
        """The partitions that gave rows, with where those begin and end; nobody knows of one without a start."""
        starts = self.starts
        return [
            (name, starts[name], end)
            for name, end in self.ends.items()
            if name in starts and end > starts[name]
        ]

    def weight(self) -> float:
        """Return how many rows an offset stands for."""
        return self.rows / sum(end - start for _, start, end in self.ranges)


@dataclass(frozen=True)
class Timing:
    """What the timestamps of a batch's records say, which may be nothing."""

    batch: Committed
    ages: Histogram


@dataclass(frozen=True)
class Window:
    """The latencies of the last so many seconds."""

    seconds: float
    histogram: Histogram


@dataclass(frozen=True)
class Latency:
    """All latencies of a query so far, and the batches whose timestamps are still asked for."""

    histogram: Histogram = field(default_factory=Histogram)
    untimed_rows: float = 0.0
    estimated_rows: float = 0.0
    waiting: tuple[Committed, ...] = ()
    recent: tuple[tuple[float, Histogram], ...] = ()

    def with_committed(self, batch: Committed) -> Latency:
        """Take in a batch; it waits for timestamps if its offsets are known."""
        if batch.ranges:
            return replace(self, waiting=(*self.waiting, batch))
        return self._counted(batch, Histogram())

    def with_untimed(self, rows: float) -> Latency:
        """Count committed rows of which nobody knows since when they were there."""
        return replace(self, untimed_rows=self.untimed_rows + rows) if rows else self

    def with_timing(self, timing: Timing) -> Latency:
        """Count a batch that waited; one that does not wait any longer has been counted."""
        if not any(batch is timing.batch for batch in self.waiting):
            return self
        return self._without(timing.batch)._counted(timing.batch, timing.ages)

    def with_patience_until(self, instant: float) -> Latency:
        """Count batches that were committed before the instant without their timestamps."""
        latency = self
        for batch in self.waiting:
            if batch.committed_at < instant:
                latency = latency.with_timing(Timing(batch, Histogram()))
        return latency

    def window(self, now: float) -> Window:
        """Return the latencies of the short window, or of the long one if the short one is empty."""
        short = Window(SHORT_WINDOW_SECONDS, self._since(now - SHORT_WINDOW_SECONDS))
        if short.histogram.count > 0:
            return short
        return Window(LONG_WINDOW_SECONDS, self._since(now - LONG_WINDOW_SECONDS))

    def _without(self, batch: Committed) -> Latency:
        return replace(self, waiting=tuple(one for one in self.waiting if one is not batch))

    def _counted(self, batch: Committed, ages: Histogram) -> Latency:
        rest = max(0.0, batch.rows - ages.count)
        estimate = batch.estimate.scaled(rest / batch.rows if batch.rows else 0.0)
        histogram = self.histogram.plus(ages).plus(estimate)
        return replace(
            self,
            histogram=histogram,
            untimed_rows=self.untimed_rows + max(0.0, rest - estimate.count),
            estimated_rows=self.estimated_rows + estimate.count,
            recent=self._recent_with(batch.committed_at, histogram),
        )

    def _recent_with(
        self, time: float, histogram: Histogram
    ) -> tuple[tuple[float, Histogram], ...]:
        """Keep a state every few seconds, and one from before the window to subtract."""
        recent = self.recent
        if not recent or time < recent[-1][0] - _MOST_DISORDER_SECONDS:  # the clock was set back
            recent = ((time - _RESOLUTION_SECONDS, self.histogram),)
        if len(recent) > 1 and time - recent[-2][0] < _RESOLUTION_SECONDS:
            recent = recent[:-1]
        horizon = time - LONG_WINDOW_SECONDS
        before = [index for index, (then, _) in enumerate(recent) if then < horizon]
        return (*recent[before[-1] if before else 0 :], (max(time, recent[-1][0]), histogram))

    def _since(self, horizon: float) -> Histogram:
        if not self.recent:
            return Histogram()
        before = [histogram for time, histogram in self.recent if time < horizon]
        return self.histogram.since(before[-1] if before else self.recent[0][1])
