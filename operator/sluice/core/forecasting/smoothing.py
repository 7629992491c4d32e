"""Exponential smoothing with a damped trend, ETS(A,Ad,N): short memory, and how short is learned.

The likelihood is maximised by statsmodels, which is imported only then. The recursion that predicts is a few lines
(Hyndman et al., Forecasting with Exponential Smoothing, 2008, table 2.2) and needs no library.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sluice.core.forecasting.model import Parameters, Values
from sluice.core.series import NoData

MEMORY = 240
"""Steps that are looked at: an older one has no weight left in any smoothing worth having."""

LEAST = 12
"""Steps for three parameters."""

ITERATIONS = 20
"""What the search for parameters may cost, at most; they need not be exact."""


@dataclass(frozen=True, slots=True)
class Smoothing:
    """Parameters: the weights of a new value for the level and for the trend, and the damping of the trend."""

    name: str = "ExponentialSmoothing"

    def fit(self, values: Values, steps: int) -> Parameters | NoData:  # noqa: ARG002
        """The likeliest weights."""
        recent = values[-MEMORY:]
        if len(recent) < LEAST:
            return NoData(f"{len(recent)} steps are known: {LEAST} are needed")
        if np.ptp(recent) == 0:
            return NoData("the load is constant, all weights are as good")
        found = _likeliest(recent)
        return found if np.isfinite(found).all() else NoData("no weights were found")

    def predict(self, values: Values, steps: int, parameters: Sequence[float]) -> Values:
        """Run through the newest values, then continue level and trend."""
        alpha, beta, damping = parameters
        recent = values[-MEMORY:].tolist()
        level, trend = recent[0], 0.0
        for value in recent[1:]:
            expected = level + damping * trend
            error = value - expected
            level = expected + alpha * error
            trend = damping * trend + beta * error
        ahead: Values = level + trend * np.cumsum(damping ** np.arange(1, steps + 1))
        return ahead


def _likeliest(values: Values) -> Parameters:
    from statsmodels.tsa.exponential_smoothing.ets import ETSModel  # type: ignore[import-untyped]  # it has no types

    model = ETSModel(
        values,
        error="add",
        trend="add",
        damped_trend=True,
        initialization_method="known",
        initial_level=values[0],
        initial_trend=0.0,
    )
    with warnings.catch_warnings():
        # That the search ended early, which was asked for.
        warnings.simplefilter("ignore")
        alpha, beta, damping = model.fit(disp=False, maxiter=ITERATIONS).params
    return float(alpha), float(beta), float(damping)
