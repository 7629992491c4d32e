"""A rescale that did harm is undone once, and not wished for again under such a load for a while."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from sluice.core.deciding.compacting import compacted
from sluice.core.deciding.deciding import decide
from sluice.core.deciding.decision import Decision, Veto
from sluice.core.deciding.guards import GUARDS, Settings, harmful_before
from sluice.core.deciding.harms import REMEMBERED, Harm
from sluice.core.deciding.policies.sluice import Sluice
from sluice.core.deciding.policies.static import Static
from sluice.core.deciding.situation import Bounds, Mode, Situation
from sluice.core.modelling.rescaling import Path
from sluice.core.series import NoData
from tests.unit.core.deciding.situations import AT, steady
from tests.unit.core.deciding.test_laws import guarding, policies, situations

LOAD = 100_000.0


def harm(before: int, executors: int, **changes: object) -> Harm:
    """A rescale that was found harmful an hour ago, and undone."""
    found = Harm(
        at=AT - 3600,
        decision=f"d{executors}",
        before=before,
        executors=executors,
        arrival=LOAD,
        reason="the latency is 14.2 s",
        undone=True,
    )
    return replace(found, **changes)  # type: ignore[arg-type]  # tests name the fields they change


def decided(
    executors: int, wanted: int, *harms: Harm, load: float = LOAD, **changes: object
) -> Decision:
    """A job of so many executors, and a policy that wants another number."""
    return decide(steady(load, executors, harms=harms, **changes), Static(executors=wanted))


def pending(before: int, executors: int, **changes: object) -> Harm:
    """A harmful rescale that the job has not left yet."""
    return harm(before, executors, undone=False, **changes)


@pytest.mark.parametrize(("before", "executors"), [(10, 8), (8, 12)])
def test_the_next_wish_after_harm_is_the_former_number(before: int, executors: int) -> None:
    decision = decided(executors, executors, pending(before, executors))
    assert (decision.wanted, decision.executors) == (before, before)
    assert decision.undoes == f"d{executors}"
    assert decision.reason == f"undoes decision d{executors}: the latency is 14.2 s"


def test_who_wants_even_more_than_the_former_number_gets_it() -> None:
    decision = decided(8, 14, pending(10, 8))
    assert (decision.executors, decision.undoes) == (14, "d8")
    assert (
        decision.reason
        == "undoes decision d8: the latency is 14.2 s; the policy is static: 14 executors"
    )


def test_an_undo_goes_the_way_that_the_driver_allows() -> None:
    assert decided(8, 8, pending(10, 8)).path is Path.LIVE
    assert decided(8, 8, pending(10, 8), live=False).path is Path.RESTART


def test_an_undo_expects_what_the_policy_knows_of_the_former_number() -> None:
    situation = steady(LOAD, 8, harms=(pending(12, 8),))
    known = {one.executors: one.latency for one in Sluice()(situation).candidates}
    assert decide(situation, Sluice()).expected_latency == known[12]
    assert decided(8, 8, pending(10, 8)).expected_latency is None


@pytest.mark.parametrize(
    "left",
    [
        pytest.param(pending(10, 9), id="the job has another number"),
        pytest.param(harm(10, 8), id="it was undone before"),
        pytest.param(pending(10, 8, at=AT - REMEMBERED), id="it was long ago"),
        pytest.param(pending(10, 8, arrival=126_000.0), id="the load has fallen"),
        pytest.param(pending(30, 8), id="not beyond the bounds"),
    ],
)
def test_nothing_is_undone_twice_or_without_need(left: Harm) -> None:
    narrow = Bounds(smallest=2, largest=8) if left.before == 30 else Bounds(smallest=2, largest=24)
    assert decided(8, 8, left, bounds=narrow).undoes is None


def test_under_an_unknown_load_nothing_is_undone() -> None:
    situation = steady(LOAD, 8, harms=(pending(10, 8),), history=())
    blind = replace(situation, observed=replace(situation.observed, arrival=NoData("no Kafka")))
    assert decide(blind, Static(executors=8)).undoes is None


def test_a_spent_budget_does_not_keep_from_undoing_a_growth() -> None:
    situation = steady(LOAD, 12, harms=(pending(8, 12),))
    assert decide(situation, Static(executors=12), Settings(error_budget=0.0)).executors == 8


def test_an_undo_asks_for_permission_like_any_wish() -> None:
    decision = decided(8, 8, pending(10, 8), mode=Mode.APPROVE)
    assert decision.veto == Veto("mode", "an approval of 10 executors is waited for")
    assert (decision.wanted, decision.executors) == (10, 8)


def test_the_number_that_an_undo_goes_back_to_is_not_refused() -> None:
    both = (pending(8, 12), harm(12, 8, at=AT - 7200))
    assert decided(12, 12, *both).executors == 8


@pytest.mark.parametrize(
    ("wanted", "harms", "executors"),
    [
        pytest.param(8, (8,), 9, id="the next number"),
        pytest.param(5, (8,), 9, id="fewer would do even more harm"),
        pytest.param(9, (8,), 9, id="more are allowed"),
        pytest.param(8, (8, 9), 11, id="the second harm goes two further"),
        pytest.param(8, (8, 9, 11), 15, id="the third four"),
    ],
)
def test_a_shrink_that_did_harm_goes_less_far_the_next_time(
    wanted: int, harms: tuple[int, ...], executors: int
) -> None:
    decision = decided(20, wanted, *(harm(20, found) for found in harms))
    assert (decision.wanted, decision.executors, decision.veto) == (wanted, executors, None)


def test_after_harm_a_job_has_half_an_hour_of_peace_before_a_smaller_number_is_tried() -> None:
    known = harm(20, 8, at=AT - 7200)
    assert decided(20, 8, known, harm(20, 9, at=AT - 1799)).executors == 20
    assert decided(20, 8, known, harm(20, 9, at=AT - 1800)).executors == 11
    assert decided(20, 10, known, harm(20, 9, at=AT - 1799)).executors == 10


def test_the_reason_tells_that_a_shrink_goes_less_far() -> None:
    assert decided(20, 8, harm(20, 8)).reason.endswith("; 9 are the fewest allowed")


@pytest.mark.parametrize("executors", [9, 8, 7])
def test_where_no_smaller_number_is_left_a_shrink_is_vetoed(executors: int) -> None:
    decision = decided(executors, 5, harm(10, 8))
    assert decision.veto == Veto("harmful before", "decision d8 did harm: the latency is 14.2 s")
    assert decision.executors == executors


@pytest.mark.parametrize(("load", "executors"), [(79_000.0, 8), (81_000.0, 9), (300_000.0, 9)])
def test_what_did_harm_is_allowed_at_a_load_that_is_lower_by_a_fifth(
    load: float, executors: int
) -> None:
    assert decided(10, 8, harm(10, 8), load=load).executors == executors


@pytest.mark.parametrize(
    ("load", "executors"), [(79_000.0, 12), (81_000.0, 8), (124_000.0, 8), (126_000.0, 12)]
)
def test_a_growth_that_did_harm_is_vetoed_around_its_load(load: float, executors: int) -> None:
    assert decided(8, 12, harm(8, 12), load=load).executors == executors


def test_a_job_that_has_fallen_far_behind_may_grow_to_any_number() -> None:
    known = steady(LOAD, 12, harms=(harm(12, 24),))
    for seconds, executors in ((200, 12), (400, 24)):
        waiting = replace(known.observed, lag=seconds * LOAD)
        decision = decide(replace(known, observed=waiting), Static(executors=24))
        assert decision.executors == executors


def test_harm_is_forgotten_after_six_hours() -> None:
    assert decided(10, 8, harm(10, 8, at=AT - REMEMBERED)).executors == 8


@pytest.mark.parametrize("wanted", [9, 10, 11, 13, 20])
def test_other_numbers_than_the_one_that_did_harm_may_be_grown_to(wanted: int) -> None:
    assert decided(8, wanted, harm(8, 12)).executors == wanted


@pytest.mark.parametrize("wanted", [7, 8, 9, 10])
def test_what_shrinking_taught_never_keeps_from_growing(wanted: int) -> None:
    assert decided(6, wanted, harm(10, 8), harm(10, 9)).executors == wanted


harms = st.lists(
    st.builds(
        Harm,
        at=st.floats(0, 4e9),
        decision=st.just("d"),
        before=st.integers(1, 50),
        executors=st.integers(1, 50),
        arrival=st.one_of(st.floats(0, 1e6), st.just(float("nan"))),
        reason=st.just("worse"),
        undone=st.booleans(),
    ),
    max_size=30,
).map(tuple)


@given(situations(), harms, policies, guarding)
@hypothesis_settings(max_examples=150, deadline=None)
def test_no_harm_raises_or_leads_outside_the_bounds(
    situation: Situation, known: tuple[Harm, ...], policy: Sluice, guards: Settings
) -> None:
    situation = replace(situation, harms=tuple(replace(one, at=situation.at) for one in known))
    decision = decide(situation, policy, guards)
    for executors in (decision.wanted, decision.executors):
        assert situation.bounds.smallest <= executors <= situation.bounds.largest
    assert compacted(compacted(situation)) == compacted(situation)


@given(situations(), policies, guarding)
@hypothesis_settings(max_examples=100, deadline=None)
def test_without_harm_decisions_are_as_without_this_guard(
    situation: Situation, policy: Sluice, guards: Settings
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        others = tuple(guard for guard in GUARDS if guard is not harmful_before)
        patch.setattr("sluice.core.deciding.guards.GUARDS", others)
        patch.setattr("sluice.core.deciding.deciding.undone", lambda _, wish: wish)
        before = decide(situation, policy, guards)
    assert decide(situation, policy, guards) == before


@given(st.integers(2, 23), st.integers(3, 24), st.lists(st.integers(1, 24), max_size=8))
@hypothesis_settings(max_examples=100, deadline=None)
def test_no_growth_beyond_what_did_harm_is_ever_refused(
    executors: int, wanted: int, harmful: list[int]
) -> None:
    known = tuple(harm(1, number) for number in harmful)
    if wanted > max(executors, *harmful, 0):
        assert decided(executors, wanted, *known).executors == wanted
