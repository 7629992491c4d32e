"""What is known of the effects of rescales, over time and across operators."""

import json
from dataclasses import replace

import pytest

from sluice.core.deciding.harms import REMEMBERED, Harm
from sluice.core.deciding.judging import Growth, Outcome, Reading, Trial, Verdict
from sluice.core.deciding.situation import Bounds
from sluice.core.learning.effects import Effects, Judged, effects_from_data
from sluice.core.learning.remembering import memory_of, recalled
from sluice.core.learning.terms import Terms
from sluice.core.learning.watching import Watcher
from sluice.core.series import NoData
from sluice.errors import CorruptState

CALM = Reading(arrival=1000.0, latency=4.0, growth=Growth(low=-10.0, high=10.0))
LATE = replace(CALM, latency=14.0)


def trial(executors: int = 8, at: float = 1000.0, decision: str = "d1") -> Trial:
    """A rescale from ten executors."""
    return Trial(at=at, decision=decision, former=10, executors=executors, before=CALM)


def harmful(effects: Effects, at: float = 1300.0) -> Effects:
    """What is known after the bound was found to be broken."""
    return effects.judged(LATE, at, settling=300.0, bound=10.0)


def told(effects: Effects) -> list[tuple[str, Outcome]]:
    return [(one.decision, one.verdict.outcome) for one in effects.untold]


def test_harm_is_remembered_with_the_load_that_it_did_harm_under() -> None:
    found = harmful(Effects().tried(trial()))
    (harm,) = found.harms
    assert (harm.at, harm.decision, harm.before, harm.executors) == (1300.0, "d1", 10, 8)
    assert (harm.arrival, harm.undone) == (1000.0, False)
    assert found.trial is None
    assert told(found) == [("d1", Outcome.HARMFUL)]
    assert told(found.told()) == []


def test_what_is_good_is_told_and_leaves_nothing_behind() -> None:
    found = Effects().tried(trial()).judged(CALM, 1300.0, settling=300.0, bound=10.0)
    assert found.told() == Effects()
    assert told(found) == [("d1", Outcome.GOOD)]


def test_nothing_is_judged_where_nothing_is_awaited() -> None:
    assert harmful(Effects()) == Effects()


def test_a_second_rescale_leaves_the_effect_of_the_first_unknown() -> None:
    found = Effects().tried(trial()).tried(trial(6, 1060.0, "d2"))
    assert found.trial == trial(6, 1060.0, "d2")
    (judged,) = found.untold
    assert judged == Judged(
        "d1",
        Verdict(Outcome.INCONCLUSIVE, "another rescale followed before it had settled"),
    )


def test_to_leave_a_number_undoes_its_harm_and_an_undo_is_not_awaited() -> None:
    found = harmful(Effects().tried(trial())).tried(None)
    assert [harm.undone for harm in found.harms] == [True]
    assert found.trial is None


def test_what_happened_before_a_rescale_does_not_spoil_it() -> None:
    awaited = Effects().tried(trial())
    assert awaited.spoiled("the driver was lost", 999.0) == awaited
    assert told(awaited.spoiled("the driver was lost", 1000.0)) == [("d1", Outcome.INCONCLUSIVE)]


def test_a_changed_job_forgets_what_did_harm_before() -> None:
    known = harmful(Effects().tried(trial())).tried(trial(9, 2000.0, "d2"))
    assert known.reconfigured(1200.0).harms == known.harms
    assert known.reconfigured(1200.0).trial == known.trial
    found = known.reconfigured(2100.0)
    assert (found.harms, found.trial) == ((), None)


def test_harm_that_is_long_ago_is_dropped() -> None:
    known = harmful(Effects().tried(trial()))
    later = 1000.0 + REMEMBERED
    found = harmful(known.tried(trial(9, later, "d2")), later + 300)
    assert [harm.decision for harm in found.harms] == ["d2"]


@pytest.mark.parametrize(
    "before",
    [CALM, Reading(arrival=NoData("a"), latency=NoData("b"), growth=NoData("c"))],
    ids=["measured", "blind"],
)
def test_what_is_awaited_and_remembered_survives_the_operator(before: Reading) -> None:
    known = harmful(Effects().tried(trial())).told()
    awaited = replace(trial(9, 1400.0, "d2"), before=before, expected_latency=5.0)
    known = known.tried(awaited)
    assert known.harms
    assert effects_from_data(json.loads(json.dumps(known.to_data())), executors=9) == known


def test_a_rescale_that_was_written_down_and_never_done_is_not_awaited() -> None:
    stored = Effects().tried(trial(8)).to_data()
    assert effects_from_data(stored, executors=10).trial is None


def test_harm_keeps_its_record() -> None:
    (harm,) = harmful(Effects().tried(trial())).harms
    assert isinstance(harm, Harm)
    assert "the latency is 14.0 s (4.0 s before, the bound is 10.0 s)" in harm.reason


def watcher() -> Watcher:
    """A watcher that has done harm, and awaits the effect of another rescale."""
    effects = harmful(Effects().tried(trial())).told().tried(trial(9, 1400.0, "d2"))
    terms = Terms(bounds=Bounds(smallest=1, largest=12))
    return Watcher(terms=terms, executors=9, effects=effects)


def recalled_from(memory: object) -> Watcher:
    return recalled(json.loads(json.dumps(memory)), watcher().terms, 9, 2000.0)


def test_a_memory_has_the_effects_and_that_of_an_older_release_none() -> None:
    memory = memory_of(watcher())
    assert recalled_from(memory).effects == watcher().effects
    del memory["effects"]
    assert recalled_from(memory).effects == Effects()


@pytest.mark.parametrize(
    "broken",
    [7, {}, {"trial": None, "harms": [{"at": "yesterday"}]}, {"trial": {"at": 1}, "harms": []}],
)
def test_effects_that_cannot_be_read_are_refused(broken: object) -> None:
    with pytest.raises(CorruptState, match="it is learned anew"):
        recalled_from({**memory_of(watcher()), "effects": broken})
