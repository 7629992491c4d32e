"""Guards veto or lessen a wish, in their order, and never lead outside the bounds."""

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from itertools import pairwise

import pytest

from sluice.core.deciding.deciding import decide
from sluice.core.deciding.decision import Decision, Veto
from sluice.core.deciding.guards import Settings
from sluice.core.deciding.policies.static import Static
from sluice.core.deciding.situation import NEVER, Activity, Bounds, Mode, Situation
from sluice.core.series import NoData
from sluice.core.windows import Window
from tests.unit.core.deciding.situations import steady


def decided(wanted: int, situation: Situation | None = None, **settings: object) -> Decision:
    """A job of 10 executors, a policy that wants another number, and some settings."""
    present = steady(100_000, 10) if situation is None else situation
    return decide(present, Static(executors=wanted), Settings(**settings))  # type: ignore[arg-type]  # named by tests


def vetoed_by(decision: Decision) -> str | None:
    return decision.veto.guard if decision.veto else None


def test_a_wish_that_nothing_speaks_against_is_done() -> None:
    decision = decided(14)
    assert (decision.wanted, decision.executors, decision.veto) == (14, 14, None)


def test_to_leave_a_job_as_it_is_needs_no_permission() -> None:
    decision = decided(10, steady(100_000, 10, mode=Mode.OBSERVE, activity=Activity.RESCALING))
    assert (decision.executors, decision.veto) == (10, None)


@pytest.mark.parametrize("wanted", [4, 14])
def test_old_numbers_change_nothing(wanted: int) -> None:
    situation = steady(100_000, 10)
    old = replace(situation, observed=replace(situation.observed, age=121.0))
    decision = decided(wanted, old)
    assert vetoed_by(decision) == "fresh data"
    assert decision.executors == 10
    assert decision.wanted == wanted


@pytest.mark.parametrize("age", [NEVER, math.inf])
def test_what_was_never_measured_has_no_age_that_is_told(age: float) -> None:
    situation = steady(100_000, 10)
    unseen = replace(situation, observed=replace(situation.observed, age=age))
    reason = "nothing was measured that tells how the job is now"
    assert decided(14, unseen).veto == Veto("fresh data", reason)


def test_unknown_load_shrinks_nothing() -> None:
    situation = steady(100_000, 10)
    blind = replace(situation, observed=replace(situation.observed, arrival=NoData("no Kafka")))
    assert vetoed_by(decided(4, blind)) == "fresh data"
    assert decided(14, blind).executors == 14


@pytest.mark.parametrize(
    ("activity", "wanted", "guard"),
    [
        (Activity.STARTING, 14, "activity"),
        (Activity.RESCALING, 14, "activity"),
        (Activity.RESCALING, 4, "activity"),
        (Activity.RECOVERING, 4, "activity"),
        (Activity.RECOVERING, 14, None),
    ],
)
def test_a_job_that_is_busy_with_itself_is_left_alone_but_may_grow_to_recover(
    activity: Activity, wanted: int, guard: str | None
) -> None:
    assert vetoed_by(decided(wanted, steady(100_000, 10, activity=activity))) == guard


@pytest.mark.parametrize(("wanted", "live"), [(6, True), (6, False), (14, False)])
def test_a_rescale_cools_down(wanted: int, live: bool) -> None:
    def after(seconds: float) -> Decision:
        return decided(wanted, steady(100_000, 10, live=live, since_rescale=seconds))

    assert vetoed_by(after(59.0)) == "cool-down"
    assert after(60.0).executors == wanted


def test_a_running_driver_gets_more_executors_without_a_pause() -> None:
    assert decided(14, steady(100_000, 10, live=True, since_rescale=1.0)).executors == 14


def test_a_blackout_is_kept() -> None:
    night = Window(start=time(22), end=time(6), days=frozenset({"Thu"}), time_zone="UTC")
    decision = decided(14, steady(100_000, 10, at=at(1, 23)), blackouts=(night,))
    assert vetoed_by(decision) == "blackout"
    assert decision.veto is not None
    assert "22:00 to 06:00 UTC" in decision.veto.reason


def at(day: int, hour: int, minute: int = 0, month: int = 1) -> float:
    return datetime(2026, month, day, hour, minute, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("moment", "covered"),
    [
        pytest.param(at(1, 21, 59), False, id="before"),
        pytest.param(at(1, 22), True, id="its first minute"),
        pytest.param(at(2, 5, 59), True, id="the morning after"),
        pytest.param(at(2, 6), False, id="its end"),
        pytest.param(at(2, 22), False, id="another day"),
        pytest.param(at(1, 3), False, id="the morning of its day"),
    ],
)
def test_a_blackout_over_midnight_belongs_to_the_day_on_which_it_starts(
    moment: float, covered: bool
) -> None:
    night = Window(start=time(22), end=time(6), days=frozenset({"Thu"}))
    assert night.covers(moment) is covered


def test_a_blackout_follows_local_time_through_summer() -> None:
    lunch = Window(start=time(12), end=time(13), time_zone="Europe/Berlin")
    assert lunch.covers(at(1, 11, 30))
    assert lunch.covers(at(1, 10, 30, month=7))
    assert not lunch.covers(at(1, 11, 30, month=7))


