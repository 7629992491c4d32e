import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.core.objectives.verdicts import Gaps, Tally, Verdict, all_of, counted, rolling, tally
from sluice.core.series import NoData

GOOD, BAD, UNKNOWN = Verdict.GOOD, Verdict.BAD, Verdict.UNKNOWN

verdicts = st.lists(st.sampled_from(Verdict), max_size=60)
policies = st.sampled_from(Gaps)


def share(found: float | NoData) -> float:
    assert not isinstance(found, NoData)
    return found


@pytest.mark.parametrize(
    ("gaps", "attained"),
    [(Gaps.UNKNOWN, 0.75), (Gaps.GOOD, 0.8), (Gaps.BAD, 0.6)],
)
def test_attainment_by_policy(gaps: Gaps, attained: float) -> None:
    """Three good, one bad, one unknown."""
    found = tally([GOOD, UNKNOWN, GOOD, BAD, GOOD])
    assert share(found.attainment(gaps)) == pytest.approx(attained)
    assert found.unknown_share == 0.2


@pytest.mark.parametrize("found", [Tally(), Tally(unknown=7)])
def test_of_nothing_known_there_is_no_attainment(found: Tally) -> None:
    assert isinstance(found.attainment(), NoData)
    assert found.unknown_share == 1.0


def test_unknown_slices_count_as_declared_even_if_there_is_nothing_else() -> None:
    assert Tally(unknown=7).attainment(Gaps.GOOD) == 1.0
    assert Tally(unknown=7).attainment(Gaps.BAD) == 0.0


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        Tally(good=-1)


def test_what_a_server_does_not_know_of_a_window_is_unknown() -> None:
    assert counted(good=50, known=55, expected=60) == Tally(good=50, bad=5, unknown=5)


def test_slices_that_two_servers_measured_do_not_make_less_than_nothing_unknown() -> None:
    assert counted(good=61, known=61, expected=60) == Tally(good=61)


def test_a_rolling_window_forgets_what_is_older_than_it() -> None:
    found = rolling([BAD, GOOD, UNKNOWN, GOOD], 2)
    assert found == (
        Tally(bad=1),
        Tally(bad=1, good=1),
        Tally(good=1, unknown=1),
        Tally(good=1, unknown=1),
    )


def test_a_window_without_length_is_refused() -> None:
    with pytest.raises(ValueError, match="it needs one at least"):
        rolling([GOOD], 0)


@pytest.mark.parametrize(
    ("bounds", "together"),
    [
        ([GOOD, GOOD], GOOD),
        ([GOOD, UNKNOWN], UNKNOWN),
        ([UNKNOWN, BAD], BAD),
        ([GOOD, BAD], BAD),
        ([], UNKNOWN),
    ],
)
def test_one_broken_bound_breaks_all_and_only_known_ones_hold(
    bounds: list[Verdict], together: Verdict
) -> None:
    assert all_of(bounds) is together


@given(verdicts, policies)
def test_a_good_slice_never_lowers_attainment_and_a_bad_one_never_raises_it(
    before: list[Verdict], gaps: Gaps
) -> None:
    attained = tally(before).attainment(gaps)
    better, worse = (tally([*before, one]).attainment(gaps) for one in (GOOD, BAD))
    if isinstance(attained, NoData):
        assert (better, worse) == (1.0, 0.0)
    else:
        assert share(worse) <= attained <= share(better)


@given(verdicts, st.integers(0, 30))
def test_unknown_slices_never_change_attainment_when_they_are_left_out(
    before: list[Verdict], more: int
) -> None:
    assert tally([*before, *[UNKNOWN] * more]).attainment() == tally(before).attainment()


@given(verdicts)
def test_what_is_left_out_lies_between_the_best_and_the_worst_reading(
    found: list[Verdict],
) -> None:
    counts = tally(found)
    if counts.good + counts.bad:
        worst, left_out, best = (
            share(counts.attainment(gaps)) for gaps in (Gaps.BAD, Gaps.UNKNOWN, Gaps.GOOD)
        )
        assert worst <= left_out <= best


@given(verdicts, verdicts)
def test_two_windows_together_are_the_whole_window(
    first: list[Verdict], second: list[Verdict]
) -> None:
    assert tally(first) + tally(second) == tally([*first, *second])


@given(verdicts, st.integers(1, 70))
def test_a_rolling_tally_is_the_tally_of_each_window(found: list[Verdict], length: int) -> None:
    ends = range(1, len(found) + 1)
    assert rolling(found, length) == tuple(tally(found[max(0, end - length) : end]) for end in ends)
