"""A batch of a streaming query that was committed, as the agent in the driver tells of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchReport:
    """When a batch began, in seconds, how long it took, and the executors that worked on it.

    `cold` says that one of them had not worked before. `offsets` are those that it read, where they are not its rows:
    a compacted topic has gaps. A limit of rows counts them. `interval` are the seconds since the batch before began,
    in which its rows came; None where that is not known.
    """

    start: float
    seconds: float
    rows: float
    executors: int
    cold: bool = False
    offsets: float | None = None
    interval: float | None = None

    @property
    def end(self) -> float:
        """When it was committed."""
        return self.start + self.seconds

    @property
    def read(self) -> float:
        """What a limit of its rows would have counted."""
        return self.rows if self.offsets is None else self.offsets
