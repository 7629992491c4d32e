"""What is remembered of former wishes: little, but enough to know how far a job may shrink, and when."""

import json
import math
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.core.deciding.compacting import compacted, remembered
from sluice.core.deciding.deciding import decide
from sluice.core.deciding.decision import Decision, Policy
from sluice.core.deciding.policies.flink_autoscaler import FlinkAutoscaler
from sluice.core.deciding.policies.replies import (
    enough_for,
    largest_wish,
    wanted_again,
    wishes_reach,
)
from sluice.core.deciding.policies.sluice import Sluice
from sluice.core.deciding.situation import Wish
from sluice.core.deciding.storing import to_data
from sluice.core.learning.remembering import memory_of, recalled
from sluice.core.learning.terms import Terms
from sluice.core.learning.watching import Watcher
from tests.unit.core.deciding.situations import AT, steady, wishes

HOUR, DAY = 3600.0, 86_400.0


def watcher() -> Watcher:
    """Of a job that is too large for its load."""
    return Watcher(terms=Terms(bounds=steady().bounds), executors=14)


def seconds_to_shrink(policy: Policy, every: float, *, patience: float) -> float:
    """After so many seconds of decisions a job shrinks that needs less than it has from the first one on."""
    chance, watched, situation = random.Random(1), watcher(), steady(5_000.0)
    now = AT
    while now - AT <= patience:
        former = watched.situation(now).wishes
        decision = decide(replace(situation, at=now, wishes=former), policy)
        if decision.executors < situation.executors:
            return now - AT
        watched.decided(decision, now)
        now += every + 0.4 * chance.random()
    pytest.fail(f"never within {patience:.0f} s: {decision.reason}")


@pytest.mark.parametrize(
    ("policy", "every", "waited"),
    [
        (FlinkAutoscaler(), 60.0, HOUR),
        (FlinkAutoscaler(), 7200.0, HOUR),
        (Sluice(stabilisation=300.0), 60.0, 300.0),
        (Sluice(stabilisation=HOUR), 60.0, HOUR),
        (Sluice(stabilisation=3660.0), 60.0, 3660.0),
        (Sluice(stabilisation=4 * HOUR), 60.0, 4 * HOUR),
        (Sluice(stabilisation=DAY), 600.0, DAY),
        (Sluice(stabilisation=300.0), 3700.0, 300.0),
        (Sluice(stabilisation=300.0), 2 * DAY, 300.0),
    ],
)
def test_a_job_shrinks_when_that_was_wanted_for_so_long_however_often_it_is_decided(
    policy: Policy, every: float, waited: float
) -> None:
    found = seconds_to_shrink(policy, every, patience=max(waited + 2000, 2 * every))
    assert waited <= found <= waited + max(every + 1, 1500 if waited > HOUR else 61)


def test_no_smaller_size_has_to_be_wanted_for_longer_than_wishes_are_remembered() -> None:
    longest = seconds_to_shrink(Sluice(stabilisation=3 * DAY), 600.0, patience=2 * DAY)
    assert DAY <= longest < 1.1 * DAY


def test_a_wish_holds_until_the_next_one() -> None:
    larger_before = (Wish(at=-7200.0, executors=9), Wish(at=-3700.0, executors=4))
    situation = steady(wishes=larger_before)
    assert largest_wish(situation, 2, 300.0) == 4
    assert largest_wish(situation, 2, 3700.0) == 4
    assert largest_wish(situation, 2, 3701.0) == 9
    assert enough_for(situation, 4) == 3700.0
    assert enough_for(situation, 3) == 0.0


def test_what_was_wanted_again_so_far_tells_when_it_may_be() -> None:
    every = [(-3000, 9), (-2500, 12), (-2400, 9), (-1500, 12), (-1400, 9), (-900, 12), (-300, 8)]
    situation = steady(wishes=[Wish(at=at, executors=count) for at, count in every])
    assert wanted_again(situation, 9) == 200.0, "of 500, 900 and 500 s, of which 300 are over"
    once = replace(situation, wishes=situation.wishes[-2:])
    assert wanted_again(once, 9) == math.inf, "what never came again is not waited for"


def test_what_is_to_be_done_at_once_waits_for_no_former_wish() -> None:
    situation = steady(wishes=wishes(20))
    assert largest_wish(situation, 2, 0.0) == 2
    assert wishes_reach(replace(situation, wishes=()), 0.0)


