"""A stream as its agent would tell of it: rows arrive evenly, and a batch follows the other."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sluice.core.learning.batches import BatchReport
from sluice.core.observations import AgentReport
from tests.support.jobs import NOW, query, report


@dataclass
class Stream:
    """Rows per second that arrive, those that an executor processes, and the executors that are there."""

    arriving: float
    each: float = 1000.0
    overhead: float = 0.2
    executors: int = 2
    target: int | None = None
    incarnation: int = 1
    first: datetime = NOW
    _committed: float = field(default_factory=NOW.timestamp)
    _lag: float = 0.0
    _batches: list[BatchReport] = field(default_factory=list)
    _next: int = 0

    def starts_at(self, now: datetime) -> None:
        """Its first batch begins now."""
        self.first, self._committed = now, now.timestamp()

    def told(self, now: datetime) -> AgentReport:
        """What the agent tells at a moment."""
        self._advance(now.timestamp())
        latency = self._batches[-1].seconds * 2 if self._batches else 1.0
        telling = query(
            batch_id=self._next,
            committed_at=now - timedelta(seconds=1),
            arrival_rate=self.arriving,
            backlog_rows=self._lag,
            left_rows=self._lag,
            backlog=timedelta(seconds=self._lag / max(1.0, self.arriving)),
            latency={"p50": latency / 2, "p95": latency, "p99": latency},
            batches=tuple(self._batches[-60:]),
            trigger_seconds=0.0,
        )
        target = self.executors if self.target is None else self.target
        return report(
            telling,
            at=now,
            target=target,
            registered=self.executors,
            incarnation=self.incarnation,
        )

    def _advance(self, now: float) -> None:
        while self._committed < now:
            rows = max(self._lag, self.arriving * self.overhead)
            seconds = self.overhead + rows / (self.each * self.executors)
            if self._committed + seconds > now:
                break
            batch = BatchReport(
                start=self._committed, seconds=seconds, rows=rows, executors=self.executors
            )
            self._batches.append(batch)
            self._committed, self._next = batch.end, self._next + 1
            self._lag = max(0.0, self._lag - rows) + self.arriving * seconds
