"""Loads for the tests of forecasting: rows per second, one number each minute unless a period says otherwise."""

import numpy as np

from sluice.core.forecasting.model import Values

Samples = list[tuple[float, float]]


def history(rates: Values, step: float = 60) -> Samples:
    """Samples of (seconds from now, rows per second), the last one now."""
    return [(step * (index - len(rates) + 1), float(rate)) for index, rate in enumerate(rates)]


def noisy(rates: Values, share: float, seed: int = 1) -> Values:
    """Rates with a noise that grows with them."""
    return rates * np.random.default_rng(seed).normal(1, share, len(rates))


def constant(steps: int) -> Values:
    return np.full(steps, 1000.0)


def sine(steps: int, period: float = 120) -> Values:
    wave: Values = 1000 + 800 * np.sin(2 * np.pi * np.arange(steps) / period)
    return wave


def diurnal(days: int) -> Values:
    """A day's wave that grows by 15 % a day, with disturbances that last."""
    minutes = np.arange(days * 1440)
    wave = 1000 * (1 + 0.6 * np.sin(2 * np.pi * minutes / 1440)) * (1 + 0.15 * minutes / 1440)
    disturbance = np.zeros(len(minutes))
    for index, shock in enumerate(np.random.default_rng(2).normal(0, 12, len(minutes) - 1)):
        disturbance[index + 1] = 0.9 * disturbance[index] + shock
    return noisy(wave, 0.02) + disturbance


def ramps(steps: int) -> Values:
    """An hour of calm, two hours up, an hour of plenty, two hours down."""
    return np.interp(np.arange(steps) % 360, [0, 60, 180, 240, 360], [500, 500, 5000, 5000, 500])


def first_ramp(steps: int, calm: int = 300) -> Values:
    """Calm, and then a rise such as there never was."""
    return 500 + 30.0 * np.maximum(np.arange(steps) - calm, 0)


def square(steps: int, period: int = 120) -> Values:
    return np.where(np.arange(steps) % period < period / 2, 800.0, 3000.0)


def spikes(steps: int) -> Values:
    """Two minutes of six times the load, each hour and a half or so."""
    return np.where(np.arange(steps) % 97 < 2, 6000.0, 1000.0)


def flash_crowds(steps: int, starts: tuple[int, ...] = (200, 470)) -> Values:
    """Crowds that come within eight minutes and leave over an hour."""
    since = np.arange(steps) - np.array(starts)[:, None]
    arriving = np.clip(since / 8, 0, 1)
    leaving = np.exp(-np.maximum(since - 20, 0) / 40)
    crowds: Values = 800 + 6000 * (arriving * leaving).sum(axis=0)
    return crowds


def random_walk(steps: int) -> Values:
    walk = 1000 + np.cumsum(np.random.default_rng(5).normal(0, 20, steps))
    return np.maximum(walk, 10)
