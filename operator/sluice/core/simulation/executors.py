"""The executors of a simulated job: pending, starting, cold until they have worked once, and paid for all the time.

One that joins others gets less than its share of the work at first, because state stays where it is. Durations are
drawn around the plant's medians.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sluice.core.simulation.plant import Plant


@dataclass(slots=True, kw_only=True, eq=False)
class Executor:
    """From when it is paid for and can work, whether it joined others, has worked, and when its first batch ended.

    `crowd` counts the executors of which that batch was the first one.
    """

    billed_from: float
    ready: float
    joined: bool
    worked: bool = False
    proven: float | None = None
    crowd: int = 0


@dataclass
class Chance:
    """What is not the same each time, from a seed."""

    plant: Plant
    seed: int | tuple[int, ...]
    _numbers: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self._numbers = np.random.default_rng(self.seed)

    def duration(self, median: float) -> float:
        """A duration of the plant; what takes no time never does."""
        return median * self.factor(self.plant.spread) if median else 0.0

    def factor(self, spread: float) -> float:
        """A number around 1 whose logarithm has a spread."""
        return math.exp(self._numbers.normal(0.0, spread))


@dataclass
class Executors:
    """All that there are, the oldest first, and the price of those that are gone."""

    plant: Plant
    chance: Chance
    present: list[Executor] = field(default_factory=list)
    spent: float = 0.0

    def ready(self, now: float) -> list[Executor]:
        """Those that can work."""
        return [executor for executor in self.present if executor.ready <= now]

    def next_ready(self, after: float) -> float:
        """When the next one can work that could not at a moment."""
        return min(
            (executor.ready for executor in self.present if executor.ready > after),
            default=math.inf,
        )

    def first_ready(self) -> float:
        """When the first one can work, or could."""
        return min(executor.ready for executor in self.present)

    def price(self, now: float) -> float:
        """Executor-seconds so far."""
        return self.spent + sum(max(0.0, now - executor.billed_from) for executor in self.present)

    def renew(self, count: int, now: float, ready: float) -> None:
        """Let all go, and have others that can work from a moment on."""
        self._let_go(self.present, now)
        self.present = [Executor(billed_from=now, ready=ready, joined=False) for _ in range(count)]

    def resize_before_start(self, count: int, now: float, ready: float) -> None:
        """Have another number of those that have not started yet."""
        self._let_go(self.present[count:], now)
        more = range(count - len(self.present))
        self.present = self.present[:count] + [
            Executor(billed_from=now, ready=ready, joined=False) for _ in more
        ]

    def join(self, count: int, now: float) -> None:
        """Ask for more beside those that there are."""
        for _ in range(count):
            runs = now + self.chance.duration(self.plant.pending)
            ready = runs + self.chance.duration(self.plant.start)
            self.present.append(Executor(billed_from=runs, ready=ready, joined=True))

    def leave(self, count: int, now: float) -> None:
        """Decommission some: the youngest, which have the least state, or none."""
        self.present.sort(key=lambda executor: executor.ready)
        kept = len(self.present) - count
        self._let_go(self.present[kept:], now + self.plant.decommissioning)
        self.present = self.present[:kept]

    def lose_oldest(self, now: float) -> None:
        """Lose one, for which another one comes."""
        self._let_go([self.present.pop(0)], now)
        self.join(1, now)

    @property
    def unproven(self) -> int:
        """Those that have had no batch yet, started or not: all take their part of the processors."""
        return sum(executor.proven is None for executor in self.present)

    def prove(self, working: Sequence[Executor], now: float) -> None:
        """A batch of theirs has ended."""
        new = [executor for executor in working if executor.proven is None]
        for executor in new:
            executor.proven, executor.crowd = now, len(new)

    def capacity(self, working: Sequence[Executor], now: float) -> float:
        """Rows per second of those that work."""
        share = sum(self._share(executor, now) for executor in working)
        return self.plant.capacity(len(working), share * self.plant.cores)

    def cpu(self, work: float, now: float) -> float:
        """The processors' share that they take, of that of busy ones, when so much of their capacity is used."""
        working = self.ready(now)
        newness = sum(self._newness(executor, now) for executor in working) / len(working)
        resting = self.plant.resting
        return resting + (1 - resting) * work + self.plant.compiling * newness

    def _share(self, executor: Executor, now: float) -> float:
        return self._spread(executor, now) * self._speed(executor, now)

    def _spread(self, executor: Executor, now: float) -> float:
        """Of its part of the work, what it gets."""
        if not executor.joined:
            return 1.0
        since = max(0.0, now - executor.ready)
        return 1.0 - self.plant.unevenness * math.exp(-since / self.plant.spreading)

    def _speed(self, executor: Executor, now: float) -> float:
        """Of the speed that it will have."""
        if not self.plant.slowness:
            return 1.0
        crowded = self.plant.crowded(executor.crowd or self.unproven)
        return 1.0 - self.plant.slowness * crowded * self._newness(executor, now)

    def _newness(self, executor: Executor, now: float) -> float:
        """How much of its warming is still to come."""
        since = 0.0 if executor.proven is None else now - executor.proven
        return math.exp(-since / self.plant.warming)

    def _let_go(self, gone: Sequence[Executor], end: float) -> None:
        self.spent += sum(max(0.0, end - executor.billed_from) for executor in gone)
