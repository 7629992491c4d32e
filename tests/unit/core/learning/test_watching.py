"""When a job that lost its driver is taken to have caught up: not before its batches are ordinary ones again."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from sluice.core.deciding.situation import Activity, Batching, Bounds, Models
from sluice.core.learning.batches import BatchReport
from sluice.core.learning.experience import Experience
from sluice.core.learning.scrapes import Scrape
from sluice.core.learning.sights import Sight, look
from sluice.core.learning.terms import Terms
from sluice.core.learning.watching import LONGEST_RECOVERY, Watcher
from sluice.core.modelling.capacity import CapacityModel
from sluice.core.modelling.downtime import Cause
from sluice.core.modelling.fetching import Fetching
from sluice.core.modelling.recovery import VARYING
from sluice.core.modelling.rescaling import Path
from sluice.core.modelling.shapes import Slots
from tests.support.jobs import query, report

CAPACITY = 10_000.0
EXECUTORS = 10
CALM, DOWN = 1800.0, 60.0
"""Seconds before the loss, in which the load falls by up to a fifth and rises again; and those without a driver."""


@dataclass
class Stream:
    """A job of an exact overhead and capacity, and what is seen of it; each source has its share of the rows."""

    utilisation: float
    overhead: float = 0.5
    period: float = 0.0
    sources: tuple[float, ...] = (1.0,)
    down: float = DOWN
    sight: Sight | None = None
    watcher: Watcher = field(init=False)

    def __post_init__(self) -> None:
        terms = Terms(bounds=Bounds(smallest=1, largest=20), period=self.period)
        self.watcher = Watcher(terms=terms, executors=EXECUTORS)

    @property
    def ordinary(self) -> float:
        """Seconds of a batch when nothing waits beside, and the period allows it."""
        return self.overhead / (1 - self.utilisation)

    def rate(self, at: float) -> float:
        """Rows per second."""
        wave = 0.1 * (math.sin(at / 100) - 1) if at < CALM else 0.0
        return self.utilisation * CAPACITY * (1 + wave)

    def batches(self, start: float, rows: float) -> Iterator[BatchReport]:
        """Each takes what arrived since the one before began."""
        while True:
            seconds = self.overhead + rows / CAPACITY
            yield BatchReport(start=start, seconds=seconds, rows=rows, executors=EXECUTORS)
            between = max(seconds, self.period)
            start, rows = start + between, self.rate(start) * between

    def saw(self, batch: BatchReport) -> None:
        """A look when a batch is committed."""
        queries = [
            query(
                name=f"query-{number}",
                arrival_rate=share * self.rate(batch.end),
                batches=(replace(batch, rows=share * batch.rows),),
            )
            for number, share in enumerate(self.sources)
        ]
        at = datetime.fromtimestamp(batch.end, UTC)
        told = report(*queries, at=at, registered=EXECUTORS)
        self.sight = look(told, self.sight, percentile=0.95, cores=1)
        self.watcher.saw(self.sight.scrape, batch.end)

    def is_recovering(self, now: float) -> bool:
        """Whether it is taken not to have caught up."""
        return self.watcher.situation(now).activity is Activity.RECOVERING

    def was_calm(self) -> None:
        """Let it be seen until it loses its driver."""
        for batch in self.batches(0.0, self.rate(0.0) * self.ordinary):
            if batch.end > CALM:
                return
            self.saw(batch)

    def recovered_by(self) -> BatchReport:
        """The batch by which it is taken to have caught up from the loss of its driver."""
        self.watcher.failed(Cause.DRIVER_LOSS, CALM)
        return self.caught_up_by()

    def caught_up_by(self) -> BatchReport:
        """The batch by which it is taken to have caught up with what came while it was away."""
        for batch in self.batches(CALM + self.down, self.rate(CALM) * self.down):
            self.saw(batch)
            if not self.is_recovering(batch.end):
                return batch
        raise AssertionError("batches never end")


@pytest.mark.parametrize("sources", [(1.0,), (0.7, 0.3)], ids=["one source", "two sources"])
@pytest.mark.parametrize("overhead", [0.5, 2.0])
@pytest.mark.parametrize("utilisation", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_back_to_back_a_recovery_is_over_when_a_batch_is_about_as_long_as_an_ordinary_one(
    utilisation: float, overhead: float, sources: tuple[float, ...]
) -> None:
    stream = Stream(utilisation=utilisation, overhead=overhead, sources=sources)
    stream.was_calm()
    assert stream.recovered_by().seconds <= 1.01 * VARYING * stream.ordinary


@pytest.mark.parametrize("utilisation", [0.5, 0.8, 0.9, 0.95])
def test_with_a_trigger_period_a_recovery_is_over_when_batches_about_fit_into_it(
    utilisation: float,
) -> None:
    stream = Stream(utilisation=utilisation, period=10.0)
    stream.was_calm()
    assert stream.recovered_by().seconds <= 1.01 * VARYING * stream.period


@pytest.mark.parametrize("utilisation", [0.5, 0.9])
def test_after_a_rescale_by_a_restart_a_job_has_to_catch_up_as_after_a_failure(
    utilisation: float,
) -> None:
    stream = Stream(utilisation=utilisation)
    stream.was_calm()
    stream.watcher.rescaled(EXECUTORS, Path.RESTART, CALM)
    assert stream.caught_up_by().seconds <= 1.01 * VARYING * stream.ordinary


@pytest.mark.parametrize("period", [0.0, 10.0])
def test_after_an_hour_a_job_that_hardly_keeps_up_is_taken_as_it_is(period: float) -> None:
    stream = Stream(utilisation=0.99, period=period, down=600.0)
    stream.was_calm()
    last = stream.recovered_by()
    assert LONGEST_RECOVERY < last.end - CALM < LONGEST_RECOVERY + last.seconds


@pytest.mark.parametrize(
    ("rows", "offsets", "is_full"),
    [(1000.0, None, True), (980.0, None, True), (600.0, 1000.0, True), (600.0, None, False)],
    ids=["to the row", "each partition's share is rounded down", "a topic with gaps", "not full"],
)
def test_a_job_whose_batches_have_all_rows_that_a_limit_allows_has_not_caught_up(
    rows: float, offsets: float | None, is_full: bool
) -> None:
    stream = Stream(utilisation=0.5, period=10.0)
    stream.watcher.terms = replace(stream.watcher.terms, most_rows=1000.0)
    stream.watcher.failed(Cause.DRIVER_LOSS, CALM)
    for start in (CALM + DOWN, CALM + DOWN + 10, CALM + DOWN + 20):
        batch = BatchReport(
            start=start, seconds=6.0, rows=rows, executors=EXECUTORS, offsets=offsets
        )
        stream.saw(batch)
    assert stream.is_recovering(batch.end) is is_full


@pytest.mark.parametrize(
    "known",
    [Experience(), Experience(models=Models(capacity=CapacityModel(points=((10, 10_000.0),))))],
    ids=["no capacity", "no overhead"],
)
def test_where_nothing_tells_what_is_ordinary_two_batches_that_are_alike_are(
    known: Experience,
) -> None:
    stream = Stream(utilisation=0.5)
    stream.watcher.experience = known
    stream.watcher.failed(Cause.DRIVER_LOSS, CALM)
    start = CALM + DOWN
    for seconds, is_over in ((4.0, False), (3.0, False), (2.9, True)):
        batch = BatchReport(start=start, seconds=seconds, rows=3000 * seconds, executors=EXECUTORS)
        stream.saw(batch)
        assert stream.is_recovering(batch.end) is not is_over
        start = batch.end


@pytest.mark.parametrize(
    ("executors", "cause"),
    [(EXECUTORS - 1, Cause.RELEASE_LIVE), (EXECUTORS + 1, Cause.GROWTH_LIVE)],
)
def test_what_a_live_rescale_costs_is_learned_apart_for_executors_that_go_and_that_come(
    executors: int, cause: Cause
) -> None:
    stream = Stream(utilisation=0.5)
    stream.was_calm()
    stream.watcher.rescaled(executors, Path.LIVE, CALM)
    for batch in stream.batches(CALM, stream.rate(CALM) * stream.ordinary):
        if batch.end > CALM + 400:
            break
        stream.saw(batch)
    causes = stream.watcher.situation(CALM + 400).models.downtimes.causes
    assert [kind for kind, learned in causes.items() if learned.observed] == [cause]


def test_how_much_state_there_is_is_part_of_what_is_observed() -> None:
    stream = Stream(utilisation=0.5)
    batches = stream.batches(0.0, stream.rate(0.0) * stream.ordinary)
    stream.saw(next(batches))
    assert stream.watcher.situation(10.0).observed.state == 0.0


def test_what_executors_share_of_an_overhead_is_decided_with() -> None:
    terms = Terms(bounds=Bounds(smallest=1, largest=20), period=10.0)
    known = replace(Experience(), overhead=0.5, shared=20.0)
    watcher = Watcher(terms=terms, executors=2, experience=known)
    told = Batching(overhead=0.5, shared=20.0, period=10.0)
    assert watcher.situation(0.0).batching == told


QUIET = Fetching(partitions=24, longest=0.5)


def watching(batch: BatchReport, **terms: Any) -> tuple[Watcher, BatchReport]:
    """Who looks at a job on executors of two cores, and the batch as it has seen it."""
    known = Experience(models=Models(capacity=CapacityModel(slots=Slots(cores=2))))
    told = Terms(bounds=Bounds(smallest=1, largest=20), fetching=QUIET, **terms)
    watcher = Watcher(terms=told, executors=3, experience=known)
    rate = batch.rows / batch.seconds
    scrape = Scrape(
        at=batch.end,
        arrival=rate,
        processing=rate,
        lag=0.0,
        running=3,
        cpu=0.5,
        busy=1.0,
        latency=batch.seconds,
        batches=(batch,),
    )
    watcher.saw(scrape, batch.end)
    assert watcher.last_batch is not None
    return watcher, watcher.last_batch


def test_what_the_tasks_of_a_batch_have_waited_is_told_by_its_rows_and_the_interval_they_came_in() -> (
    None
):
    batch = BatchReport(start=100.0, seconds=5.0, rows=240, executors=3, interval=5.0)
    _, seen = watching(batch)
    # 48 rows a second are two of each partition; its tasks go in four waves of six.
    assert seen.waited == pytest.approx(4 * 0.25)
    assert replace(seen, waited=0.0) == batch


@pytest.mark.parametrize("changes", [{"interval": None}, {"interval": -5.0}, {"interval": 0.0}])
def test_where_nobody_knows_when_rows_came_no_waiting_is_known(changes: dict[str, Any]) -> None:
    batch = BatchReport(start=100.0, seconds=5.0, rows=240, executors=3, interval=5.0)
    assert watching(replace(batch, **changes))[1].waited == 0.0


def test_behind_a_limit_of_rows_no_task_waits() -> None:
    batch = BatchReport(start=100.0, seconds=5.0, rows=240, executors=3, interval=5.0)
    assert watching(batch, most_rows=240.0)[1].waited == 0.0
    assert watching(batch, most_rows=400.0)[1].waited > 0.0


def test_what_tasks_wait_for_is_decided_with() -> None:
    batch = BatchReport(start=100.0, seconds=5.0, rows=240, executors=3, interval=5.0)
    watcher, _ = watching(batch)
    told = watcher.situation(110.0).batching
    assert (told.fetching, told.cores) == (QUIET, 2)
