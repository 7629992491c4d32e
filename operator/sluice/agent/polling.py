"""The agent's loop: once a second, read what is new in Spark and publish a new snapshot.

Polling is the base, not a listener: Spark keeps the last hundred progresses of each query, so nothing is
lost, no callback server is started in the user's process, and the end of a query is seen as well.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sluice.agent import checkpoints, executors, kafka, logs, progress, reading
from sluice.agent.latency import Timing
from sluice.agent.leaving import Leaving
from sluice.agent.progress import Progress
from sluice.agent.reading import Query
from sluice.agent.records import Failure, Look, Record, StateLayout
from sluice.agent.snapshot import RUNNING, STARTING, Snapshot
from sluice.agent.spark import Spark
from sluice.agent.staff import Staff

PERIOD_SECONDS = 1.0
SELDOM = 5
"""What changes slowly, or costs many calls of Java, is asked once in so many polls."""

PATIENCE_SECONDS = 30.0
"""How long a committed batch waits for the timestamps of its records."""

_MOST_ENDED_RECORDS = 100
_STALE_AFTER_SECONDS = 30.0


class Poller:
    """Owns the snapshot; only its lock's holder replaces it."""

    def __init__(
        self, spark: Spark, snapshot: Snapshot, now: Callable[[], float] = time.time
    ) -> None:
        self._spark = spark
        self._now = now
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._staff = Staff()
        self._leaving = Leaving()
        self._checkpoints = checkpoints.Reader()
        self._polls = 0
        self._failure_logged = ""
        self._timings: queue.SimpleQueue[Timing] = queue.SimpleQueue()
        self._looks: queue.SimpleQueue[Look] = queue.SimpleQueue()
        self.snapshot = snapshot

    def start(self) -> None:
        """Poll in a daemon thread until the process ends."""
        threading.Thread(target=self._loop, name="sluice-agent-poller", daemon=True).start()

    def end(self) -> None:
        """Ask nothing more of Spark: its context is about to stop."""
        self._ended.set()

    def is_alive(self) -> bool:
        """Tell whether the loop still turns."""
        return self._now() - self.snapshot.taken_at < _STALE_AFTER_SECONDS

    def begin(self) -> None:
        """Begin with the program, which may have waited for the Lease: that is no part of its start."""
        with self._lock:
            self.snapshot = replace(self.snapshot, phase=STARTING, started_at=self._now())

    def set_phase(self, phase: str) -> None:
        """Move on in the life of the job."""
        with self._lock:
            self.snapshot = replace(self.snapshot, phase=phase)

    def set_target(self, target: int | None) -> None:
        """Note how many executors were asked for."""
        with self._lock:
            wanted = replace(self.snapshot.executors, target=target)
            self.snapshot = replace(self.snapshot, executors=wanted)

    def note_retired(self, context: Any, ids: Sequence[str]) -> None:
        """Note executors that get no more tasks; they are ended when they may be."""
        self._leaving.begin(context, ids)

    def deliver(self, found: Timing | Look) -> None:
        """Take the timing of a batch or a look at a source, for the next snapshot; from any thread."""
        if isinstance(found, Look):
            self._looks.put(found)
        else:
            self._timings.put(found)

    def poll(self) -> None:
        """Take a new snapshot."""
        registered = self._registered()
        # A look is older than what a trigger tells of after it.
        records = self._timed(self._records(self._looked()))
        self._polls += 1
        with self._lock:
            before = self.snapshot
            started, now = bool(records) and before.phase == STARTING, self._now()
            self.snapshot = replace(
                before,
                taken_at=now,
                phase=RUNNING if started else before.phase,
                running_at=now if started else before.running_at,
                application=self._spark.application(),
                executors=replace(
                    before.executors,
                    ids=registered,
                    task_seconds=self._staff.task_seconds,
                    work=self._staff.work,
                    tasks=self._staff.tasks,
                ),
                records=records,
            )
        context = self._spark.context()
        if context is not None:
            self._leaving.see_off(context)

    def _loop(self) -> None:
        while not self._ended.wait(PERIOD_SECONDS):
            try:
                self.poll()
            except Exception as error:  # noqa: BLE001  # Spark may be going down; the next poll tells
                self._survive(error)

    def _survive(self, error: Exception) -> None:
        with self._lock:
            self.snapshot = replace(self.snapshot, taken_at=self._now())
        text = repr(error)[:500]
        if not self._ended.is_set() and type(error).__name__ != self._failure_logged:
            self._failure_logged = type(error).__name__
            logs.write("warning", "Spark could not be read; trying again each second", error=text)

    def _registered(self) -> tuple[str, ...]:
        context = self._spark.context()
        if context is None:
            return ()
        if not self._staff.is_of(context):
            self._staff.join(context)
            self.set_target(executors.initial_target(context, self.snapshot.settings.executors))
        elif self._polls % SELDOM and not self._staff.has_changed():
            return self.snapshot.executors.ids
        return self._staff.look(self._now())

    def _looked(self) -> tuple[Record, ...]:
        looks = [self._looks.get() for _ in range(self._looks.qsize())]
        return tuple(_with_looks(record, looks) for record in self.snapshot.records)

    def _records(self, known: tuple[Record, ...]) -> tuple[Record, ...]:
        exit_code = self._spark.jvm_exit_code()
        if exit_code is not None:
            return tuple(_lost(record, exit_code, self._now()) for record in known)
        records = {record.label: record for record in known}
        all_run = self._spark.learn_queries()
        queries = self._spark.queries()
        reports = self._spark.new_reports(queries)
        for query in queries:
            record = _record_of(query, records, self._now())
            records.pop(record.label, None)  # the latest to run come last
            report = reports.get(query.run_id)
            if report is not None:  # so it lives, and is not stuck in a batch
                record = self._with_newest(query, record, progress.parse(report))
            else:
                record = self._with_silence(query, record, all_run)
            record = _with_replaced(query, _with_pace(query, record))
            records[record.label] = self._with_checkpoint(query, record)
        return _without_oldest_ended(tuple(records.values()))

    def _with_silence(self, query: Query, record: Record, all_run: bool) -> Record:
        """Find out why a query reports nothing: it works, it waits, or it is over."""
        if all_run or query.java.isActive():
            if self._polls % SELDOM:
                return record
            return record.with_activity(reading.activity_of(query.java), self._now())
        last = reading.last_progress(query.java)  # the last word, spoken since we looked
        record = record if last is None else self._with_newest(query, record, last)
        ended = record.with_end(reading.failure_of(query.java), self._now())
        # Not before it is told: if Java does not answer just now, the next poll asks again.
        self._spark.forget(query.run_id)
        self._checkpoints.forget(query.run_id)
        return ended

    def _with_newest(self, query: Query, record: Record, newest: Progress) -> Record:
        for trigger in reading.new_progress(query.java, newest, record.last):
            record = record.with_progress(trigger)
            if trigger.is_batch:
                record = record.with_recent(self._staff.batch(trigger))
        return _with_settings(query, record)

    def _with_checkpoint(self, query: Query, record: Record) -> Record:
        jvm = self._staff.jvm()
        if jvm is None or not record.active:
            return record
        batch = record.last_batch
        has_batch = batch is not None and batch.run_id == query.run_id
        known = self._checkpoints.of(query, jvm, has_batch)
        return record if known is record.checkpoint else replace(record, checkpoint=known)

    def _timed(self, records: tuple[Record, ...]) -> tuple[Record, ...]:
        found = (self._timings.get() for _ in range(self._timings.qsize()))
        # By identity: queries are many, and to look for the batches of all of them in each adds up.
        timings = {id(timing.batch): timing for timing in found}
        horizon = self._now() - PATIENCE_SECONDS
        return tuple(_with_timings(record, timings, horizon) for record in records)


