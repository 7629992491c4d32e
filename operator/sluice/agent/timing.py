"""Time committed batches by their records' timestamps, and look how many rows there are by now.

Both is asked of the brokers, in a thread of its own that may wait for them. Sources whose questions have the same
answers, as those of queries that read one topic, share a client and all that it was told: they are one topic here,
also where they subscribe to several. A trigger tells the newest offsets when its batch is committed, and a long batch
hides what arrives meanwhile: so each topic is looked at every few seconds, a few of them in each turn. Where it begins,
which moves as old rows expire, it is asked with one of many looks.

Each batch asks for the instants that lie a bucket's bound before its commit, from the newest back to its
oldest row, but for none near an instant that is known. How near that is grows with the number of topics,
and each topic then rests for as long as it was asked much, so that the whole driver asks for a few instants a
second, whatever runs in it. A topic whose brokers do not answer is asked again soon, within the patience of
its batches; one that cannot be opened, because this Spark has another connector, is left to the arrival curve.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from sluice.agent import joining, logs
from sluice.agent.histogram import Histogram
from sluice.agent.latency import Committed, Timing
from sluice.agent.offsets import Offsets
from sluice.agent.records import Look, Record
from sluice.agent.retention import Kept
from sluice.agent.timeline import AGES, Timeline

PERIOD_SECONDS = 1.0
LOOKUPS_PER_SECOND = 8.0
PAUSE_SECONDS = 5.0
_LONGEST_REST_SECONDS = 15.0

LOOK_SECONDS = 2.0
"""Between two looks at a topic."""

LOOKS_PER_TURN = 4

BEGINS_SECONDS = 60.0
"""Between two looks that ask where a topic begins, too; Kafka deletes each few minutes, by default."""

READY_AFTER_SECONDS, SETTLED_AFTER_SECONDS = 1.0, 30.0
"""Producers send records some time after they stamped them: an instant is asked for when most are there,
and asked for again until all are."""


Source = tuple[str, str]
"""A run of a query, and how it describes what it reads."""


class OffsetsByTime(Protocol):
    """A topic that knows its offsets at an instant.

    It equals those whose answers would be the same, and connects with its first question.
    """

    def at(self, instant: float) -> Offsets:
        """Return the first offset of each partition that is not older."""

    def ends(self) -> Offsets:
        """Return where each partition ends now."""

    def begins(self) -> Offsets:
        """Return where each partition begins now: what was before is deleted."""

    def close(self) -> None:
        """Let go of it."""


class Timekeeper:
    """Looks up what the waiting batches of all queries need, and how far the topics are; hands out both."""

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
        self._topics: dict[Source, _Topic] = {}
        self._ended = threading.Event()

    def start(self) -> None:
        """Look up in a daemon thread until the process ends."""
        threading.Thread(target=self._loop, name="sluice-agent-timing", daemon=True).start()

    def end(self) -> None:
        """Ask nothing more: Spark is about to stop."""
        self._ended.set()

    def turn(self) -> None:
        """Look at topics, time the batches that wait, and forget the sources of queries that ended."""
        records = tuple(self._records())
        self._forget_all_but(_runs(records))
        for look in self._looks(records):
            self._deliver(look)
        waiting = self._waiting(records)
        share = LOOKUPS_PER_SECOND / max(1, len(waiting))
        for topic, batches in waiting.items():
            for timing in self._timings(topic, batches, share):
                self._deliver(timing)

    def _loop(self) -> None:
        while not self._ended.wait(PERIOD_SECONDS):
            try:
                self.turn()
            except Exception as error:  # noqa: BLE001  # the program must not notice; batches lose patience
                logs.write("error", "The agent failed to time batches", error=repr(error)[:500])

    def _waiting(self, records: Iterable[Record]) -> dict[_Topic, list[Committed]]:
        waiting: dict[_Topic, list[Committed]] = {}
        ready = self._now() - READY_AFTER_SECONDS
        for batch in (batch for record in records for batch in record.latency.waiting):
            if batch.committed_at <= ready:
                topic = self._topic(_source_of(batch))
                if not topic.has_timed(batch):
                    waiting.setdefault(topic, []).append(batch)
        return waiting

    def _looks(self, records: Iterable[Record]) -> Iterator[Look]:
        """Look at those that were not looked at for longest; each look is one for all of a topic's sources."""
        now = self._now()
        sources: dict[_Topic, list[Source]] = {}
        read = _read_by(records)
        for source in read:
            sources.setdefault(self._topic(source), []).append(source)
        due = sorted((one for one in sources if one.is_due(now)), key=lambda one: one.looked_at)
        for topic in due[:LOOKS_PER_TURN]:
            ends, at = self._ends(topic), self._now()
            kept = self._kept(topic, ends)
            for source in sources[topic] if ends else ():
                # Where a topic begins that no batch has read yet is not known.
                rows = sum(joining.of_topics(ends, read[source]).values())
                yield Look(*source, at, float(rows), kept)

    def _ends(self, topic: _Topic) -> Offsets:
        topic.looked_at = self._now()
        return self._told(topic, topic.ends)

    def _kept(self, topic: _Topic, ends: Offsets) -> Kept | None:
        now = self._now()
        if not ends or _is_since(topic.begins_asked_at, BEGINS_SECONDS, now):
            return None
        topic.begins_asked_at = now
        begins = self._told(topic, topic.reader.begins)
        return Kept(begins, ends) if begins else None

    def _told(self, topic: _Topic, ask: Callable[[], Offsets]) -> Offsets:
        try:
            return ask()
        except Exception as error:  # noqa: BLE001  # Kafka and Spark may fail in any way
            self._pause(topic, error)
            return {}

    def _timings(
        self, topic: _Topic, batches: Sequence[Committed], lookups_per_second: float
    ) -> Iterator[Timing]:
        now = self._now()
        if topic.rests(now) or self._ended.is_set():
            return
        try:
            # Half of the lookups are for instants that were asked for before.
            lookups = topic.look_up(batches, 2 / lookups_per_second)
        except Exception as error:  # noqa: BLE001  # Kafka and Spark may fail in any way
            self._pause(topic, error)
            return
        for batch in batches:
            yield Timing(batch, topic.ages(batch))
        rest = min(lookups / lookups_per_second, _LONGEST_REST_SECONDS)
        topic.rest(now + rest, now - SETTLED_AFTER_SECONDS)

    def _topic(self, source: Source) -> _Topic:
        if source not in self._topics:
            self._topics[source] = self._opened(*source)
        return self._topics[source]

    def _opened(self, run_id: str, name: str) -> _Topic:
        """Return the topic that other sources share already, or else a new one."""
        try:
            reader = self._open_source(run_id, name)
            shared = (topic for topic in self._topics.values() if topic.reader == reader)
            return next(shared, None) or _Topic(name, reader)
        except Exception as error:  # noqa: BLE001  # py4j raises errors of many kinds for what is not there
            told = "Offsets cannot be looked up; latency is estimated, backlog that of the last trigger"
            self._warn(told, name, error)
            return _Topic(name, _Unknown())

    def _pause(self, topic: _Topic, error: Exception) -> None:
        topic.rests_until = self._now() + PAUSE_SECONDS
        if not topic.is_failing:
            topic.is_failing = True
            self._warn("Kafka does not tell offsets now; asking again", topic.name, error)

    def _warn(self, message: str, source: str, error: Exception) -> None:
        if not self._ended.is_set():
            # The text of an error from Java begins with its cause; its repr has only a handle.
            told = f"{type(error).__name__}: {error}"[:500]
            logs.write("warning", message, source=source, error=told)

    def _forget_all_but(self, runs: set[str]) -> None:
        for source in [source for source in self._topics if source[0] not in runs]:
            topic = self._topics.pop(source)
            topic.forget(source)
            if topic not in self._topics.values():
                topic.close()


