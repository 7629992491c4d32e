import numpy as np
import pytest

from sluice.core.forecasting.arima import Arima
from sluice.core.forecasting.fourier import Fourier
from sluice.core.forecasting.last_value import LastValue
from sluice.core.forecasting.local_trend import LocalTrend
from sluice.core.forecasting.model import Model, Values
from sluice.core.forecasting.periods import Season
from sluice.core.forecasting.seasonal_naive import SeasonalNaive
from sluice.core.forecasting.smoothing import Smoothing
from sluice.core.series import NoData
from tests.unit.core.forecasting import shapes

STEPS = 15


def predicted(model: Model, values: Values) -> Values:
    parameters = model.fit(values, STEPS)
    assert not isinstance(parameters, NoData), parameters
    ahead = model.predict(values, STEPS, parameters)
    assert not isinstance(ahead, NoData), ahead
    return ahead


def split(values: Values) -> tuple[Values, Values]:
    return values[:-STEPS] / 1000, values[-STEPS:] / 1000


def error(model: Model, values: Values) -> float:
    known, to_come = split(values)
    return float(np.abs(predicted(model, known) - to_come).mean())


def test_the_last_value_stays() -> None:
    assert predicted(LastValue(), np.array([3.0, 1.0, 2.0])).tolist() == [2.0] * STEPS


def test_a_local_trend_follows_a_ramp_within_minutes_of_its_start() -> None:
    known, to_come = split(shapes.first_ramp(300 + 10 + STEPS))
    ahead = predicted(LocalTrend(), known)
    assert ahead[0] == pytest.approx(to_come[0], rel=0.02)
    assert ahead[-1] > known[-1] + 0.7 * (to_come[-1] - known[-1])


def test_a_local_trend_takes_no_jump_for_a_ramp() -> None:
    jumped = np.array([1.0] * 20 + [3.0] * 5)
    assert predicted(LocalTrend(), jumped) == pytest.approx([3.0] * STEPS)


def test_smoothing_takes_the_mean_of_noise() -> None:
    known = shapes.noisy(shapes.constant(240), 0.1) / 1000
    assert predicted(Smoothing(), known) == pytest.approx([1.0] * STEPS, abs=0.05)


def test_smoothing_follows_a_trend() -> None:
    known, to_come = split(shapes.noisy(shapes.ramps(150), 0.01))
    ahead = predicted(Smoothing(), known)
    assert ahead[-1] > known[-1] + 0.5 * (to_come[-1] - known[-1])


def test_arima_learns_how_fast_a_disturbance_fades() -> None:
    shocks = np.random.default_rng(3).normal(0, 0.1, 480)
    values = np.ones(480)
    for index in range(1, 480):
        values[index] = 1 + 0.7 * (values[index - 1] - 1) + shocks[index]
    values[-1] = 2.0
    ahead = predicted(Arima(), values)
    assert ahead[-1] < 1.6
    assert ahead[0] > ahead[-1]


def test_arima_follows_a_wave_better_than_the_last_value() -> None:
    values = shapes.noisy(shapes.sine(420), 0.01)
    assert error(Arima(), values) < 0.5 * error(LastValue(), values)


def test_arima_leaves_out_a_sampling_that_would_explode() -> None:
    exploding = 1.1 ** np.arange(40.0)
    answer = Arima().fit(exploding / exploding.mean(), STEPS)
    assert answer == NoData("no sampling of the history has a stable model")


DISCOVERED = Season(longest=720)


@pytest.mark.parametrize("model", [SeasonalNaive("naive", DISCOVERED), Fourier("f", DISCOVERED)])
def test_seasons_continue_a_wave_after_two_periods(model: Model) -> None:
    assert error(model, shapes.sine(255)) < 0.02


def test_the_season_is_remembered_and_its_level_is_not() -> None:
    values = shapes.square(255) / 1000
    values[225:] += 2.0
    ahead = predicted(SeasonalNaive("naive", Season(period=120)), values[:-STEPS])
    assert ahead == pytest.approx(values[-STEPS:], abs=0.01)


def test_a_horizon_beyond_the_period_repeats_the_season() -> None:
    values = shapes.square(240, period=20) / 1000
    model = SeasonalNaive("naive", Season(period=20))
    ahead = model.predict(values[:200], 40, (20.0,))
    assert not isinstance(ahead, NoData)
    assert ahead == pytest.approx(values[200:240])


def test_what_fourier_leaves_is_predicted_to_fade() -> None:
    values = shapes.sine(480) / 1000
    values[-10:] += 0.3
    pure = shapes.sine(480 + STEPS)[-STEPS:] / 1000
    gap = predicted(Fourier("f", Season(period=120)), values) - pure
    assert gap[0] > 0.1
    assert 0 <= gap[-1] < gap[0]


@pytest.mark.parametrize(
    "model",
    [
        Smoothing(),
        Arima(),
        SeasonalNaive("daily", Season(period=1440, least=10080)),
        Fourier("daily", Season(period=1440, least=10080)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_model_that_needs_more_history_says_so(model: Model) -> None:
    answer = model.fit(np.array([1.0, 1.1, 0.9, 1.0, 1.2]), STEPS)
    assert isinstance(answer, NoData)
    assert answer.reason
