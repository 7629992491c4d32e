"""ARIMA over several samplings of the load, combined, as Phoebe's prototype did (phoebe.md 2.3).

Each sampling takes the means of so many steps, so that fine ones see the next minutes and coarse ones, less noisy, the
trend behind them. Each is ARIMA(p,1,1) by the method of Hannan and Rissanen (1982), which costs milliseconds where the
exact likelihood costs half a second. A sampling whose model would explode is left out; the others count by
exp(-error / smallest error) of what they would have predicted. Between the points of a sampling lie straight lines.

Parameters, for each sampling: its steps, the two autoregressive coefficients, the moving average's, the weight.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np

from sluice.core.forecasting.model import Parameters, Values
from sluice.core.series import NoData

SAMPLINGS = (1, 2, 3, 5)
"""Steps of each sampling."""

ORDERS = ((1, 1), (2, 1))
"""Autoregressive and moving average terms to choose from."""

MEMORY = 480
"""Steps that are looked at."""

LEAST = 24
"""Points of a sampling for its three coefficients."""

TRIALS = 8
"""Moments of the past at which a sampling is tried to find its weight."""

STABLE = 0.995
"""The largest modulus of a root: closer to 1, what is predicted explodes by rounding."""


@dataclass(frozen=True, slots=True)
class Arima:
    """Several samplings, combined."""

    name: str = "Arima"

    def fit(self, values: Values, steps: int) -> Parameters | NoData:
        """Coefficients and weight of each sampling that is stable."""
        recent = values[-MEMORY:]
        if np.ptp(recent) == 0:
            return NoData("the load is constant, there is nothing to learn")
        found = [(sampling, _coefficients(_means(recent, sampling))) for sampling in SAMPLINGS]
        stable = [(sampling, *terms) for sampling, terms in found if terms is not None]
        if not stable:
            return NoData("no sampling of the history has a stable model")
        errors = [_error(recent, steps, row) for row in stable]
        smallest = max(min(errors), 1e-12)
        weights = [exp(-error / smallest) for error in errors]
        return tuple(
            number for row, weight in zip(stable, weights, strict=True) for number in (*row, weight)
        )

    def predict(self, values: Values, steps: int, parameters: Sequence[float]) -> Values | NoData:
        """The weighted mean of what the samplings predict."""
        recent = values[-MEMORY:]
        rows = np.reshape(parameters, (-1, 5))
        usable = rows[len(recent) >= 4 * rows[:, 0]]
        if not len(usable):
            return NoData(f"{len(recent)} steps are known: 4 points of a sampling are needed")
        parts = [_continued(recent, steps, row) for row in usable]
        combined: Values = np.average(parts, axis=0, weights=usable[:, 4])
        return combined


def _means(values: Values, sampling: int) -> Values:
    groups = len(values) // sampling
    means: Values = values[len(values) - groups * sampling :].reshape(groups, sampling).mean(axis=1)
    return means


def _coefficients(points: Values) -> tuple[float, float, float] | None:
    """Two autoregressive terms and one of the moving average, by Akaike's criterion; None if all are unstable."""
    if len(points) < LEAST or np.ptp(points) == 0:
        return None
    fits = [fit for order in ORDERS if (fit := _hannan_rissanen(np.diff(points), order))]
    return min(fits)[1:] if fits else None


def _hannan_rissanen(
    changes: Values, order: tuple[int, int]
) -> tuple[float, float, float, float] | None:
    """Akaike's criterion and the coefficients; None if they explode."""
    # statsmodels is heavy, and only a fit needs it.
    from statsmodels.tsa.arima.estimators.hannan_rissanen import (  # type: ignore[import-untyped]  # it has no types
        hannan_rissanen,
    )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = hannan_rissanen(changes, *order, demean=False)[0]
        except (ValueError, np.linalg.LinAlgError):
            return None
    first, second = (*found.ar_params, 0.0)[:2]
    moving = float(found.ma_params[0])
    roots = np.roots([1.0, -first, -second])
    if not np.isfinite(found.params).all() or max(*abs(roots), abs(moving)) > STABLE:
        return None
    criterion = len(changes) * log(max(found.sigma2, 1e-300)) + 2 * sum(order)
    return criterion, float(first), float(second), moving


def _error(values: Values, steps: int, row: Sequence[float]) -> float:
    """The mean error of a sampling, had it been asked at some moments of the past."""
    moments = np.linspace(len(values) // 2, len(values) - 1, TRIALS).astype(int)
    errors = []
    for moment in moments:
        actual = values[moment : moment + steps]
        errors.append(abs(_continued(values[:moment], steps, row)[: len(actual)] - actual).mean())
    return float(np.mean(errors))


def _continued(values: Values, steps: int, row: Sequence[float]) -> Values:
    """What one sampling predicts for each step."""
    sampling, first, second, moving = int(row[0]), row[1], row[2], row[3]
    points = _means(values, sampling)
    older = last = error = 0.0
    for change in np.diff(points).tolist():
        error = change - first * last - second * older - moving * error
        older, last = last, change
    to_come = []
    for _ in range(steps // sampling + 2):
        older, last = last, first * last + second * older + moving * error
        error = 0.0
        to_come.append(last)
    # A point is the mean of its steps and stands in their middle; step 0 is the newest.
    places = sampling * np.arange(len(to_come) + 1) - (sampling - 1) / 2
    rates = points[-1] + np.concatenate([[0.0], np.cumsum(to_come)])
    ahead: Values = np.interp(np.arange(1, steps + 1), places, rates)
    return ahead
