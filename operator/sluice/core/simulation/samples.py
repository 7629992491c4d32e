"""A trace from samples that were measured somewhere: put in order, repaired where that is no guess, else refused.

    out of order          sorted
    several in a second   their mean
    not a number          left out
    a gap                 a straight line across it, up to an hour
    negative rate         refused: probably a counter, not a rate
    absurd rate           refused: no job has so many rows
    a longer gap          refused, unless most samples are as far apart: nobody knows the load there
    times as 20260131     refused: they would be taken for seconds

Times are seconds. If they can only be milli-, micro- or nanoseconds since 1970, they are taken so; of times that begin
near zero nobody knows. All repairs are told, and whether the samples may be those of a counter. The first sample is
second 0.
"""

import numpy as np

from sluice.core.modelling.load import FASTEST
from sluice.core.simulation.trace import Rates, Trace
from sluice.errors import InvalidSpec, Problem

LONGEST_GAP = 3600
LONGEST_TRACE = 366 * 86_400
"""Seconds. A year of seconds is a quarter of a gigabyte."""

USUAL = 0.25
"""The share of the steps that are not longer than the usual one: of a few steps, a gap must not be it."""

UNEVEN = 1.1
"""A step of more than an hour is a gap if it is so many times the usual one."""

LATEST = 4_102_444_800
"""Seconds since 1970: 2100 begins."""

UNITS = (
    ("nanoseconds", 1e9, 1e17),
    ("microseconds", 1e6, 1e14),
    ("milliseconds", 1e3, 1e11),
)
"""How many of them are a second, and which number all times since 1973 are above: seconds since 1970 are not above any
before the year 5138.
"""


MANY = 100
"""Samples. A rate has fallen in so many; a counter is by now far larger than what is added to it."""


def repaired(name: str, times: Rates, rates: Rates) -> tuple[Trace, tuple[str, ...]]:
    """Make a trace of samples; tells what was repaired. Raises InvalidSpec."""
    told: list[str] = []
    finite = np.isfinite(times) & np.isfinite(rates)
    if not finite.all():
        told.append(f"{int((~finite).sum())} samples without a number were left out")
        times, rates = times[finite], rates[finite]
    if len(times) < 2:
        raise _refusal(name, f"{len(times)} samples", "a load needs at least two")
    times = _in_seconds(name, times, told)
    if (rates < 0).any():
        value = _sample(times, rates, int(np.argmin(rates)))
        raise _refusal(name, value, "give rates, not differences or counters")
    if (rates > FASTEST).any():
        value = _sample(times, rates, int(np.argmax(rates)))
        raise _refusal(name, value, f"give rates of up to {FASTEST:g} rows/s")
    if (np.diff(times) < 0).any():
        told.append("samples were out of order and have been sorted")
        order = np.argsort(times, kind="stable")
        times, rates = times[order], rates[order]
    if _may_be_counter(rates):
        told.append(f"{len(rates)} samples never fall: if they are a counter's, give its rate()")
    if times[0]:
        told.append(f"it begins at {times[0]:.0f} s, which is second 0 of the run")
    return Trace(name=name, rates=_by_second(name, times - times[0], rates, told)), tuple(told)


def _sample(times: Rates, rates: Rates, place: int) -> str:
    return f"{rates[place]:g} rows/s at {times[place]:.10g} s"


def _may_be_counter(rates: Rates) -> bool:
    """Whether all samples rise, or most of them: stairs and what is constant rest, and a ramp from 0 was made up."""
    steps = np.diff(rates)
    return bool(
        len(rates) > MANY
        and rates.min() > 0
        and (steps >= 0).all()
        and np.count_nonzero(steps) > len(steps) / 2
    )


def _in_seconds(name: str, times: Rates, told: list[str]) -> Rates:
    earliest = float(times.min())
    if _are_dates(times):
        raise _refusal(name, f"{earliest:.0f} as a time", "write it as 2026-01-31T20:00:00")
    unit, each = next(((unit, each) for unit, each, above in UNITS if earliest > above), ("", 1.0))
    if earliest / each >= LATEST:
        remedy = "give seconds since 1970, or write times as 2026-01-31T20:00:00"
        raise _refusal(name, f"{earliest:.15g} as a time, which is after 2099", remedy)
    if unit:
        told.append(f"times are taken as {unit} since 1970")
    return times / each


def _are_dates(times: Rates) -> bool:
    """Whether all are numbers as 20260131, with hours, minutes and seconds behind it or without."""
    digits = len(f"{times.min():.0f}")
    if digits not in (8, 10, 12, 14):
        return False
    days, rest = np.divmod(times, 10.0 ** (digits - 8))
    clock = rest * 10.0 ** (14 - digits)
    parts = (
        (days // 10_000, 1970, 2099),
        (days // 100 % 100, 1, 12),
        (days % 100, 1, 31),
        (clock // 10_000, 0, 23),
        (clock // 100 % 100, 0, 59),
        (clock % 100 // 1, 0, 59),
    )
    return all(((part >= least) & (part <= most)).all() for part, least, most in parts)


def _by_second(name: str, times: Rates, rates: Rates, told: list[str]) -> Rates:
    if times[-1] > LONGEST_TRACE:
        days = times[-1] / 86_400
        raise _refusal(name, f"{days:.0f} days", "give at most a year, with times in seconds")
    within = times.astype(np.int64)
    starts = np.flatnonzero(np.diff(within, prepend=-1))
    seconds, counts = within[starts], np.diff(starts, append=len(within))
    if (counts > 1).any():
        told.append(f"{int((counts > 1).sum())} seconds had several samples: their mean counts")
    means = np.add.reduceat(rates, starts) / counts
    if len(seconds) < 2:
        raise _refusal(name, "all samples in one second", "a load needs at least two seconds")
    gaps = np.diff(seconds)
    step, longest = int(np.quantile(gaps, USUAL, method="lower")), int(gaps.max())
    # Of two samples, nobody knows whether the step is the usual one.
    if longest > (max(LONGEST_GAP, 2 * step) if len(gaps) > 1 else LONGEST_GAP):
        at = int(seconds[int(np.argmax(gaps))])
        raise _refusal(name, f"{longest} s without a sample from {at} s on", "cut the file there")
    bridged = int((gaps > min(2 * step, max(LONGEST_GAP, UNEVEN * step))).sum())
    if bridged:
        one, many = f"a gap of {longest} s was", f"{bridged} gaps of up to {longest} s were"
        told.append(f"{one if bridged == 1 else many} bridged")
    return np.interp(np.arange(seconds[-1] + 1), seconds, means)


def _refusal(name: str, value: object, remedy: str) -> InvalidSpec:
    return InvalidSpec([Problem(f"trace {name}", value, remedy)])
