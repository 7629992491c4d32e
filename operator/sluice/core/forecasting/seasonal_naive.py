"""The load does what it did a day, a week or a discovered period ago, at today's level.

The mean of up to three former repetitions is shifted by the median distance of the newest values from it: the shape is
remembered, the level is not, because loads drift.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sluice.core.forecasting.model import Parameters, Values
from sluice.core.forecasting.periods import Season
from sluice.core.series import NoData

REPETITIONS = 3
"""Former periods whose mean is taken."""

LEVEL_SHARE = 0.5
"""The newest values that tell the level, as a share of what is predicted."""


@dataclass(frozen=True, slots=True)
class SeasonalNaive:
    """Parameter: the period."""

    name: str
    season: Season

    def fit(self, values: Values, steps: int) -> Parameters | NoData:  # noqa: ARG002
        """The period."""
        period = self.season.found(values)
        return period if isinstance(period, NoData) else (period,)

    def predict(self, values: Values, steps: int, parameters: Sequence[float]) -> Values | NoData:
        """The mean of the former repetitions, at today's level."""
        period = parameters[0]
        level = max(3, round(LEVEL_SHARE * steps))
        repetitions = min(REPETITIONS, int((len(values) - level) / period))
        if repetitions < 1:
            return NoData(f"{len(values)} steps are known: a period has {period:g}")
        before, ahead = _shape(
            values, np.arange(-level, steps, dtype=np.float64), period, repetitions, level
        )
        return ahead + np.median(values[-level:] - before)


def _shape(
    values: Values, places: Values, period: float, repetitions: int, level: int
) -> tuple[Values, Values]:
    """The mean of former repetitions at places counted from the first step to come, before it and from it on."""
    known = np.arange(-len(values), 0)
    # What is predicted further than a period ahead repeats what is predicted before.
    folded = np.where(places < 0, places, places % period)
    former = [
        np.interp(folded - index * period, known, values) for index in range(1, repetitions + 1)
    ]
    mean = np.mean(former, axis=0)
    return mean[:level], mean[level:]
