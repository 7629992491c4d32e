"""A straight line through the newest values, bending to level: right on ramps from their first minutes.

It learns nothing, so that it is there when the load begins to do what it never did. The slope is the median of those
between the newer and the older half of the window (Theil, 1950, on pairs half a window apart): a jump within the window
is not taken for a ramp.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sluice.core.forecasting.model import Parameters, Values
from sluice.core.series import NoData

SHARE = 0.5
"""The window, as a share of what is predicted."""

SMALLEST_WINDOW = 6
"""Fewer steps tell a slope from noise too badly."""

KEPT = 0.7
"""The share of the slope that is left at the end of what is predicted."""


@dataclass(frozen=True, slots=True)
class LocalTrend:
    """A damped straight line through the newest values."""

    name: str = "LocalTrend"

    def fit(self, values: Values, steps: int) -> Parameters:  # noqa: ARG002
        """There is nothing to learn."""
        return ()

    def predict(self, values: Values, steps: int, parameters: Sequence[float]) -> Values | NoData:  # noqa: ARG002
        """Continue the line through the newest values."""
        half = max(SMALLEST_WINDOW, round(SHARE * steps)) // 2
        if len(values) < 2 * half:
            return NoData(f"{len(values)} steps are known: {2 * half} are needed for a slope")
        window = values[-2 * half :]
        slope = float(np.median(window[half:] - window[:half])) / half
        places = np.arange(2 * half) - (2 * half - 1)
        level = float(np.median(window - slope * places))
        damping = KEPT ** (1 / steps)
        return level + slope * np.cumsum(damping ** np.arange(1, steps + 1))
