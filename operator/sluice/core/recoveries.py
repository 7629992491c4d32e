"""How long a job was away, measured: from what ended its driver until it has caught up, stage by stage.

    began      the driver ended, or was asked to stop
    detected   the operator saw it
    started    the container of the next driver ran
    connected  its Spark application was there
    committed  its first batch was committed: the downtime ends
    caught up  no more rows waited than usual, and went on so for `CALM` and until another batch was committed

A driver that fails before its first batch prolongs the same recovery: what counts is how long the stream was away.
After that batch another absence is another recovery, and an hour after it, a lag that is higher than before is the
usual one: with more load or fewer executors it may never be as low again. The recovery then never caught up.

Spark itself replaces a lost executor, so that is measured only of drills, whose driver goes on:

    detected   the operator saw it
    started    as many pods as were asked for ran again
    connected  as many executors were registered at the driver
    committed  a batch was committed since it was detected
    caught up  all of that, and no more rows waited than usual

How many rows wait rises and falls with each batch, by a trigger's period and more, and grows with the load. So what is
usual is the highest lag of late, in seconds of arrivals: the rows over those that arrive in a second. How long ago "of
late" is, the job's own batches tell: what was worked off many batches ago is not usual any more.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from sluice.core.drilling.records import VALID
from sluice.core.modelling.recovery import most_usual
from sluice.core.observations import AgentReport, Observed, QueryReport

KEPT = 5
"""Recoveries that are remembered."""

CALM = timedelta(seconds=10)
"""A job has caught up when its lag has been usual for so long, and until another batch was committed."""

LAG_UNTOLD = timedelta(seconds=60)
"""A lag that was known before is waited for so long after the first commit: a batch that is done again tells none."""

LONGEST_CATCHING_UP = timedelta(hours=1)
"""After so long with batches, a job is taken as it is: its lag is another one than before."""

HALVED = 5
"""The batches in which the highest lag so far is halved, so that an old peak does not stay usual."""

SHORTEST_RHYTHM, UNKNOWN_RHYTHM = timedelta(seconds=6), timedelta(minutes=1)
"""A batch that is shorter than the time between two looks counts as one of them; and what counts if none is known."""


class Cause(StrEnum):
    """What took the driver away."""

    DRIVER_LOSS = "DriverLoss"
    """It failed, was killed, or its queries did."""
    EXECUTOR_LOSS = "ExecutorLoss"
    """Nothing: a drill has killed an executor, and the driver goes on."""
    NODE_LOSS = "NodeLoss"
    """Its pod ended without a word of how."""
    SPEC_CHANGE = "SpecChange"
    """The operator stopped it to start it otherwise."""
    PLANNED_MOVE = "PlannedMove"
    """The operator stopped it because its node was to be emptied."""
    RESCALE = "Rescale"
    """The operator stopped it to start it with another number of executors."""


CHOSEN = frozenset({Cause.SPEC_CHANGE, Cause.RESCALE, Cause.PLANNED_MOVE})
"""What the operator does of its own accord, and could do later."""

LONGEST_RESTART = timedelta(minutes=10)
"""After so long, a restart that has not committed a batch holds up no other one any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """One of them; the moments that have not come are None, and of one that is past, never came.

    `incarnation` is the first driver that may end it. `usual_lag` was the highest one before, in seconds of arrivals;
    `calm_since` is when the lag came back to the usual. `drilled` is the incarnation that a drill has hit; 0 if it was
    no drill.
    """

    cause: Cause
    incarnation: int
    began: datetime
    detected: datetime
    started: datetime | None = None
    connected: datetime | None = None
    committed: datetime | None = None
    caught_up: datetime | None = None
    usual_lag: float = 0.0
    calm_since: datetime | None = None
    drilled: int = 0

    def seconds(self, moment: datetime | None) -> float | None:
        """From the beginning to a moment."""
        return None if moment is None else max(0.0, (moment - self.began).total_seconds())

    @property
    def downtime(self) -> float | None:
        """Seconds without a committed batch."""
        return self.seconds(self.committed)

    @property
    def total(self) -> float | None:
        """Seconds until it had caught up."""
        return self.seconds(self.caught_up)

    @property
    def keeps_driver(self) -> bool:
        """Whether only an executor was lost, and the driver that had it has gone on since."""
        return self.cause is Cause.EXECUTOR_LOSS and self.incarnation == self.drilled


