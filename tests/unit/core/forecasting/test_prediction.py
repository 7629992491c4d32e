import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.core.forecasting import selection
from sluice.core.forecasting.forecast import Forecast
from sluice.core.forecasting.model import Values
from sluice.core.forecasting.prediction import forecast, predict
from sluice.core.forecasting.selection import Selection
from sluice.core.series import NoData
from tests.unit.core.forecasting import shapes
from tests.unit.core.forecasting.shapes import Samples

few = settings(max_examples=10, deadline=None)


def made(samples: Samples, horizon: float = 900, step: float = 60) -> Forecast:
    answer = forecast(samples, horizon, step)
    assert isinstance(answer, Forecast), answer
    return answer


def selected(rates: Values) -> Selection:
    found = selection.select(shapes.history(rates), 900, 60)
    assert isinstance(found, Selection), found
    return found


def predicted(rates: Values, trusted: Selection) -> Forecast:
    answer = predict(shapes.history(rates), 900, trusted)
    assert isinstance(answer, Forecast), answer
    return answer


def is_lawful(answer: Forecast) -> bool:
    triples = zip(answer.low, answer.rates, answer.high, strict=True)
    return all(0 <= low <= rate <= high < math.inf for low, rate, high in triples)


rates = st.one_of(
    st.floats(0, 1e6), st.sampled_from([0.0, -1.0, math.nan, math.inf, 1e3, 1e9, 5e-324, 1e15])
)


@few
@given(st.lists(rates, max_size=80))
def test_whatever_was_measured_the_forecast_is_finite_positive_and_within_its_range(
    measured: list[float],
) -> None:
    answer = forecast(shapes.history(np.array(measured)), 900, 60)
    assert isinstance(answer, NoData) or is_lawful(answer)


@few
@given(
    st.sampled_from([shapes.sine, shapes.ramps, shapes.square, shapes.spikes, shapes.flash_crowds]),
    st.lists(st.integers(0, 299), max_size=100),
    st.sampled_from([0.0, -1.0, math.nan, 1e6]),
    st.integers(0, 60),
)
def test_no_fault_of_the_measurements_makes_a_forecast_fail(
    shape: type, wrong: list[int], rate: float, clock_step: int
) -> None:
    load = shapes.noisy(shape(300), 0.05)
    load[wrong] = rate
    samples = shapes.history(load)
    # The clock was set back in the middle: its samples overlap those before.
    stepped = [(at - 60 * clock_step * (at > -9000), rate) for at, rate in samples]
    answer = forecast([*stepped, *samples[-5:]], 900, 60)
    assert isinstance(answer, NoData) or is_lawful(answer)


@settings(max_examples=6, deadline=None)
@given(
    st.sampled_from([shapes.sine, shapes.ramps, shapes.square, shapes.flash_crowds]),
    st.integers(-20, 30),
)
def test_so_many_times_the_load_has_so_many_times_the_forecast(shape: type, power: int) -> None:
    # Powers of two, because floating point scales by them exactly: any difference is ours.
    load, factor = shapes.noisy(shape(250), 0.05), 2.0**power
    plain, scaled = made(shapes.history(load)), made(shapes.history(load * factor))
    assert scaled.model == plain.model
    for here, there in (
        (plain.rates, scaled.rates),
        (plain.low, scaled.low),
        (plain.high, scaled.high),
    ):
        assert np.array(there) == pytest.approx(np.array(here) * factor, rel=1e-9)


@few
@given(st.floats(0, 1e12), st.integers(3, 400))
def test_a_constant_load_forecasts_itself(rate: float, steps: int) -> None:
    answer = made(shapes.history(np.full(steps, rate)))
    for curve in (answer.rates, answer.low, answer.high):
        assert curve == pytest.approx([rate] * 15, rel=1e-9)


@pytest.mark.parametrize(
    ("horizon", "step"), [(900, 60), (600, 10), (1800, 15), (3600, 60), (60, 60)]
)
def test_the_forecast_has_the_times_that_were_asked_for(horizon: float, step: float) -> None:
    answer = made(shapes.history(shapes.noisy(shapes.constant(900), 0.05), step), horizon, step)
    assert answer.times == pytest.approx(np.arange(step, horizon + 1, step))


def test_a_horizon_longer_than_the_history_is_answered() -> None:
    assert is_lawful(made(shapes.history(shapes.noisy(shapes.ramps(20), 0.02)), 3600))


def test_a_horizon_for_which_the_history_is_far_too_short_is_refused() -> None:
    answer = forecast(shapes.history(shapes.constant(20)), 48 * 3600, 60)
    assert answer == NoData("20 steps of 60 s are known: 288 are needed")


