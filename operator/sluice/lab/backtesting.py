"""`sluice backtest`: how policies would have done under a job's own load, on a simulated job of its capacity."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from sluice.lab import loads, running
from sluice.lab.cases import SCHEDULES, Case
from sluice.lab.commands import tried
from sluice.lab.contenders import contenders
from sluice.lab.fitting import capacities, fitted, missed
from sluice.lab.loads import Source
from sluice.lab.plants import plant

DEFAULT = ("sluice", "static", "hpa", "oracle")

OWN = "own job"


@click.command(short_help="Try policies under a job's own load.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--capacity",
    "measured",
    multiple=True,
    required=True,
    metavar="EXECUTORS=ROWS",
    help="The rows per second that so many executors can process, as measured; again for more sizes.",
)
@click.option(
    "--plant",
    "kind",
    default="spark-stateful",
    show_default=True,
    help="The kind of job, with other numbers where they are known: "
    "spark-stateful:smallest=2,largest=40,tasks=48,latency=10,recovery=180,restart=50,live=no.",
)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    default=DEFAULT,
    show_default=True,
    help="Again for more; rivals and sweep are several.",
)
@click.option(
    "--failures",
    type=click.Choice(SCHEDULES),
    default="none",
    show_default=True,
    help="What is lost, 20 min after the beginning and then every 45.7 min.",
)
@click.option(
    "--seeds", type=click.IntRange(1, 100), default=1, show_default=True, help="How many."
)
@click.option(
    "--hours", type=loads.HOURS, help="Only the first hours of the load, a year (8784) at most."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False, writable=True),
    default=Path("lab-results"),
    show_default=True,
    help="Folder of the results.",
)
@click.option(
    "--vs", type=click.Path(path_type=Path), help="A former results.json: shows what has changed."
)
def backtest(
    file: Path,
    measured: Sequence[str],
    kind: str,
    policies: Sequence[str],
    failures: str,
    seeds: int,
    hours: float | None,
    out: Path,
    vs: Path | None,
) -> int:
    """Try policies under the load of FILE: CSV, Parquet, or the JSON of a Prometheus range query.

    The job is simulated: its capacity is what you have measured, all the rest is that of a kind of job.
    """
    source = Source(name=file.stem, path=file)
    trace, repairs = loads.read(file)
    for repair in repairs:
        click.echo(repair, err=True)
    capacity = capacities(measured)
    job = replace(fitted(plant(kind), capacity, max(1.0, float(trace.rates.max()))), name=OWN)
    for miss in missed(job, capacity):
        click.echo(miss, err=True)
    cases = [
        Case(
            contender=contender,
            plant=job,
            source=source,
            seed=seed,
            job=f"{kind} {sorted(capacity.items())}",
            failures=failures,
            seconds=None if hours is None else int(hours * 3600),
        )
        for contender in contenders(policies)
        for seed in range(1, seeds + 1)
    ]
    return tried(cases, out, vs, running.all_processors())
