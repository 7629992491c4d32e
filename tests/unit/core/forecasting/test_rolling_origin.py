import numpy as np
import pytest

from sluice.core.forecasting.cleaning import Cleaned
from sluice.core.forecasting.last_value import LastValue
from sluice.core.forecasting.model import Values
from sluice.core.forecasting.periods import Season
from sluice.core.forecasting.rolling_origin import (
    Errors,
    extended_radii,
    rolling_errors,
    spread_origins,
)
from sluice.core.forecasting.seasonal_naive import SeasonalNaive


def known(values: list[float], *, gaps: tuple[int, ...] = ()) -> Cleaned:
    measured = np.ones(len(values), dtype=np.bool_)
    measured[list(gaps)] = False
    return Cleaned(values=np.array(values), known=measured, step=60, end=0)


def errors_of_last_value(cleaned: Cleaned, origins: list[int]) -> Values:
    return rolling_errors(LastValue(), (), cleaned, origins=origins, steps=2).table


def test_a_model_sees_only_what_was_known_at_the_origin() -> None:
    table = errors_of_last_value(known([1, 2, 4, 8, 16]), [1, 3])
    assert table.tolist() == [[1, 3], [4, 12]]


def test_what_has_not_come_yet_is_not_compared() -> None:
    table = errors_of_last_value(known([1, 2, 4]), [2])
    assert table[0, 0] == 2
    assert np.isnan(table[0, 1])


def test_what_was_not_measured_is_not_compared() -> None:
    table = errors_of_last_value(known([1, 2, 4, 8], gaps=(2,)), [2])
    assert np.isnan(table[0, 0])
    assert table[0, 1] == 6


def test_where_a_model_has_no_answer_the_last_value_is_judged() -> None:
    model = SeasonalNaive("daily", Season(period=100))
    errors = rolling_errors(model, (100.0,), known([1, 2, 4, 8]), origins=[2], steps=2)
    assert errors.table.tolist() == [[2, 6]]


def test_each_lead_counts_as_much_as_the_others() -> None:
    errors = Errors(table=np.array([[1, 4], [-1, np.nan], [1, np.nan]]))
    assert errors.mean() == pytest.approx(2.5)


def test_each_origin_counts_as_much_as_the_others() -> None:
    errors = Errors(table=np.array([[1, 1], [-4, np.nan]]))
    assert errors.newest_mean() == pytest.approx(2.5)


def test_four_of_five_former_errors_are_in_the_range() -> None:
    table = np.arange(1, 10, dtype=np.float64)[:, None] * np.array([1, -10])
    assert Errors(table=table).radii() == pytest.approx((8, 80))


def test_a_lead_that_was_never_compared_has_the_range_of_a_random_walk() -> None:
    assert extended_radii((1.0, 2.0), 8) == pytest.approx(
        (1, 2, 2.45, 2.83, 3.16, 3.46, 3.74, 4), 0.01
    )
    assert extended_radii((), 2) == (0, 0)
    assert extended_radii((1.0, 2.0, 3.0), 2) == (1, 2)


def test_nothing_compared_is_no_error() -> None:
    errors = Errors(table=np.full((2, 2), np.nan))
    assert errors.mean() == errors.newest_mean() == 0


def test_origins_are_spread_over_the_history() -> None:
    assert spread_origins(3, first=10, last=20) == [10, 15, 20]
    assert spread_origins(24, first=2, last=4) == [2, 3, 4]
    assert spread_origins(24, first=5, last=4) == [5]
