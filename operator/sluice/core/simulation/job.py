"""A simulated Spark job as it runs: from event to event, not from tick to tick, so nothing depends on a step.

    batch      takes what has arrived, or as much as the limit allows; its length is drawn when it begins, and what is
               left of it changes when executors come or go, because tasks that wait run on whoever is there
    loss       of an executor: the batch takes longer and another executor comes; of the driver, or of all executors:
               the batch begins anew with the same rows, as Spark's offset log has it, and all executors are new; where
               not each batch is checkpointed, all since the last checkpoint is done again; a driver that is lost while
               it starts has to start again
    rescale    live: executors join when they have started, and leave at the end of a batch; by a restart: as a loss
               of the driver, but without a replay

What executors are like is for `executors`, what can be seen of all this from outside for `metrics`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from sluice.core.learning.batches import BatchReport
from sluice.core.learning.starts import Start
from sluice.core.modelling.rescaling import Path
from sluice.core.simulation.cohorts import Arrivals, arrivals
from sluice.core.simulation.executors import Chance, Executor, Executors
from sluice.core.simulation.plant import Plant
from sluice.core.simulation.trace import Trace

LOOK_AGAIN = 0.1
"""Seconds until an idle query looks for new rows again."""

NEVER = math.inf


class Loss(StrEnum):
    """What fails."""

    EXECUTOR = "Executor"
    DRIVER = "Driver"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Something that is lost at a moment."""

    at: float
    loss: Loss


