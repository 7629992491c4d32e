"""The story so far: looks, what has happened between them, and what the demo itself has done; pure."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from demo.looks import Event, Look, Promise, Recovery
from demo.words import seconds_of

MINUTES = 14
"""The load's period is ten minutes: one way up, one down, and a while for what a wide forecast still keeps."""

LET_BY = 240.0
"""When the operator is let scale the job even if that has not been measured: the load does not wait."""

FAIL_AT, FAIL_BY = 420.0, 510.0
"""When the driver is killed, just after the load's peak: as soon as the job is calm, and then even if it is not."""

STEADY = 30.0
"""Seconds since the last rescale that count as calm."""

LEAST_LEFT = 120.0
"""Seconds of a story below which nothing is killed any more: nobody would see the end of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescale:
    """A change of the number of executors: when it was seen, from how many to how many, and by which way."""

    at: float
    before: int
    executors: int
    path: str

    @property
    def grew(self) -> bool:
        """Whether executors were added."""
        return self.executors > self.before


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """When the demo killed the driver, the recovery that was predicted then, and those that were known already."""

    at: float
    predicted: float | None
    known: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """All of it. The first look is its beginning; what was there then is not told again.

    `limit` is its length in seconds, `let_at` when the operator was let scale the job.
    """

    promise: Promise
    limit: float
    looks: tuple[Look, ...]
    rescales: tuple[Rescale, ...] = ()
    events: tuple[tuple[float, Event], ...] = ()
    let_at: float | None = None
    failure: Failure | None = None

    @property
    def first(self) -> Look:
        """The look that it began with."""
        return self.looks[0]

    @property
    def now(self) -> Look:
        """The newest look."""
        return self.looks[-1]

    @property
    def target(self) -> float:
        """Of a recovery, in seconds."""
        return seconds_of(self.promise.target)

    @property
    def recovery(self) -> Recovery | None:
        """The recovery from the failure, which may still go on; None before it was seen."""
        if self.failure is None:
            return None
        known, going_on = self.failure.known, self.now.recovering
        found = (*self.now.recovered, *([going_on] if going_on is not None else []))
        return next((one for one in found if one.began not in known), None)

    @property
    def has_recovered(self) -> bool:
        """Whether the job has caught up after the failure."""
        return self.recovery is not None and self.recovery.seconds is not None

    @property
    def is_over(self) -> bool:
        """Whether its time is over; a recovery is waited for as long as its target allows."""
        if self.now.at < self.limit:
            return False
        failure = self.failure
        return failure is None or self.has_recovered or self.now.at >= failure.at + self.target

    @property
    def within(self) -> float | None:
        """The share of the records since the beginning that were within the latency's bound."""
        before, now = self.first.numbers, self.now.numbers
        if now.records is None or now.within is None:
            return None
        records = now.records - (before.records or 0.0)
        return (now.within - (before.within or 0.0)) / records if records > 0 else None

    def first_time(self, true: Callable[[Look], object]) -> float | None:
        """When something was first true of a look."""
        return next((look.at for look in self.looks if true(look)), None)

    def with_look(self, look: Look) -> "Story":
        """With another look, and what has happened since the one before."""
        known = {event.uid for event in self.first.events} | {one.uid for _, one in self.events}
        new = tuple((look.at, event) for event in look.events if event.uid not in known)
        return replace(
            self,
            looks=(*self.looks, look),
            rescales=(*self.rescales, *_rescaled(self.now, look)),
            events=(*self.events, *new),
        )

    def with_scaling(self) -> "Story":
        """With an operator that may scale the job from now on."""
        return replace(self, let_at=self.now.at)

    def with_failure(self) -> "Story":
        """With the driver killed now."""
        now = self.now
        known = frozenset(one.began for one in now.recovered)
        return replace(self, failure=Failure(at=now.at, predicted=now.predicted, known=known))


def scaling_is_due(story: Story) -> bool:
    """Whether it is time to let the operator scale the job: when that has been measured."""
    return story.let_at is None and (story.now.profile.is_over or story.now.at >= LET_BY)


def failure_is_due(story: Story) -> bool:
    """Whether it is time to kill the driver."""
    now = story.now
    if story.failure is not None or now.at < FAIL_AT or story.limit - now.at < LEAST_LEFT:
        return False
    if now.at >= FAIL_BY:
        return now.is_ready and now.recovering is None
    last = story.rescales[-1].at if story.rescales else 0.0
    return now.is_calm and now.profile.is_over and now.at - last >= STEADY


def _rescaled(before: Look, look: Look) -> tuple[Rescale, ...]:
    chosen = look.chosen
    if chosen is None or chosen == before.chosen or chosen.executors == before.wanted:
        return ()
    former = before.wanted
    return (Rescale(at=look.at, before=former, executors=chosen.executors, path=chosen.path),)
