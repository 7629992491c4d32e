"""The pages that a user reads, as text that tests can ask: links, commands, tables, examples."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^ {4}.*\n)+", re.MULTILINE)
_CODE = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True, slots=True)
class Page:
    """One Markdown file."""

    path: Path

    @property
    def name(self) -> str:
        """Its place in the repository."""
        return str(self.path.relative_to(ROOT))

    @property
    def text(self) -> str:
        """All of it."""
        return self.path.read_text()

    def links(self) -> Iterator[str]:
        """The targets of its links to places in this repository."""
        for target in _LINK.findall(_BLOCK.sub("", self.text)):
            if "://" not in target:
                yield target

    def anchors(self) -> set[str]:
        """What a link may name after its #: the headings, as GitHub writes them."""
        headings = re.findall(r"^#+ (.+)$", _BLOCK.sub("", self.text), re.MULTILINE)
        return {
            re.sub(r"[^\w\- ]", "", head).strip().lower().replace(" ", "-") for head in headings
        }

    def blocks(self, language: str) -> list[str]:
        """The code blocks of a language."""
        return [body for found, body in _BLOCK.findall(self.text) if found == language]

    def commands(self) -> list[str]:
        """The lines of all shell blocks and indented blocks, continued lines joined, comments left out."""
        blocks = self.blocks("sh") + _INDENTED.findall(_BLOCK.sub("", self.text))
        lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
        return [line.partition("  #")[0].strip() for line in lines if line.strip()]

    def table(self, heading: str) -> list[list[str]]:
        """The rows of the table whose first column has that heading."""
        lines = self.text.splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith(f"| {heading} |"))
        rows = []
        for line in lines[start + 2 :]:
            if not line.startswith("|"):
                break
            rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
        return rows


def code(cell: str) -> list[str]:
    """The words of a cell that are written as code."""
    return _CODE.findall(cell)


def page(name: str) -> Page:
    """The page at a place in the repository."""
    return Page(ROOT / name)


PAGES = tuple(Page(path) for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))))
