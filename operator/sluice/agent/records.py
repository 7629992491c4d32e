"""What the agent knows of each query, folded from its progress; values only, no Spark and no clock.

A record is kept per query name, or id where it has none, across restarts of the query within the driver, so
that its counters never go back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from sluice.agent.arrivals import ArrivalCurve
from sluice.agent.batches import MOST_KEPT, Batch, rows_once
from sluice.agent.histogram import Histogram
from sluice.agent.latency import Committed, Latency
from sluice.agent.progress import Progress, SourceProgress
from sluice.agent.retention import Kept, Retention


@dataclass(frozen=True)
class Failure:
    """Why a query ended by itself."""

    error_class: str
    message: str


@dataclass(frozen=True)
class StateLayout:
    """How the checkpoint keeps the state, whatever the program asks for now, and whether its rows are counted."""

    partitions: int
    provider: str
    counts_rows: bool = True


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint at one instant: its newest committed batch, and what its newest offset file says."""

    location: str
    last_batch: int | None
    committed_at: float | None
    format_version: str | None
    settings: tuple[tuple[str, str], ...]


BATCHES, REAL_TIME, CONTINUOUS = "batches", "realTime", "continuous"
"""How a query processes: in batches, in batches that last as long as its trigger says, or in none at all."""


@dataclass(frozen=True)
class Trigger:
    """What a run's trigger says: how it processes, and its period or how long a batch lasts, if known."""

    processing: str = BATCHES
    seconds: float | None = None


@dataclass(frozen=True)
class Pace:
    """How often a run is triggered (0: as soon as possible) and how many rows a batch may have; None if unknown."""

    trigger_seconds: float | None
    most_rows: float | None


@dataclass(frozen=True)
class Replaced:
    """The sink that a query would have outside of its profile; a `lowerBound` has work that is not measured."""

    sink: str
    kind: str


@dataclass(frozen=True)
class Look:
    """How many rows a source of a run had at an instant, asked for outside of its triggers; seldom what it keeps."""

    run_id: str
    source: str
    at: float
    rows: float
    kept: Kept | None = None


@dataclass(frozen=True)
class Activity:
    """What a query does now, in Spark's words: work on a batch, wait, or ask for offsets, of the source in `asks`."""

    doing: str
    in_batch: bool = False
    asks: str | None = None


@dataclass(frozen=True)
class Asking:
    """A source that a query asks for its offsets, and since when it was seen to."""

    source: str
    since: float


