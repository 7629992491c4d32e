"""A checkpoint belongs to one job."""

from collections.abc import Mapping
from typing import Any

import pytest

from e2e.support.api import Cluster, condition, to_yaml
from e2e.support.jobs import CLAIM, Job, passthrough
from e2e.support.programs import running_program


@pytest.mark.parametrize("below", ["", "/inside"])
def test_a_second_job_on_a_checkpoint_is_refused_and_told_whose_it_is(job: Job, below: str) -> None:
    job.wait("its first start", lambda resource: (resource.get("status") or {}).get("incarnation"))
    second = Job(job.cluster, job.namespace, f"second{'-inside' if below else ''}")
    place = {"claim": CLAIM, "path": f"{job.name}{below}"}
    job.cluster.apply(to_yaml(passthrough(second.name, checkpoint=place)), job.namespace)
    refused = second.wait("the refusal", _is_refused, seconds=30)
    message = condition(refused, "CheckpointHeld")["message"]
    assert f"{job.namespace}/{job.name}" in message
    assert f"/{CLAIM}/{job.name}{below}" in message
    assert second.driver() is None
    job.cluster.delete("StreamJob", job.namespace, job.name)
    second.wait("its turn", lambda resource: resource["status"].get("incarnation") == 1, seconds=90)
    job.cluster.delete("StreamJob", job.namespace, second.name)
    second.wait_until_gone(seconds=90)


ASTRAY = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.config("spark.executor.cores", "2").getOrCreate()
rows = spark.readStream.format("rate").load().writeStream.format("noop")
rows.queryName("views").option("checkpointLocation", "/tmp/checkpoint").start().awaitTermination()
"""


@pytest.mark.thorough
def test_a_program_that_goes_its_own_ways_is_told_what_that_costs(
    cluster: Cluster, namespace: str, operator: str
) -> None:
    with running_program(cluster, namespace, "astray", ASTRAY) as job:
        astray = job.wait(
            "both warnings",
            lambda resource: (
                condition(resource, "CheckpointHeld").get("reason") == "CheckpointElsewhere"
                and condition(resource, "SpecApplied").get("reason") == "OverriddenByProgram"
            ),
            seconds=90,
        )
        held, ready = condition(astray, "CheckpointHeld"), condition(astray, "Ready")
        assert "'views' keeps its checkpoint at file:/tmp/checkpoint" in held["message"]
        assert (ready["status"], ready["reason"]) == ("False", "CheckpointElsewhere")
        assert "spark.executor.cores to '2'" in condition(astray, "SpecApplied")["message"]


def _is_refused(resource: Mapping[str, Any]) -> bool:
    return condition(resource, "CheckpointHeld").get("reason") == "CheckpointInUse"
