"""A source that falls silent is taken for lost for half an hour, and its silence for no load."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.core.forecasting.forecast import Forecast
from sluice.core.forecasting.model import Values
from sluice.core.forecasting.prediction import forecast
from sluice.core.forecasting.silences import Bridged, bridged
from tests.unit.core.forecasting import shapes

FLOW = 1000.0


def flow(minutes: int) -> list[float]:
    return [FLOW] * minutes


def bridged_minutes(*rates: float) -> Bridged:
    return bridged(np.array(rates), 60)


def foreseen(rates: Values) -> Forecast:
    found = forecast(shapes.history(rates), 900, 60)
    assert isinstance(found, Forecast), found
    return found


@pytest.mark.parametrize("length", [1, 5, 30])
@pytest.mark.parametrize("after", [0, 60])
def test_half_an_hour_of_silence_in_a_steady_flow_is_a_gap(length: int, after: int) -> None:
    found = bridged_minutes(*flow(60), *[0.0] * length, *flow(after))
    assert found.values.tolist() == flow(60 + length + after)
    assert found.silent.sum() == length
    assert found.silent[60 : 60 + length].all()


@pytest.mark.parametrize("after", [0, 60])
def test_what_is_silent_for_longer_is_idle(after: int) -> None:
    rates = [*flow(60), *[0.0] * 31, *flow(after)]
    found = bridged_minutes(*rates)
    assert found.values.tolist() == rates
    assert not found.silent.any()


def test_a_load_that_comes_and_goes_has_no_silences() -> None:
    rates = ([FLOW] * 10 + [0.0] * 10) * 9
    assert bridged_minutes(*rates).values.tolist() == rates


def test_a_load_that_began_just_now_is_not_known_to_flow() -> None:
    assert bridged_minutes(*flow(44), 0, 0, 0).values[-1] == 0
    assert bridged_minutes(*flow(45), 0, 0, 0).values[-1] == FLOW


def test_a_second_silence_soon_after_the_first_is_one_too() -> None:
    found = bridged_minutes(*flow(60), *[0.0] * 8, *flow(10), *[0.0] * 5)
    assert found.values.tolist() == flow(83)


def test_the_minutes_that_were_silent_in_part_are_no_measurement() -> None:
    found = bridged_minutes(*flow(60), 300, *[0.0] * 9, 700, *flow(20))
    assert found.values.tolist() == flow(91)
    assert found.silent.sum() == 11


def test_what_comes_on_top_when_the_source_returns_is_load() -> None:
    found = bridged_minutes(*flow(60), *[0.0] * 9, 2500)
    assert found.values[-1] == 2500
    assert not found.silent[-1]


def test_a_trickle_is_silence() -> None:
    assert bridged_minutes(*flow(60), *[9.0] * 9).values.tolist() == flow(69)
    assert bridged_minutes(*flow(60), *[20.0] * 9).values[-1] == 20


def test_while_a_source_is_lost_its_load_is_foreseen_as_before() -> None:
    rates = shapes.noisy(shapes.constant(300), 0.02)
    lost = foreseen(np.concatenate([rates, np.zeros(20)]))
    assert lost.rates == pytest.approx([FLOW] * 15, rel=0.05)
    assert max(foreseen(np.concatenate([rates, np.zeros(31)])).rates) < 0.2 * FLOW


def test_a_silence_that_is_over_does_not_widen_the_range() -> None:
    rates = shapes.noisy(shapes.constant(300), 0.02)
    disturbed = rates.copy()
    disturbed[240:260] = 0.0
    assert max(foreseen(disturbed).high) < 1.1 * max(foreseen(rates).high)


@given(st.lists(st.floats(0, 1e9), min_size=3, max_size=200), st.sampled_from([10.0, 60.0, 900.0]))
def test_what_is_not_silent_stays_as_it_is(rates: list[float], step: float) -> None:
    found = bridged(np.array(rates), step)
    assert found.values[~found.silent].tolist() == np.array(rates)[~found.silent].tolist()
    assert np.isfinite(found.values).all()
