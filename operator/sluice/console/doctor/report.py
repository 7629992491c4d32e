"""Show an examination while it goes on, and sum it up."""

from collections import Counter
from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.text import Text

from sluice.console.doctor.checks import Check, Verdict
from sluice.console.page import Tone, rows
from sluice.console.trouble import Exit
from sluice.ports import Json

_WIDTHS = (16, 4)

Part = tuple[str, Iterable[Check]]


def pages(parts: Iterable[Part], width: int, made: list[Check]) -> Iterator[RenderableType]:
    """Each part and check as soon as it is known; `made` gathers the checks."""
    for title, checks in parts:
        yield Text(title.upper(), Tone.TITLE)
        for check in checks:
            made.append(check)
            yield from rows(check.lines(), _WIDTHS, width)
        yield Text("")
    yield summary(made)


def summary(made: Iterable[Check]) -> Text:
    """How many of each verdict."""
    counts = Counter(check.verdict for check in made)
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
    return Text(told, Tone.BAD if counts[Verdict.BAD] else Tone.GOOD)


def data(parts: Iterable[Part], made: list[Check]) -> Json:
    """For scripts."""
    told = []
    for title, checks in parts:
        here = list(checks)
        made += here
        told += [{"part": title, **check.data()} for check in here]
    return {"fine": exit_code(made) is Exit.FINE, "checks": told}


def exit_code(made: Iterable[Check]) -> Exit:
    """Whether anything failed; warnings alone do not count."""
    return Exit.PROBLEM if any(one.verdict is Verdict.BAD for one in made) else Exit.FINE
