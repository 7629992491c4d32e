"""What an objective does to a job that nothing disturbs but its rescales: the time in which it is late, and the price.

Failures are left out: what they take from the error budget, no policy can spare.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace

from rich.console import Console

from bench import report
from bench.progress import Progress
from bench.report import Figure, Result
from sluice.lab import loads, results, running
from sluice.lab.cases import Case
from sluice.lab.contenders import contender
from sluice.lab.plants import plant
from sluice.lab.results import Row

OBJECTIVES = (0.95, 0.99)
JOBS = ("spark-stateless:live=no", "phoebe", "spark-stateless", "spark-stateful", "spark-wide")
"""The first two can only be rescaled by a restart."""
TRACES = ("diurnal", "yahoo-sine")

_METHOD = (
    "`sluice` on simulated jobs that are to keep their bound so much of the time. `late` is the share of the time in "
    "which what arrived was committed later than the bound. Nothing fails, so it is all of rescales, and of loads that "
    "were not foreseen. `live=no` and `phoebe` are rescaled by restarts. Executor-hours count the profile."
)


def main() -> int:
    """Run all, and write the result."""
    parser = argparse.ArgumentParser(prog=".venv/bin/python -m bench.objectives")
    parser.add_argument("--seeds", type=int, default=3, help="of noise and chance (3)")
    parser.add_argument("--processes", type=int, default=running.all_processors(), help="at once")
    options = parser.parse_args()
    progress = Progress()
    runs = {
        f"{objective:.0%}": list(_figures(_rows(objective, options.seeds, options.processes)))
        for objective in OBJECTIVES
    }
    result = Result(
        name="objectives",
        title="What an objective does to rescales",
        method=_METHOD,
        settings={"loads": ", ".join(TRACES), "failures": "none", "seeds": options.seeds},
        versions=report.versions("numpy", "statsmodels"),
        runs=runs,
        are_repeats=False,
    )
    progress.say(f"written: {report.write(result)}")
    return 0


def _rows(objective: float, seeds: int, processes: int) -> Iterable[Row]:
    cases = [
        Case(
            contender=contender("sluice"),
            plant=replace(plant(job), objective=objective),
            source=source,
            seed=seed,
            failures="none",
        )
        for job in JOBS
        for source in loads.sources(TRACES)
        for seed in range(1, seeds + 1)
    ]
    return results.rows(running.carried_out(cases, processes, Console(width=100)))


def _figures(found: Iterable[Row]) -> Iterator[Figure]:
    for row in found:
        scene = f"{row.plant}, {row.trace}"
        yield Figure(name=f"{scene}: late", value=100 * row.late, unit="%")
        yield Figure(name=f"{scene}: executor-hours", value=row.executor_hours, unit="")
        yield Figure(name=f"{scene}: rescales in 2 h", value=row.rescales_per_cycle, unit="")


if __name__ == "__main__":
    sys.exit(main())
