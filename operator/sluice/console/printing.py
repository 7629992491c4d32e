"""Write an answer: as a page for people, or as JSON or YAML for scripts."""

import io
import json
import re
import sys
from collections.abc import Callable, Iterable

import yaml
from rich.console import Console, RenderableType

from sluice.console.page import Page, drawn
from sluice.ports import Json

PLAIN_WIDTH = 10_000
"""In a pipe nothing is folded: a line is what grep finds."""

_END_OF_LINE = re.compile(r"[ \t]+$", re.MULTILINE)


def terminal() -> Console | None:
    """The terminal; None if the output goes to a pipe or a file."""
    console = Console(highlight=False, markup=False, emoji=False)
    return console if console.is_terminal else None


def show_page(page: Page) -> None:
    """Show a page."""
    screen = terminal()
    if screen is None:
        write_text(plain(drawn(page, PLAIN_WIDTH)))
    else:
        screen.print(drawn(page, screen.width))


def show_parts(parts: Callable[[int], Iterable[RenderableType]]) -> None:
    """Show parts as soon as each is known; they are made for the width that they are given."""
    screen = terminal()
    for part in parts(PLAIN_WIDTH if screen is None else screen.width):
        if screen is None:
            write_text(plain(part))
        else:
            screen.print(part)


def plain(renderable: RenderableType, width: int = PLAIN_WIDTH) -> str:
    """Text alone: no colours, nothing at the ends of lines."""
    text = io.StringIO()
    console = Console(
        file=text, width=width, color_system=None, highlight=False, markup=False, emoji=False
    )
    console.print(renderable)
    return _END_OF_LINE.sub("", text.getvalue())


def write(data: Json, form: str) -> None:
    """Write data for scripts."""
    if form == "json":
        write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        write_text(yaml.safe_dump(data, sort_keys=False, allow_unicode=True))


def write_text(text: str) -> None:
    """Write to the standard output."""
    sys.stdout.write(text)
    sys.stdout.flush()