@dataclass(frozen=True, slots=True, kw_only=True)
class Recoveries:
    """The present one, the last ones with the newest last, and how many there were.

    `usual_lag` is the highest lag of late, in seconds of arrivals, as of the report of `seen_at`; who takes over does
    not know when that was, and goes on from it.
    """

    present: Recovery | None = None
    past: tuple[Recovery, ...] = ()
    count: int = 0
    usual_lag: float = 0.0
    seen_at: datetime | None = None

    def begun(
        self, cause: Cause, incarnation: int, began: datetime, now: datetime, *, drilled: int = 0
    ) -> "Recoveries":
        """The driver before `incarnation` is gone; a recovery without a batch yet only waits for a later driver."""
        if self.present is not None and self.present.committed is None:
            again = replace(
                self.present,
                incarnation=max(self.present.incarnation, incarnation),
                started=None,
                connected=None,
            )
            return replace(self, present=again)
        before = self if self.present is None else self._ended(self.present)
        present = Recovery(
            cause=cause,
            incarnation=incarnation,
            began=min(began, now),
            detected=now,
            usual_lag=self.usual_lag,
            drilled=drilled,
        )
        return replace(before, present=present)

    def dropped(self) -> "Recoveries":
        """Nobody waits any more: the job was suspended."""
        return replace(self, present=None)

    def called_off(self, incarnation: int) -> "Recoveries":
        """The driver of that incarnation was to be replaced, and goes on after all."""
        present = self.present
        if present is None or present.incarnation <= incarnation:
            return self
        if present.cause in CHOSEN:
            return self.dropped()
        # A failure before it is what the job recovers from still.
        return replace(self, present=replace(present, incarnation=incarnation))

    def excuses(self, incarnation: int, at: datetime) -> bool:
        """Whether a drill has hit this driver of late, so that what ended it at a moment is no failure of its own."""
        known = self.past if self.present is None else (*self.past, self.present)
        # The driver's own end may have begun another recovery: it is looked at until its pod has gone.
        return any(
            0 < incarnation == one.drilled and one.caught_up is None and at - one.detected <= VALID
            for one in known
        )

    def seen(self, seen: Observed, now: datetime) -> "Recoveries":
        """What one look shows."""
        if self.present is None:
            return self if seen.report is None else self._with_lag_of(seen.report)
        present = _advanced(self.present, seen, now)
        if present.caught_up is None and not _has_another_lag(present, now):
            return replace(self, present=present)
        return self._ended(present)

    def _ended(self, recovery: Recovery) -> "Recoveries":
        past = (*self.past, replace(recovery, usual_lag=0.0, calm_since=None))[-KEPT:]
        return replace(self, present=None, past=past, count=self.count + 1)

    def _with_lag_of(self, report: AgentReport) -> "Recoveries":
        lag, last = _lag(report), self.seen_at or report.at
        if lag is None:
            return self
        passed = max(timedelta(0), report.at - last) / _rhythm(report)
        faded = self.usual_lag * 0.5 ** (passed / HALVED)
        return replace(self, usual_lag=max(lag, faded), seen_at=max(last, report.at))


def _has_another_lag(recovery: Recovery, now: datetime) -> bool:
    """Whether it will not catch up any more. Where the lag is usual, only the next batch is awaited, however long."""
    if recovery.committed is None or recovery.calm_since is not None:
        return False
    return now - recovery.committed >= LONGEST_CATCHING_UP


def _advanced(recovery: Recovery, seen: Observed, now: datetime) -> Recovery:
    driver, report = seen.driver, seen.report
    if recovery.keeps_driver:
        return _restaffed(recovery, seen, now)
    if driver is None or driver.incarnation < recovery.incarnation or driver.started is None:
        return recovery
    recovery = replace(recovery, started=recovery.started or driver.started)
    if report is None or report.incarnation != driver.incarnation:
        return recovery
    if recovery.committed is None:
        recovery = replace(recovery, committed=_first_commit(report, driver.started))
    if recovery.connected is None and report.application_id is not None:
        recovery = replace(recovery, connected=_connection(report, recovery.committed))
    if recovery.committed is None:
        return recovery
    return _calmed(recovery, report, now)


