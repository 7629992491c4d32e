"""Executors that run are given other CPU; where that cannot be, the driver is restarted, and it is said why."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from sluice.core import resizing
from sluice.core.application import StreamJob
from sluice.core.changes import ChangeClass
from sluice.core.conditions import Claim, Condition
from sluice.core.observations import ExecutorPod, Observed, Refusal
from sluice.core.quantities import CpuShare, Millicores, cpu
from sluice.core.record import Record
from sluice.core.recoveries import Cause
from sluice.core.reporting import conditions_of
from sluice.core.steps import ResizeExecutors, SetExecutors, StopDriver, Verdict, Wait
from tests.support.jobs import NOW, driver, job, report, without_node
from tests.unit.core.test_lifecycle import look

RAN = Record(incarnation=1, checkpoint="claim://shop/checkpoints/clicks", last_batch=7)


def declared(**executor: Any) -> StreamJob:
    """A job whose executors are to have this CPU."""
    application = {"image": "shop/clicks:1", "mainFile": "/opt/clicks.py", "executor": executor}
    return job(application=application)


def share(request: str = "1", limit: str | None = None) -> CpuShare:
    return CpuShare(request=cpu(request), limit=None if limit is None else cpu(limit))


def pod(number: int, has: CpuShare | None, **changes: Any) -> ExecutorPod:
    return ExecutorPod(name=f"exec-{number}", created=NOW, share=has, **changes)


def with_pods(*pods: ExecutorPod, of: StreamJob | None = None, **changes: Any) -> Observed:
    """A driver of a job without a limit, and these executors."""
    return Observed(
        driver=driver(of or declared()),
        executors=pods,
        executors_running=len(pods),
        report=report(**changes),
    )


def applied(of: StreamJob, verdict: Verdict, seen: Observed) -> Claim:
    claims = conditions_of(of, verdict, seen, holder=None, now=NOW)
    return next(claim for claim in claims if claim.type is Condition.SPEC_APPLIED)


MORE = declared(cpuLimit="2")
OLD, NEW = share(), share(limit="2")


def test_the_executors_that_run_are_resized_and_the_class_is_told_before() -> None:
    seen = with_pods(pod(2, OLD), pod(1, OLD))
    verdict = look(MORE, RAN, seen)
    assert verdict.step == ResizeExecutors(pods=("exec-1", "exec-2"), share=NEW)
    assert verdict.record.change.kind is ChangeClass.LIVE
    claim = applied(MORE, verdict, seen)
    assert (claim.reason, str(claim.status)) == ("Resizing", "False")
    assert "request 1, limit 2" in claim.message


def test_an_executor_that_comes_later_with_the_old_share_is_resized_too() -> None:
    done = with_pods(pod(1, NEW), pod(2, NEW))
    verdict = look(MORE, RAN, done)
    assert isinstance(verdict.step, Wait)
    assert applied(MORE, verdict, done).reason == "Live"
    later = look(MORE, verdict.record, with_pods(pod(1, NEW), pod(3, OLD)))
    assert later.step == ResizeExecutors(pods=("exec-3",), share=NEW)


def test_a_change_that_is_taken_back_is_resized_back() -> None:
    before = declared(cpuLimit="2")
    record = look(declared(cpuLimit="3"), RAN, with_pods(pod(1, NEW), of=before)).record
    seen = with_pods(pod(1, share(limit="3")), pod(2, NEW), of=before)
    back = look(before, record, seen)
    assert back.step == ResizeExecutors(pods=("exec-1",), share=NEW)


def test_pods_of_a_driver_that_was_never_resized_are_left_as_others_made_them() -> None:
    seen = with_pods(pod(1, share("250m")), pod(2, share("250m")))
    assert isinstance(look(declared(), RAN, seen).step, Wait)


def test_a_pod_whose_cpu_cannot_be_read_is_left_alone() -> None:
    assert isinstance(look(MORE, RAN, with_pods(pod(1, None), pod(2, NEW))).step, Wait)


def test_the_number_of_executors_comes_first() -> None:
    seen = with_pods(pod(1, OLD), pod(2, OLD), target=1)
    assert look(MORE, RAN, seen).step == SetExecutors(target=2)


def test_a_paused_job_is_not_resized() -> None:
    of = replace(MORE, paused_by="somebody")
    assert isinstance(look(of, RAN, with_pods(pod(1, OLD))).step, Wait)


def obstacle(reason: str, since: datetime = NOW) -> tuple[str, str, datetime]:
    return reason, "Node didn't have enough capacity: cpu, requested: 4000, capacity: 2000.", since


def test_what_a_node_can_never_have_takes_a_restart_and_the_reason_is_told() -> None:
    seen = with_pods(pod(1, NEW, obstacle=obstacle("Infeasible")), pod(2, NEW))
    verdict = look(MORE, RAN, seen)
    assert isinstance(verdict.step, StopDriver)
    assert verdict.record.stopping is not None
    assert "the pod exec-1 is not resized: Infeasible: Node didn't have" in verdict.record.stopping
    assert verdict.record.recoveries.present is not None
    assert verdict.record.recoveries.present.cause is Cause.SPEC_CHANGE
    assert applied(MORE, verdict, seen).reason == "RestartNeeded"


def test_a_node_that_may_have_room_is_waited_for_a_minute() -> None:
    seen = with_pods(pod(1, NEW, obstacle=obstacle("Deferred")), pod(2, NEW))
    verdict = look(MORE, RAN, seen)
    assert isinstance(verdict.step, Wait)
    assert "Deferred" in applied(MORE, verdict, seen).message
    late = resizing.PATIENCE.total_seconds() + 1
    assert isinstance(look(MORE, verdict.record, seen, after=late).step, StopDriver)


def test_an_obstacle_of_a_former_wish_is_none() -> None:
    stuck = pod(1, share(limit="64"), obstacle=obstacle("Infeasible", NOW - timedelta(hours=1)))
    verdict = look(MORE, RAN, with_pods(stuck, pod(2, NEW)))
    assert verdict.step == ResizeExecutors(pods=("exec-1",), share=NEW)


def test_a_limit_is_taken_away_by_a_restart() -> None:
    seen = with_pods(pod(1, NEW), pod(2, NEW), of=declared(cpuLimit="2"))
    verdict = look(declared(), RAN, seen)
    assert isinstance(verdict.step, StopDriver)
    assert verdict.record.stopping is not None
    assert "limit of a container that runs cannot be taken away" in verdict.record.stopping


LONG_AGO = NOW - resizing.PATIENCE - timedelta(seconds=1)
LACKS_CPU = replace(without_node("exec-1", "cpu"), created=LONG_AGO)
REFUSED = Refusal(message="exceeded quota: requests.cpu", since=LONG_AGO)


@pytest.mark.parametrize(
    ("lack", "told"),
    [({"waiting": (LACKS_CPU,)}, "2 Insufficient cpu"), ({"refused": REFUSED}, "exceeded quota")],
    ids=["no room", "refused"],
)
def test_where_no_executor_comes_with_the_old_share_a_new_driver_asks_for_the_new_one(
    lack: dict[str, Any], told: str
) -> None:
    less, none = (
        declared(cpuRequest="100m"),
        replace(with_pods(of=declared(cpuRequest="4")), **lack),
    )
    verdict = look(less, RAN, none)
    assert isinstance(verdict.step, StopDriver)
    assert verdict.record.stopping is not None
    assert told in verdict.record.stopping
    some = replace(none, executors=(pod(2, share("100m")),), executors_running=1)
    assert isinstance(look(less, RAN, some).step, Wait)
    assert isinstance(look(declared(cpuRequest="4"), RAN, none).step, Wait)
    ordered = replace(LACKS_CPU, ordered_node="pod triggered scale-up")
    assert isinstance(look(less, RAN, replace(none, refused=None, waiting=(ordered,))).step, Wait)


@pytest.mark.parametrize(
    "lack",
    [
        {"waiting": (replace(LACKS_CPU, created=NOW),)},
        {"refused": replace(REFUSED, since=NOW)},
    ],
    ids=["no room", "refused"],
)
def test_executors_that_lack_room_for_a_moment_are_waited_for(lack: dict[str, Any]) -> None:
    less, none = declared(cpuRequest="100m"), with_pods(of=declared(cpuRequest="4"))
    verdict = look(less, RAN, replace(none, **lack))
    assert isinstance(verdict.step, Wait)
    after = resizing.PATIENCE.total_seconds() + 1
    assert isinstance(
        look(less, verdict.record, replace(none, **lack), after=after).step, StopDriver
    )


def test_a_limit_that_was_given_live_is_taken_away_by_a_restart_too() -> None:
    record = look(MORE, RAN, with_pods(pod(1, OLD))).record
    verdict = look(declared(), record, with_pods(pod(1, NEW)))
    assert isinstance(verdict.step, StopDriver)


def test_a_limit_that_a_limit_range_gives_is_neither_taken_away_nor_in_the_way() -> None:
    """The spec names none, before and after."""
    of, limited = declared(cpuRequest="500m"), share("1", limit="2")
    record = look(of, RAN, with_pods(pod(1, limited), pod(2, share("500m", limit="2")))).record
    assert record.resize is not None
    assert record.resize.share == share("500m")
    verdict = look(of, record, with_pods(pod(1, limited), pod(2, share("500m", limit="2"))))
    assert verdict.step == ResizeExecutors(pods=("exec-1",), share=share("500m"))
    stuck = pod(1, share("500m", limit="2"), obstacle=obstacle("Infeasible"))
    assert isinstance(look(of, record, with_pods(stuck)).step, StopDriver)


def test_a_restart_because_of_a_refusal_waits_for_those_of_other_jobs() -> None:
    stuck = with_pods(pod(1, NEW, obstacle=obstacle("Infeasible")), pod(2, NEW))
    seen = replace(stuck, crowd=10)
    verdict = look(MORE, RAN, seen)
    assert verdict.held_back is not None
    assert "waits for the restarts of 10 other jobs" in applied(MORE, verdict, seen).message


def test_a_refusal_is_kept_until_another_share_is_declared_or_another_driver_runs() -> None:
    stuck = with_pods(pod(1, NEW, obstacle=obstacle("Infeasible")), pod(2, NEW))
    record = replace(look(MORE, RAN, stuck).record, stopping=None)
    assert isinstance(look(MORE, record, with_pods(pod(1, NEW), pod(2, NEW))).step, StopDriver)
    less = look(declared(cpuLimit="1500m"), record, with_pods(pod(1, NEW), pod(2, NEW)))
    assert less.step == ResizeExecutors(
        pods=("exec-1", "exec-2"), share=CpuShare(request=Millicores(1000), limit=Millicores(1500))
    )
    second = replace(stuck, driver=driver(MORE, incarnation=2))
    assert look(MORE, replace(record, incarnation=2), second).record.resize is None


@pytest.mark.parametrize("fields", [{"image": "shop/clicks:2"}, {"arguments": ["x"]}])
def test_what_needs_a_restart_anyway_resizes_nothing(fields: dict[str, Any]) -> None:
    application = {"mainFile": "/opt/clicks.py", "executor": {"cpuLimit": "2"}}
    both = job(application={"image": "shop/clicks:1", **application, **fields})
    verdict = look(both, RAN, with_pods(pod(1, OLD), pod(2, OLD)))
    assert isinstance(verdict.step, StopDriver)
    assert verdict.record.resize is None
