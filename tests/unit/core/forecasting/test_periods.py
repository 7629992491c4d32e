import numpy as np
import pytest

from sluice.core.forecasting.model import Values
from sluice.core.forecasting.periods import Season, discovered_period
from sluice.core.series import NoData
from tests.unit.core.forecasting import shapes


@pytest.mark.parametrize(
    ("values", "period"),
    [
        pytest.param(shapes.sine(180), 120, id="a sine after one and a half periods"),
        pytest.param(shapes.noisy(shapes.sine(216), 0.05), 120, id="a noisy one after 1.8"),
        pytest.param(shapes.square(216), 120, id="a square wave"),
        pytest.param(shapes.noisy(shapes.ramps(720), 0.03), 360, id="ramps up and down"),
        pytest.param(shapes.sine(480, 90) + np.arange(480), 90, id="a wave on a rise"),
        pytest.param(shapes.sine(1440, 47), 47, id="many short periods"),
        pytest.param(shapes.sine(3000, 600), 600, id="more history than is looked at"),
    ],
)
def test_a_period_is_discovered(values: Values, period: float) -> None:
    found = discovered_period(values)
    assert found == pytest.approx(period, rel=0.04)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(shapes.constant(300), id="constant"),
        pytest.param(shapes.noisy(shapes.constant(600), 0.1), id="noise"),
        pytest.param(shapes.first_ramp(300, calm=0), id="a ramp"),
        pytest.param(shapes.sine(120), id="one period only"),
        pytest.param(shapes.sine(10, 5), id="ten values"),
    ],
)
def test_no_period_is_made_up(values: Values) -> None:
    assert discovered_period(values) is None


def test_a_period_beyond_the_longest_is_not_taken() -> None:
    assert Season(longest=200).found(shapes.sine(400)) == pytest.approx(120, rel=0.04)
    assert isinstance(Season(longest=100).found(shapes.sine(400)), NoData)


def test_a_known_period_needs_its_history() -> None:
    season = Season(period=1440, least=10080)
    refused = season.found(shapes.constant(10079))
    assert refused == NoData("10079 steps are known: 10080 are needed")
    assert season.found(shapes.constant(10080)) == 1440
