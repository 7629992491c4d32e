"""A job without work shows no batch: that it is there again is told by its driver, and nothing is learned of when."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from sluice.core.deciding.decision import Decision
from sluice.core.deciding.situation import Activity, Bounds, Models
from sluice.core.learning.batches import BatchReport
from sluice.core.learning.experience import Experience
from sluice.core.learning.sights import Sight, look
from sluice.core.learning.terms import Terms
from sluice.core.learning.watching import IDLE, Watcher
from sluice.core.modelling.capacity import CapacityModel
from sluice.core.modelling.downtime import Cause
from sluice.core.modelling.rescaling import Path
from tests.support.jobs import query, report

EXECUTORS = 4
LOOK = 10.0
"""Seconds between two looks."""

LOST = 1000.0


KNOWN = Experience(models=Models(capacity=CapacityModel(points=((EXECUTORS, 2000.0),))))


@dataclass
class Silence:
    """A job whose driver is seen, but no batch unless a test has one committed."""

    sight: Sight | None = None
    watcher: Watcher = field(
        default_factory=lambda: Watcher(
            terms=Terms(bounds=Bounds(smallest=1, largest=8)), executors=EXECUTORS, experience=KNOWN
        )
    )

    def seen(
        self,
        at: float,
        *batches: BatchReport,
        waiting: float | None = 0.0,
        since: float | None = None,
    ) -> Activity:
        begun = None if since is None else datetime.fromtimestamp(since, UTC)
        told = query(
            arrival_rate=0.0, backlog_rows=waiting, in_batch_since=begun, batches=tuple(batches)
        )
        now = datetime.fromtimestamp(at, UTC)
        self.sight = look(
            report(told, at=now, registered=self.watcher.executors),
            self.sight,
            percentile=0.95,
            cores=1,
        )
        self.watcher.saw(self.sight.scrape, at)
        return self.watcher.situation(at).activity

    def worked(self, until: float) -> None:
        """A batch each ten seconds."""
        start = until - 300
        while start + 5 <= until:
            self.seen(start + 5, batch(start))
            start += LOOK


def batch(start: float) -> BatchReport:
    return BatchReport(start=start, seconds=2.0, rows=1000, executors=EXECUTORS)


def lost() -> Silence:
    """A job that lost its driver; the next one is there a minute later."""
    silence = Silence()
    silence.worked(LOST)
    silence.watcher.failed(Cause.DRIVER_LOSS, LOST)
    return silence


def test_a_job_that_comes_back_to_nothing_to_do_has_recovered_soon() -> None:
    silence = lost()
    first = LOST + 60
    assert silence.seen(first) is Activity.RECOVERING
    assert silence.seen(first + IDLE - 1) is Activity.RECOVERING
    assert silence.seen(first + IDLE) is Activity.STEADY
    assert silence.watcher.situation(first + 600).uptime == 600


def test_rows_that_wait_or_a_batch_that_runs_are_something_to_do() -> None:
    silence = lost()
    for at in (LOST + 60, LOST + 120):
        assert silence.seen(at, waiting=500.0) is Activity.RECOVERING
        assert silence.seen(at + 10, since=at) is Activity.RECOVERING
        assert silence.seen(at + 20) is Activity.RECOVERING
        assert silence.seen(at + 40, waiting=1.0) is Activity.RECOVERING


def test_a_lag_that_is_not_told_is_none_that_is_zero() -> None:
    silence = lost()
    for at in range(60, 600, 10):
        assert silence.seen(LOST + at, waiting=None) is Activity.RECOVERING


def test_what_a_driver_told_before_it_was_lost_says_nothing_of_the_next() -> None:
    silence = Silence()
    silence.worked(LOST - 100)
    silence.seen(LOST - 60)
    silence.seen(LOST - 1)
    silence.watcher.failed(Cause.DRIVER_LOSS, LOST)
    assert silence.seen(LOST + 60) is Activity.RECOVERING


@pytest.mark.parametrize("path", Path)
def test_a_rescale_of_a_job_without_work_is_over_soon(path: Path) -> None:
    silence = Silence()
    silence.worked(LOST)
    decision = Decision(wanted=2, executors=2, reason="less will do", path=path)
    silence.watcher.decided(decision, LOST)
    silence.seen(LOST + 60)
    assert silence.seen(LOST + 60 + IDLE) is Activity.STEADY


def test_a_job_that_never_had_anything_to_do_has_started() -> None:
    silence = Silence()
    assert silence.seen(LOST) is Activity.STARTING
    for at in range(10, 200, 10):
        found = silence.seen(LOST + at)
    assert found is Activity.STEADY


@pytest.mark.parametrize("cause", [Cause.DRIVER_LOSS, Cause.EXECUTOR_LOSS])
def test_an_hour_without_work_is_no_downtime(cause: Cause) -> None:
    silence = Silence()
    silence.worked(LOST)
    silence.watcher.failed(cause, LOST)
    for at in range(60, 3600, 10):
        silence.seen(LOST + at)
    silence.worked(LOST + 4000)
    assert not silence.watcher.experience.models.downtimes.causes[cause].observed


def test_rows_soon_after_the_next_driver_tell_its_downtime() -> None:
    silence = lost()
    silence.seen(LOST + 60)
    silence.worked(LOST + 400)
    assert silence.watcher.experience.models.downtimes.causes[Cause.DRIVER_LOSS].observed
