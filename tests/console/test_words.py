"""Numbers, times and other people's texts in few words."""

from datetime import timedelta

import pytest

from sluice.console import words
from tests.support.jobs import NOW


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ([], ""),
        ([None, None], "··"),
        ([0.0, 0.0], "▁▁"),
        ([0.0, 50.0, 100.0], "▁▅█"),
        ([100.0, None, 100.0], "█·█"),
        ([7.0], "█"),
        ([-5.0, 5.0], "▁█"),
    ],
)
def test_a_sparkline_grows_from_zero_to_the_largest_with_a_dot_for_a_gap(
    values: list[float | None], line: str
) -> None:
    assert words.sparkline(values) == line


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.99, "99 %"),
        (0.9999, "99.99 %"),
        (0.99999, "99.999 %"),
        (40319 / 40320, "99.9975 %"),
        (1.0, "100 %"),
        (0.0, "0 %"),
        (-0.5, "-50 %"),
        (None, "-"),
    ],
)
def test_a_share_has_as_many_digits_as_it_needs(share: float | None, text: str) -> None:
    assert words.percent(share) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0, "0 B"), (1023, "1023 B"), (4718592, "4.5 MiB"), (3 * 1024**3, "3.0 GiB"), (None, "-")],
)
def test_memory_is_told_in_binary_units(amount: float | None, text: str) -> None:
    assert words.size(amount) == text


def test_a_moment_in_the_future_is_no_time_ago() -> None:
    assert words.since(NOW + timedelta(seconds=5), NOW) == "0ms"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("two\nlines\tand  a tab", "two lines and a tab"),
        ("\x1b[31mred\x07", "�[31mred�"),
        ("\u202eesrever\u200b", "�esrever�"),
        ("日本 Ü é", "日本 Ü é"),
    ],
)
def test_a_text_becomes_one_line_without_what_steers_a_terminal(text: str, shown: str) -> None:
    assert words.printable(text) == shown


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(hours=1), "1h"),
        (timedelta(hours=24), "24h"),
        (timedelta(days=28), "28d"),
        (timedelta(minutes=90), "90m"),
    ],
)
def test_whole_hours_and_days_are_told_as_such(length: timedelta, text: str) -> None:
    assert words.long_span(length) == text
