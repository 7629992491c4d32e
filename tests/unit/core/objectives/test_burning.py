from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.core.objectives.budget import Objective
from sluice.core.objectives.burning import LADDER, Rung, burning
from sluice.core.objectives.verdicts import Tally, Verdict, tally

MONTH = Objective(share=0.999, window=timedelta(days=30))
GOOD, BAD, UNKNOWN = Verdict.GOOD, Verdict.BAD, Verdict.UNKNOWN


def newest(minutes: Sequence[Verdict]) -> Callable[[timedelta], Tally]:
    """Count the last slices of a list that ends now."""
    return lambda span: tally(minutes[-int(span.total_seconds() // 60) :])


def rungs(window: timedelta) -> list[float]:
    return [round(rung.threshold(window), 3) for rung in LADDER]


def test_thresholds_of_the_workbook_for_thirty_days() -> None:
    assert rungs(timedelta(days=30)) == [14.4, 6, 3, 1]


def test_a_shorter_window_has_less_budget_and_so_lower_thresholds() -> None:
    assert rungs(timedelta(days=28)) == [13.44, 5.6, 2.8, 1]
    assert rungs(timedelta(days=7)) == [3.36, 1.4, 1, 1]


@given(st.integers(1, 400))
def test_no_threshold_calls_while_the_objective_is_met(days: int) -> None:
    assert min(rungs(timedelta(days=days))) >= 1


@pytest.mark.parametrize(
    ("minutes", "rung"),
    [
        ([GOOD] * 5000, None),
        ([GOOD] * 4940 + [BAD] * 60, 0),
        ([GOOD] * 4990 + [BAD] * 10, 0),
        ([GOOD] * 4999 + [BAD], 0),
        ([GOOD] * 4930 + [BAD] * 60 + [GOOD] * 10, 1),
        ([GOOD] * 4940 + [UNKNOWN] * 60, None),
        ([BAD] + [UNKNOWN] * 4999, None),
    ],
    ids=[
        "good",
        "an hour bad",
        "ten minutes bad",
        "one minute bad, which is more than 2 % of a month's 43",
        "over for ten minutes",
        "unknown for an hour",
        "nothing known in the short windows",
    ],
)
def test_who_calls(minutes: list[Verdict], rung: int | None) -> None:
    expected: Rung | None = None if rung is None else LADDER[rung]
    assert burning(newest(minutes), MONTH) == expected


LENIENT = Objective(share=0.99, window=timedelta(days=30))


def test_trouble_that_is_over_does_not_call_though_the_long_window_burns() -> None:
    minutes = [GOOD] * 4940 + [BAD] * 9 + [GOOD] * 51
    assert burning(newest(minutes), LENIENT) is None


def test_short_trouble_does_not_call_though_the_short_window_burns() -> None:
    assert burning(newest([GOOD] * 4997 + [BAD] * 3), LENIENT) is None
