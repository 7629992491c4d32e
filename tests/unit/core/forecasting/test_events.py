from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from sluice.core.forecasting.events import Announced, Event, during
from sluice.core.forecasting.forecast import Forecast
from sluice.core.forecasting.prediction import forecast
from tests.unit.core.forecasting import shapes

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
SALE = Event(start=NOON, end=NOON + HOUR, factor=3, added=500)


def forecast_at(now: datetime, *events: Event, rates: list[float]) -> Forecast:
    announced = Announced(now=now, events=events)
    answer = forecast(shapes.history(np.array(rates)), 1800, 60, announced=announced)
    assert isinstance(answer, Forecast), answer
    return answer


def test_a_sale_is_forecast_before_anyone_has_come() -> None:
    answer = forecast_at(NOON - timedelta(minutes=15), SALE, rates=[1000.0] * 60)
    during = [at >= 15 * 60 for at in answer.times]
    assert answer.rates == pytest.approx([3500.0 if sale else 1000.0 for sale in during])


def test_the_end_of_a_sale_is_forecast_while_it_lasts() -> None:
    rates = [1000.0] * 60 + [3500.0] * 46
    answer = forecast_at(NOON + timedelta(minutes=45), SALE, rates=rates)
    assert answer.rates[0] == pytest.approx(3500)
    assert answer.rates[-1] == pytest.approx(1000)


def test_a_sale_that_brings_more_than_announced_is_forecast_as_it_is() -> None:
    rates = [1000.0] * 60 + [9500.0] * 31
    answer = forecast_at(NOON + timedelta(minutes=30), SALE, rates=rates)
    assert answer.rates[5] == pytest.approx(9500, rel=0.1)


def test_the_range_of_a_forecast_grows_with_the_event() -> None:
    rates = shapes.noisy(shapes.constant(120), 0.1).tolist()
    answer = forecast_at(NOON - timedelta(minutes=15), SALE, rates=rates)
    spread = np.array(answer.high) - np.array(answer.low)
    assert spread[-1] > 2 * spread[0]


def test_what_comes_every_day_comes_today() -> None:
    daily = Event(
        start=NOON - timedelta(days=9),
        end=NOON - timedelta(days=9) + HOUR,
        factor=2,
        every=timedelta(days=1),
    )
    times = np.array([-1.0, 0.0, 3599.0, 3600.0])
    assert during(daily, times, NOON).tolist() == [False, True, True, False]


@pytest.mark.parametrize(
    ("zone", "every", "hour"),
    [
        ("Europe/Berlin", timedelta(days=1), 18),
        ("Europe/Berlin", timedelta(days=7), 18),
        ("Europe/Berlin", timedelta(hours=12), 19),
        ("UTC", timedelta(days=1), 19),
    ],
)
def test_what_comes_each_day_comes_at_the_same_time_of_the_day_in_summer(
    zone: str, every: timedelta, hour: int
) -> None:
    """It is announced for 20:00 in Berlin in winter, which is 19:00 UTC; summer time begins on the 29th of March."""
    start = datetime.fromisoformat("2026-03-20T20:00:00+01:00")
    sale = Event(start=start, end=start + HOUR, factor=5, every=every, time_zone=zone)
    for day in (20, 27):
        evening = datetime(2026, 3, day, 19, tzinfo=UTC)
        assert during(sale, np.array([-1.0, 0.0]), evening).tolist() == [False, True]
    summer = datetime(2026, 4, 3, hour, tzinfo=UTC)
    edges = np.array([-1.0, 0.0, 3599.0, 3600.0])
    assert during(sale, edges, summer).tolist() == [False, True, True, False]
    # All of the past is seen from a moment, also from the other side of the change.
    back = (datetime(2026, 3, 27, 19, tzinfo=UTC) - summer).total_seconds()
    assert during(sale, back + edges, summer).tolist() == [False, True, True, False]


def test_nothing_recurs_before_its_first_time() -> None:
    daily = Event(start=NOON, end=NOON + HOUR, factor=2, every=timedelta(days=1))
    assert not during(daily, np.array([-86_400.0]), NOON).any()


def test_of_several_events_factors_multiply_and_loads_add_up() -> None:
    both = Announced(now=NOON, events=[SALE, SALE])
    assert both.put_on(np.array([10.0]), np.array([100.0])).tolist() == [100 * 9 + 1000]


def test_taking_out_and_putting_on_an_event_changes_nothing() -> None:
    announced = Announced(now=NOON, events=[SALE])
    samples = [(10.0, 4000.0), (20.0, 700.0), (4000.0, 80.0)]
    times, rates = np.array(announced.taken_out(samples)).T
    assert announced.put_on(times, rates) == pytest.approx([4000, 700, 80])


def test_a_fault_in_the_history_stays_one() -> None:
    announced = Announced(now=NOON, events=[SALE])
    assert announced.taken_out([(10.0, -1.0)]) == [(10.0, -1.0)]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"end": NOON}, "not after its start"),
        ({"end": datetime(2026, 3, 2, 13)}, "needs a time zone"),  # noqa: DTZ001
        ({"factor": 0.0}, "a factor is above 0"),
        ({"factor": float("nan")}, "a factor is above 0"),
        ({"added": -1.0}, "at least 0"),
        ({"every": timedelta(minutes=5)}, "overlaps"),
    ],
)
def test_an_event_that_cannot_be_is_refused(wrong: dict[str, object], told: str) -> None:
    fields: dict[str, object] = {"start": NOON, "end": NOON + HOUR, **wrong}
    with pytest.raises(ValueError, match=told):
        Event(**fields)  # type: ignore[arg-type]  # fields of several types, one of them wrong