@dataclass(frozen=True)
class Record:
    """One query: who it is, its last trigger and batch, and everything counted so far.

    Its sources have `curves` of what triggers saw, by which rows are counted and timed, and the same with what was
    `seen` since, which tells how it stands now. For the next row of Kafka a task waits for `longest_wait` seconds at
    most.
    """

    label: str
    name: str | None
    id: str
    run_id: str
    started_at: float
    trigger: Trigger = field(default_factory=Trigger)
    active: bool = True
    failure: Failure | None = None
    ended_at: float | None = None
    failures: int = 0
    last: Progress | None = None
    last_batch: Progress | None = None
    newest_event_time: float | None = None
    batches: int = 0
    recent: tuple[Batch, ...] = ()
    input_rows: float = 0.0
    output_rows: float | None = None
    arrived_rows: float | None = None
    curves: tuple[ArrivalCurve, ...] = ()
    seen: tuple[ArrivalCurve, ...] = ()
    durations: Histogram = field(default_factory=Histogram)
    latency: Latency = field(default_factory=Latency)
    retention: Retention = field(default_factory=Retention)
    layout: StateLayout | None = None
    pace: Pace | None = None
    longest_wait: float | None = None
    checkpoint: Checkpoint | None = None
    replaced: Replaced | None = None
    doing: str | None = None
    in_batch_since: float | None = None
    asking: Asking | None = None

    def with_progress(self, progress: Progress) -> Record:
        """Fold one trigger in; the triggers come in order."""
        record = self._with_arrivals(progress)
        return record._with_batch(progress) if progress.is_batch else record

    def with_look(self, look: Look) -> Record:
        """Take in how many rows a source has by now, and keeps; of another run it says nothing."""
        if self.last is None or self.last.run_id != look.run_id:
            return self
        seen = tuple(
            curve.with_look(look.at, look.rows, source.end)
            if source.description == look.source
            else curve
            for curve, source in self._sources()
        )
        kept, retention = look.kept, self.retention
        if kept is not None:
            retention = retention.with_kept(look.source, kept)
        return replace(self, seen=seen, retention=retention)

    def with_recent(self, batch: Batch) -> Record:
        """Keep what the newest batches cost."""
        return replace(self, recent=(*self.recent[1 - MOST_KEPT :], batch))

    def with_activity(self, activity: Activity, now: float) -> Record:
        """Note what the query does while it reports nothing new; a batch and a question keep their first sight."""
        since = (self.in_batch_since or now) if activity.in_batch else None
        asking = self.asking
        if asking is None or asking.source != activity.asks:
            asking = Asking(activity.asks, now) if activity.asks else None
        return replace(self, doing=activity.doing, in_batch_since=since, asking=asking)

    def with_run(
        self, id: str, run_id: str, started_at: float, trigger: Trigger | None = None
    ) -> Record:
        """Go on counting in a new run; another query under the same name has offsets of its own."""
        is_same = id == self.id
        return replace(
            self,
            id=id,
            run_id=run_id,
            started_at=started_at,
            trigger=trigger or Trigger(),
            active=True,
            failure=None,
            ended_at=None,
            curves=self.curves if is_same else (),
            seen=(self.seen or self.curves) if is_same else (),
            retention=self.retention if is_same else self.retention.of_another(),
            newest_event_time=None,
            layout=None,
            pace=None,
            longest_wait=None,
            checkpoint=None,
            replaced=None,
            doing=None,
            in_batch_since=None,
            asking=None,
        )

    def with_end(self, failure: Failure | None, at: float) -> Record:
        """Note that the run ended, when that was seen, and why if it was not stopped.

        What was counted stays, for the next run of the query. What waits behind a query that was stopped, or had
        nothing more to do, is not known any more; behind one that failed it waits on.
        """
        failed = failure is not None
        return replace(
            self,
            active=False,
            failure=failure,
            ended_at=at,
            failures=self.failures + failed,
            seen=self.seen if failed else (),
            doing=None,
            in_batch_since=None,
            asking=None,
        )

    @property
    def is_done(self) -> bool:
        """Whether the query has ended without an error, so that nothing is late with it."""
        return not self.active and self.failure is None

    @property
    def is_idle(self) -> bool:
        """Whether this run has looked at its sources, has found nothing to do, and does nothing since."""
        last = self.last if self.active and self.in_batch_since is None else None
        return last is not None and last.run_id == self.run_id and not last.is_batch

    def backlog_rows(self) -> float | None:
        """Return the rows at the sources that no committed batch has processed, by the newest sample of each."""
        return _sum(_waiting(curve.rows(), source) for curve, source in self._sources())

    def left_rows(self) -> float | None:
        """Return the rows that had arrived when the last trigger began and are not in its batch."""
        return _sum(_waiting(source.latest, source) for _, source in self._sources())

    def backlog_seconds(self, now: float) -> float | None:
        """Return the age of the oldest row of the backlog.

        Of one that was there before the first sample no more is known than that: it is older than the sample, and if
        rows have always arrived as fast as now, as old as the backlog over that rate.
        """
        backlog = self.backlog_rows()
        if not backlog:
            return backlog
        behind = [
            (curve, source.end or 0.0)
            for curve, source in self._sources()
            if _waiting(curve.rows(), source)
        ]
        at_latest = min(curve.time_of(row) or curve.samples[0][0] for curve, row in behind)
        is_older = any(curve.time_of(row) is None for curve, row in behind)
        rate = self._rate()
        guess = backlog / rate if is_older and rate else 0.0
        return max(0.0, now - at_latest, guess)

    def state_rows(self) -> int | None:
        """Return the rows of the state; where they are not counted, Spark tells 0."""
        size = self.last_batch.state if self.last_batch else None
        is_counted = self.layout is None or self.layout.counts_rows
        return size.rows if size is not None and is_counted else None

    @property
    def trigger_seconds(self) -> float | None:
        """Return the period of its trigger as it is set now, or how long each of its batches lasts; 0 for neither."""
        return self.trigger.seconds if self.pace is None else self.pace.trigger_seconds

    def partitions(self) -> int:
        """Return the partitions of Kafka that are read, as of the last trigger."""
        return sum(len(source.ends) for source in self.last.sources) if self.last else 0

    def retention_used(self) -> float | None:
        """Return the share of what the sources keep that waits, in the partition where it is largest."""
        return self.retention.used(self.last.sources) if self.last and not self.is_done else None

    def arrival_rows_per_second(self) -> float | None:
        """Return the growth of the sources, whether or not the rows were admitted; after the end nobody sees it."""
        return self._rate() if self.active else None

    def processed_rows_per_second(self) -> float | None:
        """Return the rows of the last batch per second of its duration, as long as others may follow."""
        batch = self.last_batch if self.active else None
        return batch.processed_rows_per_second if batch else None

    def event_time_lag_seconds(self, now: float) -> float | None:
        """Return the age of the newest event time."""
        newest = self.newest_event_time
        return None if newest is None or self.is_done else now - newest

    def watermark_lag_seconds(self, now: float) -> float | None:
        """Return the age of the watermark."""
        watermark = self.last.watermark if self.last else None
        return None if watermark is None or self.is_done else now - watermark

    def _rate(self) -> float | None:
        return _sum(curve.rate() for curve in self.seen)

    def _sources(self) -> list[tuple[ArrivalCurve, SourceProgress]]:
        """Return each source of the last trigger with its curve; a run of another query has none yet."""
        sources = self.last.sources if self.last and self.seen else ()
        return [(self.seen[index], source) for index, source in enumerate(sources)]

    def _with_arrivals(self, progress: Progress) -> Record:
        curves = self.curves
        if len(curves) != len(progress.sources):
            curves = tuple(ArrivalCurve() for _ in progress.sources)
        based = tuple(
            _with_joined(curves[index], source) for index, source in enumerate(progress.sources)
        )
        grown = tuple(
            _grown(based[index], progress.timestamp, source)
            for index, source in enumerate(progress.sources)
        )
        arrived = self.arrived_rows
        if grown and all(curve.samples for curve in grown):
            growth = sum(_growth(before, grown[index]) for index, before in enumerate(based))
            arrived = (arrived or 0.0) + growth
        return replace(
            self,
            last=progress,
            curves=grown,
            seen=self._seen_since(grown, progress),
            arrived_rows=arrived,
            in_batch_since=None,
            asking=None,
        )

    def _seen_since(
        self, curves: tuple[ArrivalCurve, ...], progress: Progress
    ) -> tuple[ArrivalCurve, ...]:
        """Add to what a trigger saw the looks that came after it: its batch has taken its time."""
        if len(self.seen) != len(curves):
            return curves
        return tuple(
            curves[index].with_looks_of(_with_joined(self.seen[index], source), source.end)
            for index, source in enumerate(progress.sources)
        )

    def _with_batch(self, progress: Progress) -> Record:
        output, newest = progress.output_rows, progress.event_time_max
        return replace(
            self,
            last_batch=progress,
            # A batch without rows, as one that only moves the watermark, says nothing of event times.
            newest_event_time=self.newest_event_time if newest is None else newest,
            latency=self._with_latencies(progress),
            retention=self.retention.with_batch(progress.sources),
            batches=self.batches + 1,
            input_rows=self.input_rows + rows_once(progress),
            output_rows=self.output_rows if output is None else (self.output_rows or 0.0) + output,
            durations=self.durations.observed(progress.duration, progress.duration),
        )

    def _with_latencies(self, progress: Progress) -> Latency:
        latency = self.latency
        if self.trigger.processing == REAL_TIME:
            # Readers see its rows long before the commit, nobody knows when.
            return latency
        for index, source in enumerate(progress.sources):
            batch = _committed(progress, source, self.curves[index])
            latency = latency.with_committed(batch) if batch.rows > 0 else latency
            latency = latency.with_untimed(source.joined.rows)
        return latency


