import json
import pickle

import numpy as np
import pytest

from sluice.core.forecasting import prediction, selection
from sluice.core.forecasting.model import Values
from sluice.core.forecasting.selection import Candidate, Selection
from sluice.core.series import NoData
from sluice.errors import CorruptState
from tests.unit.core.forecasting import shapes


def selected(rates: Values, *, former: Selection | None = None) -> Selection:
    found = selection.select(shapes.history(rates), 900, 60, former=former)
    assert isinstance(found, Selection), found
    return found


def candidates(**errors: float) -> list[Candidate]:
    return [
        Candidate(model=model, parameters=(), error=error, share=error, radii=())
        for model, error in errors.items()
    ]


def trusting(model: str) -> Selection:
    former = tuple(candidates(**{"LastValue": 1.0, model: 1.0}))
    return Selection(trusted=model, step=60, factor=1, candidates=former, refused=())


def trusted(former: str | None = None, horizons: float = 16, **errors: float) -> str:
    return selection.most_trusted(
        candidates(**errors), horizons, trusting(former) if former else None
    )


def test_the_simpler_model_is_trusted_unless_a_complex_one_is_clearly_better() -> None:
    assert trusted(LastValue=1.0, Arima=0.9) == "LastValue"
    assert trusted(LastValue=1.0, Arima=0.85) == "Arima"


def test_a_season_must_be_better_still() -> None:
    assert trusted(LastValue=1.0, Fourier=0.85) == "LastValue"
    assert trusted(LastValue=1.0, Fourier=0.7) == "Fourier"


def test_the_fewer_horizons_were_tried_the_clearer_a_complex_model_must_be_better() -> None:
    assert trusted(horizons=2, LastValue=1.0, Arima=0.7) == "LastValue"
    assert trusted(horizons=100, LastValue=1.0, Arima=0.94) == "Arima"


def test_the_former_model_is_kept_while_it_is_nearly_as_good() -> None:
    assert trusted("Arima", LastValue=1.0, ExponentialSmoothing=0.8, Arima=0.85) == "Arima"
    assert trusted("Arima", LastValue=1.0, Arima=1.05) == "Arima"
    assert trusted("Arima", LastValue=1.0, ExponentialSmoothing=0.7, Arima=0.85) != "Arima"


def test_a_former_model_that_no_longer_applies_is_not_kept() -> None:
    assert trusted("Fourier", LastValue=1.0, Arima=0.8) == "Arima"


def test_without_any_error_the_simplest_model_is_trusted() -> None:
    assert selected(shapes.constant(120)).trusted == "LastValue"


@pytest.mark.parametrize("steps", [3, 5, 10, 15])
def test_a_short_history_is_left_to_short_memories(steps: int) -> None:
    found = selected(shapes.noisy(shapes.sine(steps), 0.05))
    assert {candidate.model for candidate in found.candidates} <= selection.SHORT_MEMORY.keys()


def test_a_wave_is_trusted_to_a_season_after_two_periods() -> None:
    found = selected(shapes.noisy(shapes.sine(250), 0.03))
    assert found.trusted in {"SeasonalNaive", "Fourier"}


def test_daily_seasons_are_asked_from_seven_days_on_and_weekly_ones_from_eight() -> None:
    asked = [
        {candidate.model for candidate in selected(shapes.diurnal(9)[: days * 1440]).candidates}
        for days in (6, 7, 8)
    ]
    daily, weekly = {"SeasonalNaiveDaily", "FourierDaily"}, {"SeasonalNaiveWeekly"}
    assert not asked[0] & (daily | weekly)
    assert asked[1] & (daily | weekly) == daily
    assert asked[2] & (daily | weekly) == daily | weekly


def test_a_day_is_trusted_to_its_season_when_all_days_are_alike() -> None:
    days = shapes.noisy(shapes.square(8 * 1440, period=1440), 0.02)
    assert selected(days).trusted in {"SeasonalNaiveDaily", "FourierDaily", "SeasonalNaiveWeekly"}


