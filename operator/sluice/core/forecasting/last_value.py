"""The load stays as it is: hard to beat for minutes, and the model that is left when all others fail."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sluice.core.forecasting.model import Parameters, Values


@dataclass(frozen=True, slots=True)
class LastValue:
    """The newest value, repeated."""

    name: str = "LastValue"

    def fit(self, values: Values, steps: int) -> Parameters:  # noqa: ARG002
        """There is nothing to learn."""
        return ()

    def predict(self, values: Values, steps: int, parameters: Sequence[float]) -> Values:  # noqa: ARG002
        """Repeat the newest value."""
        return np.full(steps, values[-1])
