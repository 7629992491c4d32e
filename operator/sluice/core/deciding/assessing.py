"""What a number of executors would bring: capacity, latency, recovery, and how fast a backlog is drained.

Everything is judged at its worst moment within the horizon: the peak of the upper forecast against the lower edge of
the capacity, and a driver lost at the worst of several moments. What cannot be predicted, because no model is there
yet, is replaced by what follows from the batches alone.
"""

from dataclasses import dataclass

from sluice.core.deciding.outlook import moved
from sluice.core.deciding.situation import Batching
from sluice.core.modelling.latency import LatencyCurve, utilisation
from sluice.core.modelling.load import Load
from sluice.core.modelling.recovery import (
    Outage,
    Pace,
    Recovered,
    Recovery,
    predicted_recovery,
)
from sluice.core.series import NoData

MOMENTS = 5
"""Moments of the horizon at which the driver may be lost."""

OVERLOADED_FROM = 0.5
"""A job that uses less of what it surely can is not overloaded, however long its latencies were."""

INFINITE = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What all candidates are tried with. Seconds and rows per second, as everywhere."""

    load: Load
    peak: float
    horizon: float
    failures: tuple[Load, ...]
    """The load as it is seen from each moment at which the driver may be lost."""
    backlog: float
    """Rows that wait beyond what is normal."""
    downtime: float
    interval: float
    """The least age of the last commit when the driver is lost."""
    batching: Batching
    curve: LatencyCurve | NoData


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """A candidate after its trial; a time that never comes is infinite."""

    executors: int
    capacity: float
    """The middle of its estimate."""
    utilisation: float
    """The share of the lower edge of its capacity that the peak uses."""
    latency: float
    is_overload: bool
    recovery: float
    drain: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Goals:
    """What an assessment has to reach."""

    utilisation: float
    latency: float
    recovery: float
    drain: float
    overload: bool = False
    """Whether an overloaded job is accepted, because no candidate avoids it."""

    def within_reach(self, best: Assessment, tolerance: float) -> "Goals":
        """What can be asked for where even the best misses a goal.

        So much more than the best is then enough, because beyond it executors bring hardly any benefit. Not so of an
        overload: there each of them helps.
        """
        return Goals(
            utilisation=max(self.utilisation, best.utilisation),
            latency=max(self.latency, best.latency * (1 + tolerance)),
            recovery=max(self.recovery, best.recovery * (1 + tolerance)),
            drain=max(self.drain, best.drain * (1 + tolerance)),
            overload=self.overload or best.is_overload,
        )


def assess(trial: Trial, executors: int, *, capacity: float, surely: float) -> Assessment:
    """Try a candidate of a capacity, of which so much is sure."""
    used = utilisation(trial.peak, surely)
    latency, is_overload = _latency(trial, used, surely)
    return Assessment(
        executors=executors,
        capacity=capacity,
        utilisation=used,
        latency=latency,
        is_overload=is_overload,
        recovery=_worst_recovery(trial, capacity),
        drain=_drain(trial, capacity),
    )


def shortfall(found: Assessment, goals: Goals) -> str | None:
    """What is wrong with a candidate, in words; None if nothing is."""
    if found.utilisation > goals.utilisation:
        return f"the peak is {found.utilisation:.0%} of what it surely processes"
    if found.is_overload and not goals.overload:
        return f"overloaded at {found.utilisation:.0%} of what it surely processes"
    if found.latency > goals.latency:
        return f"latency {found.latency:.1f} s, the goal is {goals.latency:.1f} s"
    if found.recovery > goals.recovery:
        return f"recovery {found.recovery:.0f} s, the goal is {goals.recovery:.0f} s"
    if found.drain > goals.drain:
        return f"the backlog takes {found.drain:.0f} s, the goal is {goals.drain:.0f} s"
    return None


def _latency(trial: Trial, used: float, surely: float) -> tuple[float, bool]:
    if not isinstance(trial.curve, NoData):
        latency = trial.curve.at(used)
        return latency.seconds.value, latency.is_overload and used >= OVERLOADED_FROM
    # A record waits for the batch that runs, or for the trigger, and then for its own batch.
    batch = pace(trial.batching, surely).ordinary(trial.peak)
    return max(trial.batching.period, batch) + batch, used >= 1


def moments(load: Load, horizon: float) -> tuple[Load, ...]:
    """The load as it is seen from moments that are evenly spread over the horizon."""
    return tuple(moved(load, horizon * part / (MOMENTS - 1)) for part in range(MOMENTS))


def _worst_recovery(trial: Trial, capacity: float) -> float:
    working = pace(trial.batching, capacity)
    if trial.peak >= working.sustained:
        return INFINITE
    batch = min(working.ordinary(trial.peak), trial.horizon)
    outage = Outage(downtime=trial.downtime, interval=max(trial.interval, batch))
    return max(_seconds(predicted_recovery(load, outage, working)) for load in trial.failures)


def _drain(trial: Trial, capacity: float) -> float:
    if trial.backlog <= 0:
        return 0.0
    spare = capacity - trial.load.rate(0.0)
    return trial.backlog / spare if spare > 0 else INFINITE


def pace(batching: Batching, capacity: float) -> Pace:
    """How a job of a capacity works through its batches."""
    return Pace(
        capacity=capacity,
        overhead=batching.overhead,
        period=batching.period,
        most_rows=batching.most_rows,
    )


def _seconds(recovery: Recovery) -> float:
    return recovery.seconds if isinstance(recovery, Recovered) else INFINITE
