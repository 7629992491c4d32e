"""What a run was worth: promises kept, and their price.

Two measures of lateness, because published evaluations use the kinder one:

    late       share of the seconds in which rows arrived that these rows were late, outages included
    seen late  share of the seconds with a job in which it worked on rows that were too late; an outage is not seen

A recovery lasts from the failure to the first commit that is as prompt as those before it were: the oldest row in a
batch waited at most 1.2 times as long, and a second. What was unpunctual before need not become more punctual than
the bound. A failure whose recovery the run does not see to its end is not judged, unless it had the target's time; nor
is one after which nothing arrived.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

import numpy as np

from sluice.core.modelling.rescaling import Path
from sluice.core.series import Measured, NoData
from sluice.core.simulation.cohorts import Latencies, commits, latencies
from sluice.core.simulation.job import Batch, Failure, Loss
from sluice.core.simulation.loop import Decided, Run, Struck
from sluice.core.simulation.plant import Plant
from sluice.core.simulation.truth import is_feasible

BEFORE = 60.0
"""Seconds before a failure that say what is prompt."""

PROMPT = 1.2
SLACK = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """A failure, how long the job took to recover, and how long the models said that it would."""

    at: float
    loss: Loss
    executors: int
    seconds: Measured
    predicted: Measured
    within: bool | None
    """Whether the target was kept; None where the run ended too early to tell."""
    feasible: bool
    """Whether all executors together would have kept it, after an outage as long as this one."""

    @property
    def error(self) -> Measured:
        """|predicted - measured| / measured."""
        if isinstance(self.seconds, NoData):
            return self.seconds
        if isinstance(self.predicted, NoData):
            return self.predicted
        return abs(self.predicted - self.seconds) / self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The measures of a run; shares are from 0 to 1, latencies in seconds."""

    late: float
    seen_late: float
    attainment: float
    """The share of the rows within the bound."""
    mean_latency: float
    p95_latency: float
    recoveries: tuple[Recovery, ...]
    executor_hours: float
    profiling_hours: float
    mean_executors: float
    live_rescales: int
    restart_rescales: int
    turns: float
    """Changes of direction in an hour."""
    cpu_median: float
    cpu_p99: float
    """Processor seconds of a decision, and of its forecast on average."""
    cpu_forecast: float
    end_lag: float
    """Rows that were left over."""

    @property
    def judged(self) -> tuple[Recovery, ...]:
        """The recoveries that could have kept the target, and of which it is known whether they did."""
        return tuple(
            found for found in self.recoveries if found.within is not None and found.feasible
        )

    @property
    def within_target(self) -> Measured:
        """The share of the judged recoveries that kept the target."""
        kept = [float(bool(found.within)) for found in self.judged]
        return fmean(kept) if kept else NoData("nothing failed from which a recovery was feasible")

    @property
    def prediction_error(self) -> Measured:
        """The median error of predicted recoveries."""
        errors = [found.error for found in self.recoveries if not isinstance(found.error, NoData)]
        return median(errors) if errors else NoData("no recovery was predicted and measured")


def score(run: Run, real: Plant | None = None) -> Score:
    """Judge a run. What is feasible is judged by the real plant, where the run was on an ideal one."""
    plant, seconds = run.scenario.plant, run.scenario.trace.seconds
    found = _latencies(run)
    cpus = np.array([decided.cpu for decided in run.decisions] or [0.0])
    changes = [decided for decided in run.decisions if decided.decision.executors != decided.before]
    restarts = [change for change in changes if _is_restart(run, change)]
    return Score(
        late=_late(found, plant.latency),
        seen_late=_seen_late(run),
        attainment=1.0 - _number(found.share_above(plant.latency)),
        mean_latency=_number(found.mean()),
        p95_latency=_number(found.quantile(0.95)),
        recoveries=tuple(_recovery(run, struck, real or plant) for struck in run.struck),
        executor_hours=run.executor_seconds / 3600,
        profiling_hours=run.scenario.spent / 3600,
        mean_executors=(run.executor_seconds - run.scenario.spent) / seconds,
        live_rescales=len(changes) - len(restarts),
        restart_rescales=len(restarts),
        turns=_turns(changes) / (seconds / 3600),
        cpu_median=float(np.median(cpus)),
        cpu_p99=float(np.quantile(cpus, 0.99)),
        cpu_forecast=fmean([decided.forecasting for decided in run.decisions] or [0.0]),
        end_lag=float(run.arrivals.rows[-1]) - (run.batches[-1].upto if run.batches else 0.0),
    )


