"""Argo CD's view of StreamJobs, run as Argo CD runs it: Lua that is given `obj` and returns status and message."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lupa import LuaRuntime

from sluice.api import convert
from sluice.core import lifecycle, reporting
from sluice.core.application import JobKey
from sluice.core.conditions import settle
from sluice.core.observations import Observed, PodPhase, Termination
from sluice.core.record import Record
from sluice.manifests.status import status_of
from tests.support.jobs import NOW, driver, job, query, report, resource

SCRIPT = Path("integrations/argocd/health.lua").read_text()
STARTED = Record(incarnation=1, checkpoint="claim://shop/checkpoints/clicks")


def health_of(body: dict[str, Any]) -> tuple[str, str]:
    """What the script says of an object."""
    lua = LuaRuntime(unpack_returned_tuples=True)
    lua.globals().obj = lua.table_from(body, recursive=True)
    told = lua.execute(SCRIPT)
    return told["status"], told["message"]


def judged(
    seen: Observed, record: Record = STARTED, *, holder: JobKey | None = None, **spec: Any
) -> dict[str, Any]:
    """A StreamJob with the status that the operator writes of it."""
    body = resource(**spec)
    of = convert.streamjob(body)
    verdict = lifecycle.next_step(of, record, seen, holder=holder, now=NOW)
    claims = reporting.conditions_of(of, verdict, seen, holder=holder, now=NOW)
    settled = settle(claims, (), 1, NOW)
    record = replace(verdict.record, conditions=settled)
    return {**body, "status": status_of(of, record, verdict.phase, seen, NOW)}


def test_a_job_that_nobody_has_looked_at_is_progressing() -> None:
    assert health_of(resource())[0] == "Progressing"


def test_a_running_job_is_healthy() -> None:
    assert health_of(judged(Observed(driver=driver(job()), report=report())))[0] == "Healthy"


def test_a_starting_job_is_progressing() -> None:
    fresh = driver(job(), started=None, phase=PodPhase.PENDING)
    assert health_of(judged(Observed(driver=fresh)))[0] == "Progressing"


def test_a_changed_spec_is_progressing_until_the_operator_has_seen_it() -> None:
    body = judged(Observed(driver=driver(job()), report=report()))
    body["metadata"]["generation"] = 2
    status, message = health_of(body)
    assert status == "Progressing"
    assert "generation 2" in message


def test_a_suspended_job_is_suspended() -> None:
    assert health_of(judged(Observed(), suspend=True))[0] == "Suspended"


def test_a_paused_job_without_a_driver_is_suspended_and_says_what_pauses_it() -> None:
    status, message = health_of(judged(Observed(), annotations={"sluice.dev/paused": "true"}))
    assert status == "Suspended"
    assert "sluice.dev/paused" in message


@pytest.mark.parametrize(
    ("body", "part"),
    [
        (judged(Observed(), Record(), holder=JobKey("shop", "views")), "shop/views"),
        (
            judged(
                Observed(
                    driver=driver(
                        job(),
                        phase=PodPhase.FAILED,
                        ended=Termination(exit_code=3, message="boom", at=NOW),
                    )
                )
            ),
            "boom",
        ),
        (
            judged(
                Observed(
                    driver=driver(job()),
                    report=report(query(in_batch_since=NOW.replace(year=2025))),
                )
            ),
            "progressDeadline",
        ),
    ],
    ids=["checkpoint in use", "failed driver", "stuck batch"],
)
def test_trouble_is_degraded_and_says_why(body: dict[str, Any], part: str) -> None:
    status, message = health_of(body)
    assert status == "Degraded"
    assert part in message


def told(**reasons: str) -> dict[str, Any]:
    """A running job of whose conditions these are false, for those reasons."""
    body = judged(Observed(driver=driver(job()), report=report()))
    for one in body["status"]["conditions"]:
        if one["type"] in reasons:
            one |= {"status": "False", "reason": reasons[one["type"]], "message": "as it is"}
    return body


@pytest.mark.parametrize(
    "reason", ["RestartNeeded", "Resizing", "IgnoredByCheckpoint", "OverriddenByProgram"]
)
def test_a_job_that_is_ready_is_healthy_though_not_all_of_its_spec_is_applied(reason: str) -> None:
    assert health_of(told(SpecApplied=reason))[0] == "Healthy"


@pytest.mark.parametrize(
    "reason", ["InvalidSpec", "MigrationRefused", "RolledBack", "RollbackRefused"]
)
def test_a_spec_that_is_refused_or_was_given_up_is_degraded(reason: str) -> None:
    assert health_of(told(SpecApplied=reason)) == ("Degraded", "as it is")


def test_a_driver_of_a_deleted_job_of_this_name_is_waited_for() -> None:
    waiting = told(CheckpointHeld="PredecessorStops", Ready="PredecessorStops")
    assert health_of(waiting) == ("Progressing", "as it is")
