"""What shows only when the driver starts: the condition names the field, the value and the remedy, or what the cluster
cannot do just now.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from e2e.support.api import Cluster, Json, condition, to_yaml
from e2e.support.jobs import Job, passthrough, short_lived
from e2e.support.load import Load
from e2e.support.programs import running, running_program
from sluice.manifests.names import JOB_LABEL

pytestmark = pytest.mark.long

KAFKA = "kafka:9092"
UNANSWERED = "kafka:9999"
"""A port that the service does not have."""

MISTAKES: dict[str, tuple[Json, tuple[str, ...]]] = {
    "missing-main-file": (
        {"application": {"mainFile": "/opt/jobs/nowhere.py"}},
        ("spec.application.mainFile", "/opt/jobs/nowhere.py", "localhost/sluice-spark:dev"),
    ),
    "missing-image": (
        {"application": {"image": "localhost/no-such-image:1"}},
        ("spec.application.image", "localhost/no-such-image:1", "imagePullSecrets"),
    ),
    "missing-claim": (
        {"checkpoint": {"claim": "nowhere", "path": "x"}},
        ("spec.checkpoint.claim", "nowhere", "create it"),
    ),
    "missing-topic": (
        {"sources": [{"kafka": {"bootstrapServers": [KAFKA], "topics": ["no-such-topic"]}}]},
        ("spec.sources", "no-such-topic", "create it"),
    ),
    "missing-secret": (
        {
            "application": {
                "environment": [
                    {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "nowhere", "key": "k"}}}
                ]
            }
        },
        ("spec.application", "nowhere", "create the Secret"),
    ),
    "missing-config-map": (
        {
            "application": {
                "driver": {
                    "memory": "512Mi",
                    "template": {
                        "spec": {
                            "volumes": [{"name": "code", "configMap": {"name": "nowhere"}}],
                            "containers": [
                                {
                                    "name": "driver",
                                    "volumeMounts": [{"name": "code", "mountPath": "/code"}],
                                }
                            ],
                        }
                    },
                }
            }
        },
        ("spec.application", 'configmap "nowhere" not found', "create the Secret or ConfigMap"),
    ),
    "driver-too-large": (
        {"application": {"driver": {"memory": "900Gi"}}},
        ("spec.application.driver", "1290240 MiB", "add a node"),  # with 40 % overhead
    ),
    "program-that-ends": (
        {"application": {"mainFile": "/opt/jobs/load/__init__.py"}},
        ("the program returned (exit code 0)", "a streaming job has no end of its own"),
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_condition_tells_what_to_mend(
    cluster: Cluster, namespace: str, operator: str, load: Load, name: str
) -> None:
    spec, parts = MISTAKES[name]
    cluster.apply(to_yaml(short_lived(passthrough(name, **spec))), namespace)
    job = Job(cluster, namespace, name)

    def told(resource: Mapping[str, Any]) -> bool:
        claim = condition(resource, "DriverRunning")
        return claim.get("status") == "False" and all(part in claim["message"] for part in parts)

    try:
        failed = job.wait("the remedy", told)
        assert condition(failed, "Ready")["status"] == "False"
        assert (
            condition(failed, "Ready")["message"] == condition(failed, "DriverRunning")["message"]
        )
    finally:
        cluster.delete("StreamJob", namespace, name)
        job.wait_until_gone(seconds=180)


BEGINNING = """
import os
from pyspark.sql import SparkSession
from pyspark.sql.functions import expr
spark = SparkSession.builder.getOrCreate()
def deliver(batch, number):
    raise ConnectionError("cannot reach db.example.com:5432")