def test_a_wave_is_forecast_where_it_will_be() -> None:
    load = shapes.noisy(shapes.sine(375), 0.02)
    answer = made(shapes.history(load[:360]))
    assert answer.rates == pytest.approx(shapes.sine(375)[360:], rel=0.1)


def test_the_forecast_is_made_for_now_even_if_the_newest_sample_is_minutes_old() -> None:
    wave = shapes.sine(400)
    delayed = [(at - 240, rate) for at, rate in shapes.history(wave[:360])]
    answer = made(delayed)
    # The newest is that of minute 359, four minutes ago: the first forecast is for minute 364.
    assert answer.rates == pytest.approx(wave[364:379], rel=0.05)


def test_nothing_is_forecast_from_old_samples() -> None:
    old = [(at - 3600, rate) for at, rate in shapes.history(shapes.constant(100))]
    answer = forecast(old, 900, 60)
    assert answer == NoData("the newest rate is 3600 s old: nothing is forecast after 600 s")


def test_a_ramp_such_as_there_never_was_is_followed_within_ten_minutes() -> None:
    load = shapes.noisy(shapes.first_ramp(340), 0.02)
    answer = predicted(load[:310], selected(load[:300]))
    assert answer.rates[-1] > 500 + 0.75 * (load[324] - 500)
    assert "errs by" in answer.note


def test_the_range_grows_when_the_load_does_something_new() -> None:
    load = shapes.noisy(shapes.first_ramp(340), 0.02)
    trusted = selected(load[:300])
    calm, new = predicted(load[:300], trusted), predicted(load[:310], trusted)
    assert calm.note == ""
    assert new.high[-1] - new.rates[-1] > 1.5 * (calm.high[-1] - calm.rates[-1])


@pytest.mark.parametrize("length", [2, 6])
def test_pulses_however_unforeseen_are_expected_no_higher_than_they_were(length: int) -> None:
    load = np.full(600, 1000.0)
    for start in np.random.default_rng(4).integers(0, 560, 20):
        load[start : start + length] = 8000
    trusted = selected(load[:500])
    edges = [max(predicted(load[:minute], trusted).high) for minute in range(500, 600, 7)]
    assert max(edges) <= 8000


def test_a_load_that_breaks_its_records_is_expected_to_go_on() -> None:
    load = shapes.noisy(shapes.first_ramp(340), 0.02)
    answer = predicted(load[:330], selected(load[:330]))
    assert answer.high[-1] > answer.rates[-1] > load[:330].max()


def test_a_season_that_has_ended_is_no_longer_trusted() -> None:
    load = shapes.noisy(np.concatenate([shapes.square(240), np.full(130, 800.0)]), 0.02)
    trusted = selected(load[:290])
    assert trusted.trusted in {"SeasonalNaive", "Fourier"}
    # The load should have risen at 300 and did not.
    answer = predicted(load[:315], trusted)
    assert answer.rates == pytest.approx([800] * 15, rel=0.1)
    assert trusted.trusted in answer.note


def test_a_forecast_that_diverges_is_left_for_the_next_model() -> None:
    load = shapes.noisy(shapes.constant(300), 0.02)
    found = selected(load)
    exploding = [
        selection.Candidate(
            model=candidate.model,
            parameters=(1.0, 1.0, 1.5)
            if candidate.model == "ExponentialSmoothing"
            else candidate.parameters,
            error=candidate.error,
            share=candidate.share,
            # So wide that its errors are no drift.
            radii=(1e9,) * 15,
        )
        for candidate in found.candidates
    ]
    wrong = Selection(
        trusted="ExponentialSmoothing", step=60, factor=1, candidates=tuple(exploding), refused=()
    )
    answer = predicted(load, wrong)
    assert answer.model != "ExponentialSmoothing"
    assert answer.rates == pytest.approx([1000] * 15, rel=0.1)
    assert answer.note == "ExponentialSmoothing: its forecast diverges"


def test_a_falling_load_is_not_forecast_to_vanish() -> None:
    falling = np.linspace(5000, 200, 200)
    answer = made(shapes.history(falling))
    assert min(answer.rates) >= 0.2 * 200


def test_an_idle_job_stays_idle() -> None:
    assert set(made(shapes.history(np.zeros(300))).rates) == {0.0}


def test_the_same_history_has_the_same_forecast() -> None:
    samples = shapes.history(shapes.noisy(shapes.ramps(400), 0.05))
    assert made(samples) == made(samples)