def _number(measured: Measured) -> float:
    return 0.0 if isinstance(measured, NoData) else measured


def _is_restart(run: Run, change: Decided) -> bool:
    return change.decision.path is Path.RESTART or not run.scenario.plant.live


def _latencies(run: Run) -> Latencies:
    """Of all rows; those that are left over at the end count as committed then."""
    end, total = float(run.scenario.trace.seconds), float(run.arrivals.rows[-1])
    rest = Batch(start=end, end=end, first=0.0, upto=total + 1.0, executors=0, cold=False)
    return latencies(
        run.arrivals,
        commits([*run.batches, rest]),
        start=0.0,
        end=total,
        floor=run.scenario.plant.floor,
    )


def _late(found: Latencies, bound: float) -> float:
    """By the second of arrival: whether the mean of its rows is above the bound."""
    if not len(found.seconds):
        return 0.0
    rows = np.bincount(found.seconds, found.rows)
    total = np.bincount(found.seconds, found.rows * (found.least + found.most) / 2)
    some = rows > 0
    return float((total[some] / rows[some] > bound).mean())


def _seen_late(run: Run) -> float:
    """By batches, each of which stands for its own length and the wait for it."""
    plant, before = run.scenario.plant, 0.0
    late = total = 0.0
    oldest = _arrived(run, [batch.first for batch in run.batches])
    newest = _arrived(run, [batch.upto for batch in run.batches])
    for batch, first, last in zip(run.batches, oldest, newest, strict=True):
        span = min(batch.end - before, batch.seconds + plant.period)
        total += span
        late += span * (batch.end - (first + last) / 2 + plant.floor > plant.latency)
        before = batch.end
    return late / total if total else 0.0


def _recovery(run: Run, struck: Struck, real: Plant) -> Recovery:
    target, end = run.scenario.plant.recovery, run.scenario.trace.seconds
    failure = Failure(at=struck.at, loss=struck.loss)
    recovered = _recovered_at(run, struck.at)
    seconds: Measured = NoData("the run ended before")
    within: bool | None = None
    if recovered is not None:
        seconds = recovered - struck.at
        within = seconds <= target
    elif end - struck.at > target:
        within = False
    if not within and _rows_by(run, struck.at, target) < 1:
        seconds, within = NoData("nothing waited or arrived that could show it"), None
    return Recovery(
        at=struck.at,
        loss=struck.loss,
        executors=struck.executors,
        seconds=seconds,
        predicted=struck.predicted,
        within=within,
        feasible=is_feasible(real, run.scenario.trace, failure, run.scenario.seed),
    )


def _rows_by(run: Run, at: float, seconds: float) -> float:
    """The rows that wait at a moment, and those that arrive in so many seconds after it."""
    committed = max((batch.upto for batch in run.batches if batch.end <= at), default=0.0)
    arrived = run.arrivals.rows[min(int(at + seconds), len(run.arrivals.rows) - 1)]
    return float(arrived) - committed


def _recovered_at(run: Run, at: float) -> float | None:
    near = [batch for batch in run.batches if batch.end >= at - BEFORE]
    oldest = _arrived(run, [batch.first for batch in near])
    waits = [(batch, batch.end - first) for batch, first in zip(near, oldest, strict=True)]
    before = [wait for batch, wait in waits if batch.end < at]
    bound = run.scenario.plant.latency
    normal = min(median(before), bound) if before else bound
    # A batch that was committed just after the failure had not felt it.
    after = [(batch, wait) for batch, wait in waits if batch.end >= at + normal]
    return next((batch.end for batch, wait in after if wait <= PROMPT * normal + SLACK), None)


def _arrived(run: Run, numbers: Sequence[float]) -> list[float]:
    return [float(at) for at in run.arrivals.times(np.array(numbers, dtype=float))]


def _turns(changes: Sequence[Decided]) -> int:
    ways = [change.decision.executors > change.before for change in changes]
    return sum(one != other for one, other in pairwise(ways))
