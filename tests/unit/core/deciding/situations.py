"""Situations to decide in: a steady job in which everything is measured, and what a test changes about it."""

from dataclasses import replace

from sluice.core.deciding.situation import (
    Bounds,
    Forecast,
    Models,
    Observations,
    Situation,
    Targets,
    Wish,
)
from sluice.core.modelling.capacity import CapacityModel
from sluice.core.modelling.downtime import Cause, Downtimes
from sluice.core.modelling.latency import LatencyModel, LatencyPoint

AT = 1_767_225_600.0
"""2026-01-01 00:00 UTC, a Thursday."""

PER_EXECUTOR = 16_000.0

MODELS = Models(
    capacity=CapacityModel(points=tuple((s, PER_EXECUTOR * s) for s in (2, 8, 14, 24))),
    latency=LatencyModel(
        profiled=tuple(
            LatencyPoint(executors=10, rate=rate, seconds=seconds, profiled=True)
            for rate, seconds in (
                (16_000, 1.0),
                (60_000, 1.1),
                (100_000, 1.2),
                (140_000, 1.5),
                (150_000, 30.0),
            )
        )
    ),
    downtimes=Downtimes().with_observation(Cause.DRIVER_LOSS, 60.0),
)


def flat(rate: float, *, margin: float = 0.05, horizon: int = 900) -> Forecast:
    """A forecast of the same rate."""
    times = tuple(float(at) for at in range(60, horizon + 1, 60))
    count = len(times)
    return Forecast(
        times=times,
        rates=(rate,) * count,
        low=(rate * (1 - margin),) * count,
        high=(rate * (1 + margin),) * count,
        model="flat",
        note="the selected model drifted",
    )


def steady(rate: float = 100_000.0, executors: int = 14, **changes: object) -> Situation:
    """A job that has had the same load and size for hours."""
    situation = Situation(
        at=AT,
        bounds=Bounds(smallest=2, largest=24),
        executors=executors,
        running=executors,
        observed=Observations(
            arrival=rate,
            processing=rate,
            lag=rate,
            latency=1.0,
            cpu=min(1.0, rate / (PER_EXECUTOR * executors)),
            busy=min(1.0, rate / (PER_EXECUTOR * executors)),
            commit_age=5.0,
            batch=5.0,
            age=10.0,
        ),
        history=tuple((float(at), rate) for at in range(-3600, 1, 60)),
        forecast=flat(rate),
        models=MODELS,
        targets=Targets(latency=10.0, recovery=180.0),
        uptime=86_400.0,
        wishes=wishes(executors),
    )
    return replace(situation, **changes)  # type: ignore[arg-type]  # tests name the fields they change


def wishes(executors: int, *, seconds: int = 3600) -> tuple[Wish, ...]:
    """The same number wanted each minute."""
    return tuple(Wish(at=float(at), executors=executors) for at in range(-seconds, 0, 60))
