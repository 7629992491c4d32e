"""Rows per second over time: one number for each second of a run.

A trace is a shape (`sine`, `ramp`, ...) with noise from a seed, or was measured somewhere (`samples`). Between two
seconds nothing happens: the rate of a second holds for all of it, so rows are counted without error.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rates = NDArray[np.float64]

EPOCH = 1_767_225_600.0
"""When runs begin, in seconds since 1970: a Thursday, the first day of 2026."""

CORRELATION = 0.98
"""How much of the noise of a second is left in the next: it takes about a minute to change."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """The name of a load, and its rows per second."""

    name: str
    rates: Rates

    def __post_init__(self) -> None:
        if not len(self.rates):
            raise ValueError(f"trace {self.name}: it has no seconds")
        if not (np.isfinite(self.rates).all() and (self.rates >= 0).all()):
            raise ValueError(f"trace {self.name}: rates are finite and not negative")

    @property
    def seconds(self) -> int:
        """How long it lasts."""
        return len(self.rates)

    def scaled(self, factor: float) -> "Trace":
        """The same shape with so many times the rows."""
        return Trace(name=self.name, rates=self.rates * factor)

    def cut(self, seconds: int) -> "Trace":
        """The beginning of it."""
        return Trace(name=self.name, rates=self.rates[:seconds])


def noisy(rates: Rates, level: float, seed: int) -> Rates:
    """The rates with noise: half of it drifts within a minute, half of it is new each second."""
    chance = np.random.default_rng(seed)
    fresh = chance.normal(0.0, level / np.sqrt(2), len(rates))
    steps = chance.normal(0.0, level / np.sqrt(2) * np.sqrt(1 - CORRELATION**2), len(rates))
    return np.maximum(0.0, rates * (1 + fresh + _drift(steps)))


def _drift(steps: Rates) -> Rates:
    drift, found = 0.0, np.empty(len(steps))
    for index, step in enumerate(steps.tolist()):
        drift = CORRELATION * drift + step
        found[index] = drift
    return found


def sine(seconds: int, *, mean: float, amplitude: float, period: float, phase: float = 0) -> Rates:
    """A wave that begins at its mean, and rises; the phase is a share of the period."""
    turns = np.arange(seconds) / period + phase
    return np.maximum(0.0, mean + amplitude * np.sin(2 * np.pi * turns))


def through(seconds: int, points: Sequence[tuple[float, float]]) -> Rates:
    """A curve through points of (second, rate), level at each of them: no overshoot."""
    times = np.array([at for at, _ in points], dtype=float)
    rates = np.array([rate for _, rate in points], dtype=float)
    now = np.clip(np.arange(seconds, dtype=float), times[0], times[-1])
    place = np.clip(np.searchsorted(times, now, side="right") - 1, 0, len(times) - 2)
    part = (now - times[place]) / (times[place + 1] - times[place])
    eased = (1 - np.cos(np.pi * part)) / 2
    return np.asarray(rates[place] * (1 - eased) + rates[place + 1] * eased)


def diurnal(seconds: int, *, night: float, day: float, length: float, drift: float) -> Rates:
    """Days of the given length with a morning and a higher evening peak, growing by `drift` per day."""
    turns = np.arange(seconds) / length
    of_day = turns % 1.0
    humps = _hump(of_day, 0.45, 0.10) * 0.8 + _hump(of_day, 0.80, 0.08)
    return np.asarray((night + (day - night) * np.minimum(1.0, humps)) * (1 + drift * turns))


def _hump(at: Rates, centre: float, width: float) -> Rates:
    return np.asarray(np.exp(-(((at - centre) / width) ** 2) / 2))


def ramp(seconds: int, *, low: float, high: float, start: int, end: int) -> Rates:
    """From low to high in a straight line between two seconds."""
    return np.interp(np.arange(seconds), [start, end], [low, high])


def square(seconds: int, *, low: float, high: float, period: int) -> Rates:
    """Half a period low, half a period high."""
    return np.where(np.arange(seconds) % period < period / 2, low, high).astype(float)


def spikes(
    seconds: int, *, base: float, height: float, length: int, each: float, seed: int
) -> Rates:
    """Triangles on a base, at random moments `each` seconds apart on average."""
    chance = np.random.default_rng(seed)
    rates = np.full(seconds, float(base))
    now = np.arange(seconds)
    at = chance.exponential(each)
    while at < seconds:
        rates += height * np.maximum(0.0, 1 - np.abs(now - at) / (length / 2))
        at += length + chance.exponential(each)
    return rates


def flash_crowd(
    seconds: int, *, base: float, height: float, at: int, rise: float, fade: float
) -> Rates:
    """A crowd that comes within `rise` seconds, and loses interest over `fade` seconds."""
    since = np.arange(seconds) - float(at)
    crowd = np.where(
        since < 0,
        np.exp(np.minimum(since, 0) / rise * 3),
        np.exp(-np.maximum(since, 0) / fade),
    )
    return np.asarray(base + height * crowd)


def with_outage(rates: Rates, *, at: int, length: int, caught_up: int) -> Rates:
    """Producers that are silent for a while, and then send what they held back on top of the rest."""
    found = rates.copy()
    held = float(found[at : at + length].sum())
    found[at : at + length] = 0.0
    found[at + length : at + length + caught_up] += held / caught_up
    return found
