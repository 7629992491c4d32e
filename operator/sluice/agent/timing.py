"""Time committed batches by their records' timestamps, in a thread of its own that may wait for brokers.

Each batch asks for the instants that lie a bucket's bound before its commit, from the newest back to its
oldest row, but for none near an instant that is known. How near that is grows with the number of sources,
so that the whole driver asks for a few instants a second, whatever runs in it. A source whose brokers do
not answer, or whose connector is unknown, is left to the arrival curve and tried again after a pause.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from sluice.agent import logs
from sluice.agent.histogram import Histogram
from sluice.agent.latency import Committed, Timing
from sluice.agent.records import Record
from sluice.agent.timeline import AGES, Offsets, Timeline

PERIOD_SECONDS = 1.0
LOOKUPS_PER_SECOND = 8.0
PAUSE_SECONDS = 60.0

SETTLED_AFTER_SECONDS = 1.0
"""Producers send records some time after they stamped them; an instant is asked for when those are there."""


class OffsetsByTime(Protocol):
    """A source that knows its offsets at an instant."""

    def at(self, instant: float) -> Offsets:
        """Return the first offset of each partition that is not older."""

    def close(self) -> None:
        """Let go of it."""


class Timekeeper:
    """Looks up what the waiting batches of all queries need, and hands out their timings."""

    def __init__(
        self,
        records: Callable[[], Iterable[Record]],
        open_source: Callable[[str, str], OffsetsByTime],
        deliver: Callable[[Timing], None],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._records = records
        self._open_source = open_source
        self._deliver = deliver
        self._now = now
        self._sources: dict[tuple[str, str], _Source] = {}
        self._ended = threading.Event()

    def start(self) -> None:
        """Look up in a daemon thread until the process ends."""
        threading.Thread(target=self._loop, name="sluice-agent-timing", daemon=True).start()

    def end(self) -> None:
        """Ask nothing more: Spark is about to stop."""
        self._ended.set()

    def turn(self) -> None:
        """Time the batches that wait, and forget the sources of queries that ended."""
        records = tuple(self._records())
        waiting = self._waiting(records)
        self._forget_all_but({run for run, _ in waiting} | {r.run_id for r in records if r.active})
        spacing = len(waiting) / LOOKUPS_PER_SECOND
        for key, batches in waiting.items():
            source = self._sources.setdefault(key, _Source(key[1]))
            for timing in self._timings(source, batches, spacing):
                self._deliver(timing)

    def _loop(self) -> None:
        while not self._ended.wait(PERIOD_SECONDS):
            try:
                self.turn()
            except Exception as error:  # noqa: BLE001  # the program must not notice; batches lose patience
                logs.write("error", "The agent failed to time batches", error=repr(error)[:500])

    def _waiting(self, records: Iterable[Record]) -> dict[tuple[str, str], list[Committed]]:
        waiting: dict[tuple[str, str], list[Committed]] = {}
        settled = self._now() - SETTLED_AFTER_SECONDS
        for batch in (batch for record in records for batch in record.latency.waiting):
            source = self._sources.get((batch.run_id, batch.source))
            is_done = source is not None and batch.batch_id <= source.done
            if batch.committed_at <= settled and not is_done:
                waiting.setdefault((batch.run_id, batch.source), []).append(batch)
        return waiting

    def _timings(
        self, source: _Source, batches: list[Committed], spacing: float
    ) -> Iterator[Timing]:
        for batch in batches:
            source.done = batch.batch_id
            yield Timing(batch, self._ages(source, batch, spacing))

    def _ages(self, source: _Source, batch: Committed, spacing: float) -> Histogram:
        if self._now() < source.try_again_at or self._ended.is_set():
            return Histogram()
        try:
            if source.reader is None:
                source.reader = self._open_source(batch.run_id, batch.source)
            return source.ages(source.reader, batch, spacing)
        except Exception as error:  # noqa: BLE001  # Kafka and Spark may fail in any way
            source.fail(self._now() + PAUSE_SECONDS)
            if not self._ended.is_set():
                logs.write(
                    "warning",
                    "Timestamps of records cannot be looked up; latency is estimated from arrivals",
                    source=batch.source,
                    error=repr(error)[:500],
                    next_try_seconds=PAUSE_SECONDS,
                )
            return Histogram()

    def _forget_all_but(self, runs: set[str]) -> None:
        for key in [key for key in self._sources if key[0] not in runs]:
            self._sources.pop(key).close()


class _Source:
    """One source of one run of a query: its reader, and what is known of its past."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.reader: OffsetsByTime | None = None
        self.done = -1
        self.try_again_at = 0.0
        self._timeline = Timeline()

    def ages(self, reader: OffsetsByTime, batch: Committed, spacing: float) -> Histogram:
        """Look up what the batch needs, from its commit back, and time it."""
        for age in AGES:
            instant = batch.committed_at - age
            if not self._timeline.knows(instant, age, spacing):
                self._timeline = self._timeline.with_offsets(instant, reader.at(instant))
            if not self._timeline.is_older_than(batch, age):
                break
        ages = self._timeline.ages(batch)
        self._timeline = self._timeline.from_batch_on(batch)
        return ages

    def fail(self, try_again_at: float) -> None:
        """Begin anew at a later time."""
        self.close()
        self.reader, self._timeline, self.try_again_at = None, Timeline(), try_again_at

    def close(self) -> None:
        """Close the reader, however that goes."""
        try:
            if self.reader is not None:
                self.reader.close()
        except Exception as error:  # noqa: BLE001  # its JVM may be gone
            logs.write("debug", "A Kafka client did not close", error=repr(error)[:500])
