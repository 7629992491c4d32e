"""What a simulated job is like: a frozen record of all that a run depends on, and a few of them by name.

Numbers of Spark plants are of the orders that were measured on a small cluster: a batch on a cold executor takes many
seconds however few rows it has, executors need 8 to 18 s until they have registered, a new driver 50 to 110 s to its
first commit, executors that joined a stateful query got a quarter of the tasks of the old one for a while. `phoebe` is
no Spark: it has the capacity, the outages and the latencies of the published Flink runs (phoebe.md 2.8 g, 5.11, 5.13),
whose records flow without batches, which a short trigger period, a limit of rows and a constant latency stand for.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from sluice.core.deciding.situation import Bounds
from sluice.core.modelling.downtime import NEXT_POD
from sluice.core.modelling.fetching import Fetching
from sluice.core.simulation.suites import PEAK


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant:
    """A job and its cluster. Durations are in seconds and the medians of what is drawn, rates in rows per second."""

    name: str
    bounds: Bounds
    peak: float
    """The rate that the highest point of a trace of the suites stands for."""
    latency: float
    """The bound that its owner promises for 95 % of the rows."""
    recovery: float = 180.0
    """The target of a recovery (phoebe.md 2.6)."""
    objective: float = 0.95
    """The share of the time in which that latency is to be kept."""

    task_rate: float
    """Rows per second of one task."""
    cores: int = 1
    tasks: int | None = None
    """Tasks of the slowest stage, its partitions; None divides the work as finely as there are slots."""
    skew: float = 1.0
    """How much larger the largest partition is than the mean."""
    contention: float = 0.0
    """The share of its work that a slot loses for each other slot."""

    overhead: float = 0.5
    """Of a batch, however few rows it has."""
    task_cost: float = 0.0
    """Of each task, however few rows it has. A stage with state has all its tasks in each batch."""
    fetch_wait: float = 0.0
    """That a task which has read all there is waits at most for the next row of its partition: Spark asks where that
    ends, and Kafka answers only after the consumer's next fetch, within fetch.max.wait.ms."""
    period: float = 0.0
    """Of the trigger; 0 starts a batch when the one before has ended."""
    most_rows: float | None = None
    """maxOffsetsPerTrigger."""
    floor: float = 0.0
    """Latency that every row has on top of its batch."""

    pending: float = 2.0
    """Until an executor's pod runs."""
    start: float = 12.0
    """From there until the executor has registered."""
    cold: float = 8.0
    """That the first batch on new executors takes longer."""
    crowding: float = 0.0
    """The share of that, and of slowness, for which they wait for each other where all share few processors: it is the
    less, the fewer are new at once, of the most that there can be."""
    slowness: float = 0.0
    """The share of its speed that an executor lacks after its first batch: what it runs is compiled step by step."""
    warming: float = 40.0
    """Until that has fallen to a third."""
    resting: float = 0.0
    """The share of the CPU of a busy executor that it takes without work, too."""
    compiling: float = 0.0
    """The CPU that a new executor takes beside that, as a multiple of that of a busy one; it fades as slowness does."""
    unevenness: float = 0.0
    """The share of its work that an executor does not get at first when it joins others."""
    spreading: float = 240.0
    """Until that has fallen to a third."""
    state_reload: float = 0.0
    """To load all state again; a rescale loads the part that moves."""
    decommissioning: float = 30.0
    """That a pod lives on when it is no longer used."""

    live: bool = True
    """Whether executors come and go without a restart."""
    restart: float = 45.0
    """Without a driver, when the operator restarts it."""
    driver_loss: float = 60.0
    """The same after a failure."""
    executor_loss: float = 8.0
    """That a batch takes longer when an executor dies in it."""
    checkpoint: float = 0.0
    """Between two checkpoints; what came since the last one is replayed after a failure. 0 commits each batch."""

    spread: float = 0.2
    """Of the logarithm of these durations."""
    noise: float = 0.05
    """Of the logarithm of a batch's duration."""
    measurement_noise: float = 0.02
    """Of the logarithm of a measured rate."""
    scrape_interval: float = 15.0
    scrape_delay: float = 2.0
    """From a measurement until it can be read."""

    @property
    def program(self) -> float:
        """Of a new driver, until its first query: what a restart takes beside the pod."""
        return max(0.0, self.restart - NEXT_POD)

    def crowded(self, new: int) -> float:
        """The share of `cold` and `slowness` that so many new executors have."""
        return 1 - self.crowding * (1 - new / self.bounds.largest)

    def capacity(self, executors: int, effective: float | None = None) -> float:
        """Rows per second of so many executors, whose work is spread over so many slots as are effective.

        With p equal tasks on c slots that is the staircase p / ceil(p / c) of phoebe.md 4.3.
        """
        slots = executors * self.cores
        busy = float(slots)
        if self.tasks is not None:
            waves = -(-self.tasks // slots)
            busy = self.tasks / (waves - 1 + self.skew)
        useful = min(busy, slots if effective is None else effective)
        return self.task_rate * useful / self.hindrance(executors)

    def fixed(self, executors: int, rate: float = math.inf) -> float:
        """Seconds that a batch takes beside its rows: tasks without any go in waves, too.

        So many rows per second come to a job that reads all there is. It need not wait for them behind a backlog.
        """
        slots = executors * self.cores
        found = self.overhead
        found += -(-(self.tasks or 0) // slots) * self.task_cost * self.hindrance(executors)
        if self.fetching is not None:
            found += self.fetching.usually_waited(slots, rate, max(self.period, found))
        return found

    @property
    def fetching(self) -> Fetching | None:
        """What its tasks wait for, if they do."""
        if self.tasks is None or not self.fetch_wait:
            return None
        return Fetching(partitions=self.tasks, longest=self.fetch_wait)

    def hindrance(self, executors: int) -> float:
        """How many times as long a task takes beside those of all slots as alone."""
        return 1 + self.contention * (executors * self.cores - 1)


STATELESS = Plant(
    name="spark-stateless",
    bounds=Bounds(smallest=1, largest=16),
    peak=40_000,
    latency=5.0,
    task_rate=4_000,
    most_rows=960_000,
    overhead=0.4,
    cold=6.0,
    driver_loss=50.0,
    restart=35.0,
)

STATEFUL = Plant(
    name="spark-stateful",
    bounds=Bounds(smallest=2, largest=24),
    peak=50_000,
    latency=10.0,
    task_rate=4_000,
    tasks=24,
    skew=1.15,
    most_rows=1_200_000,
    overhead=0.8,
    unevenness=0.6,
    state_reload=20.0,
    cold=8.0,
)

WIDE = Plant(
    name="spark-wide",
    bounds=Bounds(smallest=1, largest=24),
    peak=120_000,
    latency=15.0,
    recovery=300.0,
    task_rate=5_000,
    cores=2,
    tasks=48,
    contention=0.004,
    most_rows=3_000_000,
    overhead=1.0,
    period=5.0,
    unevenness=0.4,
    state_reload=30.0,
    cold=10.0,
    driver_loss=75.0,
    restart=55.0,
)

PARTITIONED = Plant(
    name="spark-partitioned",
    bounds=Bounds(smallest=1, largest=24),
    peak=50_000,
    latency=15.0,
    task_rate=4_000,
    tasks=200,
    task_cost=0.05,
    most_rows=2_400_000,
    overhead=0.8,
    unevenness=0.4,
    state_reload=20.0,
    cold=8.0,
)
"""State in as many partitions as Spark has unless it is told otherwise, each of which is a task of every batch."""

PHOEBE = Plant(
    name="phoebe",
    bounds=Bounds(smallest=2, largest=24),
    peak=PEAK,
    latency=2.0,
    task_rate=15_934,
    overhead=0.05,
    period=0.5,
    most_rows=1_500_000,
    floor=0.4,
    pending=0.0,
    start=0.0,
    cold=0.0,
    live=False,
    restart=60.0,
    driver_loss=124.0,
    executor_loss=124.0,
    checkpoint=10.0,
    spread=0.1,
    decommissioning=0.0,
)

PLANTS: Mapping[str, Plant] = {
    plant.name: plant for plant in (STATELESS, STATEFUL, WIDE, PARTITIONED, PHOEBE)
}
