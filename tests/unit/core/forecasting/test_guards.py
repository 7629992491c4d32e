from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from sluice.core.forecasting.guards import fitted, guarded
from sluice.core.forecasting.model import Parameters, Values
from sluice.core.series import NoData

HISTORY = np.array([100.0, 400.0])


@dataclass(frozen=True)
class Saying:
    """A model that predicts so many times the newest value, and learns the newest value."""

    times: float
    name: str = "Saying"

    def fit(self, values: Values, steps: int) -> Parameters:
        return (float(values[-1]),)

    def predict(self, values: Values, steps: int, parameters: Sequence[float]) -> Values:
        return np.full(steps, self.times * values[-1])


def asked(times: float) -> Values | NoData:
    return guarded(Saying(times), HISTORY, 2, ())


def test_up_to_four_times_the_largest_load_is_believed() -> None:
    assert asked(3.9) == pytest.approx([1560, 1560])
    assert asked(4.1) == NoData("its forecast diverges")


def test_a_load_far_below_zero_is_not_believed() -> None:
    assert asked(-1.1) == NoData("its forecast diverges")


def test_no_load_is_forecast_below_a_fifth_of_the_smallest() -> None:
    assert asked(0.01) == pytest.approx([20, 20])
    assert asked(-0.5) == pytest.approx([20, 20])


@pytest.mark.parametrize("times", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_not_believed(times: float) -> None:
    assert asked(times) == NoData("its forecast is not finite")


def test_a_model_learns_the_same_from_a_load_of_any_size() -> None:
    assert fitted(Saying(1), HISTORY, 2) == fitted(Saying(1), HISTORY * 1024, 2) == (1.6,)


def test_nothing_is_divided_by_an_idle_load() -> None:
    assert guarded(Saying(1), np.zeros(5), 2, ()) == pytest.approx([0, 0])
