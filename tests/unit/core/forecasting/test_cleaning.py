import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.core.forecasting.cleaning import Cleaned, clean, coarser
from sluice.core.series import NoData

Samples = list[tuple[float, float]]


def minutes(*rates: float) -> Samples:
    """One sample each minute, the last one now."""
    return [(60.0 * (index - len(rates) + 1), rate) for index, rate in enumerate(rates)]


def cleaned(samples: Samples, step: float = 60) -> Cleaned:
    result = clean(samples, step)
    assert isinstance(result, Cleaned), result
    return result


def test_clean_samples_stay_as_they_are() -> None:
    result = cleaned(minutes(100, 120, 90, 110))
    assert result.values.tolist() == [100, 120, 90, 110]
    assert result.known.all()
    assert result.end == 0


def test_before_the_first_row_there_was_no_load() -> None:
    result = cleaned(minutes(0, 0, 0, 0, 100, 120, 0, 110, 90))
    assert result.values.tolist() == [100, 120, 0, 110, 90]
    assert cleaned(minutes(0, 0, 0)).values.tolist() == [0, 0, 0]
    assert isinstance(clean(minutes(0, 0, 0, 100, 120), 60), NoData)


def test_the_order_and_repetition_of_samples_do_not_matter() -> None:
    ordered = minutes(*range(100, 140))
    shuffled = ordered + ordered[5:9]
    random.Random(1).shuffle(shuffled)
    assert cleaned(shuffled).values == pytest.approx(cleaned(ordered).values)


def test_of_several_samples_in_a_step_their_mean_counts() -> None:
    offsets = ((-40, 90.0), (-20, 100.0), (0, 110.0))
    samples = [(-60.0 * step + part, rate) for step in range(9) for part, rate in offsets]
    assert cleaned(samples).values[1:-1] == pytest.approx([100] * 7)


def test_irregular_samples_of_a_straight_rise_are_put_on_it() -> None:
    jitter = random.Random(2)
    times = [-60.0 * step + jitter.uniform(-20, 20) for step in range(1, 50)]
    result = cleaned([(at, 10_000 + at) for at in times])
    moments = result.end - result.step * np.arange(len(result.values))[::-1]
    assert result.values[1:] == pytest.approx(10_000 + moments[1:])


def test_a_gap_is_filled_by_a_straight_line_and_told() -> None:
    samples = minutes(*[100] * 20, *[math.nan] * 9, *[200] * 20)
    result = cleaned(samples)
    assert result.values[20:29] == pytest.approx(np.linspace(110, 190, 9))
    assert not result.known[21:28].any()
    assert result.known[:20].all()
    assert result.known[29:].all()


def test_a_day_of_which_nothing_is_known_is_like_the_one_before() -> None:
    """A level day among others would be learned as one: the next mornings would come as a surprise."""
    day = [1000.0] * 480 + [9000.0] * 720 + [1000.0] * 240
    whole = minutes(*day * 5)
    for lost in ((1, 2), (1, 3)):
        first, last = lost[0] * 1440 + 300, lost[1] * 1440 + 600
        result = cleaned([*whole[:first], *whole[last:]])
        assert result.values == pytest.approx(day * 5, rel=0.01)
        assert not result.known[first + 1 : last - 1].any()
    early = cleaned([*whole[:100], *whole[400:]])
    assert early.values.tolist() == day * 5, "a straight line, where no day is known before"


@pytest.mark.parametrize("wrong", [-5.0, math.nan, math.inf, -math.inf, 1e300])
def test_what_cannot_be_a_rate_is_no_measurement(wrong: float) -> None:
    assert cleaned(minutes(100, 100, wrong, 100, 100)).values.tolist() == [100] * 5


def test_samples_of_the_future_are_left_out() -> None:
    assert cleaned([*minutes(100, 100, 100), (3600.0, 900.0)]).values.tolist() == [100, 100, 100]


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("rate", [0.0, 1e6])
def test_a_brief_spike_is_removed(length: int, rate: float) -> None:
    result = cleaned(minutes(*[1000] * 30, *[rate] * length, *[1000] * 30))
    assert result.values == pytest.approx([1000] * (60 + length))


def test_spikes_that_come_again_and_again_are_load() -> None:
    quarter = [1000.0] * 13 + [8000.0] * 2
    assert cleaned(minutes(*quarter * 3, *[1000] * 9)).values.tolist() == [
        *quarter * 3,
        *[1000] * 9,
    ]
    rare = [1000.0] * 120 + [8000.0]
    assert cleaned(minutes(*rare * 3, *[1000] * 9)).values.max() == 1000


def test_bursts_of_each_hour_stay_load_however_much_is_known_of_the_weeks_before() -> None:
    """What is older is stored as means of five minutes, in which a burst is no spike."""
    hourly = [1000.0] * 58 + [10_000.0] * 2
    blurred = [1000.0] * 55 + [4600.0] * 5
    known = cleaned(minutes(*blurred * 24 * 12, *hourly * 48)).values
    assert known[-len(hourly) * 48 :].tolist() == hourly * 48


def test_what_lasts_is_load_and_no_spike() -> None:
    rates = [1000.0] * 30 + [5000.0] * 4 + [1000.0] * 30
    assert cleaned(minutes(*rates)).values.tolist() == rates


def test_a_flash_crowd_is_believed_at_its_first_minute() -> None:
    assert cleaned(minutes(*[1000] * 30, 8000)).values[-1] == 8000


def test_a_thousandfold_rate_is_believed_only_when_it_lasts() -> None:
    assert cleaned(minutes(*[1000] * 30, 1e6)).values[-1] == 1000
    assert cleaned(minutes(*[1000] * 30, *[1e6] * 4)).values[-1] == 1e6


def test_silence_is_believed_only_when_it_lasts() -> None:
    assert cleaned(minutes(*[1000] * 30, 0, 0, 0)).values[-1] == 1000
    assert cleaned(minutes(*[1000] * 30, 0, 0, 0, 0)).values[-1] == 0


def test_a_silence_in_a_steady_flow_is_not_known_to_have_been_one() -> None:
    result = cleaned(minutes(*[1000] * 60, *[0] * 9, *[1000] * 5))
    assert not result.known[60:69].any()
    assert result.known[:60].all()
    assert result.known[69:].all()


def test_the_noise_of_a_small_job_is_no_outlier() -> None:
    chance = np.random.default_rng(3)
    rates = chance.normal(100, 15, 500)
    assert (cleaned(minutes(*rates)).values == rates).mean() > 0.99


def test_too_few_samples_are_refused_with_the_number_that_is_needed() -> None:
    assert clean([], 60) == NoData("no rate was measured")
    refused = clean(minutes(1, 2), 60)
    assert isinstance(refused, NoData)
    assert "3 are needed" in refused.reason


def test_coarser_steps_keep_the_mean_and_its_time() -> None:
    result = coarser(cleaned(minutes(*range(11))), 5)
    assert result.values.tolist() == [3, 8]
    assert result.step == 300
    assert result.end == -120


anything = st.floats(allow_nan=True, allow_infinity=True)


@given(st.lists(st.tuples(anything, anything), max_size=40), st.sampled_from([10.0, 60.0]))
def test_no_sample_is_too_odd(samples: Samples, step: float) -> None:
    result = clean(samples, step)
    if isinstance(result, Cleaned):
        assert np.isfinite(result.values).all()
        assert (result.values >= 0).all()