def _runs(records: Iterable[Record]) -> set[str]:
    """Return the runs that go on, and those whose last batches wait."""
    waiting = (batch.run_id for record in records for batch in record.latency.waiting)
    return {*waiting, *(record.run_id for record in records if record.active)}


def _read_by(records: Iterable[Record]) -> dict[Source, Offsets]:
    """Return the sources of whose partitions the present runs have told, and how far each of these was read."""
    last = [(record.run_id, record.last) for record in records if record.active and record.last]
    return {
        (run_id, source.description): source.ends
        for run_id, trigger in last
        for source in trigger.sources
        if source.ends and trigger.run_id == run_id
    }


def _source_of(batch: Committed) -> Source:
    return batch.run_id, batch.source


class _Topic:
    """What sources share whose answers are the same: the reader, what is known of the past, how far each source is."""

    def __init__(self, name: str, reader: OffsetsByTime) -> None:
        self.name = name
        self.reader = reader
        self.rests_until = 0.0
        self.is_failing = False
        self.looked_at = -math.inf
        self.begins_asked_at = -math.inf
        self._timeline = Timeline()
        self._timed: dict[Source, Committed] = {}

    def rests(self, now: float) -> bool:
        """Tell whether it is to be asked nothing, for as long as the longest rest where the clock was set back."""
        return now < self.rests_until <= now + _LONGEST_REST_SECONDS

    def is_due(self, now: float) -> bool:
        """Tell whether it is time for another look; much asking of the past is no reason to wait."""
        is_paused = self.is_failing and self.rests(now)
        return not _is_since(self.looked_at, LOOK_SECONDS, now) and not is_paused

    def has_timed(self, batch: Committed) -> bool:
        """Tell whether the batch, or a later one of its source, was timed already."""
        last = self._timed.get(_source_of(batch))
        return last is not None and batch.batch_id <= last.batch_id

    def ends(self) -> Offsets:
        """Return where its partitions end now; nothing where that cannot be known."""
        ends = self.reader.ends()
        self.is_failing = False
        return ends

    def look_up(self, batches: Iterable[Committed], spacing: float) -> int:
        """Look up what the batches need, each from its commit back; return how many instants were asked for."""
        known = len(self._timeline.instants)
        # From the newest on, so that a batch which was committed soon after another has no end that is unknown.
        for batch in sorted(batches, key=lambda batch: batch.committed_at, reverse=True):
            for age in AGES:
                self._look_up(batch.committed_at - age, age, spacing)
                if not self._timeline.is_older_than(batch, age):
                    break
        self.is_failing = False
        return len(self._timeline.instants) - known

    def _look_up(self, instant: float, age: float, spacing: float) -> None:
        if not self._timeline.knows(instant, age, spacing):
            self._timeline = self._timeline.with_offsets(instant, self.reader.at(instant))

    def ages(self, batch: Committed) -> Histogram:
        """Time a batch by what was looked up."""
        self._timed[_source_of(batch)] = batch
        return self._timeline.ages(batch)

    def rest(self, until: float, settled: float) -> None:
        """Ask nothing for a while, and then anew for the instants that had not settled.

        Of the others, keep what the slowest source still needs.
        """
        self.rests_until = until
        slowest = _lowest(batch.ends for batch in self._timed.values())
        self._timeline = self._timeline.behind(slowest).until(settled)

    def forget(self, source: Source) -> None:
        """Keep nothing for a source that is gone."""
        self._timed.pop(source, None)

    def close(self) -> None:
        """Close the reader, however that goes."""
        try:
            self.reader.close()
        except Exception as error:  # noqa: BLE001  # its JVM may be gone
            logs.write("debug", "A Kafka client did not close", error=repr(error)[:500])


def _is_since(moment: float, seconds: float, now: float) -> bool:
    """Tell whether a moment lies so few seconds back; one that is yet to come was told by a clock that was set back."""
    return moment <= now < moment + seconds


def _lowest(offsets: Iterable[Offsets]) -> Offsets:
    """Return the lowest offset of each partition."""
    lowest: dict[str, int] = {}
    for one in offsets:
        for partition, offset in one.items():
            lowest[partition] = min(offset, lowest.get(partition, offset))
    return lowest


class _Unknown:
    """Stands for a topic that cannot be asked."""

    def at(self, _: float) -> Offsets:
        """Return nothing."""
        return {}

    def ends(self) -> Offsets:
        """Return nothing."""
        return {}

    def begins(self) -> Offsets:
        """Return nothing."""
        return {}

    def close(self) -> None:
        """Have nothing to let go of."""
