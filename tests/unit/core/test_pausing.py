"""A paused job is looked at and reported; nothing is done to it, and nothing of what happens is forgotten."""

from dataclasses import replace
from typing import Any

import pytest

from sluice.core import reporting
from sluice.core.conditions import Claim, Condition, Status
from sluice.core.failures import put_off
from sluice.core.observations import Observed, PodPhase, QueryFailure
from sluice.core.record import Phase, Record
from sluice.core.steps import StartDriver, StopDriver, Wait
from tests.support.jobs import NOW, driver, job, query, report
from tests.unit.core.test_lifecycle import LOST, RAN, ended, look

PAUSED = {"sluice.dev/paused": "true"}
OF = job(annotations=PAUSED)
DEAD = Observed(driver=driver(OF, phase=PodPhase.FAILED, ended=ended()))


def claims(seen: Observed, record: Record) -> dict[Condition, Claim]:
    """The conditions of the paused job."""
    verdict = look(OF, record, seen)
    told = reporting.conditions_of(OF, verdict, seen, holder=None, now=NOW)
    return {claim.type: claim for claim in told}


@pytest.mark.parametrize(
    ("seen", "changes"),
    [
        (Observed(), {}),
        (Observed(driver=driver(job())), {"suspend": True}),
        (Observed(driver=driver(job()), report=report()), {"executors": {"min": 1, "initial": 7}}),
        (
            Observed(driver=driver(job()), report=report()),
            {"application": {"image": "shop/clicks:2", "mainFile": "/opt/clicks.py"}},
        ),
        (DEAD, {}),
        (
            Observed(
                driver=driver(job()),
                report=report(query(active=False, failure=QueryFailure("X", "y"))),
            ),
            {},
        ),
        (Observed(driver=LOST), {"restart": {"lostNode": "Fence"}}),
    ],
    ids=["start", "suspend", "rescale", "restart", "removal", "replacement", "fencing"],
)
def test_a_paused_job_is_neither_started_nor_stopped_nor_rescaled(
    seen: Observed, changes: dict[str, Any]
) -> None:
    assert not isinstance(look(job(**changes), RAN, seen, after=86_400).step, Wait)
    assert look(job(annotations=PAUSED, **changes), RAN, seen, after=86_400).step == Wait()


def test_a_paused_job_is_still_looked_at() -> None:
    verdict = look(OF, RAN, Observed(driver=driver(OF), report=report(query(batch_id=9))))
    assert verdict.phase is Phase.RUNNING
    assert verdict.record.last_batch == 9


def test_a_change_of_a_paused_job_is_told_and_waits() -> None:
    application = {"image": "shop/clicks:2", "mainFile": "/opt/clicks.py"}
    changed = job(annotations=PAUSED, application=application)
    record = look(changed, RAN, Observed(driver=driver(job()), report=report())).record
    assert str(record.change) == "spec.application.image"
    assert record.stopping is None


def test_a_driver_that_ends_while_paused_is_counted_once_and_stays_down_until_resumed() -> None:
    record = look(OF, RAN, DEAD).record
    again = look(OF, record, DEAD, after=3600)
    assert again.record.failures == 1
    assert again.phase is Phase.PAUSED
    resumed = look(job(), again.record, DEAD, after=3600)
    assert resumed.step == StopDriver(uid="pod-1")
    assert isinstance(look(job(), resumed.record, Observed(), after=3600).step, StartDriver)


def test_a_paused_job_without_a_driver_says_why_it_ended_and_what_keeps_it_down() -> None:
    told = claims(DEAD, RAN)
    for kind in (Condition.DRIVER_RUNNING, Condition.READY):
        assert told[kind].reason == "Paused"
        assert "exit code 1: boom" in told[kind].message
        assert "the annotation sluice.dev/paused" in told[kind].message


def test_a_paused_job_whose_start_was_put_off_has_no_driver_that_ended() -> None:
    told = claims(Observed(), put_off(OF, RAN, "failed calling webhook", NOW))
    assert told[Condition.DRIVER_RUNNING].reason == "Paused"
    assert "ended" not in told[Condition.DRIVER_RUNNING].message


def test_what_pauses_a_running_job_is_told_while_it_stays_ready() -> None:
    told = claims(Observed(driver=driver(OF), report=report()), RAN)
    assert told[Condition.MANAGED].status is Status.FALSE
    assert "the annotation sluice.dev/paused" in told[Condition.MANAGED].message
    assert told[Condition.READY].status is Status.TRUE


def test_a_paused_job_that_is_suspended_is_suspended() -> None:
    asleep = replace(OF, suspend=True)
    assert look(asleep, RAN, Observed()).phase is Phase.SUSPENDED
