"""The few numbers that are kept of a forecast and of a model."""

import pytest

from sluice.core.deciding.situation import Forecast, Models
from sluice.core.foreseen import AHEAD, Band, Foreseen, foreseen
from sluice.core.series import NoData
from tests.unit.core.deciding.situations import PER_EXECUTOR, steady


def growing(*times: float) -> Forecast:
    """A load that is as many rows per second as seconds have gone by."""
    return Forecast(
        times=times,
        rates=times,
        low=tuple(0.9 * at for at in times),
        high=tuple(1.1 * at for at in times),
        model="growing",
    )


@pytest.mark.parametrize(
    ("times", "rate"),
    [((60, 300, 900), AHEAD), ((60, 240, 360), 360), ((60, 120), 120)],
)
def test_the_load_is_that_of_five_minutes_later_or_the_nearest_that_is_forecast(
    times: tuple[float, ...], rate: float
) -> None:
    load = foreseen(steady(forecast=growing(*times))).load
    assert load == Band(rate=rate, low=0.9 * rate, high=1.1 * rate)


def test_the_capacity_is_that_of_the_executors_that_there_are() -> None:
    capacity = foreseen(steady(executors=10)).capacity
    assert capacity is not None
    assert capacity.rate == pytest.approx(10 * PER_EXECUTOR, rel=0.01)
    assert capacity.low < capacity.rate < capacity.high


def test_what_is_not_known_is_left_out() -> None:
    unknown = steady(forecast=NoData("nothing was measured"), models=Models())
    assert foreseen(unknown) == Foreseen()
