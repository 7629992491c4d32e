"""The operator chooses the number of executors: it follows the load, live, without losing or repeating a record."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from e2e.support.api import Cluster, Json, condition, to_yaml, wait_for
from e2e.support.jobs import CLAIM, IMAGE, Job
from e2e.support.load import Load, result_of
from e2e.support.prometheus import Prometheus
from sluice.core.deciding.storing import record_from_data

WAIT = 10
"""Milliseconds for each record: a core does a hundred records per second."""

SCALING = {"mode": "Auto", "interval": "10s", "horizon": "2m", "stabilisation": "30s"}


def enrichment(name: str, **scaling: str) -> Json:
    """A job whose capacity grows with its executors, scaled by the operator."""
    return {
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "StreamJob",
        "metadata": {"name": name},
        "spec": {
            "application": {
                "image": IMAGE,
                "mainFile": "/opt/jobs/enrichment.py",
                "arguments": [
                    "--bootstrap-servers=$(SLUICE_KAFKA_BOOTSTRAP_SERVERS)",
                    "--input-topic=$(SLUICE_KAFKA_TOPICS)",
                    f"--output-topic={name}-out",
                    "--checkpoint=$(SLUICE_CHECKPOINT_LOCATION)",
                    "--trigger=2 seconds",
                    f"--wait-milliseconds={WAIT}",
                ],
                "driver": {"memory": "512Mi", "cpuRequest": "100m"},
                "executor": {"cpuRequest": "100m"},
            },
            "executors": {"min": 1, "max": 4, "initial": 1, "memory": "512Mi"},
            "checkpoint": {"claim": CLAIM, "path": name},
            "sources": [{"kafka": {"bootstrapServers": ["kafka:9092"], "topics": [f"{name}-in"]}}],
            "restart": {"initialBackoff": "1s", "maximumBackoff": "5s"},
            "slo": {"latency": {"bound": "15s"}, "window": "1h"},
            "recovery": {"target": "4m"},
            "scaling": {**SCALING, **scaling},
        },
    }


@contextmanager
def scaled(cluster: Cluster, load: Load, name: str, **scaling: str) -> Iterator[Job]:
    """Such a job with twelve partitions, for the length of a block."""
    load.create_topic(f"{name}-in", partitions=12)
    load.create_topic(f"{name}-out", partitions=4)
    cluster.apply(to_yaml(enrichment(name, **scaling)), load.namespace)
    job = Job(cluster, load.namespace, name)
    try:
        job.wait_until_ready()
        yield job
    finally:
        cluster.delete("StreamJob", load.namespace, name)
        job.wait_until_gone(seconds=180)


def executors(resource: Json) -> int:
    """How many executors run."""
    running: int = resource["status"]["executors"]["running"]
    return running


def finished(sending: "subprocess.Popen[str]") -> Json:
    """The sender's account: all that it sent was taken."""
    account = result_of(sending)
    assert account["sent"] == account["delivered"] > 0
    return account


def test_executors_follow_the_load_live_and_every_record_comes_out_once(
    cluster: Cluster, prometheus: Prometheus, operator: str, load: Load
) -> None:
    with scaled(cluster, load, "follows") as job:
        sending = load.start_replaying(
            "follows-in", "spike:40,170,150,120", seconds=420, schema="enrichment"
        )
        job.wait("more executors at work", lambda seen: executors(seen) >= 2, seconds=300)
        largest = job.read()
        assert largest["status"]["incarnation"] == 1
        assert condition(largest, "ScalingActive")["reason"] == "Deciding"
        chosen = largest["status"]["chosen"]["executors"]
        smaller = job.wait(
            "fewer executors",
            lambda seen: seen["status"]["chosen"]["executors"] < chosen,
            seconds=300,
        )
        finished(sending)
        compared = load.check(job, kind="enrichment")
        assert compared["missing"] == 0
        assert compared["duplicates"] == 0
        assert job.read()["status"]["incarnation"] == 1
        _the_notebook_tells_the_same(cluster, job, smaller["status"]["chosen"])


def _the_notebook_tells_the_same(cluster: Cluster, job: Job, chosen: Json) -> None:
    book = cluster.get("ConfigMap", job.namespace, f"{job.name}-scaling")
    assert book is not None
    stored = record_from_data(json.loads(book["data"][chosen["decision"]]))
    again = stored.decided()
    assert (again.executors, again.reason) == (chosen["executors"], chosen["reason"])


def test_what_was_chosen_outlives_the_operator_and_the_driver(
    cluster: Cluster, prometheus: Prometheus, operator: str, load: Load
) -> None:
    with scaled(cluster, load, "outlives", mode="Approve") as job:
        sending = load.start_replaying(
            "outlives-in", "constant:150", seconds=240, schema="enrichment"
        )
        waiting = job.wait(
            "a decision that waits", lambda seen: seen["status"].get("decision", {}).get("pending")
        )
        assert waiting["status"]["executors"]["wanted"] == 1
        pending = waiting["status"]["decision"]["pending"]
        cluster.kubectl(
            *("annotate", "sj", job.name, "-n", job.namespace, f"sluice.dev/approve={pending}")
        )
        job.wait("more executors", lambda seen: executors(seen) > 1)
        wanted = job.read()["status"]["executors"]["wanted"]
        cluster.kubectl("delete", "pod", "-n", operator, "--all", "--wait=false")
        cluster.kubectl("delete", "pod", f"{job.name}-driver", "-n", job.namespace)
        job.wait_until_ready(incarnation=2)
        wait_for(f"{wanted} executors again", lambda: executors(job.read()) == wanted, seconds=120)
        finished(sending)
        assert load.check(job, kind="enrichment")["missing"] == 0
