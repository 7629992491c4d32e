"""Daily windows: when the next one begins."""

from datetime import UTC, datetime, time

import pytest

from sluice.core.windows import Window


def at(day: int, hour: int, minute: int = 0) -> datetime:
    """A moment of March 2026; the first was a Sunday."""
    return datetime(2026, 3, day, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("now", "opens"),
    [
        (at(1, 9), at(1, 10)),
        (at(1, 10), at(2, 10)),
        (at(1, 12), at(2, 10)),
    ],
)
def test_a_daily_window_begins_today_or_tomorrow(now: datetime, opens: datetime) -> None:
    assert Window(start=time(10), end=time(11)).opens_after(now) == opens


def test_a_window_on_one_day_is_waited_for_a_whole_week() -> None:
    sunday = Window(start=time(10), end=time(11), days=frozenset({"Sun"}))
    assert sunday.opens_after(at(1, 10)) == at(8, 10)
    assert sunday.opens_after(at(2, 0)) == at(8, 10)


def test_the_next_window_is_told_in_utc_across_the_change_to_summer_time() -> None:
    berlin = Window(
        start=time(10), end=time(11), days=frozenset({"Sun"}), time_zone="Europe/Berlin"
    )
    assert berlin.opens_after(at(1, 0)) == at(1, 9)
    assert berlin.opens_after(at(28, 23)) == at(29, 8)
