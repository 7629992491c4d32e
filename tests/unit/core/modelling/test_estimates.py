import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.core.modelling.estimates import MEMORY, Estimate, Learned, conformal_error

PRIOR = Learned(median=80, spread=0.4)

positive = st.floats(0.01, 1e6)


def taught(*numbers: float) -> Learned:
    learned = PRIOR
    for number in numbers:
        learned = learned.with_observation(number)
    return learned


def test_before_any_observation_the_prior_speaks() -> None:
    found = PRIOR.estimate()
    assert found.value == pytest.approx(80)
    assert found.observations == 0
    assert found.low == pytest.approx(80 * math.exp(-1.2816 * 0.4), rel=1e-4)
    assert found.high == pytest.approx(80 * math.exp(1.2816 * 0.4), rel=1e-4)


def test_one_observation_replaces_the_level_of_the_prior() -> None:
    found = taught(5).estimate()
    assert found.value == pytest.approx(5)
    assert found.observations == 1


def test_the_level_of_one_observation_is_as_uncertain_as_the_observation() -> None:
    found = taught(5).estimate()
    assert found.high == pytest.approx(5 * math.exp(1.2816 * 0.4 * math.sqrt(2)), rel=1e-4)


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        pytest.param([0.2], 0.3, id="one is too small by half"),
        pytest.param([0.3, 0.1, 0.2], 0.45, id="three are too few"),
        pytest.param([0.4, 0.1, 0.2, 0.3], 0.4, id="four are just enough"),
        pytest.param([index / 10 for index in range(1, 10)], 0.8, id="the eighth of nine"),
    ],
)
def test_former_errors_tell_the_next_one(errors: list[float], expected: float) -> None:
    assert conformal_error(errors) == pytest.approx(expected)


def test_equal_observations_narrow_the_range() -> None:
    few, many = taught(*[60] * 3).estimate(), taught(*[60] * 20).estimate()
    assert 60 < many.high < few.high < PRIOR.estimate().high


def test_an_outlier_widens_the_range_and_hardly_moves_the_level() -> None:
    calm, shaken = taught(*[60] * 10).estimate(), taught(*[60] * 10, 600).estimate()
    assert shaken.high > 1.5 * calm.high
    assert shaken.value < 1.3 * calm.value


def test_old_observations_are_forgotten() -> None:
    found = taught(*[600] * MEMORY, *[60] * MEMORY)
    assert found == taught(*[60] * MEMORY)
    assert len(found.observed) == MEMORY


@pytest.mark.parametrize("number", [math.nan, math.inf, -1.0])
def test_what_is_no_measurement_teaches_nothing(number: float) -> None:
    assert taught(60).with_observation(number) == taught(60)


def test_nothing_lost_is_an_observation_too() -> None:
    assert 0 < taught(0).estimate().value < 0.01


@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(lambda chance: chance.lognormvariate(4, 0.3), id="lognormal"),
        pytest.param(lambda chance: chance.uniform(30, 90), id="uniform"),
        pytest.param(lambda chance: chance.choice((40, 120)) + chance.random(), id="two kinds"),
        pytest.param(lambda chance: 40 + chance.expovariate(1 / 30), id="long tail"),
    ],
)
def test_the_ninth_decile_is_exceeded_about_one_time_in_ten(draw: object) -> None:
    assert callable(draw)
    chance = random.Random(7)
    exceeded = 0
    for _ in range(400):
        learned = taught(*[draw(chance) for _ in range(12)])
        exceeded += draw(chance) > learned.quantile(0.9)
    assert 0 <= exceeded / 400 <= 0.15


@pytest.mark.parametrize("numbers", [(0, 1), (1, 0), (math.nan, 1), (1, math.inf)])
def test_a_prior_without_level_or_spread_is_refused(numbers: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="positive"):
        Learned(median=numbers[0], spread=numbers[1])


def test_a_range_without_its_value_is_refused() -> None:
    with pytest.raises(ValueError, match="between"):
        Estimate(value=3, low=1, high=2, observations=0)


@given(st.lists(st.floats(0, allow_nan=False), max_size=50), st.floats(0.001, 0.998))
def test_a_larger_share_is_never_a_smaller_number(numbers: list[float], share: float) -> None:
    learned = taught(*numbers)
    assert 0 < learned.quantile(share) <= learned.quantile(share + 0.001) < math.inf


@given(st.lists(positive, min_size=1, max_size=20))
def test_the_level_is_among_the_observations(numbers: list[float]) -> None:
    value = taught(*numbers).estimate().value
    assert min(numbers) * (1 - 1e-9) <= value <= max(numbers) * (1 + 1e-9)
