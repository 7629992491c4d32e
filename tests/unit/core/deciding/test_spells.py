"""How long a low load may still last is told by those before it."""

from hypothesis import given
from hypothesis import strategies as st

from sluice.core.deciding.spells import remaining
from sluice.core.series import Measured, NoData

Past = list[tuple[float, float]]


def past(*stretches: tuple[int, float]) -> Past:
    """Minutes and rates, one after the other; the last stretch ends now."""
    rates = [rate for minutes, rate in stretches for _ in range(minutes)]
    return [(60.0 * (place + 1 - len(rates)), rate) for place, rate in enumerate(rates)]


def left(history: Past, most: float = 10.0) -> Measured:
    return remaining(history, lambda rate: rate <= most, lasting=0.5)


def test_what_is_left_is_the_length_of_the_former_spell_without_what_has_passed() -> None:
    assert left(past((5, 50), (30, 8), (5, 50), (11, 8))) == 1200


def test_only_spells_that_lasted_longer_than_this_one_are_asked_for_their_median() -> None:
    high, short, long, longer = (5, 50.0), (6, 8.0), (30, 8.0), (40, 8.0)
    history = past(high, short, high, long, high, longer, high, short, high, (11, 8.0))
    assert left(history) == (1200 + 1800) / 2


def test_the_longest_spell_yet_goes_on_for_a_share_of_its_age() -> None:
    for_29_minutes = past((5, 50), (30, 8))
    assert left(for_29_minutes) == 0.5 * 29 * 60
    assert left(past((5, 50), (20, 8), (5, 50), (30, 8))) == left(for_29_minutes)


def test_what_always_was_enough_has_no_end() -> None:
    assert left(past((60, 8))) == NoData("so much never arrived")
    assert left([]) == NoData("so much never arrived")


def test_there_is_no_spell_while_too_much_arrives() -> None:
    assert left(past((30, 8), (5, 50))) == NoData("too much arrives now")


@given(
    st.lists(st.tuples(st.integers(1, 90), st.floats(0, 100)), max_size=12),
    st.floats(0, 100),
)
def test_what_is_left_is_some_time_within_what_is_remembered(
    stretches: list[tuple[int, float]], most: float
) -> None:
    history = past(*stretches)
    found = left(history, most)
    assert isinstance(found, NoData) or 0 <= found <= history[-1][0] - history[0][0]
