"""What is kept of runs: all outcomes as JSON, and one row for each policy, plant and load, averaged over seeds."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from sluice import __version__
from sluice.errors import InvalidSpec, Problem
from sluice.lab.cases import Json

VERSION = 1

CYCLE = 2.0
"""Hours in which rescales are counted, as the published evaluations do."""

WORDS = ("plant", "trace", "suite", "policy", "failures")
NUMBERS = ("seed", "seconds", "bound", "target", "late", "executor_hours")
"""What runs are found again by, and judged by."""

LATER_WORDS = ("job", "load")
"""What former releases have not told."""

Key = tuple[str, str, str]
"""Plant, load and policy."""

Terms = tuple[float, str, bool, float, float, str, str, tuple[int, ...]]
"""Length, failures, profile, bound, target, what job and load are where their names do not tell that, and the seeds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Averages over seeds; recoveries are pooled. Shares from 0 to 1, seconds, executor-hours of one run."""

    plant: str
    trace: str
    suite: str
    policy: str
    seeds: tuple[int, ...]
    late: float
    seen_late: float
    attainment: float
    p95_latency: float
    executor_hours: float
    profiling_hours: float
    mean_executors: float
    live_rescales: float
    restart_rescales: float
    turns: float
    recoveries: int
    """Those that could have kept the target."""
    kept: int
    prediction_error: float | None
    cpu_p99: float
    cpu_forecast: float
    hours: float
    """Of one run."""
    failures: str
    profile: bool
    bound: float
    target: float
    job: str
    """What a plant is whose name does not tell it."""
    load: str
    """What tells the load of a file from others of its name."""

    @property
    def key(self) -> Key:
        """What the row is about."""
        return (self.plant, self.trace, self.policy)

    @property
    def terms(self) -> Terms:
        """Where one of them differs, the numbers of two results say nothing about each other."""
        return (
            self.hours,
            self.failures,
            self.profile,
            self.bound,
            self.target,
            self.job,
            self.load,
            # Another seed is another chance, and of some loads another course.
            self.seeds,
        )

    @property
    def live_per_cycle(self) -> float:
        """Live rescales in two hours."""
        return self.live_rescales * CYCLE / self.hours

    @property
    def restarts_per_cycle(self) -> float:
        """Rescales by a restart in two hours."""
        return self.restart_rescales * CYCLE / self.hours

    @property
    def rescales_per_cycle(self) -> float:
        """All rescales in two hours."""
        return self.live_per_cycle + self.restarts_per_cycle

    @property
    def kept_share(self) -> float | None:
        """The share of recoveries within the target."""
        return self.kept / self.recoveries if self.recoveries else None


def rows(outcomes: Iterable[Json]) -> tuple[Row, ...]:
    """Average outcomes over their seeds."""
    groups: dict[Key, list[Json]] = {}
    for outcome in outcomes:
        key = (outcome["plant"], outcome["trace"], outcome["policy"])
        groups.setdefault(key, []).append(outcome)
    return tuple(_row(group) for group in groups.values())


def _row(group: Sequence[Json]) -> Row:
    def mean(name: str) -> float:
        return fmean(outcome[name] for outcome in group)

    recoveries = [found for outcome in group for found in outcome["recoveries"]]
    judged = [found for found in recoveries if found["feasible"] and found["within"] is not None]
    errors = [
        abs(found["predicted"] - found["seconds"]) / found["seconds"]
        for found in recoveries
        if found["seconds"] and found["predicted"] is not None
    ]
    first = group[0]
    return Row(
        plant=first["plant"],
        trace=first["trace"],
        suite=first["suite"],
        policy=first["policy"],
        seeds=tuple(sorted(outcome["seed"] for outcome in group)),
        late=mean("late"),
        seen_late=mean("seen_late"),
        attainment=mean("attainment"),
        p95_latency=mean("p95_latency"),
        executor_hours=mean("executor_hours"),
        profiling_hours=mean("profiling_hours"),
        mean_executors=mean("mean_executors"),
        live_rescales=mean("live_rescales"),
        restart_rescales=mean("restart_rescales"),
        turns=mean("turns"),
        recoveries=len(judged),
        kept=sum(found["within"] for found in judged),
        prediction_error=median(errors) if errors else None,
        cpu_p99=mean("cpu_p99"),
        cpu_forecast=mean("cpu_forecast"),
        hours=mean("seconds") / 3600,
        failures=first["failures"],
        profile=first["profile"],
        bound=first["bound"],
        target=first["target"],
        # Where a former release has not told them, its files and own jobs are comparable with none.
        job=first.get("job", ""),
        load=first.get("load", ""),
    )


def by_scene(found: Iterable[Row]) -> Mapping[tuple[str, str], list[Row]]:
    """The rows of each plant and load, in their order."""
    scenes: dict[tuple[str, str], list[Row]] = {}
    for row in found:
        scenes.setdefault((row.plant, row.trace), []).append(row)
    return scenes


def write(path: Path, outcomes: Sequence[Json]) -> None:
    """Write all outcomes."""
    content = {
        "kind": "LabResult",
        "version": VERSION,
        "release": __version__,
        "outcomes": list(outcomes),
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def read(path: Path) -> tuple[Row, ...]:
    """Read what `write` wrote. Raises InvalidSpec."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["kind"] != "LabResult" or content["version"] != VERSION:
            raise ValueError(f"kind {content['kind']}, version {content['version']}")
        return rows(map(_checked, content["outcomes"]))
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        remedy = f"give a result of `sluice lab compare`, version {VERSION}"
        raise InvalidSpec([Problem(f"former result {path}", str(error), remedy)]) from error


def _checked(outcome: Json) -> Json:
    """The outcome of a run, if it can be compared with another. Raises ValueError."""
    for name in (*WORDS, *(name for name in LATER_WORDS if name in outcome)):
        if not isinstance(outcome[name], str):
            raise ValueError(f"{name} of a run is {outcome[name]!r:.40}, which is no text")
    for name in NUMBERS:
        number = outcome[name]
        if not (isinstance(number, int | float) and 0 <= number < math.inf):
            raise ValueError(f"{name} of a run is {number!r:.40}, which is no number from 0 on")
    if not outcome["seconds"]:
        raise ValueError("seconds of a run are 0")
    if not isinstance(outcome["profile"], bool):
        raise ValueError(f"profile of a run is {outcome['profile']!r:.40}, not true or false")
    return outcome
