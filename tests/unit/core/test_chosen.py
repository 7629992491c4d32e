"""Which number of executors a job is to have, after which decision."""

from dataclasses import replace
from datetime import timedelta

import pytest

from sluice.core import lifecycle
from sluice.core.chosen import Chosen, Decided, newly_chosen, sized, wanted_executors
from sluice.core.deciding.decision import Decision
from sluice.core.modelling.rescaling import Path
from sluice.core.observations import Observed
from sluice.core.record import Record
from sluice.core.recoveries import Cause
from sluice.core.steps import SetExecutors, StopDriver
from tests.support.jobs import NOW, driver, job, report

AUTO = job(scaling={"mode": "Auto"})
LATER = NOW + timedelta(seconds=60)


def decided(
    executors: int, *, before: int = 2, after: float = 0.0, path: Path = Path.LIVE
) -> Decided:
    at = NOW + timedelta(seconds=after)
    decision = Decision(wanted=executors, executors=executors, reason="more load", path=path)
    return Decided(id=f"{at:%H%M%S}", at=at, before=before, incarnation=1, decision=decision)


def chosen(executors: int, path: Path = Path.LIVE) -> Chosen:
    found = newly_chosen(AUTO, None, decided(executors, path=path), NOW)
    assert found is not None
    return found


def test_what_the_owner_declares_holds_until_something_else_is_chosen() -> None:
    assert wanted_executors(AUTO, None) == 2
    assert newly_chosen(AUTO, None, decided(2), NOW) is None
    assert wanted_executors(AUTO, chosen(5)) == 5


def test_a_decision_that_kept_what_was_declared_before_does_not_undo_what_the_owner_declares_now() -> (
    None
):
    assert newly_chosen(AUTO, None, decided(1, before=1), NOW) is None
    assert newly_chosen(AUTO, None, decided(1, before=2), NOW) is not None


@pytest.mark.parametrize("mode", ["Off", "Observe"])
def test_where_the_operator_may_not_choose_nothing_is_chosen(mode: str) -> None:
    held = job(scaling={"mode": mode})
    assert newly_chosen(held, chosen(5), decided(6, after=60), LATER) is None
    assert wanted_executors(held, chosen(5)) == 2


def test_bounds_that_were_narrowed_later_hold() -> None:
    narrow = job(scaling={"mode": "Auto"}, executors={"min": 1, "max": 3})
    assert wanted_executors(narrow, chosen(5)) == 3


def test_bounds_that_are_narrowed_are_followed_live_whatever_the_last_decision_says() -> None:
    before = chosen(5)
    stays = decided(5, after=60, path=Path.RESTART)
    assert newly_chosen(AUTO, before, stays, LATER) == before
    narrow = job(scaling={"mode": "Auto"}, executors={"min": 1, "max": 3})
    assert newly_chosen(narrow, before, stays, LATER) == before
    seen = Observed(driver=driver(narrow), report=report(target=5, registered=5), decided=stays)
    record = Record(incarnation=1, chosen=before, checkpoint=narrow.checkpoint_location)
    verdict = lifecycle.next_step(narrow, record, seen, holder=None, now=LATER)
    assert verdict.step == SetExecutors(target=3)


def test_an_older_decision_changes_nothing() -> None:
    later = newly_chosen(AUTO, None, decided(5, after=60), LATER)
    assert newly_chosen(AUTO, later, decided(7), LATER) == later


def test_a_paused_job_keeps_what_was_chosen() -> None:
    paused = job(scaling={"mode": "Auto"}, annotations={"sluice.dev/paused": "true"})
    assert newly_chosen(paused, chosen(5), decided(7, after=60), LATER) == chosen(5)


def test_a_driver_starts_with_the_chosen_executors() -> None:
    assert sized(AUTO, chosen(5)).executors.initial == 5


def test_a_live_choice_goes_to_the_running_driver() -> None:
    seen = Observed(driver=driver(AUTO), report=report(), decided=decided(4))
    verdict = lifecycle.next_step(AUTO, Record(incarnation=1), seen, holder=None, now=NOW)
    assert verdict.step == SetExecutors(target=4)
    assert verdict.record.chosen is not None


def test_a_choice_by_restart_stops_the_driver_once_and_counts_as_a_rescale() -> None:
    before = Record(incarnation=1, last_batch=7, checkpoint=AUTO.checkpoint_location)
    seen = Observed(driver=driver(AUTO), report=report(), decided=decided(4, path=Path.RESTART))
    verdict = lifecycle.next_step(AUTO, before, seen, holder=None, now=NOW)
    assert verdict.step == StopDriver(uid="pod-1")
    assert verdict.record.recoveries.present is not None
    assert verdict.record.recoveries.present.cause is Cause.RESCALE
    second = Observed(
        driver=driver(AUTO, incarnation=2), report=report(incarnation=2, target=4, registered=4)
    )
    after = lifecycle.next_step(AUTO, verdict.record, second, holder=None, now=NOW)
    assert not isinstance(after.step, StopDriver)


def test_a_choice_of_the_future_gives_way_to_the_next_decision() -> None:
    """A clock was set back, or somebody has edited the status."""
    ahead = replace(chosen(5), at=NOW + timedelta(days=400))
    after = newly_chosen(AUTO, ahead, decided(7, after=60), NOW + timedelta(seconds=60))
    assert wanted_executors(AUTO, after) == 7
