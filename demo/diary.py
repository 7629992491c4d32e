"""What is new between two states of the story, a line each: acts, the product's own Events, what was expected; pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from demo.acts import Act, act, scene
from demo.expecting import Outcome, expectations
from demo.story import Story
from demo.words import clock, span

LONGEST = 200
"""Characters of an Event's message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of the diary, and the second that it is about."""

    at: float
    text: str

    def __str__(self) -> str:
        return f"{clock(self.at):>5}  {self.text}"


def opening(story: Story) -> tuple[Entry, ...]:
    """How it begins."""
    return tuple(_of_act(story, act(story)))


def entries(before: Story, after: Story) -> tuple[Entry, ...]:
    """What is new."""
    return tuple(_entries(before, after))


def _entries(before: Story, after: Story) -> Iterator[Entry]:
    for at, event in after.events[len(before.events) :]:
        yield Entry(at=at, text=_cut(f"{event.reason}: {event.message}"))
    if after.failure is not None and before.failure is None:
        predicted = span(after.failure.predicted)
        told = f"The demo kills the driver. Recovery: {predicted} predicted, target {after.promise.target}."
        yield Entry(at=after.failure.at, text=told)
    yield from _of_expectations(before, after)
    if act(after) is not act(before):
        yield from _of_act(after, act(after))


def _cut(text: str) -> str:
    """Without the tail of a log that some messages end with."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _of_expectations(before: Story, after: Story) -> Iterator[Entry]:
    former = {one.what: one.outcome(before.now.at) for one in expectations(before)}
    for one in expectations(after):
        outcome = one.outcome(after.now.at)
        if outcome is not former.get(one.what, Outcome.AHEAD):
            told = one.told(after.now.at)
            yield Entry(at=after.now.at, text=told.upper() if outcome.is_wrong else told)


def _of_act(story: Story, number: Act) -> Iterator[Entry]:
    words = scene(number, story.promise)
    yield Entry(at=story.now.at, text=f"Act {number} of {len(Act)}: {words.title}. {words.now}")
    yield Entry(at=story.now.at, text=f"Look for: {words.look}")
