"""Plants without chance, so that a test can say what happens by hand, and the runs of a test."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sluice.core.deciding.decision import Decision
from sluice.core.deciding.situation import Bounds, Situation
from sluice.core.simulation.job import Failure, SimulatedJob
from sluice.core.simulation.loop import Decide
from sluice.core.simulation.plant import Plant
from sluice.core.simulation.trace import Trace

CALM = Plant(
    name="calm",
    bounds=Bounds(smallest=1, largest=24),
    peak=10_000,
    latency=10.0,
    task_rate=1_000,
    overhead=0.5,
    pending=0.0,
    start=10.0,
    cold=0.0,
    decommissioning=0.0,
    restart=40.0,
    driver_loss=60.0,
    executor_loss=5.0,
    spread=0.0,
    noise=0.0,
    measurement_noise=0.0,
)


def plant(**changes: Any) -> Plant:
    """The calm plant with changes."""
    return replace(CALM, **changes)


def constant(rate: float, seconds: int = 1200) -> Trace:
    """The same rate all the time."""
    return Trace(name="constant", rates=np.full(seconds, float(rate)))


def job(
    of: Plant, rate: float, executors: int, *, seconds: int = 1200, failures: Sequence[Failure] = ()
) -> SimulatedJob:
    """A job under a constant load."""
    return SimulatedJob(of, constant(rate, seconds), 1, executors, failures)


def always(executors: int) -> Decide:
    """Decide for the same number every time."""

    def decide(_: Situation) -> Decision:
        return Decision(wanted=executors, executors=executors, reason="always")

    return decide
