"""How the lab shows what it has found: tables that fit a terminal, pictures that say what they cut."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from rich.console import Console
from rich.table import Table

from sluice.lab import table
from sluice.lab.plots import pictures
from sluice.lab.results import Row
from sluice.lab.verdicts import changes
from tests.support.labrows import row

NAMES = ("sluice", "flink-autoscaler:target=0.35", "oracle")


def found() -> list[Row]:
    return [
        replace(row(name, late=0.123, hours=512.3), p95_latency=123.4, recoveries=40, kept=38)
        for name in NAMES
    ]


def printed(tables: Sequence[Table], width: int) -> list[str]:
    console = Console(width=width)
    with console.capture() as told:
        for one in tables:
            console.print(one)
    return told.get().splitlines()


def test_a_wide_terminal_shows_all_columns() -> None:
    lines = printed(table.tables(found(), 160), 160)
    heads = next(line for line in lines if line.lstrip().startswith("policy"))
    assert heads.split() == " ".join(table.headings()).split()
    assert not any("results.md" in line for line in lines)


@pytest.mark.parametrize(("width", "left_out"), [(80, "ms, turns"), (62, "mean, x oracle")])
def test_a_narrow_terminal_shows_names_and_main_numbers_and_says_what_it_leaves_out(
    width: int, left_out: str
) -> None:
    lines = printed(table.tables(found(), width), width)
    for name in NAMES:
        (line,) = (line for line in lines if line.split()[:1] == [name])
        assert line.split()[1:5] == ["12.3%", "123.4", "38/40", "512.3"]
    told = " ".join(" ".join(lines).split())
    assert "too narrow for ms" in told
    assert left_out in told
    assert "results.md has them" in told


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_narrow_terminal_cuts_nothing_of_a_name(width: int) -> None:
    for tables in (table.tables(found(), width), [table.change_table(changes(found(), found()))]):
        lines = printed(tables, width)
        assert not any("…" in line for line in lines)


def outcome(latency: Sequence[float | None]) -> dict[str, object]:
    """A run of an hour with a bound of 10 s; all of it but the latency is one number."""
    count = len(latency)
    same = {name: [4] * count for name in ("load", "capacity", "running", "executors")}
    at = [3600 * place / count for place in range(count)]
    course = {"at": at, "latency": latency, **same}
    return {"timeline": course, "seconds": 3600, "bound": 10.0, "recoveries": []}


def test_a_picture_says_how_far_a_latency_goes_that_it_cuts() -> None:
    assert ">up to 125</text>" in pictures(outcome([5, None, 90, 125, 5]))


def test_a_picture_that_cuts_nothing_does_not_say_so() -> None:
    assert "up to" not in pictures(outcome([5, None, 60, 20, 5]))


def test_a_run_that_ends_before_the_first_look_has_pictures_without_lines() -> None:
    assert 'class="load" d=""' in pictures(outcome([]))
