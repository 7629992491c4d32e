"""A copy of a job that reads a backlog, as its agent would tell of it: batches as large as they may be."""

from dataclasses import dataclass, field
from datetime import datetime

from sluice.core.learning.batches import BatchReport
from sluice.core.observations import AgentReport
from tests.support.jobs import query, report

COLD = 3.0
"""Batches on cold executors take so many times as long."""


@dataclass
class Backlog:
    """Rows that wait, and what an executor does with them: rows per second beyond the overhead of a batch."""

    executors: int
    first: datetime
    each: float = 1000.0
    overhead: float = 0.4
    rows: float = 1e9
    most_rows: float = 5000.0
    trigger_seconds: float = 0.0
    _committed: float = 0.0
    _batches: list[BatchReport] = field(default_factory=list)

    def told(self, now: datetime) -> AgentReport:
        """What the agent tells at a moment."""
        self._committed = self._committed or self.first.timestamp()
        while self.rows > 0 and self._commit(now.timestamp()):
            pass
        telling = query(
            batch_id=len(self._batches),
            committed_at=now,
            left_rows=self.rows,
            batches=tuple(self._batches[-60:]),
            most_rows=self.most_rows,
            trigger_seconds=self.trigger_seconds,
            profile="dropped",
        )
        return report(
            telling, at=now, target=self.executors, registered=self.executors, incarnation=1
        )

    def _commit(self, now: float) -> bool:
        """One more batch, if it has ended by now."""
        rows, is_cold = min(self.rows, self.most_rows), len(self._batches) < 2
        seconds = self.overhead + rows / (self.each * self.executors)
        seconds *= COLD if is_cold else 1.0
        if self._committed + seconds > now:
            return False
        self._batches.append(
            BatchReport(
                start=self._committed,
                seconds=seconds,
                rows=rows,
                executors=self.executors,
                cold=is_cold,
            )
        )
        self._committed += seconds
        self.rows -= rows
        return True
