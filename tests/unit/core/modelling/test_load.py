import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.core.modelling.load import Load, constant_load, load
from sluice.core.series import NoData

RISING = [(second + 0.5, 10_000 + 10 * (second + 0.5)) for second in range(600)]

moments = st.floats(-1e6, 1e6)
points = st.lists(st.tuples(moments, st.floats(0, 1e9)), min_size=1, max_size=20)


def loaded(samples: list[tuple[float, float]]) -> Load:
    found = load(samples)
    assert not isinstance(found, NoData)
    return found


@pytest.mark.parametrize(
    ("samples", "bins", "peak"),
    [
        pytest.param(RISING, 5, 15_400, id="5.8 rising: the last part"),
        pytest.param(
            [(600 - at, rate) for at, rate in RISING], 5, 15_400, id="5.8 falling: the first part"
        ),
        pytest.param(RISING, 4, 15_250, id="5.8 four parts"),
        pytest.param([(0.0, 5_000.0)], 5, 5_000, id="5.8 constant"),
    ],
)
def test_the_peak_is_the_mean_of_the_highest_part(
    samples: list[tuple[float, float]], bins: int, peak: float
) -> None:
    # Half a second at each end has no midpoint outside it and is held constant: 0.01 rows/s.
    assert loaded(samples).peak(600, bins) == pytest.approx(peak, abs=0.02)


def test_outside_its_points_a_load_is_constant() -> None:
    found = loaded([(0, 100), (10, 200)])
    assert (found.rate(-50), found.rate(5), found.rate(1e6)) == (100, 150, 200)
    assert found.between(-10, 20) == pytest.approx(1_000 + 1_500 + 2_000)


def test_gaps_and_negative_rates_are_no_rows() -> None:
    found = loaded([(0, 100), (5, math.nan), (10, -50), (20, math.inf)])
    assert found.times == (0, 10)
    assert found.rate(10) == 0


def test_of_two_points_at_one_moment_the_last_counts() -> None:
    assert loaded([(0, 100), (0, 300)]) == loaded([(0, 300)])


@pytest.mark.parametrize("samples", [[], [(0, math.nan)], [(math.inf, 1)], [(1e300, 1)]])
def test_of_no_points_nothing_is_known(samples: list[tuple[float, float]]) -> None:
    assert isinstance(load(samples), NoData)


@given(points, moments, st.floats(0, 1e6), st.floats(0, 1e6))
def test_rows_add_up_over_time(
    samples: list[tuple[float, float]], start: float, first: float, second: float
) -> None:
    found = loaded(samples)
    together = found.between(start, start + first + second)
    parts = found.between(start, start + first) + found.between(
        start + first, start + first + second
    )
    assert together == pytest.approx(parts, rel=1e-6, abs=10)


@given(st.floats(0, 1e300))
def test_any_rate_gives_finite_rows(rate: float) -> None:
    assert math.isfinite(constant_load(rate).between(-1e6, 1e6))
