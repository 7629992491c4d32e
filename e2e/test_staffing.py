"""Executors that a running driver does not put to work: one restart, which says why."""

from e2e.faults.field import sender
from e2e.support.api import Cluster, Json
from e2e.support.jobs import Job
from e2e.support.load import Load
from e2e.support.programs import running_program

RATE = 50

CLINGING = """
import os
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
servers = {"kafka.bootstrap.servers": os.environ["SLUICE_KAFKA_BOOTSTRAP_SERVERS"]}
taken = os.environ["SLUICE_KAFKA_TOPICS"]
rows = (spark.readStream.format("kafka").options(**servers).option("subscribe", taken)
        .option("startingOffsets", "earliest").load())
query = (rows.select("key", "value").dropDuplicates(["value"]).writeStream.format("kafka").options(**servers)
         .option("topic", taken.removesuffix("-in") + "-out").queryName("clinging").trigger(processingTime="1 second")
         .option("checkpointLocation", os.environ["SLUICE_CHECKPOINT_LOCATION"]).start())
query.awaitTermination()
"""
"""Each record once, by state. With a long spark.locality.wait the tasks stay with the executor that has the state."""

STUBBORN = (
    """
import threading, time
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
def insist(context):
    nobody = spark._jvm.java.lang.Class.forName("scala.collection.immutable.Map$EmptyMap$")
    nobody = nobody.getField("MODULE$").get(None)
    while context.getConf().get("spark.executor.instances") == "1":
        context._jsc.sc().requestTotalExecutors(1, 0, nobody)
        time.sleep(0.3)
threading.Thread(target=insist, args=[spark.sparkContext], daemon=True).start()
"""
    + CLINGING
)
"""It asks for one executor again and again, against whoever asks for more, as long as it was started with one."""


def test_executors_that_get_no_tasks_because_the_state_stays_where_it_is_lead_to_one_restart(
    cluster: Cluster, namespace: str, operator: str, load: Load
) -> None:
    # A Kafka partition is read where its place is, which may be one of the new executors; one of two is then left.
    load.create_topic("clinging-in", partitions=1)
    load.create_topic("clinging-out", partitions=1)
    # After the restart the state is spread by free slots: not also drawn to where that partition was read.
    settings = {
        "spark.sql.shuffle.partitions": "4",
        "spark.locality.wait": "60s",
        "spark.shuffle.reduceLocality.enabled": "false",
    }
    application = {"sparkConf": settings}
    with running_program(
        *(cluster, namespace, "clinging", CLINGING), application=application
    ) as job:
        with sender(cluster, namespace, "clinging-in", rate=RATE):
            job.wait_until_ready()
            _scale(job, 3)
            told = job.wait("the restart", _fallback)
            assert _fallback(told)["reason"] == "ExecutorsNotUsed"
            assert "got none of" in _fallback(told)["message"]
            _is_restarted_once_and_verified(job)
        account = load.check(job)
        assert account["right"], account


def test_a_driver_that_aims_at_another_number_whatever_it_is_told_is_restarted(
    cluster: Cluster, namespace: str, operator: str, load: Load
) -> None:
    for end in ("in", "out"):
        load.create_topic(f"stubborn-{end}", partitions=2)
    settings = {"spark.sql.shuffle.partitions": "4"}
    application = {"sparkConf": settings}
    with running_program(
        *(cluster, namespace, "stubborn", STUBBORN), application=application
    ) as job:
        with sender(cluster, namespace, "stubborn-in", rate=RATE):
            job.wait_until_ready()
            _scale(job, 2)
            told = job.wait("the restart", _fallback)
            assert _fallback(told)["reason"] == "ExecutorsNotTaken"
            assert "was told 12 times to have 2" in _fallback(told)["message"]
            _is_restarted_once_and_verified(job)
        account = load.check(job)
        assert account["right"], account


def _is_restarted_once_and_verified(job: Job) -> None:
    job.wait_until_ready(incarnation=2)
    verified = job.wait("their first tasks", lambda it: "usedAt" in it["status"]["staffing"])
    assert verified["status"]["incarnation"] == 2
    assert verified["status"]["recoveries"]["past"][-1]["cause"] == "Rescale"


def _scale(job: Job, wanted: int) -> None:
    job.cluster.kubectl("scale", "sj", job.name, "-n", job.namespace, f"--replicas={wanted}")


def _fallback(resource: Json) -> Json:
    """What the status tells of a restart for the sake of executors."""
    found: Json = (resource["status"].get("staffing") or {}).get("fallback") or {}
    return found
