"""What becomes of a measured load: repaired and told, or refused with the remedy."""

from collections.abc import Sequence

import numpy as np
import pytest

from sluice.core.simulation.samples import repaired
from sluice.core.simulation.suites import SETS, named_trace
from sluice.core.simulation.trace import Trace
from sluice.errors import InvalidSpec


def read(samples: Sequence[tuple[float, float]]) -> tuple[Trace, str]:
    times, rates = (np.array(column, dtype=float) for column in zip(*samples, strict=True))
    trace, told = repaired("mine", times, rates)
    return trace, "; ".join(told)


def test_samples_are_joined_by_straight_lines() -> None:
    trace, told = read([(0, 10), (2, 30), (4, 50)])
    assert trace.rates.tolist() == [10, 20, 30, 40, 50]
    assert told == ""


@pytest.mark.parametrize(
    ("samples", "rates", "repair"),
    [
        ([(2, 30), (0, 10), (1, 20)], [10, 20, 30], "sorted"),
        ([(0, 10), (0.5, 20), (1, 30)], [15, 30], "their mean counts"),
        ([(0, 10), (1, float("nan")), (2, 30)], [10, 20, 30], "1 samples without a number"),
        ([(1_700_000_000, 10), (1_700_000_001, 20)], [10, 20], "second 0 of the run"),
        ([(0, 1), (1, 1), (2, 1), (9, 8)], [1, 1, 1, 2, 3, 4, 5, 6, 7, 8], "a gap of 7 s"),
        ([(20_260_131, 10), (20_260_132, 20)], [10, 20], "second 0 of the run"),
    ],
)
def test_small_flaws_are_repaired_and_told(
    samples: list[tuple[float, float]], rates: list[float], repair: str
) -> None:
    trace, told = read(samples)
    assert trace.rates.tolist() == pytest.approx(rates)
    assert repair in told


@pytest.mark.parametrize(
    ("each", "unit"), [(1, "milliseconds"), (1000, "microseconds"), (1_000_000, "nanoseconds")]
)
def test_times_that_can_only_be_finer_than_seconds_are_taken_so_and_told(
    each: int, unit: str
) -> None:
    begin = 1_767_225_600_123
    trace, told = read([((begin + 15_000 * place) * each, place) for place in range(100)])
    assert trace.rates[::15].tolist() == list(range(100))
    assert told == (
        f"times are taken as {unit} since 1970; it begins at 1767225600 s, which is second 0 of the run"
    )


def test_a_time_axis_of_its_own_has_seconds() -> None:
    trace, told = read([(15_000 * place, 10) for place in range(100)])
    assert (trace.seconds, told) == (99 * 15_000 + 1, "")


@pytest.mark.parametrize("step", [1800, 3600, 86_400])
def test_samples_that_come_seldom_throughout_have_no_gaps(step: int) -> None:
    trace, told = read([(step * place, 10) for place in range(20)])
    assert (trace.seconds, told) == (19 * step + 1, "")


@pytest.mark.parametrize(("step", "gap"), [(2400, 4000), (40_000, 80_000)])
def test_a_gap_of_more_than_an_hour_is_told_if_it_is_bridged(step: int, gap: int) -> None:
    _, told = read([*((step * place, 10) for place in range(20)), (19 * step + gap, 10)])
    assert told == f"a gap of {gap} s was bridged"


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        ([(1_767_225_600, 10), (1_767_225_600_000, 10)], "give at most a year"),
        ([(0, 10), (1, -5)], "-5 rows/s at 1 s"),
        ([(0, 10)], "1 samples"),
        ([(0, float("nan")), (1, 5)], "1 samples"),
        ([(0.1, 10), (0.2, 20)], "all samples in one second"),
        ([(0, 1), (1, 1), (2, 1), (9001, 1)], "8999 s without a sample from 2 s on"),
        ([(0, 10), (1e9, 10)], "give at most a year"),
        ([(0, 1), (1, 1), (100_001, 1)], "100000 s without a sample from 1 s on"),
        ([(0, 1), (8_640_000, 1)], "8640000 s without a sample from 0 s on"),
        ([(0, 1e308), (0.2, 1e308), (1, 1)], "'1e+308 rows/s at 0 s': give rates of up to 1e+15"),
        ([(20_260_131, 1), (20_260_201, 1)], "'20260131 as a time': write it as 2026-01-31T20"),
        ([(2_026_013_120, 1), (2_026_013_121, 1)], "'2026013120 as a time'"),
        ([(202_601_312_000, 1), (202_601_312_001, 1)], "'202601312000 as a time'"),
        ([(20_260_131_200_000, 1), (20_260_131_200_015, 1)], "'20260131200000 as a time'"),
        ([(5_000_000_000, 1), (5_000_000_001, 1)], "'5000000000 as a time, which is after 2099'"),
        ([(20_260_131_200_075, 1), (20_260_131_200_090, 1)], "which is after 2099"),
    ],
)
def test_what_would_be_a_guess_is_refused(samples: list[tuple[float, float]], words: str) -> None:
    with pytest.raises(InvalidSpec, match="trace mine") as refused:
        read(samples)
    assert words in str(refused.value)


def rising(begin: float) -> list[tuple[float, float]]:
    """What a counter tells of 900 to 1,100 rows/s, each 15 s."""
    steps = 15 * (1000 + 100 * np.sin(np.arange(200)))
    return list(zip(15.0 * np.arange(200), begin + np.cumsum(steps), strict=True))


@pytest.mark.parametrize("begin", [0, 1e9])
def test_samples_that_never_fall_are_told_to_be_perhaps_those_of_a_counter(begin: float) -> None:
    _, told = read(rising(begin))
    assert told == "200 samples never fall: if they are a counter's, give its rate()"


@pytest.mark.parametrize(
    "samples",
    [
        [(at, 1000.0) for at in range(200)],
        [(at, 1000.0 * (1 + at // 50)) for at in range(200)],
        [(at, float(at)) for at in range(200)],
        rising(0)[:100],
        [*rising(0), (3000.0, 1.0)],
    ],
    ids=["constant", "stairs", "ramp from nothing", "few", "falls"],
)
def test_a_load_is_not_told_to_be_perhaps_a_counter(samples: list[tuple[float, float]]) -> None:
    _, told = read(samples)
    assert told == ""


@pytest.mark.parametrize("name", [name for shapes in SETS.values() for name in shapes])
def test_no_load_of_a_set_is_told_to_be_perhaps_a_counter(name: str) -> None:
    rates = named_trace(name, 1).rates[::15]
    _, told = read(list(zip(15.0 * np.arange(len(rates)), rates, strict=True)))
    assert told == ""


def test_ten_million_samples_are_no_trouble() -> None:
    times = np.arange(10_000_000) / 4
    trace, _ = repaired("long", times, np.full(len(times), 7.0))
    assert trace.seconds == 2_500_000
    assert trace.rates.max() == 7
