"""Executors that a running driver does not put to work: one restart, which says why."""

import pytest

from e2e.faults.field import sender
from e2e.support.api import Cluster, Json, condition
from e2e.support.jobs import Job
from e2e.support.load import Load
from e2e.support.programs import running_program

pytestmark = [pytest.mark.long, pytest.mark.thorough]

RATE = 50

CLINGING = r"""
import sys
sys.path.insert(0, "/opt")
from pyspark.sql import functions as F
from jobs import advertisement
def enrich(events, table):
    # A join with the table would be work for everybody.
    campaign = F.format_string("campaign-%d", F.floor(F.regexp_extract("ad_id", "[0-9]+", 0).cast("int") / 10))
    return events.where("event_type = 'view'").dropDuplicates(["sequence"]).withColumn("campaign_id", campaign)
advertisement.enrich_views = enrich
advertisement.main()
"""
"""It has state. Of a topic with one partition, all tasks on that go where the partition was read."""

KEEPING = """
import runpy
from pyspark.sql import SparkSession
SparkSession.builder.config("spark.decommission.enabled", "false").getOrCreate()
runpy.run_path("/opt/jobs/advertisement.py", run_name="__main__")
"""
"""It sets in its code what the operator sets otherwise, so that no executor can be taken from it."""


def test_executors_that_get_no_tasks_lead_to_one_restart_and_it_is_told_whether_it_has_helped(
    cluster: Cluster, namespace: str, operator: str, load: Load
) -> None:
    for end in ("in", "out"):
        load.create_topic(f"clinging-{end}", partitions=1)
    # By default a task that has waited for a second goes to any executor.
    settings = {"spark.sql.shuffle.partitions": "4", "spark.locality.wait": "60s"}
    application = {"sparkConf": settings}
    with running_program(
        *(cluster, namespace, "clinging", CLINGING), application=application
    ) as job:
        with sender(cluster, namespace, "clinging-in", rate=RATE):
            job.wait_until_ready()
            # All tasks go where the only partition is read. Which executor that is, is chance, and may be another one
            # in each batch for which one more has joined; but not all new ones.
            _is_restarted_for(job, 4, "ExecutorsNotUsed", "got none of")
            # Whether it helps is chance, too: what has waited may be enough for all executors.
            judged = job.wait("what it has brought", lambda it: _is_used(it) or _hint(it))
            assert _is_used(judged) or "read from more partitions" in _hint(judged)
        account = load.check(job)
        assert account["right"], account
        assert job.read()["status"]["incarnation"] == 2


def test_a_driver_that_keeps_its_executors_whatever_it_is_told_is_restarted_with_fewer(
    cluster: Cluster, namespace: str, operator: str, load: Load
) -> None:
    for end in ("in", "out"):
        load.create_topic(f"keeping-{end}", partitions=4)
    with running_program(cluster, namespace, "keeping", KEEPING, executors=2) as job:
        with sender(cluster, namespace, "keeping-in", rate=RATE):
            job.wait_until_ready()
            why = "was told 12 times to have 1"
            restarted = _is_restarted_for(job, 1, "ExecutorsNotTaken", why)
            assert restarted["status"]["executors"] == {"running": 1, "wanted": 1}
        account = load.check(job)
        assert account["right"], account


def _is_restarted_for(job: Job, executors: int, reason: str, why: str) -> Json:
    """Ask for so many; the job as soon as its next driver is ready, started because they were not at work."""
    job.cluster.kubectl("scale", "sj", job.name, "-n", job.namespace, f"--replicas={executors}")
    told = job.wait("the restart", _fallback)
    assert _fallback(told)["reason"] == reason
    assert why in _fallback(told)["message"]
    return job.wait_until_ready(incarnation=2)


def _fallback(resource: Json) -> Json:
    """What the status tells of a restart for the sake of executors."""
    found: Json = (resource["status"].get("staffing") or {}).get("fallback") or {}
    return found


def _is_used(resource: Json) -> bool:
    """Whether each executor has completed a task."""
    return "usedAt" in (resource["status"].get("staffing") or {})


def _hint(resource: Json) -> str:
    """What would help executors that get no tasks after a restart for that, either."""
    message: str = condition(resource, "ScalingActive").get("message", "")
    return message if "after that, too" in message else ""
