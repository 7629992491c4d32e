"""What a source keeps of its rows, and which of them it has deleted before a batch could read them; values only.

Kafka deletes the oldest rows of a partition, read or not. With `failOnDataLoss` off, Spark then commits their offsets
without a word; that is the only trace. So a batch which has fewer rows than offsets leaves a gap, until the source is
asked next where its partitions begin. Of the gap those offsets have expired that were before; the others never were
rows, but markers of transactions or what compaction has removed. And rows that were read in time are in no gap, though
they were deleted before anybody looked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from sluice.agent.offsets import Offsets
from sluice.agent.progress import SourceProgress


@dataclass(frozen=True)
class Kept:
    """Where the partitions of a topic begin, and where they end, at one instant."""

    begins: Offsets
    ends: Offsets

    def waiting(self, committed: Offsets) -> Iterator[float]:
        """Return the share of each partition that waits; nobody knows how much one keeps that has lost nothing yet."""
        for name, begin in self.begins.items():
            end = self.ends.get(name, begin)
            if 0 < begin < end and name in committed:
                yield min(1.0, max(0.0, (end - committed[name]) / (end - begin)))


@dataclass(frozen=True)
class Gap:
    """Offsets of successive batches, and how many of these came without a row."""

    starts: Offsets
    ends: Offsets
    rows: float

    def then(self, later: Gap) -> Gap:
        """Return this gap and a later one as one: it is bounded, however long nobody can be asked."""
        starts, ends = {**later.starts, **self.starts}, {**self.ends, **later.ends}
        return Gap(starts, ends, self.rows + later.rows)

    def expired(self, begins: Offsets) -> float:
        """Return the rows that were deleted before they were read, of partitions that begin there by now."""
        known = self.starts.keys() & self.ends.keys() & begins.keys()
        gone = sum(max(0, min(self.ends[name], begins[name]) - self.starts[name]) for name in known)
        return min(self.rows, float(gone))


@dataclass(frozen=True)
class Retention:
    """All that is known of a query's sources, each by its description; no count while none has told its beginning."""

    kept: Mapping[str, Kept] = field(default_factory=dict)
    gaps: Mapping[str, Gap] = field(default_factory=dict)
    expired_rows: float | None = None

    def with_batch(self, sources: Iterable[SourceProgress]) -> Retention:
        """Note the gaps that a batch leaves."""
        gaps = dict(self.gaps)
        for source in sources:
            gap = Gap(source.starts, source.ends, _missing(source))
            if gap.rows:
                before = gaps.get(source.description)
                gaps[source.description] = before.then(gap) if before else gap
        return replace(self, gaps=gaps)

    def with_kept(self, source: str, kept: Kept) -> Retention:
        """Take in what a source keeps, and count what has expired in its gap."""
        gaps = dict(self.gaps)
        gap = gaps.pop(source, None)
        expired = gap.expired(kept.begins) if gap else 0.0
        return Retention({**self.kept, source: kept}, gaps, (self.expired_rows or 0.0) + expired)

    def of_another(self) -> Retention:
        """Go on counting with other sources."""
        return Retention(expired_rows=self.expired_rows)

    def used(self, sources: Iterable[SourceProgress]) -> float | None:
        """Return the share of what is kept that waits behind these, in the partition where it is largest."""
        known = [source for source in sources if source.description in self.kept]
        shares = (share for one in known for share in self.kept[one.description].waiting(one.ends))
        return max(shares, default=None)


def _missing(source: SourceProgress) -> float:
    """Return how many offsets of a batch came without a row; the first batch of a query tells none that it began at.

    A sink that reads its batch several times hides as many as it has read again.
    """
    if source.start is None or source.end is None:
        return 0.0
    return max(0.0, source.end - source.start - source.rows)
