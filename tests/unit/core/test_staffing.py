"""What becomes of a rescale: verified, waited for, taken back, or followed by one restart."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from sluice.core import lifecycle, reporting
from sluice.core.application import StreamJob
from sluice.core.chosen import Decided
from sluice.core.conditions import Condition
from sluice.core.deciding.decision import Decision
from sluice.core.modelling.rescaling import Path
from sluice.core.news import News, news
from sluice.core.observations import (
    NODE_DEADLINE,
    AgentReport,
    ExecutorWork,
    Observed,
    Refusal,
    WaitingExecutor,
)
from sluice.core.record import Record
from sluice.core.recoveries import Cause
from sluice.core.staffing import PATIENCE, REFUSED, ROOM_AGAIN, TELLINGS
from sluice.core.steps import SetExecutors, StopDriver, Verdict
from tests.support.jobs import NOW, application, driver, job, report, work

FIXED = job(executors={"min": 1, "max": 8, "initial": 4})
AUTO = job(scaling={"mode": "Auto"})
RAN = Record(incarnation=1, checkpoint=FIXED.checkpoint_location, last_batch=7)
WORKED = (work("1", tasks=90), work("2", tasks=70))
USED = (*WORKED, work("3", tasks=5), work("4", tasks=1))
STUCK = (*WORKED, *(work(id, batches=10, of_all=120) for id in ("3", "4")))


class Case:
    """One job, looked at report after report."""

    def __init__(self, of: StreamJob = FIXED, record: Record = RAN) -> None:
        self.job = of
        self.record = record
        self.now = NOW
        self.incarnation = 1
        self.started = NOW - timedelta(minutes=1)
        self.seen = Observed()
        self.decided: Decided | None = None
        self.crowd = 0
        self.refused: Refusal | None = None
        self.waiting: tuple[WaitingExecutor, ...] = ()
        self.heard: list[News] = []

    def look(self, told: AgentReport | None, after: timedelta = timedelta(seconds=5)) -> Verdict:
        """Some time later there is another report."""
        self.now += after
        pod = driver(self.job, incarnation=self.incarnation, started=self.started)
        fresh = told and replace(told, at=self.now, incarnation=self.incarnation)
        self.seen = Observed(
            driver=pod,
            report=fresh,
            decided=self.decided,
            crowd=self.crowd,
            refused=self.refused,
            waiting=self.waiting,
        )
        verdict = lifecycle.next_step(self.job, self.record, self.seen, holder=None, now=self.now)
        self.heard += news(self.record, verdict.record)
        self.record = verdict.record
        self.verdict = verdict
        return verdict

    def decides(self, executors: int, path: Path = Path.LIVE) -> None:
        """A decision is made now."""
        decision = Decision(wanted=executors, executors=executors, reason="more load", path=path)
        self.decided = Decided(
            id="d1", at=self.now, before=2, incarnation=self.incarnation, decision=decision
        )

    def restarts(self) -> None:
        """The next driver runs."""
        self.incarnation, self.started = self.incarnation + 1, self.now
        self.record = replace(self.record, incarnation=self.incarnation, stopping=None)

    @property
    def told(self) -> str:
        """What the condition of scaling says."""
        claims = reporting.conditions_of(
            self.job, self.verdict, self.seen, holder=None, now=self.now
        )
        return next(claim.message for claim in claims if claim.type is Condition.SCALING_ACTIVE)

    def warnings(self) -> list[str]:
        """The reasons of the warnings so far."""
        return [item.reason for item in self.heard if item.is_warning]


def has(executors: Iterable[ExecutorWork] | None, **more: Any) -> AgentReport:
    """A driver that aims at four executors and has these."""
    there = None if executors is None else tuple(executors)
    known = 4 if there is None else len(there)
    return report(**{"target": 4, "registered": known, "work": there, **more})


def rescaled(of: StreamJob = FIXED) -> Case:
    """A driver that was asked for four executors instead of two."""
    case = Case(of)
    if of.scaling.chooses:
        case.decides(4)
    assert case.look(has(WORKED, target=2)).step == SetExecutors(target=4)
    return case


def stops(verdict: Verdict) -> bool:
    return isinstance(verdict.step, StopDriver)


def test_a_rescale_is_verified_when_all_have_come_and_each_was_used() -> None:
    case = rescaled()
    since = case.now
    case.look(has(WORKED))
    case.look(has((*WORKED, work("3"), work("4"))))
    came = case.now
    case.look(has(USED))
    staffing = case.record.staffing
    assert staffing is not None
    assert (staffing.executors, staffing.former, staffing.incarnation) == (4, 2, 1)
    assert (staffing.since, staffing.came, staffing.used) == (since, came, case.now)
    case.look(has(STUCK))
    assert case.record.staffing == staffing, "what was verified stays so"
    assert not stops(case.look(has(STUCK)))


def test_a_driver_that_was_started_with_its_number_is_no_rescale() -> None:
    case = Case()
    assert not stops(case.look(has(STUCK)))
    assert case.record.staffing is None


@pytest.mark.parametrize(("taken", "is_fault"), [("1", False), ("4", True)])
def test_others_have_slots_for_as_many_tasks_as_they_have_the_cores(
    taken: str, is_fault: bool
) -> None:
    six = (*WORKED, *(work(id, batches=10, of_all=60) for id in ("3", "4")))
    executors = {"min": 1, "max": 8, "initial": 4, "cores": 4}
    conf = {"spark.task.cpus": taken}
    case = rescaled(job(executors=executors, application=application(sparkConf=conf)))
    assert stops(case.look(has(six))) is is_fault


def test_executors_without_tasks_are_followed_by_one_restart_that_is_told() -> None:
    case = rescaled()
    verdict = case.look(has(STUCK))
    assert stops(verdict)
    assert "Without use so far: executors 3, 4" in case.told
    assert verdict.record.recoveries.present is not None
    assert verdict.record.recoveries.present.cause is Cause.RESCALE
    told = "xecutors 3, 4 got none of 120 tasks in 10 batches; the driver is restarted so that state is spread anew"
    (event,) = (item for item in case.heard if item.reason == "ExecutorsNotUsed")
    assert (event.message, event.is_warning) == (f"E{told}", True)
    assert case.record.stopping == f"e{told}"
    case.restarts()
    for _ in range(3):
        assert not stops(case.look(has(STUCK)))
    assert case.warnings() == ["ExecutorsNotUsed"]
    assert "restarted for 4 executors: executors 3, 4 got none of 120 tasks" in case.told
    assert "Without use after that, too: executors 3, 4 got none" in case.told
    assert "lower spark.locality.wait" in case.told


def grows_again(case: Case) -> Verdict:
    """It shrinks to three executors, and grows to four again, of which two get no tasks."""
    case.restarts()
    case.job = job(executors={"min": 1, "max": 8, "initial": 3})
    case.look(has(USED))
    case.look(has(USED[:3], target=3))
    case.job = FIXED
    case.look(has(USED[:3], target=3))
    return case.look(has(STUCK))


def test_a_restart_that_has_helped_is_made_again_for_the_next_number() -> None:
    case = rescaled()
    assert stops(case.look(has(STUCK)))
    case.restarts()
    case.look(has(USED))
    assert stops(grows_again(case))


def test_a_restart_that_has_not_helped_is_not_made_again_until_new_executors_are_used() -> None:
    case = rescaled()
    assert stops(case.look(has(STUCK)))
    case.restarts()
    case.look(has(STUCK))
    for _ in range(2):
        assert not stops(grows_again(case)), "to be used after shrinking proves nothing"
    assert "a restart has not helped before" in case.told
    assert case.warnings() == ["ExecutorsNotUsed"]
    case.look(has(USED))
    assert stops(grows_again(case))


def test_no_driver_is_restarted_for_executors_in_a_blackout() -> None:
    case = rescaled()
    blackouts = [{"start": "11:00", "end": "13:00"}]
    case.job = replace(FIXED, scaling=job(scaling={"blackouts": blackouts}).scaling)
    assert not stops(case.look(has(STUCK)))
    for _ in range(2 * TELLINGS):
        assert not stops(case.look(has(WORKED, target=2)))
    assert stops(case.look(has(STUCK), after=timedelta(hours=2)))


def test_enough_slots_without_them_are_no_reason_to_restart_and_a_hint() -> None:
    case = rescaled()
    few = (*WORKED, work("3", tasks=2), work("4", batches=100, of_all=200))
    assert not stops(case.look(has(few)))
    assert "3 slots are enough for all tasks of a batch" in case.told
    assert "executor 4 got none of 200 tasks in 100 batches" in case.told


def test_an_executor_that_leaves_and_another_that_comes_get_their_own_time() -> None:
    case = rescaled()
    joined = work("4", there=30, batches=2, of_all=24)
    assert not stops(case.look(has((*USED[:3], joined))))
    assert not stops(case.look(has((*USED[:3],))))
    assert not stops(case.look(has((*USED[:3], replace(joined, id="5")))))
    settled = work("5", there=60, batches=20, of_all=240)
    assert stops(case.look(has((*USED[:3], settled))))


def test_an_older_agent_leaves_the_use_open() -> None:
    case = rescaled()
    for _ in range(100):
        assert not stops(case.look(has(None)))
    staffing = case.record.staffing
    assert staffing is not None
    assert (staffing.came is None, staffing.used) == (False, None)
    assert not case.heard


def test_a_shrunken_job_is_not_restarted_for_one_that_idles() -> None:
    case = Case(job(executors={"min": 1, "max": 8, "initial": 2}))
    case.look(has(USED))
    stuck = has((WORKED[0], STUCK[2]), target=2)
    assert not stops(case.look(stuck))


def test_a_driver_that_keeps_its_old_target_is_restarted_after_many_reports() -> None:
    case = rescaled()
    for _ in range(TELLINGS - 1):
        assert case.look(has(WORKED, target=2)).step == SetExecutors(target=4)
    assert stops(case.look(has(WORKED, target=2)))
    assert case.warnings() == ["ExecutorsNotTaken"]
    assert "aims at 2 executors, although it was told 12 times to have 4" in (
        case.record.stopping or ""
    )


def test_a_driver_is_not_blamed_for_what_it_was_not_told() -> None:
    case = rescaled()
    for _ in range(3 * TELLINGS):
        case.look(has(WORKED, target=2), after=timedelta(0))
    assert not case.warnings(), "one report counts once"
    for _ in range(3 * TELLINGS):
        case.look(has(WORKED, target=2, phase="starting"))
    case.look(None, after=timedelta(hours=1))
    paused = {"sluice.dev/paused": "true"}
    case.job = job(executors={"min": 1, "max": 8, "initial": 4}, annotations=paused)
    for _ in range(3 * TELLINGS):
        assert not stops(case.look(has(WORKED, target=2)))
    case.job = FIXED
    assert case.look(has(WORKED, target=2)).step == SetExecutors(target=4)
    assert not case.warnings()


def test_a_driver_that_does_not_take_its_number_after_a_restart_either_is_left_alone() -> None:
    case = rescaled()
    for _ in range(TELLINGS):
        case.look(has(WORKED, target=2))
    assert case.warnings() == ["ExecutorsNotTaken"]
    case.restarts()
    for _ in range(2 * TELLINGS):
        assert case.look(has(WORKED, target=2)).step == SetExecutors(target=4)


def test_executors_that_idle_after_a_restart_for_another_reason_idle_so_far() -> None:
    case = rescaled()
    for _ in range(TELLINGS):
        case.look(has(WORKED, target=2))
    case.restarts()
    case.look(has(STUCK))
    assert "restarted for 4 executors: the driver aims at 2" in case.told
    assert "Without use so far: executors 3, 4" in case.told


def test_a_target_that_was_lost_later_is_told_anew() -> None:
    case = rescaled()
    for _ in range(2):
        for _ in range(TELLINGS - 1):
            assert case.look(has(WORKED, target=2)).step == SetExecutors(target=4)
        case.look(has(USED))
    assert not case.warnings()


def test_a_choice_without_room_is_taken_back_to_what_came() -> None:
    case = rescaled(AUTO)
    short = has(USED[:3])
    case.look(short, after=PATIENCE - timedelta(seconds=1))
    assert case.record.room is None
    verdict = case.look(short, after=timedelta(seconds=1))
    assert verdict.step == SetExecutors(target=3)
    assert case.record.chosen is not None
    assert (case.record.chosen.executors, case.record.chosen.decision) == (3, "d1")
    assert case.record.room is not None
    assert (case.record.room.executors, case.record.room.until) == (3, case.now + ROOM_AGAIN)
    (event,) = (item for item in case.heard if item.is_warning)
    assert event.reason == "ExecutorsNotCome"
    assert (
        "Decision d1: 3 executors, live: 3 of 4 executors were there 300 s after" in event.message
    )
    assert [item.reason for item in case.heard].count("Rescaling") == 1
    assert "No more than 3 executors came" in case.told
    assert "have not all come" not in case.told
    case.look(has(USED[:3], target=3), after=ROOM_AGAIN)
    assert "No more than" not in case.told


PROMISE = "pod triggered scale-up: [{workers 2->3 (max: 10)}]"
NO_NODE = ("Unschedulable", "0/2 nodes are available: 2 Insufficient cpu.")


def late(case: Case, **told: Any) -> WaitingExecutor:
    return WaitingExecutor(name="clicks-1-exec-4", uid="u", created=case.now, **told)


@pytest.mark.parametrize(
    "told",
    [
        {"lacks_node": True, "obstacle": NO_NODE, "ordered_node": PROMISE},
        {"is_being_made": True},
    ],
    ids=["a node is added", "its image is pulled"],
)
def test_executors_on_their_way_are_waited_for_as_long_as_a_node_takes(
    told: dict[str, Any],
) -> None:
    case = rescaled(AUTO)
    case.waiting = (late(case, **told),)
    case.look(has(USED[:3]), after=PATIENCE)
    case.look(has(USED[:3]), after=NODE_DEADLINE - PATIENCE - timedelta(seconds=1))
    assert case.record.room is None
    assert "have not all come" not in case.told
    assert case.look(has(USED[:3]), after=timedelta(seconds=1)).step == SetExecutors(target=3)
    assert case.warnings() == ["ExecutorsNotCome"]


@pytest.mark.parametrize(
    "told",
    [
        {"lacks_node": True, "obstacle": NO_NODE},
        {"is_being_made": True, "obstacle": ("FailedMount", 'secret "s" not found')},
    ],
    ids=["no node is added", "it cannot be made"],
)
def test_executors_that_are_no_more_on_their_way_are_given_up(told: dict[str, Any]) -> None:
    case = rescaled(AUTO)
    case.waiting = (late(case, lacks_node=True, obstacle=NO_NODE, ordered_node=PROMISE),)
    case.look(has(USED[:3]), after=PATIENCE)
    case.waiting = (late(case, **told),)
    assert case.look(has(USED[:3])).step == SetExecutors(target=3)
    (event,) = (item for item in case.heard if item.is_warning)
    assert "3 of 4 executors were there 305 s after they were asked for" in event.message


def test_the_old_size_comes_back_if_none_came() -> None:
    case = rescaled(AUTO)
    assert case.look(has(WORKED[:1]), after=PATIENCE).step == SetExecutors(target=2)


def test_executors_that_were_there_once_are_not_given_up_when_they_are_lost() -> None:
    case = rescaled(AUTO)
    case.look(has((*WORKED, work("3"), work("4"))))
    case.look(has(WORKED), after=2 * PATIENCE)
    assert case.record.room is None


def test_executors_that_were_there_once_are_not_given_up_when_their_successors_are_refused() -> (
    None
):
    case = rescaled(AUTO)
    case.look(has((*WORKED, work("3"), work("4"))))
    case.refused = Refusal(message="exceeded quota: tight", since=case.now)
    case.look(has(WORKED), after=2 * REFUSED)
    assert case.record.room is None


def test_a_number_that_the_owner_has_fixed_is_never_taken_back() -> None:
    case = rescaled()
    case.look(has(WORKED), after=PATIENCE)
    assert case.verdict.step != SetExecutors(target=2)
    assert not case.heard
    assert "4 executors were asked for at 12:00:05 UTC and have not all come" in case.told


def test_a_number_that_became_the_smallest_allowed_is_no_choice_any_more() -> None:
    case = rescaled(AUTO)
    case.job = job(scaling={"mode": "Auto"}, executors={"min": 4, "max": 8, "initial": 4})
    case.look(has(WORKED), after=PATIENCE)
    assert case.record.room is None
    assert not case.warnings()
    assert "have not all come" in case.told


def test_a_choice_by_restart_is_waited_for_from_the_start_of_its_driver() -> None:
    case = Case(AUTO)
    case.decides(4, Path.RESTART)
    assert stops(case.look(has(WORKED, target=2)))
    assert not case.warnings(), "this is the way that was chosen"
    case.now += timedelta(minutes=2)
    case.restarts()
    assert not stops(case.look(has(STUCK[1:]))), "a restart has just been made"
    case.look(has(WORKED), after=PATIENCE - timedelta(seconds=6))
    assert case.record.room is None
    assert case.look(has(WORKED)).step == SetExecutors(target=2)
    assert case.warnings() == ["ExecutorsNotCome"]


def test_the_restart_waits_for_those_of_other_jobs_and_is_remembered_only_when_it_is_made() -> None:
    case = rescaled()
    case.crowd = 10
    verdict = case.look(has(STUCK))
    assert not stops(verdict)
    assert "got none of 120 tasks" in (verdict.held_back or "")
    assert not case.warnings()
    case.crowd = 0
    assert stops(case.look(has(STUCK)))
    assert case.warnings() == ["ExecutorsNotUsed"]


def test_a_paused_job_is_not_restarted() -> None:
    case = rescaled()
    paused = {"sluice.dev/paused": "true"}
    case.job = job(executors={"min": 1, "max": 8, "initial": 4}, annotations=paused)
    assert not stops(case.look(has(STUCK)))
    case.job = FIXED
    assert stops(case.look(has(STUCK)))


def test_nothing_is_made_of_a_driver_that_stops() -> None:
    case = rescaled()
    assert not stops(case.look(has(STUCK, phase="stopping")))


def test_a_restart_that_was_decided_and_not_done_is_done_at_the_next_look() -> None:
    """The request to stop the driver was lost, or whoever was to make it has ended."""
    case = rescaled()
    assert stops(case.look(has(STUCK)))
    assert stops(case.look(has(STUCK)))
    case.restarts()
    assert not stops(case.look(has(STUCK)))
