"""A person kills on purpose what the owner allows, and is told how long the recovery took."""

import json
import subprocess

import pytest

from e2e.faults.field import sender
from e2e.support.jobs import Job
from e2e.support.load import Load

pytestmark = [pytest.mark.long, pytest.mark.thorough]

RATE = 50
MET, NOT_NOW = 0, 1


def _drill(job: Job, victim: str) -> "subprocess.CompletedProcess[str]":
    words = ("drill", job.name, "-n", job.namespace, "--kill", victim, "--yes", "-o", "json")
    return job.cluster.sluice(*words)


def test_a_drill_measures_the_recovery_and_counts_as_no_failure(job: Job, load: Load) -> None:
    with sender(job.cluster, job.namespace, f"{job.name}-in", rate=RATE):
        job.wait_until_ready()
        refused = _drill(job, "driver")
        assert refused.returncode == NOT_NOW
        assert "spec.recovery.drills.allowed" in refused.stderr
        job.patch(recovery={"target": "10m", "drills": {"allowed": ["Executor", "Driver"]}})
        for count, victim in enumerate(("executor", "driver"), start=1):
            job.wait_until_ready(incarnation=1)
            done = _drill(job, victim)
            assert done.returncode == MET, done.stderr
            told = json.loads(done.stdout)
            assert told["killed"] == victim.title()
            assert told["met"]
            assert 0 < told["stages"]["detection"] < told["stages"]["caughtUp"] == told["recovery"]
            status = job.read()["status"]
            past = status["recoveries"]["past"]
            assert len([one for one in past if one.get("drilled")]) == len(past) == count
            assert not status.get("failures", {}).get("inARow")
        job.wait_until_ready(incarnation=2)
    account = load.check(job)
    assert account["right"], account
