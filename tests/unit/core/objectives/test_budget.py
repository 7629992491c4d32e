"""99 % over 28 days are 40320 slices, of which 403.2 may be bad."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.core.objectives.budget import Budget, Objective, budget_of, burn_rate
from sluice.core.objectives.verdicts import Gaps, Tally
from sluice.core.series import NoData

DAYS_28 = Objective(share=0.99, window=timedelta(days=28))
HOUR = Objective(share=0.9, window=timedelta(hours=1))

counts = st.integers(0, 40320)
tallies = st.builds(Tally, good=counts, bad=counts, unknown=counts)


def budget(tally: Tally, objective: Objective) -> Budget:
    found = budget_of(tally, objective)
    assert not isinstance(found, NoData)
    return found


@pytest.mark.parametrize(("bad", "left"), [(0, 1.0), (100.8, 0.75), (403.2, 0.0), (806.4, -1.0)])
def test_budget_left_of_a_whole_window(bad: float, left: float) -> None:
    found = budget(Tally(good=40320 - bad, bad=bad), DAYS_28)
    assert found.allowed == pytest.approx(403.2)
    assert found.left == pytest.approx(left)


def test_a_bad_minute_of_a_young_job_costs_a_minute_of_the_whole_budget() -> None:
    assert budget(Tally(good=59, bad=1), DAYS_28).spent == pytest.approx(1 / 403.2)


@pytest.mark.parametrize(
    ("gaps", "spent"),
    [(Gaps.UNKNOWN, 3 / 3), (Gaps.GOOD, 3 / 6), (Gaps.BAD, 33 / 6)],
)
def test_unknown_slices_give_no_budget_and_take_none(gaps: Gaps, spent: float) -> None:
    """Of an hour 30 slices are unknown and 3 bad; 90 % allows 3 of 30 and 6 of 60."""
    objective = Objective(share=0.9, window=timedelta(hours=1), gaps=gaps)
    assert budget(Tally(good=27, bad=3, unknown=30), objective).spent == pytest.approx(spent)


def test_a_window_of_which_nothing_is_known_has_no_budget() -> None:
    assert isinstance(budget_of(Tally(unknown=60), HOUR), NoData)
    assert isinstance(burn_rate(Tally(unknown=60), HOUR, HOUR.window), NoData)


@pytest.mark.parametrize(("bad", "rate"), [(0, 0.0), (6, 1.0), (12, 2.0), (60, 10.0)])
def test_burn_rate_of_an_hour_at_90_percent(bad: int, rate: float) -> None:
    assert burn_rate(Tally(good=60 - bad, bad=bad), HOUR, HOUR.window) == pytest.approx(rate)


def test_a_job_that_just_began_badly_burns_no_faster_than_one_that_is_old() -> None:
    """One bad minute of an hour at 90 % is a sixth of what is allowed, be it the first minute or the last."""
    young, old = Tally(bad=1), Tally(good=59, bad=1)
    assert burn_rate(young, HOUR, HOUR.window) == pytest.approx(1 / 6)
    assert burn_rate(old, HOUR, HOUR.window) == pytest.approx(1 / 6)


@pytest.mark.parametrize("share", [0.0, 1.0, 99.0])
def test_an_objective_that_is_no_share_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match=f"an objective of {share}"):
        Objective(share=share, window=timedelta(hours=1))


def test_a_window_shorter_than_a_slice_is_refused() -> None:
    with pytest.raises(ValueError, match="a window of 0:00:59"):
        Objective(share=0.9, window=timedelta(seconds=59))


@given(tallies)
def test_budget_left_and_budget_spent_are_the_whole(tally: Tally) -> None:
    found = budget_of(tally, DAYS_28)
    if not isinstance(found, NoData):
        assert found.left + found.spent == pytest.approx(1, abs=1e-9 * (1 + found.spent))


@given(tallies, st.sampled_from(Gaps))
def test_a_good_slice_never_costs_budget(tally: Tally, gaps: Gaps) -> None:
    objective = Objective(share=0.99, window=timedelta(days=28), gaps=gaps)
    before, after = (budget_of(one, objective) for one in (tally, tally + Tally(good=1)))
    if not isinstance(before, NoData):
        assert not isinstance(after, NoData)
        assert after.left >= before.left


@given(st.integers(0, 40320), st.integers(0, 40320))
def test_in_a_whole_window_budget_spent_is_the_burn_rate(bad: int, unknown: int) -> None:
    rest = 40320 - unknown - bad
    if rest < 0 or unknown == 40320:
        return
    whole = Tally(good=rest, bad=bad, unknown=unknown)
    assert budget(whole, DAYS_28).spent == pytest.approx(burn_rate(whole, DAYS_28, DAYS_28.window))
