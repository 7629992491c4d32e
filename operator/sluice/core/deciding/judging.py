"""The effect of a rescale, judged once: what was expected of it against what is observed when it has settled.

    too early      until the change has settled and the job is steady; after ten minutes more it will not be judged
    inconclusive   the load is another one, a failure happened meanwhile, numbers are missing, or it was so before
    harmful        shrinking: the latency's bound was kept and is broken, or the lag grows and did not
                   growing: the latency is longer by half, and beyond its bound or with a growing lag
    good           else

Where no bound is declared, half more than the former latency is the bound of a smaller job; what was expected and
accepted is no harm. A job that fell behind before it grew is late whatever is done: only one that falls behind faster
than before was harmed.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean, linear_regression

from sluice.core.deciding.decision import Decision
from sluice.core.quantities import format_executors
from sluice.core.series import Measured, NoData

PATIENCE = 600.0
"""Seconds beyond the settling in which a job should become steady."""

CHANGED = 0.2
"""A load that differs by more than that share explains by itself what is observed."""

RISEN = 0.1
"""The same for a load that was grown for: what was foreseen has come."""

WORSE = 1.5
"""A latency is worse from so many times the former one on ..."""

NOTICED = 1.0
"""... if these are so many seconds, too: less is noise."""

FALLING_BEHIND = 0.05
"""A lag grows if it takes more than that share of what arrives."""

FEWEST = 6
"""Samples of the lag that tell whether it grows."""


class Outcome(StrEnum):
    """What a rescale was."""

    GOOD = "Good"
    HARMFUL = "Harmful"
    INCONCLUSIVE = "Inconclusive"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a rescale was, and a sentence with the numbers."""

    outcome: Outcome
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """The range in which the rows per second lie by which a lag grows; negative ones are worked off."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a job shows over some minutes.

    `arrival` is in rows per second, `latency` in seconds, at the objective's percentile; `growth` is that of the lag.
    """

    arrival: Measured
    latency: Measured
    growth: Growth | NoData

    @property
    def falls_behind(self) -> bool | None:
        """Whether the lag grows; None if nobody can say."""
        if isinstance(self.arrival, NoData) or isinstance(self.growth, NoData):
            return None
        if self.growth.low > FALLING_BEHIND * self.arrival:
            return True
        return False if self.growth.high <= FALLING_BEHIND * self.arrival else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A rescale whose effect is awaited.

    `at` is in seconds since 1970, `decision` the id of what decided it, `former` and `executors` are the numbers before
    and after it, `before` is what was observed then. A latency in seconds and a capacity in rows per second may have
    been expected.
    """

    at: float
    decision: str
    former: int
    executors: int
    before: Reading
    expected_latency: float | None = None
    expected_capacity: float | None = None

    @property
    def grew(self) -> bool:
        """Whether executors were added."""
        return self.executors > self.former


def trial_of(
    decision: Decision, id: str, at: float, *, former: int, before: Reading
) -> Trial | None:
    """The trial of a decision of that id that is about to be done; that of an undo is none: it is not undone again."""
    if decision.undoes is not None:
        return None
    chosen = (one for one in decision.candidates if one.executors == decision.executors)
    capacity = next((one.capacity for one in chosen), None)
    return Trial(
        at=at,
        decision=id,
        former=former,
        executors=decision.executors,
        before=before,
        expected_latency=decision.expected_latency,
        expected_capacity=None if isinstance(capacity, NoData) else capacity,
    )


def judged(
    trial: Trial, now: Reading | NoData, at: float, *, settling: float, bound: float | None
) -> Verdict | None:
    """Judge a rescale by what is observed at a moment; None as long as it is too early for that.

    `now` is NoData with its reason while the job is not steady. `settling` and the latency's `bound`, where there is
    one, are in seconds.
    """
    elapsed = at - trial.at
    if elapsed < settling:
        return None
    lack = _lack(trial, now)
    if lack is None:
        assert not isinstance(now, NoData)
        return _judged(trial, now, bound)
    if elapsed < settling + PATIENCE:
        return None
    return _inconclusive(f"not to be judged within {settling + PATIENCE:.0f} s: {lack}")


def lag_growth(samples: Iterable[tuple[float, float]], wave: float) -> Growth | NoData:
    """By what a lag grows, from samples of (seconds, rows): the slope of their line.

    `wave` are the rows of a batch, by which each lag rises and falls: from the first to the last sample, that much says
    nothing.
    """
    known = list(samples)
    if len(known) < FEWEST:
        return NoData("how many rows wait is not known for long enough")
    times, rows = [at for at, _ in known], [lag for _, lag in known]
    span = times[-1] - times[0]
    if span <= 0:
        return NoData("how many rows wait was measured at one moment only")
    slope, error = linear_regression(times, rows).slope, wave / span
    return Growth(low=slope - error, high=slope + error)


def mean(numbers: Iterable[float]) -> Measured:
    """The mean of what was measured."""
    known = list(numbers)
    return fmean(known) if known else NoData("nothing was measured")


def _lack(trial: Trial, now: Reading | NoData) -> str | None:
    """What keeps from judging. A smaller job is judged by its lag, too, as its latency is unknown in long batches."""
    if isinstance(now, NoData):
        return now.reason
    for arrival in (trial.before.arrival, now.arrival):
        if isinstance(arrival, NoData):
            return f"what arrives is unknown: {arrival.reason}"
    if not trial.grew and None not in (trial.before.falls_behind, now.falls_behind):
        return None
    for latency in (trial.before.latency, now.latency):
        if isinstance(latency, NoData):
            return f"the latency is unknown: {latency.reason}"
    return None


def _judged(trial: Trial, now: Reading, bound: float | None) -> Verdict:
    before, after = _known(trial.before.arrival), _known(now.arrival)
    if abs(after - before) > CHANGED * before:
        return _inconclusive(f"the load went from {before:,.0f} to {after:,.0f} rows/s meanwhile")
    return _grown(trial, now, bound) if trial.grew else _shrunk(trial, now, bound)


def _shrunk(trial: Trial, now: Reading, bound: float | None) -> Verdict:
    before, told = trial.before, _told(trial, now, bound)
    limit = _limit(trial) if bound is None else bound
    was_late, is_late = _is_late(before.latency, limit), _is_late(now.latency, limit)
    if (is_late and was_late is False) or (now.falls_behind and before.falls_behind is False):
        return Verdict(Outcome.HARMFUL, told)
    if is_late or now.falls_behind:
        return _inconclusive(f"it may have been as bad before: {told}")
    return Verdict(Outcome.GOOD, told)


def _grown(trial: Trial, now: Reading, bound: float | None) -> Verdict:
    before, told = trial.before, _told(trial, now, bound)
    is_worse = _known(now.latency) >= _worse_than(_known(before.latency))
    if not (is_worse and (now.falls_behind or (bound and _is_late(now.latency, bound)))):
        return Verdict(Outcome.GOOD, told)
    if _known(now.arrival) > (1 + RISEN) * _known(before.arrival):
        return _inconclusive(f"{_known(before.arrival):,.0f} rows/s arrived before: {told}")
    if not _falls_behind_faster(before, now):
        return _inconclusive(f"it may have fallen behind before: {told}")
    return Verdict(Outcome.HARMFUL, told)


def _limit(trial: Trial) -> float:
    """The latency of a smaller job for which no bound is declared, in seconds."""
    former = trial.before.latency
    if isinstance(former, NoData):
        return math.inf
    return _worse_than(max(former, trial.expected_latency or 0.0))


def _worse_than(latency: float) -> float:
    return max(WORSE * latency, latency + NOTICED)


def _is_late(latency: Measured, limit: float) -> bool | None:
    return None if isinstance(latency, NoData) else latency > limit


def _falls_behind_faster(before: Reading, now: Reading) -> bool:
    """Whether a job surely did not fall behind before, or less than now."""
    if not before.falls_behind:
        return before.falls_behind is False
    return bool(now.falls_behind) and _low(now) >= WORSE * _high(before)


def _told(trial: Trial, now: Reading, bound: float | None) -> str:
    """What is observed, and in brackets what was before, what was expected and what was promised."""
    latency, capacity = trial.expected_latency, trial.expected_capacity
    beside = (
        f"{_seconds(trial.before.latency)} before",
        f"{latency:.1f} s expected" if latency is not None else "",
        f"the bound is {bound:.1f} s" if bound is not None else "",
    )
    behind = ""
    if now.falls_behind:
        expected = f", {capacity:,.0f} rows/s expected as capacity" if capacity is not None else ""
        behind = f", and {_low(now):,.0f} rows/s are left lying{expected}"
    some = format_executors(trial.executors)
    return (
        f"with {some} instead of {trial.former} the latency is {_seconds(now.latency)} "
        f"({', '.join(filter(None, beside))}) at {_known(now.arrival):,.0f} rows/s{behind}"
    )


def _seconds(latency: Measured) -> str:
    return "unknown" if isinstance(latency, NoData) else f"{latency:.1f} s"


def _low(reading: Reading) -> float:
    """The least that is left lying, by a reading that has it."""
    assert isinstance(reading.growth, Growth)
    return reading.growth.low


def _high(reading: Reading) -> float:
    assert isinstance(reading.growth, Growth)
    return reading.growth.high


def _inconclusive(reason: str) -> Verdict:
    return Verdict(Outcome.INCONCLUSIVE, reason)


def _known(number: Measured) -> float:
    """A number that was looked for before."""
    assert not isinstance(number, NoData)
    return number
