"""Between the models, which see loads of the order of 1, and the rest: what no forecast may do, whichever made it.

One that is not finite, or many times beyond what the load has ever been, has diverged, and the next model speaks. The
low side is only cut: a load that falls may well fall further, but not to nothing in the time of a forecast.
"""

import numpy as np

from sluice.core.forecasting.model import Model, Parameters, Values
from sluice.core.series import NoData

BEYOND = 4.0
"""So many times the largest value of the history, no forecast is believed."""

BELOW = 0.2
"""The share of the smallest value of the history under which no forecast goes; never below zero."""


def fitted(model: Model, values: Values, steps: int) -> Parameters | NoData:
    """What a model learns from rates of any size."""
    return model.fit(values / _level(values), steps)


def guarded(model: Model, values: Values, steps: int, parameters: Parameters) -> Values | NoData:
    """What a model predicts of rates of any size, if that can be believed."""
    level = _level(values)
    predicted = model.predict(values / level, steps, parameters)
    if isinstance(predicted, NoData):
        return predicted
    if not np.isfinite(predicted).all():
        return NoData("its forecast is not finite")
    highest = float(values.max()) / level
    if predicted.max() > BEYOND * highest or predicted.min() < -highest:
        return NoData("its forecast diverges")
    believed: Values = np.maximum(level * predicted, BELOW * float(values.min()))
    return believed


def _level(values: Values) -> float:
    return float(values.mean()) or 1.0
