"""What the demo shows: a screen that fits, a picture that is true, and a line."""

import pytest

from demo import view
from demo.chart import chart
from demo.diary import Entry
from demo.numbers import Numbers
from demo.story import Story
from tests.demo.stories import grown, look, recovered, told, whole

DIARY = [Entry(at=float(at), text=f"entry {at} " + "x" * 300) for at in range(50)]

LABELS = 7
"""Columns before the picture."""


@pytest.mark.parametrize("story", [told(look(0.0)), grown(), recovered(), whole()], ids=range(4))
@pytest.mark.parametrize(("width", "height"), [(80, 24), (100, 30), (200, 60), (40, 12)])
def test_a_screen_fits_into_its_terminal(story: Story, width: int, height: int) -> None:
    lines = view.screen(story, DIARY, width, height)
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    assert lines[-1] == view.LEAVING[:width]


def test_the_newest_entries_of_the_diary_are_shown() -> None:
    text = "\n".join(view.screen(grown(), DIARY, 100, 30))
    assert "entry 49" in text
    assert "entry 2 " not in text


def test_a_screen_says_what_did_not_come() -> None:
    late = told(look(0.0), look(362.0))
    assert any("MISSING: THE PROFILE" in one for one in view.screen(late, [], 100, 30))


def test_a_screen_shows_the_stages_of_the_recovery() -> None:
    text = "\n".join(view.screen(recovered(), [], 120, 40))
    assert "first batch 31 s, caught up 47 s; 131 s predicted, target 4m" in text


def test_a_line_has_all_numbers_and_dashes_for_the_unknown() -> None:
    assert view.line(grown()) == (
        " 7:10  3/5  arriving 140/s, expected 190 (up to 230)/s, capacity 354/s, executors 3/3, p95 3.1 s, waiting 420"
    )
    nothing = look(0.0, arriving=None, latency_p95=None, lag_rows=None, numbers=Numbers())
    assert view.line(told(nothing)) == (
        " 0:00  1/5  arriving -/s, expected - (up to -)/s, capacity -/s, executors 1/1, p95 -, waiting -"
    )


def test_a_forecast_stands_at_the_moment_that_it_is_about() -> None:
    story = told(look(0.0, arriving=None, numbers=Numbers(expected_high=250.0)))
    (row,) = [line for line in chart(story, LABELS + 72, 10) if "○" in line]
    # 72 columns for 720 s: three minutes are 18 columns.
    assert row.index("○") == LABELS + 18


def test_bars_are_as_high_as_the_load_and_the_line_is_at_the_capacity() -> None:
    story = told(look(0.0, arriving=50.0, numbers=Numbers(capacity=110.0)))
    # Four rows of a picture, for 37.5 rows/s each.
    assert [line[LABELS] for line in chart(story, LABELS + 72, 4)[:4]] == [" ", "━", "▃", "█"]


def test_the_executors_and_the_failure_are_below_the_picture() -> None:
    (executors,) = [line for line in chart(recovered(), LABELS + 72, 6) if "exec." in line]
    # The driver is killed after 430 of 720 s; the next look is at 500 s.
    assert [executors[LABELS + at] for at in (0, 43, 50)] == ["1", "x", "3"]


def test_a_look_beyond_the_limit_is_no_trouble() -> None:
    assert chart(told(look(0.0), look(900.0)), LABELS + 72, 6)
