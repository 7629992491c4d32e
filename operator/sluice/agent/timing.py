"""Time committed batches by their records' timestamps, and look how many rows there are by now.

Both is asked of the brokers, in a thread of its own that may wait for them. A trigger tells the newest offsets when its
batch is committed, and a long batch hides what arrives meanwhile: so each source is looked at every few seconds, a few
of them in each turn.

Each batch asks for the instants that lie a bucket's bound before its commit, from the newest back to its
oldest row, but for none near an instant that is known. How near that is grows with the number of sources,
and each source then rests for as long as it asked much, so that the whole driver asks for a few instants a
second, whatever runs in it. A source whose brokers do not answer is asked again soon, within the patience of
its batches; one that cannot be opened, because this Spark has another connector, is left to the arrival curve.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from sluice.agent import logs
from sluice.agent.histogram import Histogram
from sluice.agent.latency import Committed, Timing
from sluice.agent.records import Look, Record
from sluice.agent.timeline import AGES, Offsets, Timeline

PERIOD_SECONDS = 1.0
LOOKUPS_PER_SECOND = 8.0
PAUSE_SECONDS = 5.0
_LONGEST_REST_SECONDS = 15.0

LOOK_SECONDS = 2.0
"""Between two looks at a source."""

LOOKS_PER_TURN = 4

READY_AFTER_SECONDS, SETTLED_AFTER_SECONDS = 1.0, 30.0
"""Producers send records some time after they stamped them: an instant is asked for when most are there,
and asked for again until all are."""


class OffsetsByTime(Protocol):
    """A source that knows its offsets at an instant."""

    def at(self, instant: float) -> Offsets:
        """Return the first offset of each partition that is not older."""

    def ends(self) -> Offsets:
        """Return where each partition ends now."""

    def close(self) -> None:
        """Let go of it."""


class Timekeeper:
    """Looks up what the waiting batches of all queries need, and how far the sources are; hands out both."""

    def __init__(
        self,
        records: Callable[[], Iterable[Record]],
        open_source: Callable[[str, str], OffsetsByTime],
        deliver: Callable[[Timing | Look], None],
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
        """Look at sources, time the batches that wait, and forget the sources of queries that ended."""
        records = tuple(self._records())
        waiting = self._waiting(records)
        self._forget_all_but({run for run, _ in waiting} | {r.run_id for r in records if r.active})
        for look in self._looks(records):
            self._deliver(look)
        share = LOOKUPS_PER_SECOND / max(1, len(waiting))
        for key, batches in waiting.items():
            for timing in self._timings(self._source(key), batches, share):
                self._deliver(timing)

    def _loop(self) -> None:
        while not self._ended.wait(PERIOD_SECONDS):
            try:
                self.turn()
            except Exception as error:  # noqa: BLE001  # the program must not notice; batches lose patience
                logs.write("error", "The agent failed to time batches", error=repr(error)[:500])

    def _waiting(self, records: Iterable[Record]) -> dict[tuple[str, str], list[Committed]]:
        waiting: dict[tuple[str, str], list[Committed]] = {}
        ready = self._now() - READY_AFTER_SECONDS
        for batch in (batch for record in records for batch in record.latency.waiting):
            source = self._sources.get((batch.run_id, batch.source))
            is_done = source is not None and batch.batch_id <= source.done
            if batch.committed_at <= ready and not is_done:
                waiting.setdefault((batch.run_id, batch.source), []).append(batch)
        return waiting

    def _looks(self, records: Iterable[Record]) -> Iterator[Look]:
        """Look at those that were not looked at for longest."""
        now = self._now()
        due = [key for key in _read_by(records) if self._source(key).is_due(now)]
        due.sort(key=lambda key: self._source(key).looked_at)
        for key in due[:LOOKS_PER_TURN]:
            look = self._look(key[0], self._source(key))
            if look is not None:
                yield look

    def _look(self, run_id: str, source: _Source) -> Look | None:
        source.looked_at = self._now()
        if not source.is_open:
            self._open(source, run_id)
        try:
            ends = source.ends()
        except Exception as error:  # noqa: BLE001  # Kafka and Spark may fail in any way
            self._pause(source, error)
            return None
        return Look(run_id, source.name, self._now(), float(sum(ends.values()))) if ends else None

    def _source(self, key: tuple[str, str]) -> _Source:
        return self._sources.setdefault(key, _Source(key[1]))

    def _timings(
        self, source: _Source, batches: list[Committed], lookups_per_second: float
    ) -> Iterator[Timing]:
        now = self._now()
        if now < source.rests_until or self._ended.is_set():
            return
        if not source.is_open:
            self._open(source, batches[0].run_id)
        lookups = source.lookups
        for batch in batches:
            try:
                # Half of the lookups are for instants that were asked for before.
                ages = source.ages(batch, 2 / lookups_per_second)
            except Exception as error:  # noqa: BLE001  # Kafka and Spark may fail in any way
                self._pause(source, error)
                return
            yield Timing(batch, ages)
        rest = (source.lookups - lookups) / lookups_per_second
        source.rest(now + min(rest, _LONGEST_REST_SECONDS), now - SETTLED_AFTER_SECONDS)

    def _open(self, source: _Source, run_id: str) -> None:
        try:
            source.open(self._open_source(run_id, source.name))
        except Exception as error:  # noqa: BLE001  # py4j raises errors of many kinds for what is not there
            source.open(None)
            told = "Offsets cannot be looked up; latency is estimated, backlog that of the last trigger"
            self._warn(told, source.name, error)

    def _pause(self, source: _Source, error: Exception) -> None:
        source.rests_until = self._now() + PAUSE_SECONDS
        if not source.is_failing:
            source.is_failing = True
            self._warn("Kafka does not tell offsets now; asking again", source.name, error)

    def _warn(self, message: str, source: str, error: Exception) -> None:
        if not self._ended.is_set():
            # The text of an error from Java begins with its cause; its repr has only a handle.
            told = f"{type(error).__name__}: {error}"[:500]
            logs.write("warning", message, source=source, error=told)

    def _forget_all_but(self, runs: set[str]) -> None:
        for key in [key for key in self._sources if key[0] not in runs]:
            self._sources.pop(key).close()


def _read_by(records: Iterable[Record]) -> list[tuple[str, str]]:
    """Return the sources of whose partitions the present runs have told, each once."""
    last = [(record.run_id, record.last) for record in records if record.active and record.last]
    found = [
        (run_id, source.description)
        for run_id, trigger in last
        for source in trigger.sources
        if source.ends and trigger.run_id == run_id
    ]
    return list(dict.fromkeys(found))


class _Source:
    """One source of one run of a query: its reader, and what is known of its past."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.done = -1
        self.rests_until = 0.0
        self.is_failing = False
        self.is_open = False
        self.lookups = 0
        self.looked_at = -math.inf
        self._reader: OffsetsByTime | None = None
        self._timeline = Timeline()

    def open(self, reader: OffsetsByTime | None) -> None:
        """Use a reader from now on, or none if there can be none."""
        self.is_open, self._reader = True, reader

    def is_due(self, now: float) -> bool:
        """Tell whether it is time for another look; much asking of the past is no reason to wait."""
        is_paused = self.is_failing and now < self.rests_until
        return now >= self.looked_at + LOOK_SECONDS and not is_paused

    def ends(self) -> Offsets:
        """Return where its partitions end now; nothing without a reader."""
        ends = {} if self._reader is None else self._reader.ends()
        self.is_failing = False
        return ends

    def ages(self, batch: Committed, spacing: float) -> Histogram:
        """Look up what the batch needs, from its commit back, and time it."""
        if self._reader is not None:
            for age in AGES:
                self._look_up(self._reader, batch.committed_at - age, age, spacing)
                if not self._timeline.is_older_than(batch, age):
                    break
        ages = self._timeline.ages(batch)
        self._timeline = self._timeline.from_batch_on(batch)
        self.done, self.is_failing = batch.batch_id, False
        return ages

    def _look_up(self, reader: OffsetsByTime, instant: float, age: float, spacing: float) -> None:
        if not self._timeline.knows(instant, age, spacing):
            self.lookups += 1
            self._timeline = self._timeline.with_offsets(instant, reader.at(instant))

    def rest(self, until: float, settled: float) -> None:
        """Ask nothing for a while, and then anew for the instants that had not settled."""
        self.rests_until = until
        self._timeline = self._timeline.until(settled)

    def close(self) -> None:
        """Close the reader, however that goes."""
        try:
            if self._reader is not None:
                self._reader.close()
        except Exception as error:  # noqa: BLE001  # its JVM may be gone
            logs.write("debug", "A Kafka client did not close", error=repr(error)[:500])
