"""A page of aligned lines: on a terminal with colours and folded to its width, in a pipe plain and never folded.

Cells are aligned within a section. What is long is a line's detail: it follows the cells where there is room for it,
and stands below them on a narrow terminal. Texts are other people's: none of it is taken for markup.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sluice.console.words import printable

_INDENT = 2
_GAP = 2
_NAMES = 11
"""The first column is at least so wide, so that sections of names and texts line up."""


class Tone(StrEnum):
    """How a text is to be taken, as a style of the terminal."""

    PLAIN = ""
    GOOD = "green"
    ODD = "yellow"
    BAD = "bold red"
    QUIET = "dim"
    NAME = "cyan"
    TITLE = "bold"


def tone_of(fine: bool) -> Tone:
    """Good or bad."""
    return Tone.GOOD if fine else Tone.BAD


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Cells and a detail. The tone is that of the cell `toned`, or of the detail if there is no such cell."""

    cells: tuple[str, ...]
    detail: str = ""
    tone: Tone = Tone.PLAIN
    toned: int = 1


@dataclass(frozen=True, slots=True)
class Section:
    """Lines that belong together; one without lines is not shown."""

    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Sections, and notes about what could not be shown."""

    title: str
    sections: tuple[Section, ...]
    notes: tuple[str, ...] = ()


def drawn(page: Page, width: int) -> RenderableType:
    """The page for a terminal of that width."""
    parts: list[RenderableType] = [Text(printable(page.title), Tone.TITLE)]
    for section in page.sections:
        if section.lines:
            parts += _section(section, width)
    if page.notes:
        parts.append(Text(""))
    parts += [Text(printable(note), Tone.ODD) for note in page.notes]
    return Group(*parts)


def _section(section: Section, width: int) -> Iterator[RenderableType]:
    if section.title:
        yield Text("")
        yield Text(section.title.upper(), Tone.TITLE)
    first, *others = widths_of([line.cells for line in section.lines])
    widths = (max(first, _NAMES), *others)
    yield from rows(section.lines, widths, width)


def rows(lines: Iterable[Line], widths: Sequence[int], width: int) -> Iterator[RenderableType]:
    """Lines whose cells are as wide as given, on a terminal of that width."""
    return (_line(line, widths, width) for line in lines)


def _line(line: Line, widths: Sequence[int], width: int) -> RenderableType:
    tones = {0: Tone.NAME, line.toned: line.tone} if line.tone else {0: Tone.NAME}
    head = aligned(line.cells, widths, tones)
    head.pad_left(_INDENT)
    if not line.detail:
        head.rstrip()
        return head
    tone = line.tone if line.toned >= len(line.cells) else Tone.PLAIN
    detail = Text(printable(line.detail), tone, overflow="fold")
    if head.cell_len > width // 2:
        head.rstrip()
        return Group(head, Padding(detail, (0, 0, 0, 3 * _INDENT)))
    return _side_by_side(head, detail)


def _side_by_side(head: Text, detail: Text) -> Table:
    both = Table.grid()
    both.add_column(width=head.cell_len, no_wrap=True)
    both.add_column()
    both.add_row(head, detail)
    return both


def widths_of(rows: Sequence[Sequence[str]]) -> list[int]:
    """The width of each column of cells, in columns of the terminal."""
    count = max((len(row) for row in rows), default=0)
    return [
        max(cell_len(printable(row[index])) for row in rows if index < len(row))
        for index in range(count)
    ]


def aligned(
    cells: Sequence[str], widths: Sequence[int], tones: dict[int, Tone] | None = None
) -> Text:
    """Cells side by side, each as wide as its column."""
    line = Text(no_wrap=True, overflow="ellipsis")
    for index, width in enumerate(widths):
        text = printable(cells[index]) if index < len(cells) else ""
        cell = Text(text, (tones or {}).get(index, Tone.PLAIN))
        cell.pad_right(width - cell.cell_len + _GAP)
        line.append_text(cell)
    return line
