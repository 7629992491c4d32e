"""The operator chooses the number of executors: it follows the load, live, without losing or repeating a record."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from e2e.support.api import Cluster, Json, condition, to_yaml, wait_for
from e2e.support.jobs import Job, enrichment, short_lived
from e2e.support.load import Load, result_of
from e2e.support.prometheus import Prometheus
from sluice.core.deciding.storing import Record, record_from_data
from sluice.manifests.notebook import read_notebook

pytestmark = pytest.mark.long


PARTITIONS = 12


@contextmanager
def scaled(cluster: Cluster, load: Load, name: str, **scaling: str) -> Iterator[Job]:
    """Such a job with twelve partitions, for the length of a block."""
    load.create_topic(f"{name}-in", partitions=PARTITIONS)
    load.create_topic(f"{name}-out", partitions=4)
    cluster.apply(to_yaml(short_lived(enrichment(name, **scaling))), load.namespace)
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


def reason(resource: Json) -> str | None:
    """Of the condition, if the job has it yet."""
    return condition(resource, "ScalingActive").get("reason")


def finished(sending: "subprocess.Popen[str]") -> Json:
    """The sender's account: all that it sent was taken."""
    account = result_of(sending)
    assert account["sent"] == account["delivered"] > 0
    return account


def test_executors_follow_the_load_live_and_what_was_chosen_outlives_operator_and_driver(
    cluster: Cluster, prometheus: Prometheus, operator: str, load: Load
) -> None:
    with scaled(cluster, load, "follows") as job:
        sending = load.start_replaying(
            "follows-in", "ramp:40,160,60", seconds=270, schema="enrichment"
        )
        grown = job.wait("more executors at work", lambda seen: executors(seen) >= 2, seconds=300)
        assert grown["status"]["incarnation"] == 1
        job.wait("decisions", lambda it: reason(it) == "Deciding", seconds=120)
        _the_notebook_tells_the_same(cluster, job, grown["status"]["chosen"])
        wait_for(
            "a decision that knows how many tasks a batch has",
            lambda: _newest(cluster, job).situation.models.capacity.slots.tasks == PARTITIONS,
            seconds=180,
        )
        cluster.kubectl("delete", "pod", "-n", operator, "--all", "--wait=false")
        cluster.kubectl("delete", "pod", f"{job.name}-driver", "-n", job.namespace)
        again = job.wait_until_ready(incarnation=2)
        assert again["status"]["executors"]["wanted"] >= 2
        wait_for(
            "the chosen executors",
            lambda: executors(job.read()) == job.read()["status"]["executors"]["wanted"] >= 2,
            seconds=120,
        )
        finished(sending)
        compared = load.check(job, seconds=240, kind="enrichment")
        assert compared["missing"] == 0, compared
        assert job.read()["status"]["incarnation"] == 2


def _the_notebook_tells_the_same(cluster: Cluster, job: Job, chosen: Json) -> None:
    again = _decisions(cluster, job)[chosen["decision"]].decided()
    assert (again.executors, again.reason) == (chosen["executors"], chosen["reason"])


def _newest(cluster: Cluster, job: Job) -> Record:
    return list(_decisions(cluster, job).values())[-1]


def _decisions(cluster: Cluster, job: Job) -> dict[str, Record]:
    """All that are stored, by their ids, from the oldest to the newest."""
    book = cluster.get("ConfigMap", job.namespace, f"{job.name}-scaling")
    assert book is not None
    kept = read_notebook(book).decisions
    return {id: record_from_data(decision) for id, decision in kept.items()}
