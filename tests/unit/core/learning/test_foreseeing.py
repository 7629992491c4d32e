"""The load is foreseen for as long as was declared, and a step at least."""

import pytest

from sluice.core.forecasting.forecast import Forecast
from sluice.core.learning.foreseeing import AGAIN, STEP, Forecaster
from tests.unit.core.deciding.situations import AT

HISTORY = tuple((60.0 * (minute - 120), 1000.0 + minute) for minute in range(120))


@pytest.mark.parametrize(
    ("horizon", "end"), [(900.0, 900.0), (STEP, STEP), (30.0, STEP), (0.001, STEP)]
)
def test_a_forecast_reaches_as_far_as_was_declared_and_a_step_at_least(
    horizon: float, end: float
) -> None:
    found = Forecaster(horizon=horizon).foresee(HISTORY, AT)
    assert isinstance(found, Forecast)
    assert found.times[-1] == end


def test_a_model_that_was_chosen_before_the_clock_was_set_back_is_chosen_anew() -> None:
    forecaster = Forecaster()
    forecaster.foresee(HISTORY, AT)
    chosen = forecaster.selection
    forecaster.foresee(HISTORY, AT + AGAIN - 1)
    assert forecaster.selection is chosen
    forecaster.foresee(HISTORY, AT - 1)
    assert forecaster.selection is not chosen
