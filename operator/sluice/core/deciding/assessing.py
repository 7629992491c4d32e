"""What a number of executors would bring: capacity, latency, recovery, and how fast a backlog is drained.

Everything is judged at its worst moment within the horizon: the peak of the upper forecast against what is sure of the
capacity then, and a driver lost at the worst of several moments. What cannot be predicted, because no model is there
yet, is replaced by what follows from the batches alone.
"""

import math
from dataclasses import dataclass, replace

from sluice.core.deciding.latencies import as_of
from sluice.core.deciding.outlook import moved
from sluice.core.deciding.situation import Batching
from sluice.core.modelling.latency import LatencyCurve
from sluice.core.modelling.load import Load
from sluice.core.modelling.recovery import (
    Outage,
    Pace,
    Recovered,
    Recovery,
    predicted_recovery,
    recovery_limit,
)
from sluice.core.series import NoData

MOMENTS = 5
"""Moments of the horizon at which the driver may be lost."""

RELAXED = 0.3
"""At that utilisation a batch is 1.4 times as long as at none: more executors hardly help the latency any more. Nor do
they where no more than that share of a batch's overhead is theirs.
"""

OVERLOADED_FROM = 0.5
"""A job that uses less of what it surely can is not overloaded, however long its latencies were."""

INFINITE = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What all candidates are tried with. Seconds and rows per second, as everywhere."""

    load: Load
    peak: float
    """The most that is to be ready for."""
    likely: float
    """The most that is expected."""
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
    """The share of what is sure of its capacity that the peak uses."""
    sustained: float
    """The rows per second that its batches, of limited rows, can do for long; the capacity where they have no limit."""
    is_held_back: bool
    """Whether the limit keeps it from doing as much as comes."""
    latency: float
    is_overload: bool
    shared: float
    """The share of a batch's overhead that more executors would take from these."""
    recovery: float
    limit: float
    """The recovery under the peak for ever: smooth, so that two candidates can be compared by it."""
    drain: float

    @property
    def is_limited(self) -> bool:
        """Whether the limit of rows per batch takes away from its capacity."""
        return self.sustained < self.capacity


@dataclass(frozen=True, slots=True, kw_only=True)
class Goals:
    """What an assessment has to reach, and how near to the best is near enough where it cannot."""

    utilisation: float
    latency: float
    recovery: float
    drain: float
    tolerance: float

    def shortfall(self, found: Assessment, best: Assessment) -> str | None:
        """What is wrong with a candidate, in words; None if nothing is.

        Each reason that holds at a load holds at a higher one, too: more load never means fewer executors. So what
        brings no benefit is not judged by the load at which even the best misses a goal. That latencies are of two
        kinds means overload only where no latency is promised: the longer ones may be well within a promise.
        """
        if found.utilisation == INFINITE:
            return "nothing is sure to be processed"
        if found.utilisation > self.utilisation:
            return f"the peak is {found.utilisation:.0%} of what it surely processes"
        is_as_fast = found.is_limited and self._is_near(best.sustained, found.sustained)
        if found.is_held_back and not is_as_fast:
            return f"batches of limited rows let it do {found.sustained:.0f} rows/s"
        if found.is_overload and self.latency == INFINITE:
            return f"overloaded at {found.utilisation:.0%} of what it surely processes"
        if found.latency > self.latency and max(found.utilisation, found.shared) > RELAXED:
            return f"latency {found.latency:.1f} s, the goal is {self.latency:.1f} s"
        # Where a limit of rows is what holds a job back, no executors make it any faster than that.
        is_as_soon = is_as_fast or self._is_near(found.limit, best.limit)
        if found.recovery > self.recovery and not is_as_soon:
            return f"recovery {_told(found.recovery)}, the goal is {self.recovery:.0f} s"
        is_as_soon = is_as_fast or self._is_near(found.drain, best.drain)
        if found.drain > self.drain and not is_as_soon:
            return f"the backlog takes {_told(found.drain)}, the goal is {self.drain:.0f} s"
        return None

    def _is_near(self, number: float, best: float) -> bool:
        return number <= best * (1 + self.tolerance)


def assess(trial: Trial, executors: int, *, capacity: float, least: float) -> Assessment:
    """Try a candidate of a capacity with its lower edge."""
    surely, batching = _surely(trial, capacity, least), trial.batching
    used = _share(trial.peak, surely)
    latency, is_overload = _latency(trial, executors, used, surely)
    trial = replace(trial, batching=batching.on(executors, trial.likely))
    working = pace(trial.batching, capacity)
    outage = Outage(downtime=trial.downtime, interval=trial.interval)
    return Assessment(
        executors=executors,
        capacity=capacity,
        utilisation=used,
        sustained=working.sustained,
        is_held_back=working.sustained < capacity and working.sustained <= trial.peak,
        latency=latency,
        is_overload=is_overload,
        recovery=_worst_recovery(trial, working),
        shared=_share_of(trial.batching.overhead - batching.overhead, trial.batching.overhead),
        limit=_seconds(recovery_limit(trial.peak, outage, working.sustained)),
        drain=_drain(trial, working),
    )


def _surely(trial: Trial, capacity: float, least: float) -> float:
    """What is sure of a capacity under the peak: the two are hardly ever at the edges of their ranges at once.

    The logarithms of both ranges add up in squares, as independent errors do.
    """
    if not (least > 0 and trial.likely > 0):
        return least
    above, below = max(1.0, trial.peak / trial.likely), max(1.0, capacity / least)
    both = math.hypot(math.log(above), math.log(below))
    return max(least, capacity * above * math.exp(-both))


def _told(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < INFINITE else "for ever"


def _share(peak: float, capacity: float) -> float:
    """Without an upper limit: of two overloads the smaller one is better."""
    if peak <= 0:
        return 0.0
    return peak / capacity if capacity > 0 else INFINITE


def _share_of(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0


def _latency(trial: Trial, executors: int, used: float, surely: float) -> tuple[float, bool]:
    curve, batching = trial.curve, trial.batching
    if not isinstance(curve, NoData):
        is_overload = used >= OVERLOADED_FROM and curve.at(used).is_overload
        curve = as_of(curve, batching, executors, trial.likely)
        return curve.at(used).seconds.value, is_overload
    # A record waits for the batch that runs, or for the trigger, and then for its own batch.
    batch = pace(batching.on(executors, trial.likely), surely).ordinary(trial.peak)
    return max(batching.period, batch) + batch, used >= 1


def moments(load: Load, horizon: float) -> tuple[Load, ...]:
    """The load as it is seen from moments that are evenly spread over the horizon."""
    return tuple(moved(load, horizon * part / (MOMENTS - 1)) for part in range(MOMENTS))


def _worst_recovery(trial: Trial, working: Pace) -> float:
    if trial.peak >= working.sustained:
        return INFINITE
    batch = min(working.ordinary(trial.peak), trial.horizon)
    outage = Outage(downtime=trial.downtime, interval=max(trial.interval, batch))
    return max(_seconds(predicted_recovery(load, outage, working)) for load in trial.failures)


def _drain(trial: Trial, working: Pace) -> float:
    if trial.backlog <= 0:
        return 0.0
    spare = working.sustained - trial.load.rate(0.0)
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
