"""One run: what is tried, and what came of it. Both are plain enough to go to another process and into a file."""

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sluice.core.series import Measured, NoData
from sluice.core.simulation.job import Failure, Loss
from sluice.core.simulation.loop import Run, Scenario, run
from sluice.core.simulation.oracle import ideal
from sluice.core.simulation.plant import Plant
from sluice.core.simulation.profiling import profiled, unprofiled
from sluice.core.simulation.score import Recovery, Score, score
from sluice.core.simulation.trace import Trace
from sluice.lab.contenders import Contender
from sluice.lab.loads import Source

Json = dict[str, Any]

FIRST_FAILURE, EACH = 1200.0, 2743.0
"""Seconds: when the published runs failed (phoebe.md 2.8 b)."""

POINTS = 480
"""Of a timeline that is kept for a picture."""

SCHEDULES = ("drivers", "executors", "mixed", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A contender on a plant under a load, with a seed."""

    contender: Contender
    plant: Plant
    source: Source
    seed: int
    failures: str = "drivers"
    profile: bool = True
    seconds: int | None = None
    """How much of the load; None is all of it."""
    timeline: bool = False
    """Whether its course is kept for a picture."""
    job: str = ""
    """What the plant is, where its name does not tell that: another such job is not compared with it."""

    def __post_init__(self) -> None:
        # Nobody shall wait for other runs to be told that this one cannot be.
        self.contender.fixed(self.plant)

    @property
    def policy(self) -> str:
        """The contender's name."""
        return str(self.contender)


def schedule(kind: str, seconds: int) -> tuple[Failure, ...]:
    """The failures of a run: drivers, executors, or one after the other, at the published spacing."""
    if kind == "none":
        return ()
    losses = {
        "drivers": (Loss.DRIVER,),
        "executors": (Loss.EXECUTOR,),
        "mixed": (Loss.DRIVER, Loss.EXECUTOR),
    }[kind]
    moments = np.arange(FIRST_FAILURE, seconds, EACH)
    return tuple(
        Failure(at=float(at), loss=losses[number % len(losses)])
        for number, at in enumerate(moments)
    )


def carry_out(case: Case) -> Json:
    """Do a run, and tell what came of it as plain data."""
    plant = case.plant
    trace = _trace(case)
    began = time.process_time()
    found = run(
        _scenario(case, trace),
        case.contender.deciding(plant, trace),
        case.contender.foreseeing(),
        time.process_time,
    )
    outcome = {
        "policy": case.policy,
        "plant": plant.name,
        "job": case.job,
        "trace": case.source.name,
        "load": _digest(case.source, trace),
        "suite": case.source.suite,
        "seed": case.seed,
        "failures": case.failures,
        "profile": case.profile,
        "seconds": found.scenario.trace.seconds,
        "bound": plant.latency,
        "target": plant.recovery,
        "cpu": time.process_time() - began,
        **_scores(score(found, plant)),
    }
    return outcome | ({"timeline": _timeline(found)} if case.timeline else {})


def _digest(source: Source, trace: Trace) -> str:
    """What tells one file from another of the same name; a load of a suite is known by its name."""
    if source.path is None:
        return ""
    return hashlib.sha256(trace.rates.tobytes()).hexdigest()[:16]


def _trace(case: Case) -> Trace:
    trace = case.source.trace(case.seed, case.plant.peak)
    return trace if case.seconds is None else trace.cut(case.seconds)


def _scenario(case: Case, trace: Trace) -> Scenario:
    plant, contender = case.plant, case.contender
    experience, spent = profiled(plant, case.seed) if case.profile else (unprofiled(plant), 0.0)
    return Scenario(
        plant=ideal(plant) if contender.is_oracle else plant,
        trace=trace,
        seed=case.seed,
        failures=schedule(case.failures, trace.seconds),
        executors=contender.fixed(plant),
        interval=contender.interval,
        experience=experience,
        spent=spent if contender.needs_models else 0.0,
    )


def _scores(found: Score) -> Json:
    return {
        "late": found.late,
        "seen_late": found.seen_late,
        "attainment": found.attainment,
        "mean_latency": found.mean_latency,
        "p95_latency": found.p95_latency,
        "executor_hours": found.executor_hours,
        "profiling_hours": found.profiling_hours,
        "mean_executors": found.mean_executors,
        "live_rescales": found.live_rescales,
        "restart_rescales": found.restart_rescales,
        "turns": found.turns,
        "cpu_median": found.cpu_median,
        "cpu_p99": found.cpu_p99,
        "cpu_forecast": found.cpu_forecast,
        "end_lag": found.end_lag,
        "recoveries": [_recovery(one) for one in found.recoveries],
    }


def _recovery(found: Recovery) -> Json:
    return {
        "at": found.at,
        "loss": found.loss.value,
        "executors": found.executors,
        "seconds": _plain(found.seconds),
        "predicted": _plain(found.predicted),
        "within": found.within,
        "feasible": found.feasible,
    }


def _plain(measured: Measured) -> float | None:
    return None if isinstance(measured, NoData) else round(measured, 3)


def _timeline(found: Run) -> Json:
    step = max(1, len(found.moments) // POINTS)
    moments = found.moments[::step]
    return {
        "at": [moment.at for moment in moments],
        "load": [round(moment.load) for moment in moments],
        "capacity": [round(moment.capacity) for moment in moments],
        "executors": [moment.executors for moment in moments],
        "running": [moment.running for moment in moments],
        "lag": [round(moment.lag) for moment in moments],
        "latency": [_plain(moment.latency) for moment in moments],
        "changes": [
            {
                "at": decided.at,
                "before": decided.before,
                "after": decided.decision.executors,
                "reason": decided.decision.reason,
            }
            for decided in found.decisions
            if decided.decision.executors != decided.before
        ],
    }


def without_timeline(outcome: Json) -> Json:
    """What is kept of an outcome that no picture is drawn of."""
    return {name: value for name, value in outcome.items() if name != "timeline"}


def pictured(cases: Sequence[Case]) -> list[Case]:
    """Keep the course of the first seed of each policy, plant and load."""
    seen: set[tuple[str, str, str]] = set()
    marked = []
    for case in cases:
        key = (case.policy, case.plant.name, case.source.name)
        marked.append(replace(case, timeline=key not in seen))
        seen.add(key)
    return marked
