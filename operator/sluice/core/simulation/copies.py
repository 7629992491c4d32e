"""A simulated copy of a job that reads a backlog, steered and measured by what the operator does it with."""

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from sluice.core.observations import AgentReport, QueryReport
from sluice.core.profiling import measuring, steering
from sluice.core.profiling.measuring import Batches
from sluice.core.profiling.records import Point
from sluice.core.profiling.stepping import AGAIN, FEWEST
from sluice.core.simulation.job import SimulatedJob
from sluice.core.simulation.plant import Plant
from sluice.core.simulation.trace import Trace

DEADLINE = 600.0
"""Seconds after which it ends with what it has told (`spec.copyDeadline`)."""

BACKLOG = 1e10
"""Rows that wait: more than any copy reads until its deadline."""

TOLD = 60
"""Batches of which an agent tells."""


@dataclass
class SimulatedCopy:
    """One that measures a number of executors; `measured` runs it."""

    plant: Plant
    executors: int
    seed: int

    def __post_init__(self) -> None:
        waiting = Trace(name="backlog", rates=np.array([BACKLOG, 0.0]))
        self._job = SimulatedJob(self.plant, waiting, self.seed, self.executors)
        self._job.limit(steering.first_rows(self.executors, self.plant.cores, None))

    @property
    def executor_seconds(self) -> float:
        """What it has cost so far, with what its pods took to start."""
        return self._job.executor_seconds + self.executors * self.plant.start

    def measured(self) -> Point | None:
        """Run until the measurement is certain, or the deadline; None if nothing was measured by then."""
        batches, reading = Batches(), None
        while self._job.now < DEADLINE:
            self._job.advance(self._job.now + AGAIN)
            report = self._report()
            batches = batches.with_report(report)
            reading = batches.reading(self.executors)
            if reading is not None and measuring.is_certain(reading):
                break
            for limit in steering.limits(report, None):
                self._job.limit(limit.rows, limit.trigger_seconds)
        if reading is None or reading.batches < FEWEST:
            return None
        return reading.point(self.executors, _moment(self._job.now))

    def _report(self) -> AgentReport:
        job = self._job
        batches = tuple(batch.report() for batch in job.batches[-TOLD:])
        query = QueryReport(
            name="copy",
            active=True,
            committed_at=_moment(batches[-1].end) if batches else None,
            left_rows=job.lag,
            batches=batches,
            trigger_seconds=job.plant.period,
            most_rows=job.plant.most_rows,
        )
        return AgentReport(
            at=_moment(job.now),
            phase="running",
            incarnation=1,
            registered=job.ready,
            queries=(query,),
        )


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
