"""Deletion ends within a minute, whatever is in its way."""

import pytest

from e2e.support.api import Cluster, Json, to_yaml
from e2e.support.jobs import Job, passthrough, progress_of, short_lived
from e2e.support.load import Load

SECONDS = 60


@pytest.mark.parametrize(
    ("name", "application", "reason"),
    [
        (
            "unpullable",
            {"image": "localhost/no-such-image:1"},
            {"ErrImagePull", "ImagePullBackOff"},
        ),
        ("unschedulable", {"driver": {"memory": "900Gi"}}, {"Unschedulable"}),
    ],
)
def test_a_driver_that_never_ran_goes_at_once(
    cluster: Cluster,
    namespace: str,
    operator: str,
    name: str,
    application: Json,
    reason: set[str],
) -> None:
    cluster.apply(to_yaml(passthrough(name, application=application)), namespace)
    job = Job(cluster, namespace, name)
    job.wait(
        "the obstacle",
        lambda resource: (
            reason & {one["reason"] for one in (resource.get("status") or {}).get("conditions", [])}
        ),
        seconds=60,
    )
    cluster.delete("StreamJob", namespace, name)
    job.wait_until_gone(seconds=SECONDS)


def test_a_job_whose_kafka_is_down_goes_in_time(
    cluster: Cluster, namespace: str, operator: str, load: Load
) -> None:
    name = "without-kafka"
    nowhere = [{"kafka": {"bootstrapServers": ["no-kafka:9092"], "topics": ["clicks"]}}]
    cluster.apply(to_yaml(short_lived(passthrough(name, sources=nowhere))), namespace)
    job = Job(cluster, namespace, name)
    failed = job.wait(
        "a failure",
        lambda resource: (
            "failures" in (resource.get("status") or {})
            and resource["status"]["failures"]["inARow"] > 0
        ),
    )
    assert "no-kafka:9092" in failed["status"]["failures"]["message"]
    cluster.delete("StreamJob", namespace, name)
    job.wait_until_gone(seconds=SECONDS)


def test_a_job_that_loses_kafka_while_it_runs_goes_in_time(job: Job, load: Load) -> None:
    load.send(f"{job.name}-in", rate=400, records=400)
    job.wait_until_ready()
    with load.kafka_down():
        job.cluster.delete("StreamJob", job.namespace, job.name)
        job.wait_until_gone(seconds=SECONDS)


def test_the_next_job_of_the_name_goes_on_from_the_checkpoint(job: Job, load: Load) -> None:
    load.send(f"{job.name}-in", rate=400, records=400)
    job.wait_until_ready()
    load.check(job)
    body = job.read()
    job.cluster.delete("StreamJob", job.namespace, job.name)
    job.cluster.apply(to_yaml(short_lived(passthrough(job.name))), job.namespace)
    again = job.wait_until_ready(incarnation=1)
    assert again["metadata"]["uid"] != body["metadata"]["uid"]
    driver = job.driver()
    assert driver is not None
    assert driver["metadata"]["ownerReferences"][0]["uid"] == again["metadata"]["uid"]
    # It has nothing to do, and therefore commits nothing.
    job.wait("what it found", lambda it: progress_of(it) >= progress_of(body) >= 0, seconds=30)
