"""The price of one decision: processor time of the forecast, of the decision and of choosing a model, and memory.

Jobs of several kinds have two weeks of history, a full memory of learned numbers and any size within their
bounds. Nothing runs beside it, and only processor time is counted.
"""

import argparse
import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from bench import report
from bench.progress import Progress
from bench.report import Figure, Result
from sluice.core.deciding.deciding import DEFAULTS, decide
from sluice.core.deciding.policies.sluice import Sluice
from sluice.core.deciding.situation import (
    Batching,
    Bounds,
    Forecast,
    Models,
    Observations,
    Situation,
    Targets,
    Wish,
)
from sluice.core.deciding.storing import Record
from sluice.core.forecasting.prediction import predict
from sluice.core.forecasting.selection import Selection, select
from sluice.core.learning.history import LONGEST, MINUTE, History
from sluice.core.modelling.downtime import Cause, Downtimes
from sluice.core.modelling.latency import LatencyPoint
from sluice.core.series import NoData
from sluice.core.simulation import trace
from sluice.core.simulation.plant import PLANTS, Plant
from sluice.core.simulation.profiling import profiled

Made = TypeVar("Made")

Samples = tuple[tuple[float, float], ...]

DAY = 86_400
HORIZON = 900.0
LEARNED = 200
"""Observations of each kind that a job has made in production, more than a stored situation keeps."""