def seconds_lost(failure: Failure, plant: Plant, seed: int) -> float:
    """The seconds that a failure costs, beside what executors need to get warm: the same whoever scales the job."""
    chance = Chance(plant, (seed, 3, int(failure.at)))
    is_driver = failure.loss is Loss.DRIVER
    return chance.duration(plant.driver_loss if is_driver else plant.executor_loss)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch: its rows by their numbers, and whether it was the first one on some executor."""

    start: float
    end: float
    first: float
    upto: float
    executors: int
    cold: bool

    @property
    def rows(self) -> float:
        """How many rows it has."""
        return self.upto - self.first

    @property
    def seconds(self) -> float:
        """How long it takes."""
        return self.end - self.start

    def report(self, interval: float | None = None) -> BatchReport:
        """What an agent tells of it; `interval` are the seconds since the batch before began."""
        return BatchReport(
            start=self.start,
            seconds=self.seconds,
            rows=self.rows,
            executors=self.executors,
            cold=self.cold,
            interval=interval,
        )


@dataclass
class SimulatedJob:
    """A job on a plant under the load of a trace; `advance` runs it, `rescale` changes it."""

    plant: Plant
    trace: Trace
    seed: int
    executors: int
    failures: Sequence[Failure] = ()
    now: float = 0.0
    batches: list[Batch] = field(default_factory=list)
    down_until: float | None = None
    happened: list[Failure] = field(default_factory=list)
    """Failures that struck; without a driver there are no executors to lose."""

    def __post_init__(self) -> None:
        self._chance = Chance(self.plant, self.seed)
        self.arrivals: Arrivals = arrivals(self.trace)
        self._rows: list[float] = self.arrivals.rows.tolist()
        self._rates: list[float] = self.arrivals.rates.tolist()
        self.committed = 0.0
        self._worked = 0.0
        self._work = 0.0
        self._checkpointed = (0.0, 0.0)
        self._replay = 0.0
        self._reload = 0.0
        self._batch: Batch | None = None
        self._planned: float | None = None
        self._working: list[Executor] = []
        self._looked = 0.0
        self._next_start = 0.0
        self._left = sorted(self.failures, key=lambda failure: failure.at)
        self._executors = Executors(self.plant, self._chance)
        self._executors.renew(self.executors, now=0.0, ready=0.0)
        # The first driver came as after a restart, by a chance of its own: nothing of what follows depends on it.
        away = Chance(self.plant, (self.seed, 2)).duration(self.plant.restart)
        self.start = self._start(self.plant.restart, away, ready=0.0)

    # What is asked of it from outside.

    @property
    def is_down(self) -> bool:
        """Whether there is no driver."""
        return self.down_until is not None

    @property
    def ready(self) -> int:
        """Executors that can work now."""
        return 0 if self.is_down else len(self._executors.ready(self.now))

    @property
    def executor_seconds(self) -> float:
        """The price so far: seconds of pods from their start to their end."""
        return self._executors.price(self.now)

    @property
    def worked(self) -> float:
        """Slot-seconds that tasks have taken so far."""
        if self._batch is None:
            return self._worked
        return self._worked + self._work * (self.now - self._batch.start) / self._batch.seconds

    def cpu(self, work: float) -> float:
        """The share of their processors that executors take now, which work for such a share of the time."""
        return self._executors.cpu(work, self.now)

    @property
    def lag(self) -> float:
        """Rows that have arrived and are not committed."""
        return self.arrived(self.now) - self.committed

    def arrived(self, at: float) -> float:
        """The rows that have arrived by a moment."""
        second = min(int(at), len(self._rates) - 1)
        return self._rows[second] + self._rates[second] * (at - second)

    def _rate(self, at: float) -> float:
        """The rows per second that arrive at a moment."""
        return self._rates[min(int(at), len(self._rates) - 1)]

    @property
    def batch_since(self) -> float | None:
        """When the running batch began, if one runs."""
        return self._batch.start if self._batch else None

    def batches_since(self, at: float) -> list[Batch]:
        """The batches that were committed after a moment, in their order."""
        found = []
        for batch in reversed(self.batches):
            if batch.end <= at:
                break
            found.append(batch)
        return found[::-1]

    def advance(self, to: float) -> None:
        """Let everything happen until a moment, that moment included."""
        while (at := self._next_event()) <= to:
            self.now = at
            self._happen()
        self.now = to

    def rescale(self, executors: int, path: Path) -> None:
        """Change the number of executors. Without a driver, the next one comes with the new number."""
        if self.down_until is not None:
            self._executors.resize_before_start(executors, self.now, self.down_until)
        elif path is Path.RESTART or not self.plant.live:
            away = self._chance.duration(self.plant.restart)
            self._stop_driver(self.plant.restart, away, executors, replay=False)
        else:
            self._rescale_live(executors)
        self.executors = executors

    def limit(self, rows: float, period: float | None = None) -> None:
        """Change the most rows of the batches to come, and the period of the trigger."""
        period = self.plant.period if period is None else period
        self.plant = replace(self.plant, most_rows=rows, period=period)

    # Events, in the order in which they are looked for.

    def _next_event(self) -> float:
        failing = self._left[0].at if self._left else NEVER
        if self.down_until is not None:
            return min(failing, self.down_until)
        if self._batch is None:
            return min(failing, self._start_possible())
        return min(failing, self._batch.end, self._executors.next_ready(self._looked))

    def _start_possible(self) -> float:
        return max(self.now, self._next_start, self._executors.first_ready())

    def _happen(self) -> None:
        if self._left and self._left[0].at <= self.now:
            self._fail(self._left.pop(0))
        elif self.down_until is not None:
            self.down_until = None
        elif self._batch and self._batch.end <= self.now:
            self._commit(self._batch)
        elif self._batch:
            self._batch = self._shared(self._batch)
        else:
            self._begin()

    def _begin(self) -> None:
        first, arrived = self.committed, self.arrived(self.now)
        if arrived - first < 1:
            self._next_start = self.now + max(LOOK_AGAIN, self.plant.period)
            return
        working = self._executors.ready(self.now)
        upto, self._planned = self._planned, None
        if upto is None:
            upto = min(arrived, first + (self.plant.most_rows or NEVER))
        new = _new_share(working)
        self._batch = Batch(
            start=self.now,
            end=self.now + self._length(upto - first, working, new, left=arrived - upto),
            first=first,
            upto=upto,
            executors=len(working),
            cold=new > 0,
        )
        self._looked = self.now
        self._work_on(working)

    def _work_on(self, working: list[Executor]) -> None:
        self._working = working
        for executor in working:
            executor.worked = True

    def _length(self, rows: float, working: Sequence[Executor], new: float, left: float) -> float:
        capacity = self._executors.capacity(working, self.now)
        rate = self._rate(self.now) if left < 1 else NEVER
        seconds = self.plant.fixed(len(working)) + (rows + self._replay) / capacity
        if self.plant.fetching is not None:
            slots = len(working) * self.plant.cores
            seconds += self.plant.fetching.waited(slots, rate, rows)
        seconds *= self._chance.factor(self.plant.noise)
        seconds += self._reload + (self._warming(working) if new else 0.0)
        alone = (rows + self._replay) / self.plant.task_rate
        self._work = alone * self.plant.hindrance(len(working))
        self._replay = self._reload = 0.0
        return seconds

    def _shared(self, batch: Batch) -> Batch:
        """A batch in which new executors take over tasks that wait, if it ends sooner so."""
        self._looked = self.now
        everyone = self._executors.ready(self.now)
        left = batch.end - self.now
        rest = max(left / self._speed_up(everyone), self._warming(everyone))
        if rest >= left:
            return batch
        self._work_on(everyone)
        return replace(batch, end=self.now + rest, executors=len(everyone), cold=True)

    def _go_on(self, batch: Batch) -> None:
        """Let a batch go on with those of its executors that are still there; it is lost without any."""
        still = [executor for executor in self._working if executor in self._executors.present]
        if not still:
            self._lose_batch()
            return
        rest = (batch.end - self.now) / self._speed_up(still)
        self._work_on(still)
        self._batch = replace(batch, end=self.now + rest, executors=len(still))

    def _speed_up(self, working: Sequence[Executor]) -> float:
        now = self._executors.capacity(self._working, self.now)
        return self._executors.capacity(working, self.now) / now

    def _warming(self, working: Sequence[Executor]) -> float:
        """The seconds that the first tasks on new executors take longer, and their share of the state."""
        crowded = self.plant.crowded(self._executors.unproven)
        cold = self._chance.duration(self.plant.cold) * crowded
        return cold + self.plant.state_reload * _new_share(working)

    def _commit(self, batch: Batch) -> None:
        self.batches.append(batch)
        self._worked += self._work
        self.committed = batch.upto
        self._batch = None
        self._executors.prove(self._working, self.now)
        self._next_start = max(self.now, batch.start + self.plant.period)
        at, _ = self._checkpointed
        if self.now - at >= self.plant.checkpoint:
            self._checkpointed = (self.now, self.committed)

    # What goes wrong, and what is changed.

    def _fail(self, failure: Failure) -> None:
        seconds = seconds_lost(failure, self.plant, self.seed)
        if failure.loss is Loss.DRIVER:
            self._stop_driver(self.plant.driver_loss, seconds, self.executors, replay=True)
        elif self.is_down:
            return
        else:
            self._lose_executor(seconds)
        self.happened.append(failure)

    def _lose_batch(self) -> None:
        """Whoever works next does it again with the same rows, unless it goes back to a checkpoint."""
        if self._batch and not self.plant.checkpoint:
            self._planned = self._batch.upto
        self._batch = None

    def _stop_driver(self, usual: float, away: float, executors: int, *, replay: bool) -> None:
        self.down_until = self.now + away
        self.start = self._start(usual, away, ready=self.down_until)
        self._lose_batch()
        self._next_start = self.down_until
        self._replay = self.committed - self._checkpointed[1] if replay else 0.0
        self._reload = 0.0
        self._executors.renew(executors, self.now, self.down_until)

    def _start(self, usual: float, away: float, *, ready: float) -> Start:
        """That of a driver after so many seconds without one: what differs from the usual ones is the program's."""
        seconds = max(0.0, self.plant.program + away - usual)
        return Start(began=ready - seconds, seconds=seconds)

    def _lose_executor(self, seconds: float) -> None:
        self._executors.lose_oldest(self.now)
        moved = self.plant.state_reload / self.executors
        if self._batch is None:
            self._reload += moved
        else:
            self._go_on(replace(self._batch, end=self._batch.end + seconds + moved))

    def _rescale_live(self, executors: int) -> None:
        if executors > self.executors:
            self._executors.join(executors - self.executors, self.now)
            return
        leaving = self.executors - executors
        self._executors.leave(leaving, self.now)
        # What moves to new executors is loaded when they begin to work, what moves to old ones with the next batch.
        self._reload += self.plant.state_reload * leaving / self.executors
        if self._batch:
            self._go_on(self._batch)


def _new_share(working: Sequence[Executor]) -> float:
    return sum(not executor.worked for executor in working) / len(working)
