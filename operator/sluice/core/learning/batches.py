"""A batch of a streaming query that was committed, as the agent in the driver tells of it."""

from dataclasses import dataclass

LEAST_WORK = 0.1
"""The share of a batch in which something is done at least, whatever is known of the partitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchReport:
    """When a batch began, in seconds, how long it took, and the executors that worked on it.

    `cold` says that one of them had not worked before. `offsets` are those that it read, where they are not its rows:
    a compacted topic has gaps. A limit of rows counts them. `interval` are the seconds since the batch before began,
    in which its rows came; None where that is not known. In `waited` seconds of it tasks did nothing, by what is known
    of the partitions that they read.
    """

    start: float
    seconds: float
    rows: float
    executors: int
    cold: bool = False
    offsets: float | None = None
    interval: float | None = None
    waited: float = 0.0

    @property
    def end(self) -> float:
        """When it was committed."""
        return self.start + self.seconds

    @property
    def read(self) -> float:
        """What a limit of its rows would have counted."""
        return self.rows if self.offsets is None else self.offsets

    @property
    def worked(self) -> float:
        """The seconds in which it did something."""
        return max(self.seconds - self.waited, LEAST_WORK * self.seconds)
