"""A sum of sines and cosines over a period, with a linear trend, and an autoregressive model of what is left.

Least squares with a little ridge on at most a few repetitions. The residual is predicted by the equations of Yule and
Walker, whose solution cannot explode. For smooth seasons it needs less history
than `seasonal_naive` and copies no noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log, pi

import numpy as np

from sluice.core.forecasting import sampling
from sluice.core.forecasting.model import Parameters, Values
from sluice.core.forecasting.periods import Season
from sluice.core.series import NoData

REPETITIONS = 4
"""Periods that are fitted: shapes change."""

ROWS = 720
"""Rows of a regression; a longer history is made coarser."""

HARMONICS = (1, 2, 4, 6)
"""Numbers of sines to choose from."""

STRETCHES = (0.96, 0.98, 0.99, 1.0, 1.01, 1.02, 1.04)
"""How a discovered period may be wrong."""

RIDGE = 1e-4
"""Keeps the sum finite where the history does not tell its terms apart."""

LAGS = 3
"""Autoregressive terms of the residual."""

RESIDUALS = 240
"""Steps of the residual that are looked at."""


@dataclass(frozen=True, slots=True)
class Fourier:
    """Parameters: the period, the number of harmonics."""

    name: str
    season: Season

    def fit(self, values: Values, steps: int) -> Parameters | NoData:  # noqa: ARG002
        """The period and the number of sines, by Akaike's criterion."""
        period = self.season.found(values)
        if isinstance(period, NoData):
            return period
        stretches = (1.0,) if self.season.period else STRETCHES
        choices = [
            (period * stretch, float(harmonics))
            for stretch in stretches
            for harmonics in HARMONICS
            if period * stretch > 4 * harmonics
        ]
        if not choices:
            return NoData(f"a period of {period:g} steps is too short for a sine")
        return min(choices, key=lambda choice: _criterion(values, choice))

    def predict(self, values: Values, steps: int, parameters: Sequence[float]) -> Values | NoData:
        """The sum of sines, and what is left of the residual."""
        if len(values) < parameters[0]:
            return NoData(f"{len(values)} steps are known: a period has {parameters[0]:g}")
        weights = _regressed(values, parameters)[0]
        newest = np.arange(-min(len(values), RESIDUALS), 0) + 1.0
        residual = values[-len(newest) :] - _terms(newest, parameters) @ weights
        ahead = np.arange(1.0, steps + 1)
        return _terms(ahead, parameters) @ weights + _decaying(residual, steps)


def _criterion(values: Values, parameters: Sequence[float]) -> float:
    """Akaike's."""
    weights, terms, rates = _regressed(values, parameters)
    squares = float(np.mean((rates - terms @ weights) ** 2))
    return len(rates) * log(max(squares, 1e-300)) + 2 * len(weights)


def _regressed(values: Values, parameters: Sequence[float]) -> tuple[Values, Values, Values]:
    """The weight of each term, the terms and the rates: the newest repetitions, made coarser where they are many."""
    recent = values[-ceil(REPETITIONS * parameters[0]) :]
    rates, size = sampling.at_most(recent, ROWS)
    places = size * np.arange(1.0 - len(rates), 1) - (size - 1) / 2
    terms = _terms(places, parameters)
    ridge = RIDGE * len(rates) * np.eye(terms.shape[1])
    return np.linalg.solve(terms.T @ terms + ridge, terms.T @ rates), terms, rates


def _terms(places: Values, parameters: Sequence[float]) -> Values:
    """One, the time in repetitions, and the sines and cosines, at steps counted from the newest."""
    period, harmonics = parameters
    angles = 2 * pi / period * np.outer(places, np.arange(1, int(harmonics) + 1))
    trend = places / (REPETITIONS * period)
    return np.column_stack([np.ones_like(places), trend, np.sin(angles), np.cos(angles)])


def _decaying(residual: Values, steps: int) -> Values:
    """What an autoregressive model makes of the residual."""
    size = len(residual)
    moments = [float(residual[lag:] @ residual[: size - lag]) for lag in range(LAGS + 1)]
    matrix = [[moments[abs(row - column)] for column in range(LAGS)] for row in range(LAGS)]
    # A little more variance than there is: without residual, the equations would have no solution.
    weights = np.linalg.solve(
        np.array(matrix) + (1e-9 * moments[0] + 1e-12) * np.eye(LAGS), moments[1:]
    )
    newest = residual[: -LAGS - 1 : -1].tolist()
    ahead = []
    for _ in range(steps):
        ahead.append(float(np.dot(weights, newest)))
        newest = [ahead[-1], *newest[:-1]]
    return np.array(ahead)
