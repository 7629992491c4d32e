"""How good the forecasts are: loads are forecast as in production, and compared with what came and with the last value.

A selection each hour, a forecast each ten minutes, 15 minutes ahead.
"""

from dataclasses import dataclass

import numpy as np
import pytest

from sluice.core.forecasting import selection
from sluice.core.forecasting.forecast import Forecast
from sluice.core.forecasting.model import Values
from sluice.core.forecasting.prediction import predict
from sluice.core.forecasting.selection import Selection
from tests.unit.core.forecasting import shapes

AHEAD = 15


@dataclass(frozen=True)
class Outcome:
    """Errors by those of the last value, over all leads and at the last one; the share of truth in the range."""

    error: float
    error_at_end: float
    coverage: float


def outcome(load: Values, start: int) -> Outcome:
    """Forecast a load from a minute on."""
    errors, lasts, covered = [], [], []
    trusted: Selection | None = None
    for count, minute in enumerate(range(start, len(load) - AHEAD, 10)):
        samples = shapes.history(load[max(0, minute - 2880) : minute])
        if trusted is None or count % 6 == 0:
            found = selection.select(samples, 60 * AHEAD, 60, former=trusted)
            assert isinstance(found, Selection)
            trusted = found
        answer = predict(samples, 60 * AHEAD, trusted)
        assert isinstance(answer, Forecast)
        truth = load[minute : minute + AHEAD]
        errors.append(np.abs(np.array(answer.rates) - truth))
        lasts.append(np.abs(load[minute - 1] - truth))
        covered.append((np.array(answer.low) <= truth) & (truth <= np.array(answer.high)))
    return Outcome(
        error=float(np.mean(errors) / np.mean(lasts)),
        error_at_end=float(np.mean(errors, axis=0)[-1] / np.mean(lasts, axis=0)[-1]),
        coverage=float(np.mean(covered)),
    )


noisy = shapes.noisy

LOADS = {
    # load, first minute, error that it must stay below, coverage that it must have
    "sine": (noisy(shapes.sine(480), 0.03), 240, 0.33, 0.65),
    "square": (noisy(shapes.square(500), 0.03), 260, 0.33, 0.65),
    "ramps": (noisy(shapes.ramps(720), 0.03), 60, 0.7, 0.65),
    "first ramp": (noisy(shapes.first_ramp(540), 0.02), 301, 0.6, 0.5),
    "diurnal with drift": (shapes.diurnal(3)[: 2880 + 360], 2880, 1.0, 0.65),
    "constant with noise": (noisy(shapes.constant(360), 0.1), 60, 0.9, 0.65),
    "spikes": (noisy(shapes.spikes(400), 0.05), 60, 1.0, 0.65),
    "flash crowds": (noisy(shapes.flash_crowds(700), 0.04), 120, 1.1, 0.65),
    "random walk": (shapes.random_walk(400), 60, 1.1, 0.65),
}
"""A range made of what happened cannot cover what never did: the first ramp has less."""


@pytest.fixture(scope="module", params=LOADS)
def case(request: pytest.FixtureRequest) -> tuple[Outcome, float, float]:
    load, start, most, least = LOADS[request.param]
    return outcome(load, start), most, least


def test_the_selected_model_is_as_good_as_it_was_and_nowhere_a_tenth_worse_than_the_last_value(
    case: tuple[Outcome, float, float],
) -> None:
    found, most, _ = case
    assert most <= 1.1
    assert found.error < most


def test_four_of_five_rates_come_to_lie_in_the_range_more_or_less(
    case: tuple[Outcome, float, float],
) -> None:
    found, _, least = case
    assert least <= found.coverage <= 0.95


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_wave_that_was_seen_twice_is_forecast_three_times_better_than_by_the_last_value(
    noise: float,
) -> None:
    assert outcome(noisy(shapes.sine(400), noise), 240).error_at_end < 1 / 3


def test_a_wave_that_was_seen_one_and_a_half_times_is_already_forecast_better() -> None:
    assert outcome(noisy(shapes.sine(300), 0.02), 180).error_at_end < 1 / 2
