"""`sluice lab`: what is tried, where the results go, and what is said of them."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from sluice.core.simulation.plant import PLANTS
from sluice.core.simulation.suites import SETS, named_trace
from sluice.errors import InvalidSpec, Problem
from sluice.lab import loads, report, results, running, table
from sluice.lab.cases import SCHEDULES, Case, Json, pictured, without_timeline
from sluice.lab.contenders import contenders
from sluice.lab.explaining import explain
from sluice.lab.plants import plants as known_plants
from sluice.lab.verdicts import beaten, changes

DEFAULT = ("sluice", "rivals", "hpa:target=0.35", "oracle")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def lab() -> None:
    """Try policies on simulated jobs: no cluster, hours in seconds."""


lab.add_command(explain)


Command = Callable[..., Any]

PIPE_WIDTH = 160
"""Columns where nobody looks: enough for every table."""


def _scene(command: Command) -> Command:
    """The options that say what policies are tried in."""
    options = [
        click.option("--plant", "plants", multiple=True, default=["phoebe"], show_default=True,
                     help=f"The simulated job; again for more. One of {', '.join(PLANTS)}, or all."),
        click.option("--trace", "traces", multiple=True, default=["yahoo-sine"], show_default=True,
                     help="A load by name, a whole set (reporting, tuning), or a file; again for more."),
        click.option("--failures", type=click.Choice(SCHEDULES), default="drivers", show_default=True,
                     help="What is lost, 20 min after the beginning and then every 45.7 min."),
        click.option("--profile/--no-profile", default=True, show_default=True,
                     help="Whether the job was profiled before; its price counts for policies that use it."),
        click.option("--hours", type=loads.HOURS, help="Only so much of each load, a year (8784) at most."),
        click.option("--out", type=click.Path(path_type=Path, file_okay=False, writable=True),
                     default=Path("lab-results"), show_default=True, help="Folder of the results."),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


@lab.command()
@click.argument("policy", default="sluice")
@_scene
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of noise and chance."
)
def run(policy: str, seed: int, out: Path, **scene: Any) -> int:
    """Try one POLICY, such as sluice or hpa:target=0.35, and tell each rescale with its reason."""
    return tried(_cases([policy], [seed], **scene), out, None, 1)


@lab.command()
@click.option(
    "--policy",
    "policies",
    multiple=True,
    help="Again for more; rivals and sweep are several. Default: all, and the oracle.",
)
@_scene
@click.option(
    "--seeds", type=click.IntRange(1, 100), default=5, show_default=True, help="How many."
)
@click.option(
    "--vs", type=click.Path(path_type=Path), help="A former results.json: shows what has changed."
)
@click.option(
    "--processes", type=click.IntRange(min=1), help="At once. Default: one for each processor."
)
def compare(
    policies: Sequence[str],
    seeds: int,
    out: Path,
    vs: Path | None,
    processes: int | None,
    **scene: Any,
) -> int:
    """Try policies side by side, under the same loads and failures."""
    cases = _cases(policies or DEFAULT, range(1, seeds + 1), **scene)
    return tried(cases, out, vs, processes or running.all_processors())


@lab.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
def traces(files: Sequence[Path]) -> int:
    """List the loads by name, or look at FILES: what is in them, and what would be repaired."""
    for suite, shapes in SETS.items() if not files else ():
        for name in shapes:
            _show(f"{name} ({suite})", named_trace(name, 1).rates)
    for file in files:
        trace, repairs = loads.read(file)
        _show(str(file), trace.rates)
        for repair in repairs:
            click.echo(f"  {repair}")
    return 0


def _show(name: str, rates: Any) -> None:
    click.echo(
        f"{name}: {len(rates) / 3600:.1f} h, {rates.min():,.0f} to {rates.max():,.0f} rows/s, "
        f"mean {rates.mean():,.0f}"
    )


def tried(cases: Sequence[Case], out: Path, vs: Path | None, processes: int) -> int:
    """Carry out all runs, write the results, and tell them."""
    former = results.read(vs) if vs else ()
    _make(out)
    outcomes = running.carried_out(pictured(cases), processes, table.console(stderr=True))
    found = results.rows(outcomes)
    _write(out, outcomes, found, former)
    console = table.console()
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    for one in [*table.tables(found, console.width), *_courses(outcomes)]:
        console.print(one)
    if vs:
        for told in _since(former, found):
            console.print(told)
    for note in _notes(found):
        console.print(note)
    console.print(f"{out}/report.html, {out}/results.md, {out}/results.json")
    return 0


def _courses(outcomes: Sequence[Json]) -> list[Table]:
    """The rescales, where there is one run only."""
    return [table.course(outcome) for outcome in outcomes] if len(outcomes) == 1 else []


def _since(former: Sequence[results.Row], found: Sequence[results.Row]) -> Iterator[Table | str]:
    """What has changed, and how much cannot be told."""
    known = changes(former, found)
    if known:
        yield table.change_table(known)
    if len(known) < len(found):
        yield (
            f"{len(found) - len(known)} of {len(found)} have no former result with the same job, load and policy, "
            "as long, with the same capacity, bound, target, failures, profile and seeds"
        )


def _cases(
    policies: Sequence[str],
    seeds: Sequence[int],
    *,
    plants: Sequence[str],
    traces: Sequence[str],
    failures: str,
    profile: bool,
    hours: float | None,
) -> list[Case]:
    sources = loads.sources(traces)
    for source in sources:
        for repair in source.repairs:
            click.echo(f"{source.path}: {repair}", err=True)
    return [
        Case(
            contender=one,
            plant=plant,
            source=source,
            seed=seed,
            failures=failures,
            profile=profile,
            seconds=None if hours is None else int(hours * 3600),
        )
        for plant in known_plants(plants)
        for source in sources
        for one in contenders(policies)
        for seed in seeds
    ]


def _make(out: Path) -> None:
    """Nobody shall wait for hours to be told that the results cannot be kept."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(error) from error


def _write(
    out: Path, outcomes: Sequence[Json], found: Sequence[results.Row], former: Sequence[results.Row]
) -> None:
    try:
        results.write(out / "results.json", [without_timeline(outcome) for outcome in outcomes])
        (out / "results.md").write_text(table.markdown(found, _notes(found)), encoding="utf-8")
        page = report.page(found, outcomes, _notes(found), changes(former, found))
        (out / "report.html").write_text(page, encoding="utf-8")
    except OSError as error:
        raise _unwritable(error) from error


def _unwritable(error: OSError) -> InvalidSpec:
    return InvalidSpec([Problem("out", str(error), "give a folder that can be written with --out")])


def _notes(found: Sequence[results.Row]) -> list[str]:
    tuned = sorted({row.trace for row in found if row.suite == "tuning"})
    notes = [str(one) for one in beaten(found)]
    if tuned:
        notes.append(f"used for tuning, so no evidence: {', '.join(tuned)}")
    return notes
