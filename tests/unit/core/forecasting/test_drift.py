import numpy as np
import pytest

from sluice.core.forecasting.cleaning import Cleaned
from sluice.core.forecasting.drift import WIDEST, in_order_of_trust
from sluice.core.forecasting.model import Values
from sluice.core.forecasting.selection import Candidate, Selection

STEPS = 4
CALM = np.array([100.0, 102.0] * 10)
RISING = np.array([100.0] * 16 + [110.0, 120.0, 130.0, 140.0, 150.0, 160.0])


def cleaned(values: Values) -> Cleaned:
    return Cleaned(values=values, known=np.ones(len(values), dtype=np.bool_), step=60, end=0)


def candidate(model: str, *parameters: float, radius: float = 2.0) -> Candidate:
    return Candidate(model=model, parameters=parameters, error=1, share=1, radii=(radius,) * STEPS)


def trusting(*candidates: Candidate) -> Selection:
    return Selection(
        trusted=candidates[0].model, step=60, factor=1, candidates=candidates, refused=()
    )


MEAN = candidate("ExponentialSmoothing", 0.05, 0.0, 0.9)
LAST, TREND = candidate("LastValue"), candidate("LocalTrend")


def order(values: Values, *candidates: Candidate) -> list[str]:
    asked = in_order_of_trust(trusting(*candidates), cleaned(values), STEPS)
    return [recent.candidate.model for recent in asked]


def test_while_all_is_well_the_trusted_model_is_asked_first() -> None:
    assert order(CALM, MEAN, TREND, LAST) == ["ExponentialSmoothing", "LocalTrend", "LastValue"]


def test_after_drift_the_model_that_was_least_wrong_is_asked_first() -> None:
    assert order(RISING, MEAN, LAST, TREND) == ["LocalTrend", "LastValue", "ExponentialSmoothing"]


def test_the_reason_for_asking_another_model_tells_the_drift() -> None:
    first = next(in_order_of_trust(trusting(MEAN, LAST, TREND), cleaned(RISING), STEPS))
    assert first.reason.startswith("ExponentialSmoothing errs by ")


def test_a_season_does_not_take_over_from_a_model_that_drifts() -> None:
    season = candidate("SeasonalNaive", 8.0)
    assert "SeasonalNaive" not in order(RISING, MEAN, season, LAST)


def test_a_range_that_has_become_too_small_grows_with_the_error_up_to_a_bound() -> None:
    def widening(radius: float) -> float:
        last = candidate("LastValue", radius=radius)
        return next(in_order_of_trust(trusting(last), cleaned(RISING), STEPS)).widening

    assert widening(100.0) == 1
    assert 1 < widening(20.0) < WIDEST
    assert widening(0.0) == WIDEST


def test_what_nobody_would_notice_is_no_drift() -> None:
    exact = candidate("LastValue", radius=0.0)
    values = np.array([1000.0, 1000.1] * 10)
    first = next(in_order_of_trust(trusting(exact, TREND), cleaned(values), STEPS))
    assert first.excess == pytest.approx(0, abs=0.1)
