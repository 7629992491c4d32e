"""A batch of a streaming query that was committed, as the agent in the driver tells of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchReport:
    """When a batch began, in seconds, how long it took, and the executors that worked on it.

    `cold` says that one of them had not worked before.
    """

    start: float
    seconds: float
    rows: float
    executors: int
    cold: bool = False

    @property
    def end(self) -> float:
        """When it was committed."""
        return self.start + self.seconds