def test_wishes_in_a_row_are_stored_once_and_tell_the_same() -> None:
    former = (*wishes(9, seconds=3600)[:-10], *wishes(4, seconds=600))
    kept = compacted(steady(wishes=former)).wishes
    assert [(wish.at, wish.executors) for wish in kept] == [
        (-3600.0, 9),
        (-660.0, 9),
        (-600.0, 4),
        (-60.0, 4),
    ]


def test_wishes_are_forgotten_after_a_day_but_for_the_one_that_held_then() -> None:
    old = (Wish(at=-3 * DAY, executors=3), Wish(at=-2 * DAY, executors=5))
    assert compacted(steady(wishes=(*old, Wish(at=-60.0, executors=4)))).wishes == (
        old[-1],
        Wish(at=-60.0, executors=4),
    )


def test_no_wish_comes_from_the_future() -> None:
    assert compacted(steady(wishes=(Wish(at=5.0, executors=4),))).wishes == ()


def test_of_what_was_wanted_long_ago_the_largest_is_kept() -> None:
    once = (*wishes(4, seconds=6 * 3600), Wish(at=-3 * HOUR - 30, executors=9))
    kept = compacted(steady(wishes=tuple(sorted(once, key=lambda wish: wish.at))))
    assert largest_wish(kept, 2, 4 * HOUR) == 9
    assert largest_wish(kept, 2, 2 * HOUR) == 4
    assert 2 * HOUR < enough_for(kept, 4) <= 3 * HOUR < enough_for(kept, 9) <= 6 * HOUR


def restless() -> list[Wish]:
    """A day and an hour in which each minute another number was wanted, from the beginning of the year back."""
    chance = random.Random(1)
    return [
        Wish(at=AT + 60.0 * minute, executors=chance.randint(2, 24)) for minute in range(-1500, 0)
    ]


def test_of_a_restless_day_little_is_kept_and_comes_back_as_it_was() -> None:
    watched = watcher()
    for wish in restless():
        watched.decided(Decision(wanted=wish.executors, executors=14, reason=""), wish.at)
    assert len(watched.wishes) <= 60 + DAY / 1440 + 2
    assert len(json.dumps(to_data(steady(wishes=watched.situation(AT).wishes)))) < 6_000
    again = recalled(memory_of(watched), watched.terms, 14, AT)
    assert again.wishes == list(remembered(watched.wishes, AT, 0.0))


def test_which_wishes_are_kept_does_not_depend_on_when_that_is_asked() -> None:
    def kept(now: float) -> list[tuple[float, int]]:
        former = tuple(replace(wish, at=wish.at - now) for wish in restless())
        found = compacted(steady(at=now, wishes=former)).wishes
        known = [(wish.at + now - AT, wish.executors) for wish in found]
        return [(at, executors) for at, executors in known if -20 * HOUR <= at < -2 * HOUR]

    assert all(kept(AT + 60.0 * minute) == kept(AT) for minute in range(60))


def pasts(oldest: int) -> st.SearchStrategy[tuple[Wish, ...]]:
    """Wishes of so many seconds."""
    drawn = st.dictionaries(st.integers(-oldest, -1), st.integers(1, 12), max_size=60)
    return drawn.map(
        lambda found: tuple(Wish(at=float(at), executors=found[at]) for at in sorted(found))
    )


@given(pasts(20_000), st.integers(1, 25_000), st.integers(1, 12))
def test_what_is_kept_never_lets_a_job_shrink_further_than_all_wishes_would(
    former: tuple[Wish, ...], seconds: int, executors: int
) -> None:
    full, kept = steady(wishes=former), compacted(steady(wishes=former))
    assert largest_wish(kept, 1, seconds) >= largest_wish(full, 1, seconds)
    assert enough_for(kept, executors) <= enough_for(full, executors)


@given(pasts(3600), st.integers(1, 3600), st.integers(1, 12))
def test_of_the_last_hour_all_is_kept(
    former: tuple[Wish, ...], seconds: int, executors: int
) -> None:
    full, kept = steady(wishes=former), compacted(steady(wishes=former))
    assert largest_wish(kept, 1, seconds) == largest_wish(full, 1, seconds)
    assert wishes_reach(kept, seconds) == wishes_reach(full, seconds)
    assert enough_for(kept, executors) == enough_for(full, executors)


@given(pasts(100_000))
def test_keeping_twice_keeps_the_same(former: tuple[Wish, ...]) -> None:
    once = compacted(steady(wishes=former))
    assert compacted(once).wishes == once.wishes