@pytest.mark.parametrize(
    ("wrong", "remedy"),
    [
        ({"time_zone": "Mars/Olympus"}, "'Mars/Olympus' is unknown: write it as Europe/Berlin"),
        ({"days": frozenset({"Monday"})}, r"\['Monday'\]: write them as Mon, Tue"),
    ],
)
def test_a_blackout_that_makes_no_sense_is_refused(wrong: dict[str, object], remedy: str) -> None:
    with pytest.raises(ValueError, match=remedy):
        Window(start=time(1), end=time(2), **wrong)  # type: ignore[arg-type]  # that is the point


def test_bounds_always_hold() -> None:
    assert decided(100).executors == 24
    assert decided(1).executors == 2


def test_a_job_outside_new_bounds_is_brought_back() -> None:
    narrowed = steady(100_000, 10, bounds=Bounds(smallest=2, largest=6))
    assert decided(10, narrowed).executors == 6
    old = replace(narrowed, observed=replace(narrowed.observed, age=1e6))
    assert decided(10, old).executors == 6


@pytest.mark.parametrize(("wanted", "executors"), [(20, 13), (3, 7), (11, 11)])
def test_a_step_is_no_larger_than_allowed(wanted: int, executors: int) -> None:
    assert decided(wanted, max_step=3).executors == executors


def test_a_spent_error_budget_saves_nothing() -> None:
    assert vetoed_by(decided(4, error_budget=0.0)) == "budget"
    assert decided(14, error_budget=0.0).executors == 14
    assert decided(4, error_budget=60.0).executors == 4


def test_a_grant_of_the_pool_is_the_most_that_is_taken() -> None:
    decision = decided(20, grant=12)
    assert decision.executors == 12
    assert "12 of these are allowed" in decision.reason


def test_a_grant_that_is_withdrawn_shrinks_a_job_that_wants_to_stay() -> None:
    assert decided(10, grant=7).executors == 7


def test_a_grant_never_leads_below_the_bounds() -> None:
    assert decided(10, grant=1).executors == 2


@pytest.mark.parametrize("mode", [Mode.OFF, Mode.OBSERVE, Mode.APPROVE])
def test_only_auto_acts_by_itself(mode: Mode) -> None:
    decision = decided(14, steady(100_000, 10, mode=mode))
    assert vetoed_by(decision) == "mode"
    assert (decision.wanted, decision.executors) == (14, 10)


def test_an_approved_number_is_done_and_no_other() -> None:
    situation = steady(100_000, 10, mode=Mode.APPROVE)
    assert decided(14, situation, approved=14).executors == 14
    assert decided(14, situation, approved=13).executors == 10


def test_what_guards_leave_of_an_approved_wish_is_done() -> None:
    situation = steady(100_000, 10, mode=Mode.APPROVE)
    for limit in ({"grant": 12}, {"max_step": 2}):
        decision = decided(14, situation, approved=14, **limit)
        assert (decision.wanted, decision.executors) == (14, 12)
        assert decided(14, situation, approved=12, **limit).executors == 10


@dataclass(frozen=True)
class Foreseeing:
    """A policy that takes another number than it wants: a part of that, or some executors ahead."""

    executors: int

    def __call__(self, situation: Situation) -> Decision:
        return replace(Static(executors=self.executors)(situation), wanted=14)


@pytest.mark.parametrize("executors", [12, 16])
def test_what_a_policy_takes_of_an_approved_wish_or_ahead_of_it_is_done(executors: int) -> None:
    situation = steady(100_000, 10, mode=Mode.APPROVE)
    held = decide(situation, Foreseeing(executors))
    assert vetoed_by(held) == "mode"
    done = decide(situation, Foreseeing(executors), Settings(approved=held.wanted))
    assert (done.wanted, done.executors) == (14, executors)
    other = decide(situation, Foreseeing(executors), Settings(approved=executors))
    assert other.executors == 10, "of what was wanted then, this is none"


def test_the_first_guard_that_objects_is_named() -> None:
    """Each of these situations has one obstacle less than the one before."""
    everything = steady(100_000, 10, at=at(1, 12), mode=Mode.OBSERVE, since_rescale=1.0)
    stale = replace(
        everything,
        activity=Activity.RESCALING,
        observed=replace(everything.observed, age=1e6),
    )
    fresh = replace(stale, observed=everything.observed)
    steadied = replace(fresh, activity=Activity.STEADY)
    cooled = replace(steadied, since_rescale=1e6)
    later = replace(cooled, at=at(1, 14))
    settings = Settings(
        blackouts=(Window(start=time(12), end=time(13)),), error_budget=0.0, max_step=2
    )
    guards = [
        vetoed_by(decide(situation, Static(executors=4), settings))
        for situation in (stale, fresh, steadied, cooled, later)
    ]
    affordable = replace(settings, error_budget=60.0)
    guards.append(vetoed_by(decide(later, Static(executors=4), affordable)))
    assert guards == ["fresh data", "activity", "cool-down", "blackout", "budget", "mode"]
    assert all(one != other for one, other in pairwise(guards))


@dataclass(frozen=True)
class Remembering:
    """A policy with notes."""

    def __call__(self, situation: Situation) -> Decision:
        count = situation.notes.get("count", 0.0) + 1
        return replace(Static(executors=14)(situation), notes={"count": count})


def test_what_a_policy_notes_survives_a_veto() -> None:
    situation = steady(100_000, 10, mode=Mode.OBSERVE, notes={"count": 4.0})
    decision = decide(situation, Remembering())
    assert decision.veto is not None
    assert decision.notes == {"count": 5.0}
