"""Traces give rates; schedules give each record exactly once, when it is due."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.load import traces


@pytest.mark.parametrize(
    ("text", "elapsed", "rate"),
    [
        ("constant:500", 12.0, 500),
        ("sine:1000,400,600", 0, 1000),
        ("sine:1000,400,600", 150, 1400),
        ("sine:1000,400,600", 450, 600),
        ("swell:600,1400,600", 0, 600),
        ("swell:600,1400,600", 150, 1000),
        ("swell:600,1400,600", 300, 1400),
        ("swell:600,1400,600", 600, 600),
        ("ramp:100,900,300", 150, 500),
        ("ramp:100,900,300", 1000, 900),
        ("spike:200,1500,120,60", 119.9, 200),
        ("spike:200,1500,120,60", 120, 1500),
        ("spike:200,1500,120,60", 180, 200),
    ],
)
def test_a_trace_has_this_rate_at_this_second(text: str, elapsed: float, rate: float) -> None:
    assert traces.parse_trace(text)(elapsed) == pytest.approx(rate)


def test_a_sine_that_would_go_below_zero_rests_at_zero() -> None:
    assert traces.parse_trace("sine:100,400,600")(450) == 0


def test_a_file_is_joined_by_straight_lines_and_stays_at_its_last_rate(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("second,rate\n0,100\n10,200\n20,0\n")
    trace = traces.parse_trace(f"file:{path}")
    assert [trace(second) for second in (0, 5, 10, 15, 20, 99)] == [100, 150, 200, 100, 0, 0]


@pytest.mark.parametrize("text", ["square:1", "sine:1,2", "constant:fast", "constant"])
def test_an_unreadable_trace_is_named_in_the_error(text: str) -> None:
    with pytest.raises(traces.InvalidTrace, match=text):
        traces.parse_trace(text)


def test_seconds_that_do_not_rise_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("0,100\n0,200\n")
    with pytest.raises(traces.InvalidTrace, match="must rise"):
        traces.parse_trace(f"file:{path}")


@given(
    rate=st.floats(min_value=0, max_value=500),
    amplitude=st.floats(min_value=0, max_value=500),
    duration=st.integers(min_value=1, max_value=30),
)
def test_a_schedule_numbers_records_without_holes_or_repetitions(
    rate: float, amplitude: float, duration: int
) -> None:
    dues = list(traces.schedule(traces.sine(rate, amplitude, 7.0), duration=duration))
    numbers = [due.first + index for due in dues for index in range(due.count)]
    assert numbers == list(range(len(numbers)))


@pytest.mark.parametrize("text", ["swell:-100,100,4", "ramp:-100,100,4", "spike:100,-50,1,1"])
def test_no_number_comes_twice_where_a_rate_falls_below_zero(text: str) -> None:
    dues = list(traces.schedule(traces.parse_trace(text), duration=8))
    numbers = [due.first + index for due in dues for index in range(due.count)]
    assert numbers == list(range(len(numbers)))
    assert numbers


@pytest.mark.parametrize(
    ("rate", "duration", "records"), [(1000, 10, 10_000), (0.5, 10, 5), (33.3, 30, 999)]
)
def test_fractions_of_records_are_carried_and_not_lost(
    rate: float, duration: int, records: int
) -> None:
    assert (
        sum(due.count for due in traces.schedule(traces.constant(rate), duration=duration))
        == records
    )


def test_a_schedule_stops_at_exactly_so_many_records() -> None:
    dues = list(traces.schedule(traces.constant(1234), records=1001))
    assert sum(due.count for due in dues) == 1001


def test_records_of_a_tick_are_due_in_order_within_that_tick() -> None:
    due = traces.Due(first=0, count=4, elapsed=2.0)
    moments = [due.moment(index) for index in range(4)]
    assert moments == sorted(moments)
    assert moments[0] == 2.0
    assert moments[-1] < 2.0 + traces.TICK_SECONDS


def test_what_precedes_a_trace_has_all_its_records_and_then_the_trace_begins() -> None:
    trace, seconds = traces.preceded(traces.ramp(0, 100, 10), 40_000, rate=5000)
    assert seconds == 8
    assert sum(due.count for due in traces.schedule(trace, duration=seconds)) == 40_000
    assert [trace(seconds + second) for second in (0, 5, 10)] == [0, 50, 100]
