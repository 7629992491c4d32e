"""Where the story is shown: a terminal that is drawn anew at each look, or lines for a file."""

import shutil
import sys
from typing import Protocol

from demo import diary, view
from demo.diary import Entry
from demo.story import Story

EACH = 15.0
"""Seconds between two lines of numbers where there is no terminal."""

_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
"""The terminal's second screen without a cursor, and back to what was there before."""
_HOME, _TO_LINE_END, _TO_END = "\x1b[H", "\x1b[K", "\x1b[J"
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


class Screen(Protocol):
    """Shows a story from look to look."""

    def show(self, story: Story) -> None:
        """Show it as it is now."""

    def close(self) -> None:
        """Show no more."""


class Terminal:
    """Draws one screen in place; its diary remains when it is closed."""

    def __init__(self) -> None:
        self._told: Story | None = None
        self._diary: list[Entry] = []
        sys.stdout.write(_ENTER)

    def show(self, story: Story) -> None:
        """Draw the story in place."""
        self._diary += _new(self._told, story)
        self._told = story
        size = shutil.get_terminal_size()
        first, *rest = view.screen(story, self._diary, size.columns, size.lines)
        lines = [f"{_BOLD}{first}{_PLAIN}", *rest]
        text = "\r\n".join(f"{line}{_TO_LINE_END}" for line in lines)
        sys.stdout.write(f"{_HOME}{text}{_TO_END}")
        sys.stdout.flush()

    def close(self) -> None:
        """Give the terminal back, and leave the diary there."""
        sys.stdout.write(_LEAVE)
        print(*self._diary, sep="\n", flush=True)


class Lines:
    """Prints what is new, and the numbers now and then."""

    def __init__(self) -> None:
        self._told: Story | None = None
        self._next = 0.0

    def show(self, story: Story) -> None:
        """Print what is new since the last time."""
        for entry in _new(self._told, story):
            print(entry, flush=True)
        self._told = story
        if story.now.at >= self._next:
            print(view.line(story), flush=True)
            self._next = story.now.at + EACH

    def close(self) -> None:
        """Everything is printed already."""


def screen() -> Screen:
    """Where standard output leads."""
    return Terminal() if sys.stdout.isatty() else Lines()


def _new(told: Story | None, story: Story) -> tuple[Entry, ...]:
    return diary.opening(story) if told is None else diary.entries(told, story)
