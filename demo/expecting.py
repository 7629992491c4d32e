"""What the story promises, by when, and whether it came: nothing that is missing is passed over."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from demo.story import MINUTES, Rescale, Story
from demo.words import clock, count, rate, span

MEASURED_BY, FORESEEN_BY, GROWN_BY, KILLED_BY = 360.0, 360.0, 420.0, 540.0
SHRUNK_BY = 60.0 * MINUTES
"""Seconds since the job was Ready. On two busy processors the last has come as late as 12:17."""


class Outcome(StrEnum):
    """What became of an expectation."""

    AHEAD = "ahead"
    CAME = "came"
    LATE = "late"
    MISSING = "missing"

    @property
    def is_wrong(self) -> bool:
        """Whether something that was due did not come in its time."""
        return self in (Outcome.LATE, Outcome.MISSING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """Something to come: in words, until when, when it came if it did, and what was seen then."""

    what: str
    due: float
    came: float | None
    seen: str = ""

    def outcome(self, now: float) -> Outcome:
        """What became of it until now."""
        if self.came is not None:
            return Outcome.CAME if self.came <= self.due else Outcome.LATE
        return Outcome.AHEAD if now < self.due else Outcome.MISSING

    def told(self, now: float) -> str:
        """The same in a sentence."""
        outcome = self.outcome(now)
        if self.came is None:
            return f"{outcome}: {self.what}, by {clock(self.due)}"
        late = (
            f", {clock(self.came)} instead of {clock(self.due)}" if outcome is Outcome.LATE else ""
        )
        return f"{outcome}: {self.what}{late}: {self.seen}"


def expectations(story: Story) -> tuple[Expectation, ...]:
    """All that a story of this length promises; what would come after its end is not expected."""
    every = (_measured, _foreseen, _grown, _recovered, _shrunk)
    return tuple(one for one in (make(story) for make in every) if one.due <= _end(story))


def is_fine(story: Story) -> bool:
    """Whether all that was due until now came in its time."""
    return not any(one.outcome(story.now.at).is_wrong for one in expectations(story))


def _end(story: Story) -> float:
    """A recovery is waited for beyond the limit."""
    if story.failure is None:
        return story.limit
    return max(story.limit, story.failure.at + story.target)


def _measured(story: Story) -> Expectation:
    points = story.now.profile.points
    return Expectation(
        what="the profile has measured the job with 1 and with 2 executors",
        due=MEASURED_BY,
        came=story.first_time(lambda look: look.profile.phase == "Succeeded"),
        seen=", ".join(f"{count(size, 'executor')} {rate(rows)} rows/s" for size, rows in points),
    )


def _foreseen(story: Story) -> Expectation:
    numbers = story.now.numbers
    return Expectation(
        what="the load is forecast",
        due=FORESEEN_BY,
        came=story.first_time(lambda look: look.numbers.expected is not None),
        seen=f"{rate(numbers.expected)} rows/s in {story.promise.horizon}",
    )


def _grown(story: Story) -> Expectation:
    return _rescaled(
        story, "executors were added for the rising load", GROWN_BY, lambda one: one.grew
    )


def _shrunk(story: Story) -> Expectation:
    grown = [one.at for one in story.rescales if one.grew]

    def shrank(one: Rescale) -> bool:
        # What was taken away before the load rose is no answer to its fall.
        return not one.grew and bool(grown) and one.at > grown[0]

    return _rescaled(story, "executors were taken away for the falling load", SHRUNK_BY, shrank)


def _rescaled(
    story: Story, what: str, due: float, wanted: Callable[[Rescale], bool]
) -> Expectation:
    """A rescale that was carried out: as many executors ran afterwards."""
    for rescale in filter(wanted, story.rescales):
        came = _carried_out(story, rescale)
        if came is not None:
            path = rescale.path.lower()
            seen = f"from {rescale.before} to {count(rescale.executors, 'executor')}, {path}"
            return Expectation(what=what, due=due, came=came, seen=seen)
    return Expectation(what=what, due=due, came=None)


def _carried_out(story: Story, rescale: Rescale) -> float | None:
    def is_there(executors: int) -> bool:
        return executors >= rescale.executors if rescale.grew else executors <= rescale.executors

    return next(
        (look.at for look in story.looks if look.at >= rescale.at and is_there(look.running)), None
    )


def _recovered(story: Story) -> Expectation:
    failure, recovery, promise = story.failure, story.recovery, story.promise
    what = f"the job has recovered from a killed driver within {promise.target}"
    if failure is None:
        return Expectation(what=f"{what}: it was not Ready to be killed", due=KILLED_BY, came=None)
    if recovery is None or recovery.seconds is None:
        return Expectation(what=what, due=failure.at + story.target, came=None)
    predicted = f"{span(failure.predicted)} predicted" if failure.predicted else "nothing predicted"
    return Expectation(
        what=what,
        due=failure.at + story.target,
        came=failure.at + recovery.seconds,
        seen=f"{span(recovery.seconds)}, {predicted}",
    )
