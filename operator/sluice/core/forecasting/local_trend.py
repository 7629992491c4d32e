"""A straight line through the newest values, bending to level: right on ramps from their first minutes.

It learns nothing, so that it is there when the load begins to do what it never did. The slope is the least of two: that
of the whole window and that of its newer half. After a jump the newer half is level, and nothing is continued.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sluice.core.forecasting.model import Parameters, Values
from sluice.core.series import NoData

SHARE = 0.7
"""The window, as a share of what is predicted."""

SMALLEST_WINDOW = 6
"""Fewer steps tell a slope from noise too badly."""

KEPT = 0.6
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
        size = max(SMALLEST_WINDOW, round(SHARE * steps))
        if len(values) < size:
            return NoData(f"{len(values)} steps are known: {size} are needed for a slope")
        whole, newer = values[-size:], values[-(size // 2) :]
        slope = _nearest_to_level(_slope(whole), _slope(newer))
        # The middle of the newer half is a mean, too: it has less noise than the newest value.
        level = float(newer.mean()) + slope * (len(newer) - 1) / 2
        damping = KEPT ** (1 / steps)
        ahead: Values = level + slope * np.cumsum(damping ** np.arange(1, steps + 1))
        return ahead


def _slope(values: Values) -> float:
    """Of the least squares line, per step."""
    places = np.arange(len(values)) - (len(values) - 1) / 2
    return float(places @ values / (places @ places))


def _nearest_to_level(first: float, second: float) -> float:
    if first * second <= 0:
        return 0.0
    return min(first, second, key=abs)
