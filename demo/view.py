"""The story as it stands: a screen for a terminal, and one line where there is none; pure."""

import textwrap
from collections.abc import Sequence

from demo.acts import Act, act, scene
from demo.chart import chart
from demo.diary import Entry
from demo.expecting import expectations
from demo.looks import Look
from demo.names import JOB, NAMESPACE
from demo.numbers import Numbers
from demo.story import Story
from demo.words import clock, percent, rate, span

LEAST_ROWS, MOST_ROWS = 5, 10
"""Of the picture."""

FEWEST_ENTRIES = 4

LEAVING = "Ctrl-C leaves this view; everything goes on running."


def screen(story: Story, diary: Sequence[Entry], width: int, height: int) -> list[str]:
    """The lines of a screen, none wider than it and no more than it has."""
    head, numbers = _head(story, width), _numbers(story, width)
    spare = height - len(head) - len(numbers) - FEWEST_ENTRIES - 6
    picture = chart(story, width, min(max(spare, LEAST_ROWS), MOST_ROWS))
    lines = [*head, "", *picture, "", *numbers, ""]
    left = max(0, height - len(lines) - 1)
    lines += [str(entry) for entry in diary[-left:]] if left else []
    return [line[:width] for line in [*lines[: height - 1], LEAVING]]


def line(story: Story) -> str:
    """The state in one line, of at most 120 columns."""
    return f"{clock(story.now.at):>5}  {act(story)}/{len(Act)}  {flow(story.now)}"


def flow(look: Look) -> str:
    """How the stream flows."""
    numbers = look.numbers
    return (
        f"arriving {rate(look.arriving)}/s, expected {_expected(numbers)}/s, "
        f"capacity {rate(numbers.capacity)}/s, executors {look.running}/{look.wanted}, "
        f"p95 {span(look.latency_p95)}, waiting {rate(look.lag_rows)}"
    )


def _expected(numbers: Numbers) -> str:
    """What is most likely, and what it may become."""
    return f"{rate(numbers.expected)} (up to {rate(numbers.expected_high)})"


def _head(story: Story, width: int) -> list[str]:
    number, promise = act(story), story.promise
    words = scene(number, promise)
    left = f"Sluice: {NAMESPACE}/{JOB}, act {number} of {len(Act)}: {words.title}"
    right = f"{clock(story.now.at)} of {clock(story.limit)}"
    title = f"{left}{right:>{max(len(right) + 1, width - len(left))}}"
    return [title, *_folded("now   ", words.now, width), *_folded("look  ", words.look, width)]


def _folded(name: str, text: str, width: int) -> list[str]:
    blank = " " * len(name)
    return textwrap.wrap(text, max(20, width), initial_indent=name, subsequent_indent=blank)


def _numbers(story: Story, width: int) -> list[str]:
    now, numbers, promise = story.now, story.now.numbers, story.promise
    lines = [
        f"load      {rate(now.arriving)} rows/s arrive; in {promise.horizon} {_expected(numbers)} are expected",
        f"job       {now.phase}, driver no. {now.incarnation}, executors {now.running} of {now.wanted}, which can "
        f"process {rate(numbers.capacity)} rows/s",
        f"latency   p50 {span(now.latency_p50)}, p95 {span(now.latency_p95)}, bound {promise.bound}; "
        f"{percent(story.within)} of the records were within it; {rate(now.lag_rows)} wait",
        f"decision  {now.decision or 'none yet'}",
        f"recovery  {_recovery(story)}",
    ]
    return [text[:width] for text in [*lines, *_wrong(story)]]


def _recovery(story: Story) -> str:
    recovery, target = story.recovery, f"target {story.promise.target}"
    if recovery is None:
        now = story.now
        likely = f"{span(now.predicted)} if the driver were lost now, by prediction"
        return f"{likely}, {span(now.planned)} at worst; {target}"
    stages = ", ".join(
        f"{words} {span(recovery.stages[name])}"
        for name, words in _STAGES.items()
        if name in recovery.stages
    )
    predicted = story.failure.predicted if story.failure is not None else None
    return f"{stages}; {span(predicted)} predicted, {target}"


_STAGES = {
    "detection": "seen",
    "container": "container",
    "session": "session",
    "firstBatch": "first batch",
    "caughtUp": "caught up",
}
"""The stages of a recovery as the status names them, in words; in its order."""


def _wrong(story: Story) -> list[str]:
    """What did not come in its time."""
    now = story.now.at
    return [one.told(now).upper() for one in expectations(story) if one.outcome(now).is_wrong]
