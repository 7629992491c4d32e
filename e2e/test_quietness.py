"""A job whose tasks wait for the rows of quiet partitions is told so, and what its program can do about it."""

import pytest

from e2e.faults.field import sender
from e2e.support.api import Cluster, Json, condition
from e2e.support.load import Load
from e2e.support.programs import running_program

pytestmark = pytest.mark.long

NAME = "quiet"
PARTITIONS, RATE = 24, 20

PROGRAM = """
import os, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
rows = (spark.readStream.format("kafka").option("subscribe", os.environ["SLUICE_KAFKA_TOPICS"])
        .option("kafka.bootstrap.servers", os.environ["SLUICE_KAFKA_BOOTSTRAP_SERVERS"])
        .option("startingOffsets", "earliest"))
if len(sys.argv) > 1:
    rows = rows.option("kafka.fetch.max.wait.ms", sys.argv[1])
query = (rows.load().writeStream.format("noop").queryName("quiet")
         .option("checkpointLocation", os.environ["SLUICE_CHECKPOINT_LOCATION"]).start())
query.awaitTermination()
"""


def reason(resource: Json) -> str | None:
    """Of the condition, if the job has it yet."""
    return condition(resource, "Progressing").get("reason")


def test_a_job_is_told_that_its_tasks_wait_until_its_program_spares_them_that(
    cluster: Cluster, namespace: str, operator: str, load: Load
) -> None:
    load.create_topic(f"{NAME}-in", partitions=PARTITIONS)
    with (
        running_program(cluster, namespace, NAME, PROGRAM, application={"arguments": []}) as job,
        sender(cluster, namespace, f"{NAME}-in", rate=RATE),
    ):
        told = job.wait("the waiting", lambda it: reason(it) == "TasksWait", seconds=360)
        assert condition(told, "Progressing")["status"] == "True"
        assert '"kafka.fetch.max.wait.ms", "10"' in condition(told, "Progressing")["message"]
        job.patch(application={"arguments": ["10"]})
        job.wait_until_ready(incarnation=2)
        batch = job.read()["status"]["checkpoint"]["lastBatch"]
        job.wait("batches", lambda it: it["status"]["checkpoint"]["lastBatch"] > batch + 5)
        assert reason(job.read()) == "Batches"
