from datetime import datetime, timedelta

import pytest

from sluice.core.series import NoData, Series, Slices, last_slices, series
from tests.support.jobs import NOW

MINUTE = timedelta(minutes=1)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def values(found: Series, count: int = 3) -> list[float | None]:
    slices = Slices(start=NOW, step=MINUTE, count=count)
    return [None if isinstance(one, NoData) else one for one in found.sliced(slices)]


def test_a_slice_has_its_last_number_and_one_without_has_none() -> None:
    found = series([(at(0), 1.0), (at(59.9), 2.0), (at(120), 3.0)])
    assert values(found) == [2.0, None, 3.0]


def test_what_lies_outside_of_the_slices_is_in_none() -> None:
    found = series([(at(-0.1), 1.0), (at(180), 2.0)])
    assert values(found) == [None, None, None]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_no_measurement(number: float) -> None:
    assert series([(NOW, number)]) == Series()


def test_of_several_numbers_at_one_moment_the_last_counts_whatever_the_order_in_time() -> None:
    found = series([(at(60), 5.0), (NOW, 1.0), (NOW, 2.0)])
    assert found.samples == ((NOW, 2.0), (at(60), 5.0))


def test_two_servers_fill_each_others_gaps_and_the_first_one_counts() -> None:
    one, other = series([(at(0), 1.0)]), series([(at(0), 9.0), (at(60), 2.0)])
    assert values(one.merged(other), 2) == [1.0, 2.0]


def test_the_last_slices_are_whole_and_the_same_all_through_a_slice() -> None:
    early, late = at(0.5), at(59.5)
    assert last_slices(timedelta(hours=1), MINUTE, early) == last_slices(
        timedelta(hours=1), MINUTE, late
    )
    found = last_slices(timedelta(hours=1), MINUTE, late)
    assert (found.count, found.end) == (60, NOW)


@pytest.mark.parametrize(("step", "count"), [(timedelta(0), 1), (MINUTE, -1)])
def test_slices_without_length_are_refused(step: timedelta, count: int) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        Slices(start=NOW, step=step, count=count)