def test_a_working_day_is_foreseen_on_a_sunday_as_soon_as_two_weeks_are_known() -> None:
    monday = 21 * 1440
    minutes = np.arange(monday - 15 * 1440, monday)
    works = (minutes // 1440 % 7 < 5) & (minutes % 1440 >= 540) & (minutes % 1440 < 1080)
    found = selected(shapes.noisy(np.where(works, 8000.0, 1500.0), 0.05))
    assert found.trusted == "SeasonalNaiveWeekly"


@pytest.mark.parametrize("minute", [60, 300, 540, 780, 1020, 1260])
def test_what_happens_each_day_is_foreseen_whenever_the_model_is_chosen(minute: int) -> None:
    days = shapes.noisy(shapes.square(8 * 1440 + minute, period=1440), 0.05)
    assert selected(days).trusted == "SeasonalNaiveDaily"


def test_each_model_is_told_with_its_error_or_the_reason_why_it_does_not_apply() -> None:
    found = selected(shapes.noisy(shapes.sine(250), 0.03))
    told = {candidate.model for candidate in found.candidates} | {
        model for model, _ in found.refused
    }
    assert told == selection.models(60).keys()
    assert all(candidate.error > 0 and candidate.share > 0 for candidate in found.candidates)
    assert all(reason for _, reason in found.refused)


def test_the_candidates_are_in_the_order_of_their_errors() -> None:
    errors = [
        candidate.error for candidate in selected(shapes.noisy(shapes.sine(250), 0.03)).candidates
    ]
    assert errors == sorted(errors)


def test_a_long_horizon_and_fine_samples_cost_no_more_steps() -> None:
    fine = selection.select(shapes.history(shapes.constant(2000), 10), 900, 10)
    assert isinstance(fine, Selection)
    assert fine.factor == 3
    assert {len(candidate.radii) for candidate in fine.candidates} == {30}


def test_too_little_history_is_told() -> None:
    assert selection.select([], 900, 60) == NoData("no rate was measured")
    refused = selection.select(shapes.history(shapes.constant(5), 10), 900, 10)
    assert refused == NoData("5 steps of 10 s are known: 9 are needed")


@pytest.mark.parametrize(("horizon", "step"), [(900, 0), (30, 60), (np.inf, 60), (np.nan, 60)])
def test_a_horizon_below_one_step_is_refused(horizon: float, step: float) -> None:
    with pytest.raises(ValueError, match="0 < step <= horizon"):
        selection.select([], horizon, step)


def test_a_selection_reads_back_equal_after_it_was_stored() -> None:
    found = selected(shapes.noisy(shapes.sine(250), 0.03))
    assert selection.from_data(json.loads(json.dumps(found.to_data()))) == found


def test_a_stored_selection_is_small() -> None:
    found = selected(shapes.diurnal(9))
    assert len(json.dumps(found.to_data())) < 8192


@pytest.mark.parametrize(
    "change",
    [
        {"version": 99},
        {"kind": "Downtimes"},
        {"trusted": "Oracle"},
        {"candidates": [{"model": "Oracle"}]},
        {"candidates": None},
        {"step": "a minute"},
        {"step": -60},
        {"factor": 0},
        {"candidates": []},
    ],
)
def test_a_stored_selection_that_cannot_be_read_is_told(change: dict[str, object]) -> None:
    data = selected(shapes.constant(30)).to_data()
    with pytest.raises(CorruptState, match="learned anew"):
        selection.from_data({**data, **change})


def test_a_model_that_this_release_does_not_know_is_told() -> None:
    found = selected(shapes.constant(30))
    stored = found.to_data()
    stored["candidates"].append({**stored["candidates"][0], "model": "Oracle"})
    with pytest.raises(CorruptState, match="Oracle"):
        selection.from_data(stored)


def test_selections_and_functions_can_be_sent_to_another_process() -> None:
    sent = (selection.select, prediction.predict, selected(shapes.constant(30)))
    assert pickle.loads(pickle.dumps(sent)) == sent