def _record_of(query: Query, records: dict[str, Record], now: float) -> Record:
    """Find the record of a run: its own, else an ended one of the same query, else a new one."""
    for record in records.values():
        if record.run_id == query.run_id:
            return record
    ended = [record for record in records.values() if not record.active]
    for record in ended:
        if record.id == query.id:
            return record.with_run(query.id, query.run_id, now, query.trigger)
    for record in ended:
        if record.label == query.name:
            return record.with_run(query.id, query.run_id, now, query.trigger)
    # Two sessions may each run a query of that name.
    labels = (query.name or query.id, query.id, query.run_id)
    label = next(label for label in labels if label not in records)
    return Record(
        label=label,
        name=query.name,
        id=query.id,
        run_id=query.run_id,
        started_at=now,
        trigger=query.trigger,
    )


def _with_settings(query: Query, record: Record) -> Record:
    """Read once in each run what its batches will not change."""
    batch = record.last_batch
    if batch is None or batch.run_id != query.run_id:
        return record
    if query.pace is None:
        query.pace = reading.pace_of(query.java)
        record = replace(record, longest_wait=kafka.longest_wait(query.java))
    if record.layout is None and batch.state:
        seen = StateLayout(batch.state.partitions, batch.state.provider)
        return replace(record, layout=reading.state_layout(query.java) or seen)
    return record


def _with_pace(query: Query, record: Record) -> Record:
    """Follow a pace that was changed while the query ran."""
    return record if query.pace is record.pace else replace(record, pace=query.pace)


def _with_replaced(query: Query, record: Record) -> Record:
    """Tell what a profile has taken from a run; that is known just after the run itself."""
    return record if query.replaced is record.replaced else replace(record, replaced=query.replaced)


def _with_looks(record: Record, looks: list[Look]) -> Record:
    for look in looks:
        record = record.with_look(look)
    return record


def _with_timings(record: Record, timings: Mapping[int, Timing], horizon: float) -> Record:
    if not record.latency.waiting:
        return record
    latency = record.latency
    for batch in latency.waiting:
        if id(batch) in timings:
            latency = latency.with_timing(timings[id(batch)])
    return replace(record, latency=latency.with_patience_until(horizon))


def _lost(record: Record, exit_code: int, now: float) -> Record:
    """End a query whose JVM is gone; nobody is left to say why."""
    message = f"the JVM of the Spark driver ended with exit code {exit_code}"
    failure = Failure("DRIVER_JVM_LOST", message)
    return record.with_end(failure, now) if record.active else record


def _without_oldest_ended(records: tuple[Record, ...]) -> tuple[Record, ...]:
    """Bound the memory of a program that starts queries for ever."""
    ended = [record for record in records if not record.active]
    dropped = {record.label for record in ended[: max(0, len(ended) - _MOST_ENDED_RECORDS)]}
    return tuple(record for record in records if record.label not in dropped)
