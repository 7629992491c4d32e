"""A rescale that makes a job slower is noticed, taken back once, and not tried again.

Each row of this job waits the longer the more executors there are, as for a database that they all ask: two executors
do half of what one does. It is promised a shorter latency than it has, for which the operator takes another executor.
`make harm-drill`: a quarter of an hour. It writes bench/results/harm.
"""

import time

import pytest

from bench import report
from bench.report import Figure, Result
from e2e.faults.field import sender
from e2e.support.api import Cluster, Json
from e2e.support.jobs import Job
from e2e.support.load import Load
from e2e.support.programs import running_program
from e2e.support.prometheus import Prometheus

NAME = "hindered"
RATE = 60
WAIT_MILLISECONDS = 9
"""Of a row on one executor, which so does 111 rows/s; two do 55."""

WARM = 330.0
"""Seconds of the same load: what arrived before is a mean over five minutes, and must not seem to have been less."""

BOUND = "3s"
SETTLED = 900.0
"""Seconds within which a rescale is judged, or never."""

LATER = 180.0
"""Seconds for which the job is looked at when it has gone back."""

PROGRAM = f"""
import os
from pyspark.sql import SparkSession, functions as F
spark = SparkSession.builder.getOrCreate()
kafka = {{"kafka.bootstrap.servers": os.environ["SLUICE_KAFKA_BOOTSTRAP_SERVERS"]}}
rows = (spark.readStream.format("kafka").options(**kafka).option("subscribe", os.environ["SLUICE_KAFKA_TOPICS"])
        .option("startingOffsets", "earliest").load())
def write(batch, number):
    executors = max(1, spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1)
    wait = {WAIT_MILLISECONDS} * executors ** 2
    looked_up = batch.withColumn("answer", F.expr(f"reflect('java.lang.Thread', 'sleep', bigint({{wait}}))"))
    told = looked_up.select("key", F.concat("value", F.substring("answer", 1, 0)).alias("value"))
    told.write.format("kafka").options(**kafka).option("topic", "{NAME}-out").save()
query = (rows.writeStream.foreachBatch(write).queryName("{NAME}").trigger(processingTime="2 seconds")
         .option("checkpointLocation", os.environ["SLUICE_CHECKPOINT_LOCATION"]).start())
query.awaitTermination()
"""
"""Nothing of the answer is written, but it is read: the optimizer drops a column that nobody reads, and its wait."""


@pytest.mark.timeout(3600)
def test_a_rescale_that_harms_is_undone_once_and_not_wished_for_again(
    cluster: Cluster, namespace: str, prometheus: Prometheus, operator: str, load: Load
) -> None:
    for end in ("in", "out"):
        load.create_topic(f"{NAME}-{end}", partitions=4)
    spec: Json = {
        "slo": {"latency": {"bound": "60s"}, "window": "1h"},
        "scaling": {"mode": "Observe", "interval": "10s", "horizon": "2m", "stabilisation": "5m"},
    }
    with (
        running_program(cluster, namespace, NAME, PROGRAM, **spec) as job,
        sender(cluster, namespace, f"{NAME}-in", rate=RATE),
    ):
        job.wait_until_ready()
        time.sleep(WARM)
        slo = {"latency": {"bound": BOUND}}
        job.patch(executors={"max": 2}, slo=slo, scaling={"mode": "Auto"})
        grown = job.wait("a second executor", lambda it: _chosen(it) == 2, seconds=300)
        grown_at, harmful = time.monotonic(), _choice(grown)["decision"]
        print(f"decision {harmful}: {_choice(grown)['reason']}", flush=True)
        undone = job.wait("the way back", lambda it: _chosen(it) == 1, seconds=SETTLED)
        back = time.monotonic() - grown_at
        told = _choice(undone)
        print(f"after {back:.0f} s: {told['reason']}", flush=True)
        assert told["undoes"] == harmful, told
        assert "Harmful" in _line_of_history(job, harmful)
        drained = _drained(job)
        _stays(job, told["decision"])
        assert job.read()["status"]["incarnation"] == 1, "both were live"
    _write(back, drained)


def _choice(resource: Json) -> Json:
    found: Json = resource["status"].get("chosen") or {}
    return found


def _chosen(resource: Json) -> int:
    return int(_choice(resource).get("executors", 0))


def _line_of_history(job: Job, decision: str) -> str:
    done = job.cluster.sluice("history", job.name, "-n", job.namespace)
    told = (line.strip() for line in done.stdout.splitlines())
    found = [line for line in told if line.startswith(decision)]
    assert len(found) == 1, done.stdout + done.stderr
    return found[0]


def _drained(job: Job) -> float:
    """Seconds until what was left lying is worked off."""
    began = time.monotonic()
    job.wait(
        "the end of its backlog",
        lambda it: it["status"]["stream"]["lagRows"] <= 10 * RATE,
        seconds=600,
    )
    return time.monotonic() - began


def _stays(job: Job, decision: str) -> None:
    """The job keeps what it went back to, though its promise asks for more."""
    until = time.monotonic() + LATER
    while time.monotonic() < until:
        found = _choice(job.read())
        assert found["decision"] == decision, found
        time.sleep(5)


def _write(back: float, drained: float) -> None:
    result = Result(
        name="harm",
        title="A rescale that harms",
        method=f"A job whose rows wait {WAIT_MILLISECONDS} ms on one executor, and four times as long on two, under "
        f"{RATE} rows/s for {WARM:.0f} s. Then its latency is promised to be {BOUND}, which it is not, and the "
        f"operator may give it a second executor. When it has gone back, it is looked at for {LATER:.0f} s more.",
        settings={"rate": RATE, "bound": BOUND},
        versions=report.versions("kopf"),
        runs={
            "run 1": [
                Figure(name="grown, judged harmful, and undone after", value=back, unit="s"),
                Figure(name="its backlog worked off after", value=drained, unit="s"),
            ]
        },
    )
    print(f"written: {report.write(result)}")
