"""ARIMA over several samplings of the load, combined, as Phoebe's prototype did (phoebe.md 2.3).

Each sampling takes the means of so many steps, so that fine ones see the next minutes and coarse ones, less noisy, the
trend behind them. Each has the order that would have predicted best of a few, with coefficients by the method of Hannan
and Rissanen (1982), which costs milliseconds where the exact likelihood costs half a second. What would explode is left
out. The samplings count by exp(-error / smallest error); between the points of a sampling lie straight lines.

Parameters, seven for each sampling: its steps, how often it is differenced, two autoregressive coefficients, two of
the moving average, the weight.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

import numpy as np

from sluice.core.forecasting import sampling
from sluice.core.forecasting.model import Parameters, Values
from sluice.core.series import NoData

SAMPLINGS = (1, 2, 4, 8)
"""Steps of each sampling."""

ORDERS = ((1, 1, 1), (2, 1, 1), (0, 2, 2), (1, 2, 2))
"""Autoregressive terms, differences and moving average terms to choose from; with two differences, trends last."""

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
        found = [best for every in SAMPLINGS if (best := _best(recent, steps, every))]
        if not found:
            return NoData("no sampling of the history has a stable model")
        smallest = max(min(error for error, _ in found), 1e-12)
        return tuple(number for error, row in found for number in (*row, exp(-error / smallest)))

    def predict(self, values: Values, steps: int, parameters: Sequence[float]) -> Values | NoData:
        """The weighted mean of what the samplings predict."""
        recent = values[-MEMORY:]
        rows = np.reshape(parameters, (-1, 7))
        usable = rows[len(recent) >= 4 * rows[:, 0]]
        if not len(usable):
            return NoData(f"{len(recent)} steps are known: 4 points of a sampling are needed")
        parts = [_continued(recent, steps, row) for row in usable]
        combined: Values = np.average(parts, axis=0, weights=usable[:, 6])
        return combined


def _best(values: Values, steps: int, every: int) -> tuple[float, Parameters] | None:
    """The error and the parameters of the best order for a sampling; None if all explode."""
    points = sampling.means(values, every)
    if len(points) < LEAST:
        return None
    rows = [
        (float(every), float(differences), *terms)
        for regressive, differences, moving in ORDERS
        if (terms := _coefficients(np.diff(points, differences), regressive, moving))
    ]
    return min(((_error(values, steps, row), row) for row in rows), default=None)


def _coefficients(changes: Values, regressive: int, moving: int) -> Parameters | None:
    """Two autoregressive terms and two of the moving average; None if they explode."""
    # statsmodels is heavy, and only a fit needs it.
    from statsmodels.tsa.arima.estimators.hannan_rissanen import (  # type: ignore[import-untyped]  # it has no types
        hannan_rissanen,
    )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = hannan_rissanen(changes, regressive, moving, demean=False)[0]
        except (ValueError, np.linalg.LinAlgError):
            return None
    terms = (*_padded(found.ar_params), *_padded(found.ma_params))
    roots = [*np.roots([1.0, -terms[0], -terms[1]]), *np.roots([1.0, terms[2], terms[3]])]
    return terms if np.isfinite(terms).all() and max(np.abs(roots), default=0.0) <= STABLE else None


def _padded(coefficients: Sequence[float]) -> tuple[float, float]:
    first, second = (*map(float, coefficients), 0.0, 0.0)[:2]
    return first, second


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
    every, differences = int(row[0]), int(row[1])
    points = sampling.means(values, every)
    ahead = _recursion(np.diff(points, differences), steps // every + 2, row[2:6])
    for order in range(differences - 1, -1, -1):
        ahead = np.diff(points, order)[-1] + np.cumsum(ahead)
    # A point is the mean of its steps and stands in their middle; step 0 is the newest.
    places = every * np.arange(len(ahead) + 1) - (every - 1) / 2
    rates: Values = np.interp(np.arange(1, steps + 1), places, [points[-1], *ahead])
    return rates


def _recursion(changes: Values, count: int, terms: Sequence[float]) -> Values:
    """The changes to come: the newest errors are known, those to come are zero."""
    first, second, moving, moving_second = (float(term) for term in terms)
    last = older = error = older_error = 0.0
    for change in changes.tolist():
        expected = first * last + second * older + moving * error + moving_second * older_error
        error, older_error = change - expected, error
        last, older = change, last
    ahead = []
    for _ in range(count):
        expected = first * last + second * older + moving * error + moving_second * older_error
        error, older_error = 0.0, error
        last, older = expected, last
        ahead.append(expected)
    return np.array(ahead)
