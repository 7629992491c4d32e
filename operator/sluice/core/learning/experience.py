"""Models from what was seen of a running job: batches, latencies, and what followed an outage.

    overhead    the seconds that a batch takes without rows: what batches of different sizes have in common
    capacity    rows per second beyond the overhead, of warm batches that work on their rows for long enough to tell;
                and of all warm batches, what they show at least, also where less was measured before
    latency     while nothing has changed for a while
    downtime    from the loss until the next batch begins, and what that batch and those after it take longer than their
                rows explain, until one is as fast as usual; where the driver lives and batches go on, what a row then
                waits longer

A batch tells the capacity even of a job that is not saturated, because its rows and its length are known. The first
batch on cold executors tells nothing of it, nor do those of the minute after it, in which executors compile what they
run: what they take longer is part of the outage that made executors cold.

The newest driver's early batches are remembered, because they foretell what the next one's take longer. Of a job that
starts for the first time, nobody knows its capacity at that moment: how much longer that was, is asked later, by what
is known then.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, takewhile

from sluice.core.deciding.situation import Models
from sluice.core.learning.batches import BatchReport
from sluice.core.learning.overheads import (
    CLEARLY_MORE,
    busy_rates,
    fitted_overheads,
    least_rates,
    measured_capacities,
)
from sluice.core.learning.starts import Start
from sluice.core.modelling.capacity import Capacity, CapacityModel
from sluice.core.modelling.downtime import FIRST_BATCH, STARTING, Cause, Downtimes
from sluice.core.modelling.latency import LatencyPoint
from sluice.core.modelling.shapes import Slots, part_of_each
from sluice.core.series import Measured, NoData

SPACING = 10.0
"""Seconds between two batches that are remembered for the overhead, so that the memory is an hour long."""
MEMORY = 360

CAPACITY_WINDOW = 60.0
LATENCY_WINDOW = 120.0
"""Seconds that one observation of each sums up."""

UNEXPECTED = 1.25
"""A batch that is so many times as long as its rows explain was held up."""

SETTLING = 180.0
"""Seconds after which a change of executors is over."""

MOST_EARLY = 16
"""Batches of a new driver that are remembered."""

NOTICED = 1.0
"""Seconds; a shorter outage is not told from noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """What made a job stop, when, the executors it then was to have, and what batches took since then.

    `away` are the seconds until a batch began again; None if none did yet, or if batches never ended. Of each batch
    since then, `batches` has the seconds that it took, and those of them that its rows do not explain. `settled` is
    whether the last one was as fast as usual, on all of these executors, none of them cold.
    """

    cause: Cause
    at: float
    executors: int
    away: float | None = None
    batches: tuple[tuple[float, float], ...] = ()
    settled: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether no batch ran at all."""
        return self.cause in STARTING

    @property
    def excess(self) -> float:
        """The seconds that the batches took longer than their rows explain."""
        return sum(excess for _, excess in self.batches)

    @property
    def held_up(self) -> float:
        """The longest that a row waited more than usual, under a driver that lives: an outage as bad as what was seen.

        Batches go on, and what a slow one leaves the next ones work off. A row waits for its own batch, and for the one
        before.
        """
        usual = min((seconds for seconds, _ in self.batches), default=0.0)
        waits = [
            excess + (before - usual if was_slow else 0.0)
            for (before, was_slow), (_, excess) in pairwise([(usual, 0.0), *self.batches])
        ]
        return max(waits, default=0.0)

    def goes_on(self, cause: Cause) -> bool:
        """Whether what happens now is part of this one."""
        return self.is_complete and self.away is None and cause is not Cause.DRIVER_LOSS

    def resumed(self, batch: BatchReport, excess: float) -> "Outage":
        """With a batch that ran after it."""
        is_first = self.is_complete and self.away is None
        return replace(
            self,
            away=batch.start - self.at if is_first else self.away,
            batches=(*self.batches, (batch.seconds, excess)),
            settled=not excess and not batch.cold and batch.executors == self.executors,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """What was learned so far, and what it needs to go on.

    A batch takes `overhead` seconds without rows, and `shared` more by all executors together. `early` are the first
    batches with rows of the newest driver that is known to have had one.
    """

    models: Models = field(default_factory=Models)
    overhead: float = 0.0
    shared: float = 0.0
    remembered: tuple[BatchReport, ...] = ()
    pending: tuple[BatchReport, ...] = ()
    outage: Outage | None = None
    early: tuple[BatchReport, ...] = ()
    latency_at: float = 0.0

    def with_outage(self, cause: Cause, at: float, executors: int) -> "Experience":
        """Something made a job stop that is to have so many executors.

        Within an outage it is part of that, but a lost driver begins it anew.
        """
        if self.outage and self.outage.goes_on(cause):
            return self
        # One after which batches ran already is over, though they may have become still faster.
        found = self if self.outage is None else self._given_up(self.outage)
        return replace(found, outage=Outage(cause=cause, at=at, executors=executors), pending=())

    def without_outage(self) -> "Experience":
        """A job with nothing to do does not tell when it could have worked again: nothing is learned of the outage."""
        return replace(self, outage=None)

    def of_other(self, slots: Slots) -> "Experience":
        """Of another program, or of the same on other cores, batches tell within minutes what former ones cannot.

        How long a driver is away is known all the same, and where to begin with the overhead.
        """
        models = Models(capacity=CapacityModel(slots=slots), downtimes=self.models.downtimes)
        return replace(self, models=models, remembered=(), pending=(), early=())

    def with_start(self, start: Start, batches: Sequence[BatchReport]) -> "Experience":
        """How the newest driver began, and its batches since the last time."""
        told = (*self.early, *batches)
        own = [batch for batch in told if batch.start >= start.began and batch.rows > 0]
        found = self._with_downtimes(self.models.downtimes.with_start(start.seconds))
        early = [batch for batch in own if batch.start - own[0].start <= SETTLING]
        return replace(found, early=tuple(early[:MOST_EARLY]) or self.early)

    def with_pause(self, seconds: float) -> "Experience":
        """The pause after which a driver that was lost is started again."""
        return self._with_downtimes(self.models.downtimes.with_pause(seconds))

    def with_batches(self, batches: Sequence[BatchReport], now: float) -> "Experience":
        """The batches since the last time."""
        found = self if self.outage is None else self._with_outage_of(batches, now)
        if found.outage:
            return found
        return found._with_steady([batch for batch in batches if not batch.cold])

    def with_latency(self, point: LatencyPoint, now: float) -> "Experience":
        """A latency at a steady rate; one per window is enough."""
        if now - self.latency_at < LATENCY_WINDOW:
            return self
        latency = self.models.latency.with_observation(point)
        return replace(self, models=replace(self.models, latency=latency), latency_at=now)

    def models_now(self) -> Models:
        """The models, with what the early batches of the newest driver tell by what is known now."""
        downtimes = self.models.downtimes.with_excess(self._excess_of_start())
        return replace(self.models, downtimes=downtimes)

    def expected(self, batch: BatchReport, capacity: Capacity | NoData) -> Measured:
        """The seconds that its rows explain."""
        if isinstance(capacity, NoData):
            return capacity
        rate = capacity.rate(batch.executors)
        if rate <= 0:
            return NoData(f"what {batch.executors} executors can do is not known")
        return self.overhead_of(batch.executors) + batch.waited + batch.rows / rate

    def overhead_of(self, executors: int) -> float:
        """The seconds that a batch takes without rows on so many executors."""
        return self.overhead + self.shared * part_of_each(executors)

    def _excess_of_start(self) -> float | None:
        """None is not known: nobody saw the first one."""
        if not self.early or not self.early[0].cold:
            return None
        capacity = self.models.capacity.fitted()
        first, *others = self.early
        expected = self.expected(first, capacity)
        # Of a large backlog, what may be noise in what its rows explain is more than there is to tell.
        if isinstance(expected, NoData) or (UNEXPECTED - 1) * expected > FIRST_BATCH:
            return None
        warm = (batch for batch in others if not batch.cold)
        excesses = [_excess(batch, self.expected(batch, capacity)) for batch in warm]
        slow = list(takewhile(bool, excesses))
        # If they never became as fast as usual, it is not the start that made them slow.
        return _excess(first, expected) + (sum(slow) if len(slow) < len(excesses) else 0.0)

    def _with_outage_of(self, batches: Sequence[BatchReport], now: float) -> "Experience":
        found, capacity = self, self.models.capacity.fitted()
        for batch in batches:
            found = found._after(batch, capacity)
        outage = found.outage
        if outage is None:
            return found
        if outage.is_complete:
            is_over = outage.away is not None and now - outage.at - outage.away > SETTLING
            return found._given_up(outage) if is_over else found
        has_settled = now - outage.at > SETTLING
        if isinstance(capacity, NoData):
            # Nobody knows how long the batches should have taken: the first warm ones begin to teach it.
            is_warm = any(not batch.cold and batch.start >= outage.at for batch in batches)
            return replace(found, outage=None) if is_warm or has_settled else found
        # The first may have begun before it, and where batches are rare none may have been held up yet.
        is_over = has_settled and len(outage.batches) > 1
        return found._closed(outage, outage.held_up) if is_over else found

    def _after(self, batch: BatchReport, capacity: Capacity | NoData) -> "Experience":
        outage = self.outage
        if outage is None or batch.end <= outage.at:
            return self
        excess = _excess(batch, self.expected(batch, capacity))
        if outage.is_complete and batch.start < outage.at:
            return self
        resumed = outage.resumed(batch, excess)
        if resumed.away is not None and not excess:
            return self._closed(resumed, resumed.away + resumed.excess)
        return replace(self, outage=resumed)

    def _given_up(self, outage: Outage) -> "Experience":
        """Batches that never became as fast as usual are not slow because of the outage, but for the first one.

        Without a first one, as long as the driver lives, they tell of the outage if they have become so.
        """
        if outage.away is not None:
            _, excess = outage.batches[0]
            return self._closed(outage, outage.away + excess)
        if outage.settled:
            return self._closed(outage, outage.held_up)
        return replace(self, outage=None)

    def _closed(self, outage: Outage, seconds: float) -> "Experience":
        downtimes = self.models.downtimes.with_observation(outage.cause, max(NOTICED, seconds))
        return replace(self._with_downtimes(downtimes), outage=None)

    def _with_downtimes(self, downtimes: Downtimes) -> "Experience":
        return replace(self, models=replace(self.models, downtimes=downtimes))

    def _with_steady(self, batches: Sequence[BatchReport]) -> "Experience":
        if not batches:
            return self
        remembered = list(self.remembered)
        for batch in batches:
            if not remembered or abs(batch.start - remembered[-1].start) >= SPACING:
                remembered.append(batch)
        found = replace(
            self, remembered=tuple(remembered[-MEMORY:]), pending=(*self.pending, *batches)
        )
        if found.pending[-1].end - found.pending[0].start < CAPACITY_WINDOW:
            return found
        return found._with_capacity()

    def _with_capacity(self) -> "Experience":
        capacity = self.models.capacity
        overheads = fitted_overheads(
            self.remembered,
            self.overhead,
            self.shared,
            is_shared=capacity.slots.tasks is not None,
        )
        for executors, rate in measured_capacities(self.pending, overheads, capacity.fitted()):
            capacity = capacity.with_observation(executors, rate)
        for executors, rate in least_rates(self.pending, overheads):
            capacity = capacity.with_floor(executors, rate)
        for executors, rate in busy_rates(self.pending):
            if _is_too_low(capacity.fitted(), executors, rate):
                capacity = capacity.with_observation(executors, rate)
        return replace(
            self,
            models=replace(self.models, capacity=capacity),
            overhead=overheads.fixed,
            shared=overheads.shared,
            pending=(),
        )


def _is_too_low(known: Capacity | NoData, executors: int, rate: float) -> bool:
    """Whether so many clearly do more than is known of them: it was measured when something kept them from it.

    Their small batches may never tell exactly how much more, but what they do now they can do.
    """
    return not isinstance(known, NoData) and rate > CLEARLY_MORE * known.rate(executors)


def _excess(batch: BatchReport, expected: Measured) -> float:
    """The seconds that a batch was held up; none where nobody knows what its rows explain."""
    if isinstance(expected, NoData) or batch.seconds <= UNEXPECTED * expected:
        return 0.0
    return batch.seconds - expected