_METHOD = (
    "Processor time of what the operator does for a job each minute: forecast the load from the history that it keeps "
    "(two days of minutes, and of means of five minutes as much as makes two weeks and a day), and decide by the "
    "policy `sluice`. Choosing the forecast's model is done once in half an hour and told apart. `500 jobs` is the "
    "share of a core that both together take if 500 jobs decide each minute. Memory is the "
    "most that Python allocates during one forecast and decision, beside the history; a record is what is stored of "
    "a decision, as JSON."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One decision: processor seconds of its parts."""

    forecasting: float
    deciding: float


def main() -> int:
    """Measure, and write the result."""
    options = _options()
    progress = Progress()
    runs = {}
    for name, plant in _plants().items():
        runs[name] = _figures(name, plant, options.decisions, progress)
    result = Result(
        name="decision",
        title="The price of one decision",
        method=_METHOD,
        settings={
            "decisions": options.decisions,
            "history": "15 days",
            "policy": "sluice",
        },
        versions=report.versions("numpy"),
        runs=runs,
        are_repeats=False,
    )
    progress.say(f"written: {report.write(result)}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=".venv/bin/python -m bench.decision")
    parser.add_argument("--decisions", type=int, default=500, help="for each kind of job (500)")
    return parser.parse_args()


def _plants() -> dict[str, Plant]:
    """Small ones, and one with so many sizes to choose from that the search shows."""
    large = replace(PLANTS["spark-wide"], bounds=Bounds(smallest=1, largest=500), tasks=2000)
    named = ("spark-stateless", "spark-stateful", "phoebe")
    return {**{name: PLANTS[name] for name in named}, "1 to 500 executors": large}


def _figures(name: str, plant: Plant, count: int, progress: Progress) -> list[Figure]:
    chance = np.random.default_rng(1)
    _selected(_history(plant, 7200)[:60])  # imports what models need
    models = _models(plant, chance)
    loads = [_history(plant, length) for length in (DAY, 7200)]
    selections = [_timed(partial(_selected, load)) for load in loads]
    measured = []
    for number in range(count):
        load, (selection, _) = loads[number % 2], selections[number % 2]
        measured.append(_measured(_situation(plant, models, load, chance), selection))
    progress.say(f"{name}: {count} decisions")
    last = _situation(plant, models, loads[0], chance)
    return [
        *_times("forecast", [one.forecasting for one in measured]),
        *_times("decision", [one.deciding for one in measured]),
        *_both([one.forecasting + one.deciding for one in measured]),
        Figure(name="choosing a model", value=max(spent for _, spent in selections), unit="s"),
        Figure(name="memory", value=_memory(last, selections[0][0]) / 2**10, unit="KiB"),
        Figure(name="record", value=_stored(last, selections[0][0]) / 2**10, unit="KiB"),
    ]


def _times(name: str, seconds: Sequence[float]) -> list[Figure]:
    return [
        Figure(name=f"{name}, p50", value=1000 * report.percentile(seconds, 0.5), unit="ms"),
        Figure(name=f"{name}, p99", value=1000 * report.percentile(seconds, 0.99), unit="ms"),
    ]


def _both(seconds: Sequence[float]) -> list[Figure]:
    mean = sum(seconds) / len(seconds)
    worst = 1000 * report.percentile(seconds, 0.99)
    return [
        Figure(name="both, p99", value=worst, unit="ms", goal="<= 100"),
        Figure(name="500 jobs", value=100 * 500 * mean / MINUTE, unit="% of a core", goal="<= 100"),
    ]


def _models(plant: Plant, chance: np.random.Generator) -> Models:
    """What a profile tells, and a production of many hours after it."""
    experience, _ = profiled(plant, seed=1)
    capacity, latency = experience.models.capacity, experience.models.latency
    downtimes: Downtimes = experience.models.downtimes
    for _ in range(LEARNED):
        executors = int(chance.integers(plant.bounds.smallest, plant.bounds.largest + 1))
        rate = plant.capacity(executors)
        capacity = capacity.with_observation(executors, rate * chance.normal(1, 0.05))
        used = chance.uniform(0.05, 0.95)
        seconds = 1 / (1 - used) * chance.normal(1, 0.05)
        latency = latency.with_observation(
            LatencyPoint(executors=executors, rate=used * rate, seconds=seconds)
        )
        downtimes = downtimes.with_observation(Cause.DRIVER_LOSS, chance.uniform(40, 90))
    return Models(capacity=capacity, latency=latency, downtimes=downtimes)


def _history(plant: Plant, period: int) -> Samples:
    shape = trace.diurnal(
        int(LONGEST), night=0.15 * plant.peak, day=0.8 * plant.peak, length=period, drift=0.0
    )
    rates = trace.noisy(shape[:: int(MINUTE)], 0.05, seed=1)
    history, first = History(), MINUTE * (1 - len(rates))
    for place, rate in enumerate(rates):
        history.add(first + MINUTE * place, float(rate))
    return tuple(history.since(first))


def _situation(
    plant: Plant, models: Models, load: Samples, chance: np.random.Generator
) -> Situation:
    """A job at one of the newest thousand minutes, with a size that may or may not be right."""
    newest = int(chance.integers(len(load) - 1000, len(load)))
    now, rate = load[newest]
    executors = int(chance.integers(plant.bounds.smallest, plant.bounds.largest + 1))
    return Situation(
        at=now,
        bounds=plant.bounds,
        executors=executors,
        running=executors,
        observed=Observations(
            arrival=rate, processing=rate, lag=rate, latency=2.0, cpu=0.5, busy=0.5,
            commit_age=2.0, batch=2.0, age=10.0,
        ),
        history=tuple((at - now, rows) for at, rows in load[: newest + 1]),
        models=models,
        targets=Targets(latency=plant.latency, recovery=plant.recovery),
        batching=Batching(overhead=plant.overhead, period=plant.period, most_rows=plant.most_rows),
        uptime=DAY,
        wishes=tuple(
            Wish(at=-60.0 * age, executors=int(chance.integers(1, 24))) for age in range(60, 0, -1)
        ),
        live=plant.live,
    )  # fmt: skip


def _selected(load: Samples) -> Selection:
    found = select(load, HORIZON, MINUTE)
    if isinstance(found, NoData):
        raise RuntimeError(f"no model was chosen: {found.reason}")
    return found


def _timed(make: Callable[[], Made]) -> tuple[Made, float]:
    began = time.process_time()
    made = make()
    return made, time.process_time() - began


def _foreseen(situation: Situation, selection: Selection) -> Forecast | NoData:
    return predict(situation.history, HORIZON, selection)


def _measured(situation: Situation, selection: Selection) -> Measured:
    forecast, forecasting = _timed(lambda: _foreseen(situation, selection))
    complete = replace(situation, forecast=forecast)
    _, deciding = _timed(lambda: decide(complete, Sluice()))
    return Measured(forecasting=forecasting, deciding=deciding)


def _memory(situation: Situation, selection: Selection) -> int:
    tracemalloc.start()
    forecast = _foreseen(situation, selection)
    decide(replace(situation, forecast=forecast), Sluice())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def _stored(situation: Situation, selection: Selection) -> int:
    complete = replace(situation, forecast=_foreseen(situation, selection))
    record = Record(situation=complete, policy=Sluice(), settings=DEFAULTS)
    return len(json.dumps(record.to_data(), separators=(",", ":")))


if __name__ == "__main__":
    sys.exit(main())
