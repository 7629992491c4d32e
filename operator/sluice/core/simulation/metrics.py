"""What can be seen of a simulated job: scrapes at intervals, late, with noise, and none while there is no driver.

The agent tells batches and offsets, so rows and durations are exact; rates and shares are measured and vary. Latency
is that of the rows that were committed in the last two minutes.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from sluice.core.learning.scrapes import Scrape
from sluice.core.series import Measured, NoData
from sluice.core.simulation.cohorts import commits, latencies
from sluice.core.simulation.job import SimulatedJob

LATENCY_WINDOW = 120.0
PERCENTILE = 0.95


@dataclass
class Metrics:
    """The eye on a job."""

    job: SimulatedJob
    seed: int
    _before: tuple[float, float, float, float] | None = None
    _seen: float = 0.0
    _begun: float | None = None
    _chance: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self._chance = np.random.default_rng((self.seed, 1))

    def scrape(self) -> Scrape | None:
        """Look at the job now."""
        job, now = self.job, self.job.now
        if job.is_down:
            self._before = None
            return None
        counters = (now, job.arrived(now), job.committed, job.worked)
        before, self._before = self._before, counters
        batches = job.batches_since(self._seen)
        self._seen = now
        begun = [self._begun, *(batch.start for batch in batches)]
        self._begun = begun[-1]
        return Scrape(
            at=now,
            arrival=self._rate(before, counters, 1),
            processing=self._rate(before, counters, 2),
            lag=job.lag,
            running=job.ready,
            cpu=self._cpu(before, counters),
            busy=self._busy(before, now),
            latency=self._latency(),
            batches=tuple(
                batch.report(interval=None if before is None else batch.start - before)
                for batch, before in zip(batches, begun, strict=False)
            ),
            start=job.start,
            # All that was ever processed, as where nothing expires.
            state=job.committed if job.plant.state_reload else 0.0,
        )

    def _rate(
        self, before: tuple[float, ...] | None, counters: tuple[float, ...], of: int
    ) -> Measured:
        if before is None:
            return NoData("a rate needs two scrapes")
        rate = (counters[of] - before[of]) / (counters[0] - before[0])
        return rate * math.exp(self._chance.normal(0.0, self.job.plant.measurement_noise))

    def _cpu(self, before: tuple[float, ...] | None, counters: tuple[float, ...]) -> Measured:
        slots = self.job.ready * self.job.plant.cores
        if before is None or not slots:
            return NoData("no executor was there for two scrapes")
        work = (counters[3] - before[3]) / (counters[0] - before[0]) / slots
        return self.job.cpu(min(1.0, work))

    def _busy(self, before: tuple[float, ...] | None, now: float) -> Measured:
        if before is None:
            return NoData("a share of time needs two scrapes")
        start = before[0]
        spans = [(batch.start, batch.end) for batch in self.job.batches_since(start)]
        if self.job.batch_since is not None:
            spans.append((self.job.batch_since, now))
        return sum(min(end, now) - max(begun, start) for begun, end in spans) / (now - start)

    def _latency(self) -> Measured:
        recent = self.job.batches_since(self.job.now - LATENCY_WINDOW)
        if not recent:
            return NoData("no batch was committed in two minutes")
        found = latencies(
            self.job.arrivals,
            commits(recent),
            start=recent[0].first,
            end=recent[-1].upto,
            floor=self.job.plant.floor,
        )
        return found.quantile(PERCENTILE)
