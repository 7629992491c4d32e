"""What every model of the load is: fitted now and then, asked often.

A fit learns parameters that do not depend on the level of the load, so that they hold while it changes and are plain
numbers that can be stored. A prediction is given the newest values and those parameters.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sluice.core.series import NoData

Values = npt.NDArray[np.floating[Any]]
"""Rates at equal steps, the oldest first, of the order of 1."""

Flags = npt.NDArray[np.bool_]
"""One yes or no for each of them."""

Parameters = tuple[float, ...]
"""What a model has learned; each model says in which order."""


class Model(Protocol):
    """A way to continue a series."""

    @property
    def name(self) -> str:
        """How people know it."""

    def fit(self, values: Values, steps: int) -> Parameters | NoData:
        """Learn from a history in order to predict so many steps; costly. No data: why the model does not apply."""

    def predict(self, values: Values, steps: int, parameters: Sequence[float]) -> Values | NoData:
        """Continue a history by so many steps; cheap."""
