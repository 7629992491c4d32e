"""How long the stream was away, one look after the other."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from sluice.core.conditions import Claim, Condition, DriverThere, Status
from sluice.core.drilling.records import VALID
from sluice.core.learning.batches import BatchReport
from sluice.core.news import news
from sluice.core.observations import Observed, PodPhase, Processing, QueryReport, Termination
from sluice.core.record import Record
from sluice.core.recoveries import CALM, KEPT, LONGEST_CATCHING_UP, Cause, Recoveries
from tests.support.jobs import NOW, driver, job, query, report
from tests.unit.core.test_lifecycle import look

LONG = BatchReport(start=0, seconds=600, rows=6000, executors=1)
"""A batch of ten minutes."""

RAN = Record(incarnation=1, checkpoint="claim://shop/checkpoints/clicks", last_batch=7)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def running(
    seconds: float,
    *,
    lag: float | None,
    committed: float | None,
    started: float = 5,
    arriving: float = 10,
) -> Observed:
    """The second driver as it is seen so many seconds after NOW."""
    told = query(
        batch_id=8 if committed is not None else None,
        committed_at=None if committed is None else at(committed),
        backlog_rows=lag,
        arrival_rate=arriving,
    )
    pod = driver(job(), incarnation=2, started=at(started))
    return Observed(
        driver=pod, report=report(told, at=at(seconds), incarnation=2, application_id="app")
    )


def killed() -> Recoveries:
    """A driver that was killed at NOW and noticed two seconds later."""
    return Recoveries().begun(Cause.DRIVER_LOSS, 2, NOW, at(2))


def lagging(*rows: float, every: float = 5) -> Recoveries:
    """What is usual after looks at so many rows, the last of them now; ten arrive in a second."""
    known = Recoveries()
    for place, lag in enumerate(rows, 1 - len(rows)):
        told = report(query(backlog_rows=lag, arrival_rate=10.0), at=at(place * every))
        known = known.seen(Observed(report=told), at(place * every))
    return known


def test_a_recovery_ends_when_the_lag_stays_usual() -> None:
    known = killed()
    for seconds, lag, committed in (
        (6, 300.0, None),
        (20, 250.0, 18.0),
        (25, 40.0, 24.0),
        (30, 20.0, 29.0),
    ):
        known = known.seen(running(seconds, lag=lag, committed=committed), at(seconds))
        assert known.present is not None
    known = known.seen(running(36, lag=20.0, committed=35.0), at(36))
    (past,) = known.past
    assert known.present is None
    assert known.count == 1
    assert [past.seconds(moment) for moment in (past.detected, past.started, past.connected)] == [
        2,
        5,
        6,
    ]
    assert past.downtime == 18
    assert past.total == 25


@pytest.mark.parametrize(
    ("first_query", "committed", "session"),
    [(12, 18, 12), (12, None, 12), (None, 18, 18), (None, None, 20)],
)
def test_an_agent_that_is_asked_late_tells_when_its_session_was_there_at_the_latest(
    first_query: float | None, committed: float | None, session: float
) -> None:
    looked = running(20, lag=900.0, committed=committed)
    assert looked.report is not None
    told = replace(looked.report, running_at=None if first_query is None else at(first_query))
    present = killed().seen(replace(looked, report=told), at(20)).present
    assert present is not None
    assert present.seconds(present.connected) == session


def test_a_lag_that_rises_again_is_no_end() -> None:
    known = killed()
    for seconds, lag in ((20, 40.0), (25, 400.0), (31, 40.0), (40, 40.0)):
        known = known.seen(running(seconds, lag=lag, committed=seconds - 1), at(seconds))
    assert known.present is not None
    known = known.seen(running(41, lag=40.0, committed=40.0), at(41))
    assert known.past[0].total == 31


def test_a_lag_that_only_rises_until_the_next_commit_is_no_end() -> None:
    known = lagging(300.0).begun(Cause.DRIVER_LOSS, 2, NOW, NOW)
    for seconds, lag in ((20, 200.0), (25, 250.0), (30, 300.0), (35, 350.0), (40, 400.0)):
        known = known.seen(running(seconds, lag=lag, committed=19.0), at(seconds))
        assert known.present is not None
    for seconds, lag in ((45, 150.0), (50, 200.0), (55, 250.0), (60, 100.0)):
        known = known.seen(
            running(seconds, lag=lag, committed=44.0 if lag > 100 else 59.0), at(seconds)
        )
    assert known.past[0].total == 45


def test_a_lag_that_was_usual_before_is_usual_again() -> None:
    known = lagging(5000.0).begun(Cause.DRIVER_LOSS, 2, NOW, NOW)
    for seconds in (20, 20 + CALM.total_seconds()):
        known = known.seen(running(seconds, lag=4000.0, committed=seconds - 1), at(seconds))
    assert known.past[0].total == 20
    assert known.past[0].usual_lag == 0, "it is over"


def test_a_lag_that_rises_and_falls_with_batches_is_usual_at_its_highest() -> None:
    known = lagging(*[100.0, 200.0, 300.0] * 20)
    assert 29 < known.usual_lag <= 30
    known = known.begun(Cause.DRIVER_LOSS, 2, NOW, NOW)
    for seconds, lag in ((20, 800.0), (25, 310.0), (30, 120.0), (35, 340.0)):
        known = known.seen(running(seconds, lag=lag, committed=seconds - 1), at(seconds))
    assert known.past[0].total == 25


def test_under_a_load_that_has_risen_as_many_seconds_of_arrivals_are_usual() -> None:
    known = lagging(200.0).begun(Cause.DRIVER_LOSS, 2, NOW, NOW)
    for seconds in (20, 31):
        looked = running(seconds, lag=700.0, committed=seconds - 1, arriving=30.0)
        known = known.seen(looked, at(seconds))
    assert known.past[0].total == 20


def test_an_old_peak_does_not_stay_usual_however_often_it_is_looked_at() -> None:
    often = lagging(600.0, *[0.0] * 60)
    seldom = lagging(600.0, 0.0, every=300)
    assert often.usual_lag == pytest.approx(seldom.usual_lag)
    assert seldom.usual_lag == pytest.approx(30)


def test_what_was_worked_off_some_batches_ago_is_not_usual() -> None:
    known = Recoveries()
    batch = BatchReport(start=0, seconds=2, rows=20, executors=1)
    for seconds, lag in ((0, 9000.0), *((seconds, 20.0) for seconds in range(5, 125, 5))):
        told = query(backlog_rows=lag, arrival_rate=10.0, batches=(batch,))
        known = known.seen(Observed(report=report(told, at=at(seconds))), at(seconds))
    assert known.usual_lag == pytest.approx(900 / 2**4), "twenty batches, of 6 s at least, later"


@pytest.mark.parametrize("told", [{"trigger_seconds": 600.0}, {"batches": (LONG,)}])
def test_a_peak_stays_usual_for_as_long_as_batches_are_apart(told: dict[str, object]) -> None:
    known = Recoveries()
    for seconds, lag in ((0, 6000.0), (600, 30.0)):
        seen = query(backlog_rows=lag, arrival_rate=10.0, **told)
        known = known.seen(Observed(report=report(seen, at=at(seconds))), at(seconds))
    assert known.usual_lag == pytest.approx(600 * 0.5 ** (1 / 5))


def test_a_source_without_offsets_has_caught_up_with_its_first_batch() -> None:
    known = killed()
    for seconds in (20, 31):
        known = known.seen(running(seconds, lag=None, committed=19.0), at(seconds))
    assert known.past[0].total == 19


@pytest.mark.parametrize(("idle", "is_over"), [(True, True), (False, False)])
def test_a_source_without_offsets_that_has_nothing_new_holds_up_no_recovery(
    idle: bool, is_over: bool
) -> None:
    files = query(batch_id=None, committed_at=None, backlog_rows=None, is_idle=idle)
    known = killed()
    for seconds in (20, 31):
        told = report(files, at=at(seconds), incarnation=2)
        seen = replace(running(seconds, lag=None, committed=None), report=told)
        known = known.seen(seen, at(seconds))
    assert bool(known.past) == is_over


@pytest.mark.parametrize(
    ("waiting", "idle", "is_over"), [(None, True, True), (None, False, False), (900.0, True, False)]
)
def test_a_killed_executor_is_replaced_when_each_query_has_committed_or_has_nothing_to_do(
    waiting: float | None, idle: bool, is_over: bool
) -> None:
    before = query(committed_at=at(-60), backlog_rows=waiting, is_idle=idle)
    known = Recoveries().begun(Cause.EXECUTOR_LOSS, 2, NOW, at(2), drilled=2)
    for seconds in (20, 21, 32):
        told = report(before, at=at(seconds), incarnation=2)
        seen = replace(running(seconds, lag=None, committed=None), report=told, executors_running=2)
        known = known.seen(seen, at(seconds))
    assert bool(known.past) == is_over


def test_a_continuous_query_has_recovered_when_it_runs_for_it_tells_of_no_batch() -> None:
    continuous = query(
        processing=Processing.CONTINUOUS, batch_id=None, committed_at=None, backlog_rows=None
    )
    known = killed()
    for seconds in (20, 31):
        told = report(continuous, at=at(seconds), incarnation=2)
        known = known.seen(
            replace(running(seconds, lag=None, committed=None), report=told), at(seconds)
        )
    assert not known.present
    assert known.past[0].total == 20


def beside(looked: Observed, *others: QueryReport) -> Observed:
    """The same with other queries of that driver."""
    assert looked.report is not None
    queries = (*looked.report.queries, *others)
    return replace(looked, report=replace(looked.report, queries=queries))


def test_a_query_that_found_nothing_to_do_and_ended_holds_up_no_recovery() -> None:
    ended = query(
        name="backfill", active=False, batch_id=None, committed_at=None, backlog_rows=900.0
    )
    known = killed()
    for seconds in (20, 31):
        looked = beside(running(seconds, lag=20.0, committed=seconds - 1), ended)
        known = known.seen(looked, at(seconds))
    assert known.past[0].total == 20


def test_the_commit_of_a_query_that_has_ended_ends_the_downtime() -> None:
    looked = running(20, lag=0.0, committed=None)
    known = killed().seen(beside(looked, query(active=False, committed_at=at(12))), at(20))
    assert known.present is not None
    assert known.present.downtime == 12


def test_nothing_has_caught_up_between_two_runs_of_a_query() -> None:
    known = lagging(30.0).begun(Cause.DRIVER_LOSS, 2, NOW, NOW)
    for seconds, lag, is_running in (
        (20, 900.0, True),
        (85, None, False),
        (99, None, False),
        (110, 900.0, True),
        (120, 30.0, True),
        (130, 30.0, True),
    ):
        assert not known.past
        looked = running(seconds, lag=lag, committed=seconds - 1)
        assert looked.report is not None
        told = tuple(replace(one, active=is_running) for one in looked.report.queries)
        looked = replace(looked, report=replace(looked.report, queries=told))
        known = known.seen(looked, at(seconds))
    assert known.past[0].total == 120


def test_a_lag_that_is_not_told_again_yet_is_waited_for() -> None:
    known = lagging(30.0).begun(Cause.DRIVER_LOSS, 2, NOW, NOW)
    for seconds, lag in ((20, None), (31, None), (40, 900.0), (50, 30.0), (61, 30.0)):
        assert not known.past
        known = known.seen(running(seconds, lag=lag, committed=seconds - 1), at(seconds))
    assert known.past[0].total == 50


def test_a_lag_that_is_not_told_any_more_ends_no_recovery_late() -> None:
    known = lagging(30.0).begun(Cause.DRIVER_LOSS, 2, NOW, NOW)
    for seconds in (20, 70, 78):
        known = known.seen(running(seconds, lag=None, committed=19.0), at(seconds))
        assert not known.past
    known = known.seen(running(80, lag=None, committed=19.0), at(80))
    assert known.past[0].total == 19


def test_a_driver_that_fails_before_its_first_batch_prolongs_the_recovery() -> None:
    known = killed().seen(running(20, lag=900.0, committed=None), at(20))
    known = known.begun(Cause.NODE_LOSS, 3, at(22), at(23))
    assert known.present is not None
    assert (known.present.began, known.present.cause) == (NOW, Cause.DRIVER_LOSS)
    assert not known.past
    known = known.seen(running(25, lag=0.0, committed=19.0), at(25))
    assert known.present is not None
    assert known.present.started is None, "that was the driver before"


def catching_up() -> Recoveries:
    """A first batch was committed after 19 seconds, and more rows wait than the usual 300."""
    known = lagging(300.0).begun(Cause.DRIVER_LOSS, 2, NOW, NOW)
    return known.seen(running(20, lag=900.0, committed=19.0), at(20))


def test_another_absence_after_the_first_batch_is_another_recovery() -> None:
    known = catching_up().begun(Cause.SPEC_CHANGE, 3, at(60), at(60))
    assert known.present is not None
    assert (known.present.cause, known.present.began) == (Cause.SPEC_CHANGE, at(60))
    assert known.present.usual_lag == 30, "what waited in between was not usual"
    (past,) = known.past
    assert (past.downtime, past.total) == (19, None)
    assert known.count == 1


def test_a_lag_that_stays_higher_for_an_hour_has_become_the_usual_one() -> None:
    known, longest = catching_up(), LONGEST_CATCHING_UP.total_seconds()
    for seconds in (60.0, 18 + longest):
        known = known.seen(running(seconds, lag=900.0, committed=seconds - 1), at(seconds))
        assert known.present is not None
    for seconds in (19 + longest, 30 + longest):
        known = known.seen(running(seconds, lag=900.0, committed=seconds - 1), at(seconds))
    assert known.present is None
    (past,) = known.past
    assert (past.downtime, past.total) == (19, None)
    assert known.count == 1
    assert known.usual_lag == 90


def test_a_usual_lag_waits_for_the_next_batch_however_long_that_takes() -> None:
    known, seldom = lagging(72_000.0).begun(Cause.DRIVER_LOSS, 2, NOW, NOW), 7200
    for seconds, lag, committed in (
        (20, 100.0, 19.0),
        (seldom, 71_000.0, 19.0),
        (seldom + 15, 50.0, seldom + 10.0),
    ):
        assert not known.past
        known = known.seen(running(seconds, lag=lag, committed=committed), at(seconds))
    assert known.past[0].total == 20


def test_a_job_that_does_not_commit_is_away_however_long_that_lasts() -> None:
    late = 3 * LONGEST_CATCHING_UP.total_seconds()
    known = killed()
    for seconds in (20, late):
        known = known.seen(running(seconds, lag=900.0, committed=None), at(seconds))
    assert known.present is not None


def test_a_killed_executor_that_finds_no_place_is_not_awaited_for_ever() -> None:
    known = Recoveries().begun(Cause.EXECUTOR_LOSS, 2, NOW, at(2), drilled=2)
    for seconds in (20, 20 + LONGEST_CATCHING_UP.total_seconds()):
        assert known.present is not None
        known = known.seen(running(seconds, lag=0.0, committed=19.0), at(seconds))
    (past,) = known.past
    assert (past.committed, past.connected, past.caught_up) == (at(19), None, None)


@pytest.mark.parametrize("committed", [None, 19.0])
def test_what_ends_a_driver_long_after_a_drill_is_a_failure_of_its_own(
    committed: float | None,
) -> None:
    known = Recoveries().begun(Cause.EXECUTOR_LOSS, 2, NOW, at(2), drilled=2)
    known = known.seen(running(20, lag=900.0, committed=committed), at(20))
    assert known.present is not None
    valid = at(2) + VALID
    assert known.excuses(2, valid)
    assert not known.excuses(2, valid + timedelta(seconds=1))
    assert not known.excuses(3, valid), "it has hit another"


def test_what_a_drill_has_ended_is_its_own_at_each_look() -> None:
    known = Recoveries().begun(Cause.EXECUTOR_LOSS, 2, NOW, at(2), drilled=2)
    known = known.seen(running(20, lag=900.0, committed=19.0), at(20))
    known = known.begun(Cause.DRIVER_LOSS, 3, at(22), at(23))
    assert known.present is not None
    assert known.present.drilled == 0
    assert known.excuses(2, at(22))


def test_a_job_that_has_caught_up_with_a_drill_has_no_excuse_any_more() -> None:
    known = Recoveries().begun(Cause.DRIVER_LOSS, 2, NOW, NOW, drilled=1)
    for seconds in (20, 31):
        assert known.excuses(1, at(seconds))
        known = known.seen(running(seconds, lag=0.0, committed=19.0), at(seconds))
    assert not known.excuses(1, at(40))


def test_only_the_last_ones_are_kept_and_all_are_counted() -> None:
    known = Recoveries()
    for _ in range(KEPT + 2):
        known = known.begun(Cause.DRIVER_LOSS, 2, NOW, NOW)
        for seconds in (20, 31):
            known = known.seen(running(seconds, lag=0.0, committed=19.0), at(seconds))
    assert len(known.past) == KEPT
    assert known.count == KEPT + 2


def test_a_killed_driver_begins_a_recovery_at_its_own_end() -> None:
    dead = driver(
        job(), phase=PodPhase.FAILED, ended=Termination(exit_code=137, at=at(-3), reason="Error")
    )
    record = look(job(), RAN, Observed(driver=dead)).record
    assert record.recoveries.present is not None
    assert record.recoveries.present.cause is Cause.DRIVER_LOSS
    assert record.recoveries.present.began == at(-3)
    assert record.recoveries.present.incarnation == 2


def test_a_job_that_never_committed_has_nothing_to_recover() -> None:
    dead = driver(job(), phase=PodPhase.FAILED, ended=Termination(exit_code=1, at=NOW))
    never = Record(incarnation=1, checkpoint="claim://shop/checkpoints/clicks")
    assert look(job(), never, Observed(driver=dead)).record.recoveries.present is None


def test_a_changed_spec_begins_one_and_a_suspension_drops_it() -> None:
    before = job()
    application = {"image": "shop/clicks:2", "mainFile": "/opt/clicks.py"}
    after = job(application=application, generation=2)
    record = look(after, RAN, Observed(driver=driver(before), report=report())).record
    assert record.recoveries.present is not None
    assert record.recoveries.present.cause is Cause.SPEC_CHANGE
    asleep = look(job(suspend=True), record, Observed()).record
    assert asleep.recoveries.present is None


def deleted(record: Record, seconds: float) -> Recoveries:
    """What is measured when a driver that ran just before is gone, and nobody here has asked it to go."""
    there = Claim(
        type=Condition.DRIVER_RUNNING, status=Status.TRUE, reason=DriverThere.RUNNING, message=""
    )
    record = replace(record, conditions=(there,))
    return look(job(), record, Observed(), after=seconds).record.recoveries


def test_a_driver_that_somebody_deletes_while_it_catches_up_begins_another_one() -> None:
    known = deleted(replace(RAN, incarnation=2, recoveries=catching_up()), 60)
    assert known.present is not None
    assert (known.present.began, known.present.incarnation) == (at(60), 3)
    assert [one.began for one in known.past] == [NOW]


def test_a_driver_that_is_deleted_after_a_drilled_executor_is_not_awaited_any_more() -> None:
    drilled = Recoveries().begun(Cause.EXECUTOR_LOSS, 1, NOW, NOW, drilled=1)
    known = deleted(replace(RAN, recoveries=drilled), 5)
    assert known.present is not None
    assert not known.present.keeps_driver
    for seconds in (20, 31):
        known = known.seen(running(seconds, lag=0.0, committed=19.0), at(seconds))
    assert known.past[0].downtime == 19


@pytest.mark.parametrize(("seconds", "tail"), [(None, "; it had not caught up"), (12, "12.0 s")])
def test_that_a_job_had_not_caught_up_is_said_when_its_recovery_ends(
    seconds: int | None, tail: str
) -> None:
    began = Recoveries().begun(Cause.DRIVER_LOSS, 2, NOW, NOW).present
    assert began is not None
    caught_up = None if seconds is None else NOW + timedelta(seconds=seconds)
    ended = replace(began, committed=NOW + timedelta(seconds=9), caught_up=caught_up)
    (told,) = news(Record(), Record(recoveries=Recoveries(past=(ended,), count=1)))
    assert told.reason == "Recovered"
    assert told.message.endswith(tail)
