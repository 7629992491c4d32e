"""How long tasks wait when they have read all that there is of a quiet partition.

Spark asks Kafka where a partition ends after each fetch of a task, and Kafka answers behind the consumer's next fetch,
which waits for the next row: for `fetch.max.wait.ms` at most, half a second by default. A task reads one partition, and
tasks go in waves. So a batch takes longer the fewer executors there are, and the fewer rows come, and all that time is
no work: it tells nothing of the capacity. Copies that read the past do not wait.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetching:
    """The partitions that a job reads, and the most seconds for which a task waits for the next row of its own."""

    partitions: int
    longest: float

    def __post_init__(self) -> None:
        if self.partitions < 1 or not 0 <= self.longest < math.inf:
            raise ValueError(
                f"{self}: a source has a partition, and no wait is negative or infinite"
            )

    def waited(self, slots: int, rate: float, rows: float) -> float:
        """The seconds of a batch of so many rows in which tasks wait, if so many of them run at once.

        So many rows per second come. A partition without a new row has no task.
        """
        tasks = math.ceil(min(max(0.0, rows), self.partitions))
        return -(-tasks // max(1, slots)) * self.of_task(rate)

    def usually_waited(self, slots: int, rate: float, rest: float) -> float:
        """The same of a batch with the rows that come during it, which takes so many seconds beside."""
        # What comes while tasks wait makes more tasks, which wait: rows = rate (rest + rows of_task / slots).
        growth = rate * self.of_task(rate) / max(1, slots)
        rows = rate * rest / (1 - growth) if growth < 1 else math.inf
        return self.waited(slots, rate, rows)

    def of_task(self, rate: float) -> float:
        """The seconds that one task waits on average, where the rows of a partition come at equal distances."""
        distance = self.partitions / rate if rate > 0 else math.inf
        if distance <= self.longest:
            return distance / 2
        return self.longest * (1 - self.longest / distance / 2)
