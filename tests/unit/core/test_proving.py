"""A changed spec that never works is given up once for the last one that did, and says so."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from sluice.core import failures, reporting
from sluice.core.application import StreamJob
from sluice.core.conditions import Claim, Condition, Status
from sluice.core.news import news
from sluice.core.observations import (
    LostExecutor,
    Observed,
    PodPhase,
    QueryFailure,
    Refusal,
    Termination,
)
from sluice.core.proving import Good, Proving, Rollback
from sluice.core.record import Record
from sluice.core.steps import SetExecutors, StartDriver, StopDriver, Verdict, Wait
from tests.support.jobs import NOW, driver, job, query, report, without_node
from tests.unit.core.test_lifecycle import ended, look

OLD = job(generation=4)
GOOD = Good(generation=4, fingerprint=OLD.fingerprint, checkpoint=OLD.checkpoint_location)
RAN = Record(
    incarnation=1, checkpoint=OLD.checkpoint_location, last_batch=7, proving=Proving(good=GOOD)
)
OBSTACLE = ("ImagePullBackOff", "Back-off pulling image shop/clicks:2.")


def changed(**changes: Any) -> StreamJob:
    """Generation 5 wants another image."""
    image = {"image": "shop/clicks:2", "mainFile": "/opt/clicks.py"}
    return job(**{"generation": 5, "application": image, **changes})


def started(of: StreamJob, record: Record, *, after: float = 0) -> Record:
    """The record once the next driver has been decided upon."""
    verdict = look(of, record, Observed(), after=after)
    assert isinstance(verdict.step, StartDriver)
    return verdict.record


def failed(of: StreamJob, record: Record, *, after: float = 0, **how: Any) -> Record:
    """The record once its driver has ended unasked."""
    at = NOW + timedelta(seconds=after)
    dead = driver(
        of, incarnation=record.incarnation, phase=PodPhase.FAILED, ended=ended(at=at, **how)
    )
    return look(of, record, Observed(driver=dead), after=after).record


def after_failures(of: StreamJob, times: int, record: Record = RAN) -> Record:
    """The record after so many drivers of a spec have failed, an hour apart."""
    for number in range(times):
        begun = started(of, record, after=3600 * number)
        record = failed(of, begun, after=3600 * number + 60)
    return record


def hindered(of: StreamJob, record: Record, after: float) -> Verdict:
    """A look at a pod whose image cannot be pulled."""
    pod = driver(
        of,
        incarnation=record.incarnation,
        phase=PodPhase.PENDING,
        started=None,
        obstacle=OBSTACLE,
    )
    return look(of, record, Observed(driver=pod), after=after)


def applied(of: StreamJob, record: Record) -> Claim:
    """The condition SpecApplied."""
    verdict = look(of, record, Observed())
    told = reporting.conditions_of(of, verdict, Observed(), holder=None, now=NOW)
    return next(claim for claim in told if claim.type is Condition.SPEC_APPLIED)


def test_a_spec_is_good_once_every_query_is_under_way_and_a_batch_is_committed() -> None:
    fresh = replace(RAN, proving=Proving())
    idle = query(name="idle", committed_at=None, batch_id=None, backlog_rows=0)
    behind = replace(idle, backlog_rows=9)
    for queries, good in (((query(), idle), GOOD), ((query(), behind), None), ((idle,), None)):
        seen = Observed(driver=driver(OLD), report=report(*queries))
        assert look(OLD, fresh, seen).record.proving.good == good


def test_a_spec_is_good_though_one_of_its_queries_found_nothing_to_do_and_ended() -> None:
    fresh = replace(RAN, proving=Proving())
    backfill = query(name="backfill", active=False, committed_at=None, batch_id=None)
    boom = replace(backfill, failure=QueryFailure("Boom", "it broke"))
    idle = query(committed_at=None, batch_id=None, backlog_rows=0)
    for queries, good in (
        ((query(), backfill), GOOD),
        ((query(), boom), None),
        ((idle, query(name="backfill", active=False)), GOOD),
        ((backfill,), None),
    ):
        seen = Observed(driver=driver(OLD), report=report(*queries))
        assert look(OLD, fresh, seen).record.proving.good == good


def test_a_driver_of_a_former_spec_proves_nothing_of_the_present_one() -> None:
    seen = Observed(driver=driver(OLD), report=report())
    assert look(changed(), RAN, seen).record.proving.good == GOOD
    unreadable = Observed(driver=driver(OLD, document=None), report=report())
    assert look(changed(), RAN, unreadable).record.proving.good == GOOD


def test_a_spec_is_given_up_after_two_failures_and_the_next_start_waits_for_nothing() -> None:
    once = after_failures(changed(), 1)
    assert once.proving.rollback is None
    twice = after_failures(changed(), 2)
    assert twice.proving.rollback == Rollback(
        generation=5,
        why="exit code 1: boom",
        incarnation=twice.incarnation,
        fingerprint=changed().fingerprint,
    )
    assert twice.proving.good == GOOD
    back = replace(changed(), fingerprint=OLD.fingerprint)
    assert isinstance(look(back, twice, Observed(), after=3660).step, StartDriver)


@pytest.mark.parametrize(
    ("of", "record"),
    [
        (OLD, RAN),
        (job(generation=5, slo={"objective": 0.9}), RAN),
        (job(generation=5, executors={"min": 1, "max": 9}), RAN),
        (changed(), replace(RAN, proving=Proving())),
        (changed(restart={"rollbackAfter": "0s"}), RAN),
    ],
    ids=["it worked", "nothing that runs", "live only", "nothing to go back to", "switched off"],
)
def test_a_spec_is_not_given_up(of: StreamJob, record: Record) -> None:
    assert after_failures(of, 5, record).proving.rollback is None


def test_a_spec_that_has_worked_is_never_given_up() -> None:
    of = changed()
    record = started(of, after_failures(of, 1), after=3600)
    runs = Observed(driver=driver(of, incarnation=record.incarnation), report=report())
    record = look(of, record, runs).record
    assert record.proving.good is not None
    assert record.proving.good.generation == 5
    assert after_failures(of, 5, record).proving.rollback is None


def test_failures_of_two_specs_do_not_add_up() -> None:
    record = after_failures(changed(), 1)
    other = {"image": "shop/clicks:3", "mainFile": "/opt/clicks.py"}
    assert (
        after_failures(changed(generation=6, application=other), 1, record).proving.rollback is None
    )


def test_a_generation_is_given_up_once() -> None:
    given_up = after_failures(changed(), 2)
    record = given_up
    for number in range(2):
        begun = started(changed(), record, after=3600 * number)
        record = failed(changed(), begun, after=3600 * number + 60, message="it fails otherwise")
    assert record.proving.rollback == given_up.proving.rollback
    assert record.next_start is not None, "it backs off like any other"


def test_a_further_change_is_tried_and_given_up_in_its_turn() -> None:
    record = after_failures(changed(), 2)
    assert not record.proving.is_rolled_back(6)
    twice = after_failures(changed(generation=6), 2, record)
    assert twice.proving.is_rolled_back(6)


def test_the_limit_of_failures_does_not_come_before_the_way_back() -> None:
    record = after_failures(changed(restart={"maximumFailures": 1}), 1)
    assert record.proving.is_rolled_back(5)
    assert not record.gave_up


def test_another_writer_is_no_reason_to_go_back() -> None:
    of = changed()
    record = started(of, after_failures(of, 1), after=3600)
    record = failed(of, record, after=3660, message="[CONCURRENT_STREAM_LOG_UPDATE] two of them")
    assert record.gave_up
    assert record.proving.rollback is None


def test_a_pod_that_cannot_start_is_waited_for_until_the_deadline_and_then_given_up() -> None:
    of = changed(restart={"rollbackAfter": "2m"})
    record = started(of, RAN)
    assert hindered(of, record, 119).step == Wait(until=NOW + timedelta(seconds=120))
    verdict = hindered(of, record, 120)
    assert isinstance(verdict.step, StopDriver)
    assert verdict.record.proving.rollback is not None
    assert "ImagePullBackOff" in verdict.record.proving.rollback.why
    assert verdict.record.next_start is None


def test_a_pod_of_a_spec_that_worked_is_waited_for_without_end() -> None:
    record = started(OLD, RAN)
    assert hindered(OLD, record, 86_400).step == Wait()


def without_executors(
    of: StreamJob,
    record: Record,
    after: float,
    *,
    registered: int = 0,
    target: int = 2,
    **seen: Any,
) -> Verdict:
    """A look at a driver that runs and has no executor, or few."""
    pod = driver(of, incarnation=record.incarnation)
    told = report(
        query(batch_id=None, committed_at=None),
        incarnation=record.incarnation,
        registered=registered,
        target=target,
    )
    return look(of, record, Observed(driver=pod, report=told, **seen), after=after)


def lost(after: float) -> LostExecutor:
    at = NOW + timedelta(seconds=after)
    how = Termination(exit_code=1, message="Unrecognized VM option 'UseNoGC'", at=at)
    return LostExecutor(name="clicks-2-exec-7", driver_uid="uid-of-clicks-driver-2", ended=how)


def test_a_spec_whose_executors_are_all_lost_is_given_up_at_the_deadline() -> None:
    of = changed(restart={"rollbackAfter": "2m"})
    record = started(of, RAN)
    early = without_executors(of, record, 119, lost=lost(115))
    assert early.step == Wait(until=NOW + timedelta(seconds=120))
    verdict = without_executors(of, early.record, 121, lost=lost(120))
    assert isinstance(verdict.step, StopDriver)
    assert verdict.record.proving.rollback is not None
    assert "Unrecognized VM option" in verdict.record.proving.rollback.why


def test_a_spec_whose_executors_are_refused_is_given_up_at_the_deadline() -> None:
    of = changed(restart={"rollbackAfter": "2m"})
    refused = Refusal(message="exceeded quota: tight", since=NOW)
    verdict = without_executors(of, started(of, RAN), 121, refused=refused)
    assert isinstance(verdict.step, StopDriver)
    assert verdict.record.proving.rollback is not None
    assert "exceeded quota: tight" in verdict.record.proving.rollback.why


NO_NODE = without_node("clicks-2-exec-1", "memory")


def test_a_spec_whose_executors_wait_for_a_node_is_given_up_when_none_can_be_coming() -> None:
    of = changed(restart={"rollbackAfter": "2m"})
    record, awaiting = started(of, RAN), replace(NO_NODE, ordered_node="pod triggered scale-up")
    assert isinstance(without_executors(of, record, 121, waiting=(NO_NODE,)).step, StopDriver)
    for seconds, is_over in ((121, False), (899, False), (900, True)):
        verdict = without_executors(of, record, seconds, waiting=(awaiting,))
        assert isinstance(verdict.step, StopDriver) is is_over


def test_a_spec_of_which_one_executor_stays_is_not_given_up() -> None:
    of = changed(restart={"rollbackAfter": "2m"})
    verdict = without_executors(of, started(of, RAN), 121, registered=1, lost=lost(120))
    assert not isinstance(verdict.step, StopDriver)


def test_a_spec_whose_driver_had_an_executor_is_not_given_up_for_what_keeps_the_next_one_away() -> (
    None
):
    """A first batch of a backlog takes longer than the deadline; a node that is lost meanwhile is no fault of its."""
    of = changed(restart={"rollbackAfter": "2m"})
    staffed = without_executors(of, started(of, RAN), 60, registered=2).record
    bereft = without_executors(of, staffed, 200, waiting=(NO_NODE,))
    assert not isinstance(bereft.step, StopDriver)
    gone = failures.refused(of, bereft.record, "exceeded quota: pods", NOW + timedelta(seconds=220))
    assert gone.proving.rollback is None
    assert hindered(of, gone, 240).record.proving.rollback is None
    never = without_executors(of, started(of, RAN), 200, waiting=(NO_NODE,))
    assert never.record.proving.rollback is not None


def test_failures_count_towards_giving_up_only_in_a_row() -> None:
    of = changed()
    for hours, is_over in ((0.1, True), (200, False)):
        record = after_failures(of, 1)
        record = started(of, record, after=3600)
        long = 3600 + 3600 * hours
        seen = Observed(
            driver=driver(of, incarnation=record.incarnation, started=NOW + timedelta(hours=1)),
            report=report(query(batch_id=None, committed_at=None), incarnation=record.incarnation),
        )
        record = look(of, record, seen, after=long).record
        assert (failed(of, record, after=long + 60).proving.rollback is not None) is is_over


def test_while_executors_are_lost_the_driver_is_told_another_number_as_ever() -> None:
    of = changed(restart={"rollbackAfter": "2m"})
    verdict = without_executors(of, started(of, RAN), 60, target=1, lost=lost(55))
    assert isinstance(verdict.step, SetExecutors)


def test_executors_that_are_only_slow_are_waited_for_and_those_of_a_good_spec_for_ever() -> None:
    of = changed(restart={"rollbackAfter": "2m"})
    slow = without_executors(of, started(of, RAN), 3600)
    assert not isinstance(slow.step, StopDriver)
    good = without_executors(OLD, started(OLD, RAN), 3600, lost=lost(3599))
    assert not isinstance(good.step, StopDriver)


def test_a_pod_that_the_cluster_refuses_is_given_up_at_the_deadline_and_not_by_count() -> None:
    of, record = changed(), started(changed(), RAN)
    for minutes, is_over in ((0, False), (1, False), (2, False), (4, False), (5, True)):
        now = NOW + timedelta(minutes=minutes)
        record = failures.refused(of, record, "quota exceeded", now)
        assert record.proving.is_rolled_back(5) is is_over


def test_a_spec_is_not_given_up_because_the_cluster_cannot_make_its_pod_now() -> None:
    record = started(changed(), RAN)
    for minutes in range(60):
        now = NOW + timedelta(minutes=minutes)
        record = failures.put_off(changed(), record, "failed calling webhook", now)
    assert not record.proving.is_rolled_back(5)
    record = started(changed(), record, after=3600)
    assert isinstance(hindered(changed(), record, 3600).step, Wait), "its time begins only now"


def test_a_moved_checkpoint_is_never_moved_back() -> None:
    place = {"claim": "checkpoints", "path": "elsewhere"}
    allowed = {"sluice.dev/allow-migration": "claim://shop/checkpoints/elsewhere"}
    of = changed(checkpoint=place, annotations=allowed)
    record = after_failures(of, 3)
    assert record.proving.rollback is None
    told = applied(of, record)
    assert (told.status, told.reason) == (Status.FALSE, "RollbackRefused")
    assert "claim://shop/checkpoints/clicks" in told.message


def test_a_rollback_is_told_with_the_failure_and_the_generation_in_force() -> None:
    before = after_failures(changed(), 1)
    after = after_failures(changed(), 2)
    told = applied(changed(), after)
    assert (told.status, told.reason) == (Status.FALSE, "RolledBack")
    for part in ("Generation 5", "exit code 1: boom", "generation 4"):
        assert part in told.message
    (told_once,) = [item for item in news(before, after) if item.reason == "RolledBack"]
    assert told_once.is_warning
    assert told.message.startswith(told_once.message)


def asked(record: Record, retry: object = None) -> StreamJob:
    """Generation 5, and a person asks for another try as the condition says, or by another number."""
    told = applied(changed(), record).message.partition("sluice.dev/retry=")[2].split()[0]
    return changed(annotations={"sluice.dev/retry": told if retry is None else str(retry)})


def test_a_spec_that_was_given_up_is_tried_again_as_it_is_if_a_person_asks() -> None:
    given_up = replace(after_failures(changed(), 2), gave_up=True, failures=3)
    of = asked(given_up)
    again = started(of, given_up.retried(of))
    assert again.proving.trial is not None
    assert not again.proving.is_rolled_back(5)
    assert (again.gave_up, again.failures) == (False, 0)
    runs = Observed(driver=driver(of, incarnation=again.incarnation), report=report())
    good = look(of, again, runs).record.proving.good
    assert good is not None
    assert good.generation == 5


def test_who_asks_for_another_try_is_given_one() -> None:
    given_up = after_failures(changed(), 2)
    of = asked(given_up)
    twice = after_failures(of, 2, given_up.retried(of))
    assert twice.proving.is_rolled_back(5)
    assert twice.retried(of) == twice
    assert twice.retried(asked(twice)) != twice


@pytest.mark.parametrize("retry", ["", "true", "0", "5", "9999"])
def test_another_number_than_that_of_the_condition_asks_for_nothing(retry: str) -> None:
    record = after_failures(changed(), 2)
    assert record.retried(asked(record, retry)) == record


@pytest.mark.parametrize("retry", ["", "yes", "2", "03"])
def test_who_asks_by_another_value_is_told_which_one_it_is_and_which_would_do(retry: str) -> None:
    record = after_failures(changed(), 2)
    plain, told = applied(changed(), record), applied(asked(record, retry), record)
    assert (told.status, told.reason) == (plain.status, plain.reason)
    assert (
        told.message == f"{plain.message} sluice.dev/retry: {retry!r} asks for nothing; '3' does."
    )


def test_a_value_that_has_asked_once_is_told_to_ask_for_nothing_any_more() -> None:
    given_up = after_failures(changed(), 2)
    of = asked(given_up)
    again = after_failures(of, 2, given_up.retried(of))
    assert "'3' asks for nothing; '5' does" in applied(of, again).message


def test_of_a_value_without_end_only_the_beginning_is_told() -> None:
    record = after_failures(changed(), 2)
    assert len(applied(asked(record, "7" * 200_000), record).message) < 600


def test_a_value_that_is_right_is_not_told_to_be_wrong() -> None:
    record = after_failures(changed(), 2)
    assert "asks for nothing" not in applied(asked(record), record).message


def test_a_try_of_another_generation_is_not_asked_for_again() -> None:
    record = after_failures(changed(), 2)
    other = replace(asked(record), generation=6, fingerprint="of another spec")
    assert record.retried(other) == record


def test_a_change_of_what_needs_no_driver_tries_nothing_again() -> None:
    record = after_failures(changed(), 2)
    scaled = replace(changed(), generation=6, retry=None)
    after = record.retried(scaled)
    assert after.proving.is_rolled_back(6)
    assert after.failures == record.failures
    assert not record.retried(
        replace(scaled, fingerprint="of a mended spec")
    ).proving.is_rolled_back(6)
    assert not after.retried(replace(asked(record), generation=6)).proving.is_rolled_back(6)


def test_what_a_former_release_has_given_up_can_be_tried_again() -> None:
    rollback = Rollback(generation=5, why="exit code 1: boom")
    record = replace(RAN, proving=Proving(good=GOOD, rollback=rollback))
    assert not record.retried(asked(record)).proving.is_rolled_back(5)


def test_other_executors_do_not_keep_a_spec_from_being_given_up_whose_driver_cannot_start() -> None:
    begun = started(changed(), RAN)
    scaled = changed(generation=6, executors={"min": 1, "max": 8, "initial": 3})
    pending = driver(
        changed(), incarnation=2, phase=PodPhase.PENDING, started=None, obstacle=OBSTACLE
    )
    after = job().restart.rollback_after.total_seconds()
    early = look(scaled, begun, Observed(driver=pending), after=after - 1)
    assert early.step == Wait(until=NOW + timedelta(seconds=after))
    late = look(scaled, early.record, Observed(driver=pending), after=after)
    assert isinstance(late.step, StopDriver)
    assert late.record.proving.is_rolled_back(6)


def test_failures_of_one_spec_count_together_whatever_executors_it_had() -> None:
    once = after_failures(changed(), 1)
    scaled = changed(generation=6, executors={"min": 1, "max": 8, "initial": 3})
    begun = started(scaled, once, after=7200)
    twice = failed(scaled, begun, after=7300)
    assert twice.proving.is_rolled_back(6)
