"""All policies on simulated Spark jobs, under all loads that results are told of: who is late, and what that costs.

A long run: with `--keep` what came of each scene is appended to a file, and is not made again by the next call.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from rich.console import Console

from bench import duels, hindsight, report
from bench.duels import Duel
from bench.progress import Progress
from bench.report import Figure, Result
from sluice.lab import loads, results, running
from sluice.lab.cases import EACH, FIRST_FAILURE, Case, Json
from sluice.lab.contenders import STATIC, contenders
from sluice.lab.plants import plants
from sluice.lab.results import Key, Row
from sluice.lab.verdicts import OURS, beaten, gaps

POLICIES = ("rivals", "oracle", OURS)
"""Ours is the last one, whose column has the goals."""
KNOBS = "sweep"
"""The rivals with their main knob at other positions."""

JOBS = ("spark-stateless", "spark-stateful", "spark-wide", "spark-partitioned")
TRACES = "reporting"

ALL = "all"

_METHOD = (
    "Each policy on simulated Spark jobs under loads on which no parameter was chosen, with lost drivers after "
    "1,200 s and then every 2,743 s. All stand behind the same guards; each has the defaults of its authors, "
    "which are not tuned to these jobs; how it does when its main knob is turned is told below. `late` is the share "
    "of the time in which what arrived was committed later than the bound, outages included; `late, working` leaves "
    "the outages out. `kept` are recoveries within the "
    "target, of those that all executors together could have kept; a failure lasts as long under each policy. "
    "Executor-hours are told as the share of those that `static` takes, which always has all executors, and count "
    "the profile of the policies that use one. "
    "`oracle` knows load and job, and rescales at no cost. `all` are means over the scenes, each of the same weight. "
    "Goals are those of `sluice`. A scene has the seeds that the row `seeds` tells."
)


def main() -> int:
    """Run all policies, and write the result."""
    options = _options()
    progress = Progress()
    outcomes = _outcomes(_cases(options.seeds), options.keep, options.processes, options.run)
    rows = results.rows(outcomes)
    policies = set(map(str, contenders(POLICIES)))
    found = [row for row in rows if row.policy in policies]
    result = Result(
        name="lab",
        title="Policies on simulated Spark jobs",
        method=_METHOD,
        settings={
            "loads": ", ".join(dict.fromkeys(row.trace for row in found)),
            "first failure": f"{FIRST_FAILURE:.0f} s",
            "then every": f"{EACH:.0f} s",
        },
        versions=report.versions("numpy", "statsmodels"),
        runs=_runs(found),
        are_repeats=False,
        notes=_notes(
            found, duels.fought(rows, contenders(["rivals", KNOBS])), hindsight.chosen(rows)
        ),
    )
    progress.say(f"written: {report.write(result, save_as=options.save_as)}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=".venv/bin/python -m bench.lab")
    parser.add_argument("--seeds", type=int, default=3, help="of noise and chance (3)")
    parser.add_argument("--processes", type=int, default=running.all_processors(), help="at once")
    parser.add_argument("--keep", type=Path, help="file of what was made so far, and goes on there")
    parser.add_argument(
        "--no-run", dest="run", action="store_false", help="only tell of the scenes that are kept"
    )
    parser.add_argument("--save-as", default="", help="name of the result, if not lab")
    return parser.parse_args()


def _cases(seeds: int) -> list[list[Case]]:
    """All policies of one scene and seed together, so that no scene is told of by some of them only."""
    return [
        [
            Case(contender=contender, plant=plant, source=source, seed=seed)
            for contender in contenders([*POLICIES, KNOBS, *hindsight.numbers(plant)])
        ]
        for seed in range(1, seeds + 1)
        for source in loads.sources([TRACES])
        for plant in plants(JOBS)
    ]


def _outcomes(
    scenes: Iterable[Sequence[Case]], keep: Path | None, processes: int, may_run: bool
) -> list[Json]:
    """What came of all scenes; what is kept of former calls is taken from there."""
    known = _known(keep)
    found: list[Json] = []
    for scene in scenes:
        missing = [case for case in scene if _key(case) not in known]
        if missing and not may_run:
            continue
        made = running.carried_out(missing, processes, Console(width=100)) if missing else []
        known |= dict(zip(map(_key, missing), made, strict=True))
        _append(keep, made)
        found += [known[_key(case)] for case in scene]
    return found


def _key(case: Case) -> tuple[Key, int]:
    return (case.plant.name, case.source.name, case.policy), case.seed


def _known(keep: Path | None) -> dict[tuple[Key, int], Json]:
    if keep is None or not keep.exists():
        return {}
    kept = map(json.loads, keep.read_text().splitlines())
    return {((one["plant"], one["trace"], one["policy"]), one["seed"]): one for one in kept}


def _append(keep: Path | None, made: Iterable[Json]) -> None:
    if keep is not None:
        with keep.open("a") as file:
            file.writelines(json.dumps(one) + "\n" for one in made)


def _runs(found: Sequence[Row]) -> dict[str, list[Figure]]:
    """For each policy the figures of all scenes, and first those of all together."""
    static = {_scene(row): row.executor_hours for row in found if row.policy == STATIC}
    known = gaps(found)
    runs: dict[str, list[Figure]] = {}
    for policy in map(str, contenders(POLICIES)):
        rows = [row for row in found if row.policy == policy]
        prices = [row.executor_hours / static[_scene(row)] for row in rows]
        by_oracle = [known[row.key].price if row.key in known else 1.0 for row in rows]
        runs[policy] = [
            *_together(policy, rows, prices, by_oracle),
            *(
                figure
                for row, price in zip(rows, prices, strict=True)
                for figure in _of(row, price)
            ),
        ]
    return runs


def _scene(row: Row) -> tuple[str, str]:
    return row.plant, row.trace


def _together(
    policy: str, rows: Sequence[Row], prices: Sequence[float], by_oracle: Sequence[float]
) -> Iterator[Figure]:
    goals = _GOALS if policy == OURS else {}
    kept, feasible = sum(row.kept for row in rows), sum(row.recoveries for row in rows)
    errors = [row.prediction_error for row in rows if row.prediction_error is not None]
    numbers = {
        "late": (100 * fmean(row.late for row in rows), "%"),
        "late, working": (100 * fmean(row.seen_late for row in rows), "%"),
        "kept": (100 * kept / feasible if feasible else 0.0, "%"),
        "error of predicted recoveries": (100 * fmean(errors), "%"),
        "executor-hours of static": (100 * fmean(prices), "%"),
        "executor-hours by the oracle's": (fmean(by_oracle), "x"),
        "rescales in 2 h": (fmean(row.rescales_per_cycle for row in rows), ""),
        "rescales by a restart in 2 h": (fmean(row.restarts_per_cycle for row in rows), ""),
    }
    for name, (value, unit) in numbers.items():
        yield Figure(name=f"{ALL}: {name}", value=value, unit=unit, goal=goals.get(name, ""))


_GOALS: Mapping[str, str] = {
    "late, working": "<= 5",
    "kept": ">= 90",
    "error of predicted recoveries": "<= 15",
    "executor-hours of static": "<= 65",
    "rescales by a restart in 2 h": "<= 4",
}


def _of(row: Row, price: float) -> Iterator[Figure]:
    scene = f"{row.plant}, {row.trace}"
    yield Figure(name=f"{scene}: seeds", value=len(row.seeds), unit="")
    yield Figure(name=f"{scene}: late", value=100 * row.late, unit="%")
    yield Figure(name=f"{scene}: kept", value=100 * (row.kept_share or 0.0), unit="%")
    yield Figure(name=f"{scene}: executor-hours of static", value=100 * price, unit="%")


def _notes(
    found: Sequence[Row], fought: Sequence[Duel], afterwards: Sequence[hindsight.Chosen]
) -> str:
    told = [f"- {one}." for one in beaten(duels.rows(fought))] or ["Nowhere."]
    absent = sorted(
        {source.name for source in loads.sources([TRACES])} - {row.trace for row in found}
    )
    lack = f"Not tried in this result: {', '.join(absent)}.\n\n" if absent else ""
    return (
        f"{lack}"
        f"## `sluice` and each rival\n\n{duels.told(fought)}\n\n"
        f"## Where a rival is better in both\n\n{chr(10).join(told)}\n\n"
        f"## A number of executors that is chosen afterwards\n\n{hindsight.told(afterwards)}"
    )


if __name__ == "__main__":
    sys.exit(main())