def _waiting(rows: float | None, source: SourceProgress) -> float | None:
    """Return the rows behind the committed ones, of so many at a source."""
    return None if rows is None or source.end is None else max(0.0, rows - source.end)


def _sum(numbers: Iterable[float | None]) -> float | None:
    """Add up what is known of all; nothing, where it is not known of one."""
    found = list(numbers)
    known = [number for number in found if number is not None]
    return sum(known) if known and len(known) == len(found) else None


def _committed(progress: Progress, source: SourceProgress, curve: ArrivalCurve) -> Committed:
    start, end = _range(source)
    offsets = end - start
    # A sink may read a batch twice or not at all, so that Spark's count is of use only where it is less.
    counted = source.rows - source.joined.rows
    rows = counted if offsets <= 0 or 0 < counted < offsets else offsets
    estimate = Histogram()
    for stretch in curve.stretches(start, end):
        youngest, oldest = (
            progress.committed_at - stretch.end,
            progress.committed_at - stretch.begin,
        )
        estimate = estimate.observed(youngest, oldest, stretch.rows * rows / offsets)
    return Committed(
        run_id=progress.run_id,
        batch_id=progress.batch_id,
        source=source.description,
        committed_at=progress.committed_at,
        rows=rows,
        estimate=estimate,
        starts=source.starts or (dict.fromkeys(source.ends, 0) if start == 0 else {}),
        ends=source.ends,
    )


def _range(source: SourceProgress) -> tuple[float, float]:
    """Return the range of rows in the batch; the first batch of a query has no start offset."""
    if source.end is None:
        return 0.0, 0.0
    return (source.end - source.rows if source.start is None else source.start), source.end


def _with_joined(curve: ArrivalCurve, source: SourceProgress) -> ArrivalCurve:
    """Return the curve as if topics that have joined had always been there, for their rows have not arrived now.

    Where the newest offsets are not told, as of a batch that Spark does again, it begins anew.
    """
    if not source.joined.end:
        return curve
    return ArrivalCurve() if source.latest is None else curve.raised(source.joined.latest)


def _grown(curve: ArrivalCurve, time: float, source: SourceProgress) -> ArrivalCurve:
    return curve if source.latest is None else curve.with_sample(time, source.latest, source.start)


def _growth(before: ArrivalCurve, after: ArrivalCurve) -> float:
    """Return the rows that arrived between two states of a curve."""
    newest = after.samples[-1][1]
    return max(0.0, newest - before.samples[-1][1]) if before.samples else 0.0
