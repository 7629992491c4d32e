"""The load, its forecast, and the capacity over the story, drawn with characters; pure.

    bars      rows per second that arrived
    circles   the upper edge of the forecast, one horizon before the moment that it is about
    line      what the executors that ran could process, by what was learned

A column stands for an equal part of the story.
"""

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean

from demo.looks import Look
from demo.story import Story
from demo.words import clock, seconds_of

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_EXPECTED, _CAPACITY, _KILLED = "○", "━", "x"
_LABELS = 6
"""Columns of the numbers on the left."""

Slots = Sequence[float | None]


def chart(story: Story, columns: int, rows: int) -> list[str]:
    """So many rows of a picture, and below them the executors and the time; each line has at most so many columns."""
    width = max(10, columns - _LABELS - 1)
    load = _over_time(story, width, lambda look: look.arriving)
    capacity = _over_time(story, width, lambda look: look.numbers.capacity)
    ahead = seconds_of(story.promise.horizon)
    expected = _over_time(story, width, lambda look: look.numbers.expected_high, later=ahead)
    top = _top([*load, *capacity, *expected])
    grid = [_bars(load, top, rows, row) for row in range(rows)]
    _mark(grid, expected, top, _EXPECTED)
    _mark(grid, capacity, top, _CAPACITY, over=True)
    lines = [
        f"{_label(row, rows, top):>{_LABELS}} {''.join(line)}" for row, line in enumerate(grid)
    ]
    return [*lines, f"{'exec.':>{_LABELS}} {_executors(story, width)}", _times(story, width)]


def _over_time(
    story: Story, width: int, number: Callable[[Look], float | None], later: float = 0.0
) -> list[float | None]:
    """The mean of each slot of time; None where nothing is known."""
    found: list[list[float]] = [[] for _ in range(width)]
    for look in story.looks:
        value, slot = number(look), int((look.at + later) / story.limit * width)
        if value is not None and slot < width:
            found[slot].append(value)
    return [fmean(values) if values else None for values in found]


def _top(numbers: Iterable[float | None]) -> float:
    """The upper edge: a round number above all."""
    largest = max((number for number in numbers if number is not None), default=0.0)
    return max(100.0, -(-largest * 1.05 // 50) * 50)


def _bars(load: Slots, top: float, rows: int, row: int) -> list[str]:
    """One row of the picture; the first is the highest."""
    below = rows - 1 - row
    parts = (
        0.0 if rate is None else min(max(rate / top * rows - below, 0.0), 1.0) for rate in load
    )
    return [_EIGHTHS[round(8 * part)] for part in parts]


def _mark(
    grid: list[list[str]], numbers: Slots, top: float, sign: str, *, over: bool = False
) -> None:
    """Put a sign at the height of each number, where nothing is drawn yet, or over it."""
    rows = len(grid)
    for column, number in enumerate(numbers):
        if number is None:
            continue
        row = rows - 1 - min(int(number / top * rows), rows - 1)
        if over or grid[row][column] == " ":
            grid[row][column] = sign


def _label(row: int, rows: int, top: float) -> str:
    return f"{top * (rows - row) / rows:.0f}" if row % 2 == 0 else ""


def _executors(story: Story, width: int) -> str:
    """How many ran at the end of each slot, and where the driver was killed."""
    line = [" "] * width
    for look in story.looks:
        slot = min(int(look.at / story.limit * width), width - 1)
        line[slot] = str(look.running)[-1]
    if story.failure is not None:
        line[min(int(story.failure.at / story.limit * width), width - 1)] = _KILLED
    return "".join(line)


def _times(story: Story, width: int) -> str:
    """Every two minutes."""
    line = [" "] * (width + _LABELS + 1)
    moment = 0.0
    while moment < story.limit:
        place = _LABELS + 1 + int(moment / story.limit * width)
        text = clock(moment)
        if place + len(text) <= len(line):
            line[place : place + len(text)] = text
        moment += 120.0
    return "".join(line)