def _connection(report: AgentReport, committed: datetime | None) -> datetime:
    """When the application was there. A successor asks late: then no later than its first query, and first commit."""
    moments = (report.at, report.running_at, committed)
    return min(moment for moment in moments if moment is not None)


def _restaffed(recovery: Recovery, seen: Observed, now: datetime) -> Recovery:
    """The same for a lost executor of a driver that goes on."""
    driver, report = seen.driver, seen.report
    if driver is None or driver.incarnation != recovery.incarnation:
        return recovery
    if report is None or report.incarnation != driver.incarnation or report.target is None:
        return recovery
    if recovery.started is None and seen.executors_running >= report.target:
        recovery = replace(recovery, started=now)
    # What the agent told before the pod ran may be of executors that Spark had not missed yet.
    if recovery.connected is None and recovery.started is not None and report.at > recovery.started:
        is_staffed = (report.registered or 0) >= report.target
        recovery = replace(recovery, connected=report.at if is_staffed else None)
    if recovery.committed is None:
        recovery = replace(recovery, committed=_commit_since(report, recovery.detected))
    if recovery.connected is None or recovery.committed is None:
        return replace(recovery, calm_since=None)
    return _calmed(recovery, report, now)


def _calmed(recovery: Recovery, report: AgentReport, now: datetime) -> Recovery:
    """It is over when the lag has been usual for long enough. Between two runs of a query nobody tells the lag."""
    if not report.running:
        return recovery
    usual_at = _usual_at(recovery, report, now)
    if usual_at is None:
        return replace(recovery, calm_since=None)
    since = recovery.calm_since or usual_at
    is_over = now - since >= CALM and _has_gone_on(report, since)
    return replace(recovery, calm_since=since, caught_up=since if is_over else None)


def _usual_at(recovery: Recovery, report: AgentReport, now: datetime) -> datetime | None:
    """As of when no more rows wait than usual; None if more do, or if that is not told yet."""
    assert recovery.committed is not None
    rows = _waiting(report)
    if rows is None:
        is_awaited = recovery.usual_lag > 0 and now - recovery.committed < LAG_UNTOLD
        return None if is_awaited else recovery.committed
    is_usual = rows <= most_usual(recovery.usual_lag) * _arriving(report)
    return max(report.at, recovery.committed) if is_usual else None


def _has_gone_on(report: AgentReport, since: datetime) -> bool:
    """Whether each query has committed once more, just before which most rows wait, or has nothing to do."""
    return all(
        not query.backlog_rows or (query.committed_at is not None and query.committed_at > since)
        for query in report.running
    )


def _commit_since(report: AgentReport, moment: datetime) -> datetime | None:
    """When the last of the queries has committed since a moment; those with nothing to do need not."""
    if report.at <= moment or not report.queries:
        return None
    late = [query for query in report.counting if not (query.committed_at or moment) > moment]
    if not all(query.has_nothing_to_do for query in late):
        return None
    commits = [query.committed_at for query in report.queries if query.committed_at is not None]
    return max((at for at in commits if at > moment), default=report.at)


def _first_commit(report: AgentReport, started: datetime) -> datetime | None:
    """Every query that counts must have committed, or have nothing to do."""
    if not report.queries or not all(query.is_under_way for query in report.counting):
        return None
    commits = [query.committed_at for query in report.queries if query.committed_at is not None]
    return max((at for at in commits if at > started), default=report.at)


def _lag(report: AgentReport) -> float | None:
    """In seconds of arrivals; None where that is not known, as where nothing arrives."""
    rows, arriving = _waiting(report), _arriving(report)
    return None if rows is None or not arriving else rows / arriving


def _rhythm(report: AgentReport) -> timedelta:
    """The time from one batch to the next, of the slowest query."""
    known = [seconds for query in report.counting if (seconds := _between_batches(query))]
    return max(SHORTEST_RHYTHM, timedelta(seconds=max(known))) if known else UNKNOWN_RHYTHM


def _between_batches(query: QueryReport) -> float:
    """In seconds; 0 where nothing tells."""
    last = query.batches[-1].seconds if query.batches else 0.0
    return max(last, query.trigger_seconds or 0.0)


def _waiting(report: AgentReport) -> float | None:
    return _sum(query.backlog_rows for query in report.counting)


def _arriving(report: AgentReport) -> float:
    return _sum(query.arrival_rate for query in report.counting) or 0.0


def _sum(numbers: Iterable[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
