"""Lines with gaps and axes with round numbers, as both the lab and the report draw them."""

import pytest

from sluice.drawing import area, levels, path, short

SLOPE = [(0.0, 9.0), (1.0, 8.0), None, (3.0, 6.0), (4.0, 5.0)]


def test_a_gap_interrupts_a_line() -> None:
    assert path(SLOPE) == "M0.0 9.0L1.0 8.0M3.0 6.0L4.0 5.0"


def test_steps_keep_their_height_until_the_next_point() -> None:
    assert path(SLOPE, steps=True) == "M0.0 9.0H1.0V8.0M3.0 6.0H4.0V5.0"


def test_what_is_known_at_one_moment_only_is_seen() -> None:
    assert path([None, (1.0, 8.0), None]) == "M1.0 8.0h0"
    assert area([None, (1.0, 8.0), None], 10.0) == ""


def test_nothing_known_is_no_line() -> None:
    assert path([]) == path([None, None]) == ""


@pytest.mark.parametrize("steps", [True, False])
def test_a_level_stretch_takes_two_points_however_long_it_is(steps: bool) -> None:
    level = [(float(x), 4.0) for x in range(100)]
    whole = path([*level, (100.0, 9.0)], steps=steps)
    assert whole == path([level[0], level[-1], (100.0, 9.0)], steps=steps)


def test_an_area_is_closed_at_its_floor() -> None:
    assert area([(0.0, 5.0), (2.0, 5.0)], 10.0, steps=True) == "M0.0 5.0H2.0V5.0V10.0H0.0Z"


@pytest.mark.parametrize("ceiling", [0.03, 1, 24, 26.4, 99.9, 380_000])
def test_an_axis_has_a_few_round_numbers(ceiling: float) -> None:
    found = levels(ceiling)
    assert found[0] == 0
    assert 3 <= len(found) <= 5
    assert found[-1] <= ceiling * 1.0001
    assert all(len(short(level).rstrip("kM")) <= 5 for level in found)


@pytest.mark.parametrize("ceiling", [0.5, 1, 2.2, 3.3, 8.8, 11, 26.4, 110])
def test_what_is_counted_has_whole_numbers_at_its_axis(ceiling: float) -> None:
    found = levels(ceiling, whole=True)
    assert all(level.is_integer() for level in found)
    assert 2 <= len(found) <= 5
