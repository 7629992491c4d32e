"""Durations, memory and CPU: read as written, and refused when they mean two things."""

from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sluice.core import quantities
from sluice.core.quantities import Bytes, Millicores

whole = st.integers(min_value=0, max_value=999_999)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("500ms", 0.5), ("90s", 90), ("5m", 300), ("1h30m", 5400), ("2d", 172_800), ("0s", 0)],
)
def test_durations_add_up_their_parts(text: str, seconds: float) -> None:
    assert quantities.duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "5", "-5s", "5 s", "1.5h", "PT5S", "5S", "5s\n", "1234567s"])
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="write for example 500ms, 90s"):
        quantities.duration(text)


@given(days=whole, hours=whole, seconds=st.integers(0, 99_999))
def test_no_duration_of_twenty_characters_leaves_the_calendar(
    days: int, hours: int, seconds: int
) -> None:
    text = f"{days}d{hours}h{seconds}s"[:20]
    if text[-1].isalpha():
        assert quantities.duration(text) < timedelta(days=365 * 6000)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.85, "850ms"),
        (4.2, "4.2s"),
        (90, "90s"),
        (119.4, "119s"),
        (134, "2m14s"),
        (240, "4m"),
        (720, "12m"),
        (11_100, "3h05m"),
        (10_790, "3h00m"),
        (187_200, "2d4h"),
    ],
)
def test_durations_are_told_the_way_people_say_them(seconds: float, text: str) -> None:
    assert quantities.format_duration(timedelta(seconds=seconds)) == text


@example(seconds=134.0)
@given(seconds=st.floats(min_value=0, max_value=10**7))
def test_a_told_duration_is_at_most_a_twentieth_off(seconds: float) -> None:
    told = quantities.format_duration(timedelta(seconds=seconds))
    if "." not in told:
        off = abs(quantities.duration(told).total_seconds() - seconds)
        assert off <= max(0.001, 0.05 * seconds)


@given(amount=st.integers(1, 10**6), unit=st.sampled_from(["Mi", "Gi"]))
def test_memory_is_read_in_binary_units(amount: int, unit: str) -> None:
    expected = amount * (1024 if unit == "Gi" else 1)
    assert quantities.mebibytes(quantities.memory(f"{amount}{unit}")) == expected


@pytest.mark.parametrize("text", ["600m", "1G", "1g", "1Gb", "1.5Gi", "0Mi", "", "1Gi\n"])
def test_memory_that_kubernetes_and_spark_read_differently_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write for example 512Mi"):
        quantities.memory(text)


def test_parts_of_a_mebibyte_count_as_one() -> None:
    assert quantities.mebibytes(Bytes(quantities.MEBIBYTE + 1)) == 2


@given(amount=st.integers(1, 256_000))
def test_cpu_reads_back_as_it_was_written(amount: int) -> None:
    written = quantities.format_cpu(Millicores(amount))
    assert quantities.cpu(written) == amount


@pytest.mark.parametrize(("text", "amount"), [("1.5", 1500), ("2", 2000), ("0.001", 1), ("7m", 7)])
def test_cpu_may_be_written_in_cores_or_thousandths(text: str, amount: int) -> None:
    assert quantities.cpu(text) == amount


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (950, "950"), (9999, "9999"), (12_300, "12.3k"), (4.5e6, "4.5M"), (2e9, "2.0G")],
)
def test_counts_fit_into_a_column(number: float, text: str) -> None:
    assert quantities.format_count(number) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 executors"), (1, "1 executor"), (4, "4 executors")]
)
def test_executors_are_counted_as_people_do(count: int, text: str) -> None:
    assert quantities.format_executors(count) == text