writing = spark.readStream.format("rate").load()
"""
STARTING = """
writing.option("checkpointLocation", os.environ["SLUICE_CHECKPOINT_LOCATION"]).start().awaitTermination()
"""
BREAKING: dict[str, tuple[str, tuple[str, ...]]] = {
    "raising": (
        "writing = writing.writeStream.foreachBatch(deliver)",
        (
            "foreach batch",
            'File "/opt/program/main.py", line 7, in deliver',
            "ConnectionError: cannot reach db.example.com:5432",
        ),
    ),
    "greedy": (
        "numbers = 'size(array_distinct(sequence(value, value + 300000000)))'\n"
        "writing = writing.withColumn('size', expr(numbers)).writeStream.format('noop')",
        ("executor", "a Java heap of 512 MiB was full"),
    ),
}


@pytest.mark.parametrize("name", BREAKING)
def test_what_broke_the_program_or_its_executors_is_told(
    cluster: Cluster, namespace: str, operator: str, name: str
) -> None:
    line, parts = BREAKING[name]
    program = BEGINNING + line + STARTING
    with running_program(cluster, namespace, name, program, sources=[]) as job:

        def told(resource: Mapping[str, Any]) -> bool:
            return all(part in _failures(resource).get("message", "") for part in parts)

        # Four executors have to be lost in a row, each of which has to start before.
        failed = job.wait("the cause", told, seconds=480)
        assert "\tat " not in failed["status"]["failures"]["message"], "frames of Java"


@pytest.mark.thorough
def test_executors_that_all_fail_end_the_driver_which_tells_how(
    cluster: Cluster, namespace: str, operator: str
) -> None:
    application = {"sparkConf": {"spark.executor.extraJavaOptions": "-XX:ParallelGCThreads=many"}}
    program = BEGINNING + "writing = writing.writeStream.format('noop')" + STARTING
    with running_program(
        *(cluster, namespace, "without-executors", program), application=application, sources=[]
    ) as job:
        failed = job.wait("the failure", lambda it: _failures(it).get("reason"), seconds=120)
        assert _failures(failed)["reason"] == "ExecutorsFail"
        assert "exit code 1" in _failures(failed)["message"]


def _failures(resource: Mapping[str, Any]) -> Json:
    found: Json = resource.get("status", {}).get("failures", {})
    return found


@pytest.mark.thorough
def test_tasks_that_fail_are_told_while_spark_does_them_again(
    cluster: Cluster, namespace: str, operator: str, load: Load
) -> None:
    job = Job(cluster, namespace, "unwritten")
    load.send(f"{job.name}-in", rate=400, records=400)
    # A producer looks for its topic for a minute, in each of four tries.
    cluster.apply(to_yaml(short_lived(passthrough(job.name))), namespace)
    try:
        failing = job.wait("the tasks' error", _fails_for(f"{job.name}-out"), seconds=240)
        assert condition(failing, "Ready")["reason"] == "TasksFail"
        assert "create it" in condition(failing, "Progressing")["message"]
        load.create_topic(f"{job.name}-out")
        ready = job.wait_until_ready()
        assert ready["status"]["incarnation"] == 1, "a try that was left was enough"
        account = load.check(job)
        assert account["right"], account
    finally:
        cluster.delete("StreamJob", namespace, job.name)
        job.wait_until_gone(seconds=180)


def _fails_for(topic: str) -> Callable[[Json], bool]:
    def told(resource: Json) -> bool:
        claim = condition(resource, "Progressing")
        return claim.get("reason") == "TasksFail" and topic in claim["message"]

    return told


@pytest.mark.thorough
def test_brokers_that_do_not_answer_are_told_of_while_spark_asks_them(
    cluster: Cluster, namespace: str, operator: str, load: Load
) -> None:
    sources = [{"kafka": {"bootstrapServers": [UNANSWERED], "topics": ["asked"]}}]
    with running(cluster, namespace, short_lived(passthrough("asking", sources=sources))) as job:
        silent = job.wait(
            "what it waits for",
            lambda it: condition(it, "Progressing").get("reason") == "SourceSilent",
            seconds=120,
        )
        assert f"no broker of {UNANSWERED} answers" in condition(silent, "Ready")["message"]
        assert silent["status"]["incarnation"] == 1


def test_executors_that_a_quota_refuses_cost_no_driver_and_come_when_there_is_room(
    job: Job, load: Load
) -> None:
    load.send(f"{job.name}-in", rate=200, records=1000)
    before = job.wait_until_ready()["status"]["incarnation"]
    with _quota_full(job):
        job.cluster.kubectl("scale", "sj", job.name, "-n", job.namespace, "--replicas=3")
        # By Spark's defaults the driver ends at the fourth refusal, and one comes each second at least.
        told = job.wait("why none come", lambda it: "exceeded quota" in _fault(it), seconds=150)
        assert "Raise that ResourceQuota" in _fault(told)
        load.send(f"{job.name}-in", rate=200, records=1000)
    came = job.wait("executors", lambda it: it["status"]["executors"].get("running") == 3)
    assert came["status"]["incarnation"] == before
    job.wait("no fault", lambda it: not _fault(it))
    account = load.check(job)
    assert account["right"], account
    assert account["input"]["records"] == 2000


def _fault(resource: Mapping[str, Any]) -> str:
    told: str = resource["status"]["executors"].get("fault", "")
    return told


@contextmanager
def _quota_full(job: Job) -> Iterator[None]:
    """The namespace may have the pods that it has and no other one, for the length of a block."""
    name, pods = f"{job.name}-full", len(job.cluster.list("Pod", job.namespace))
    job.cluster.kubectl("create", "quota", name, f"--hard=pods={pods}", "-n", job.namespace)
    try:
        yield
    finally:
        job.cluster.delete("ResourceQuota", job.namespace, name)


@pytest.mark.thorough
def test_a_driver_that_the_cluster_cannot_make_just_now_is_told_of_and_made_when_it_can(
    job: Job, load: Load
) -> None:
    load.send(f"{job.name}-in", rate=200, records=1000)
    before = job.wait_until_ready()["status"]["incarnation"]
    with _webhook_away(job):
        job.cluster.delete("Pod", job.namespace, f"{job.name}-driver")
        told = job.wait("what the API server answers", _is_put_off, seconds=90)
        assert told["status"]["phase"] == "BackingOff"
        assert told["status"]["failures"].get("inARow", 0) <= 1, (
            "more than the driver that was deleted"
        )
        load.send(f"{job.name}-in", rate=200, records=1000)
    after = job.wait_until_ready()["status"]
    assert after["incarnation"] > before
    account = load.check(job)
    assert account["right"], account
    assert account["input"]["records"] == 2000


def _is_put_off(resource: Mapping[str, Any]) -> bool:
    claim = condition(resource, "DriverRunning")
    parts = ("failed calling webhook", "nowhere", "Tried again in")
    return claim.get("reason") == "StartBackOff" and all(part in claim["message"] for part in parts)


@contextmanager
def _webhook_away(job: Job) -> Iterator[None]:
    """Who is to be asked about each of a job's pods does not answer, for the length of a block."""
    name = f"{job.namespace}-{job.name}"
    webhook = {
        "name": "pods.example.com",
        "clientConfig": {"service": {"name": "nowhere", "namespace": job.namespace}},
        "rules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["pods"],
            }
        ],
        "objectSelector": {"matchLabels": {JOB_LABEL: job.name}},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    kind = "ValidatingWebhookConfiguration"
    body = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "webhooks": [webhook],
    }
    job.cluster.apply(to_yaml(body), job.namespace)
    try:
        yield
    finally:
        job.cluster.kubectl("delete", kind, name)
