"""What a committed batch cost, and whether it ran on executors that were new; values only.

The first batch of a new process loads classes and compiles code, and the whole batch waits for it. So a batch
is cold while one of its executors has not been there for the whole of an earlier one with rows. The driver counts as an
executor that begins with the program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sluice.agent.progress import Progress, SourceProgress

MOST_KEPT = 60
"""Batches of a query; at one a second those of the last minute."""

DRIVER = "driver"


@dataclass(frozen=True)
class Batch:
    """One committed batch; executors are those that could be given tasks when it ended.

    `offsets` are those that it read, which a limit of rows counts; None if a source does not count rows.
    """

    id: int
    started_at: float
    duration: float
    rows: float
    executors: int
    cold: bool
    processed_rows_per_second: float | None
    offsets: float | None = None


@dataclass(frozen=True)
class Crew:
    """The executors of a driver: since when each is there, and since when it is warm."""

    joined: Mapping[str, float] = field(default_factory=lambda: {DRIVER: 0.0})
    warm: Mapping[str, float] = field(default_factory=dict)

    def with_executors(self, joined: Mapping[str, float]) -> Crew:
        """Note who can be given tasks now; an id is never given twice, and its first time counts."""
        known = {id: self.joined.get(id, since) for id, since in joined.items()}
        ids = {DRIVER, *known}
        warm = {id: since for id, since in self.warm.items() if id in ids}
        return replace(self, joined={DRIVER: self.joined[DRIVER], **known}, warm=warm)

    def with_batch(self, progress: Progress) -> Crew:
        """Note a committed batch: it warmed whoever was there when it began, if there was work."""
        # The first one of a stream that is read from its latest offsets on is empty.
        if progress.rows <= 0:
            return self
        end = progress.committed_at
        present = (id for id, since in self.joined.items() if since <= progress.timestamp)
        warmed = {id: min(end, self.warm.get(id, end)) for id in present}
        return replace(self, warm={**self.warm, **warmed})

    def batch_of(self, progress: Progress) -> Batch:
        """Describe a committed batch."""
        return Batch(
            id=progress.batch_id,
            started_at=progress.timestamp,
            duration=progress.duration,
            rows=progress.rows,
            executors=len(self.joined) - 1,
            cold=any(not self._is_warm(id, progress.timestamp) for id in self.joined),
            processed_rows_per_second=progress.processed_rows_per_second,
            offsets=offsets_of(progress.sources),
        )

    def _is_warm(self, id: str, instant: float) -> bool:
        return id in self.warm and self.warm[id] <= instant


def rows_once(progress: Progress) -> float:
    """Return the rows of a trigger, each once: Spark counts them again for each time that its plan reads a source,
    or that `foreachBatch` does.
    """
    told = offsets_of(progress.sources)
    return progress.rows if told is None else min(progress.rows, told)


def offsets_of(sources: Sequence[SourceProgress]) -> float | None:
    """Return how many offsets a trigger has read; None where a source does not count rows, or tells no start."""
    spans = [
        source.end - source.start + source.joined.rows
        for source in sources
        if source.start is not None and source.end is not None
    ]
    return sum(spans) if spans and len(spans) == len(sources) and min(spans) >= 0 else None
