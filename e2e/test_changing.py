"""What a person does to a running job: a change that does not work, a pause, the drain of a node."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from e2e.support.api import Cluster, Json, condition, wait_for
from e2e.support.jobs import Job
from e2e.support.load import Load, result_of

pytestmark = pytest.mark.long


@pytest.mark.thorough
def test_a_change_that_does_not_work_is_taken_back_and_tried_again_when_a_person_asks(
    job: Job, load: Load
) -> None:
    sending = load.start_sending(f"{job.name}-in", rate=50, records=50 * 150)
    job.wait_until_ready()
    good = job.wait("a spec that works", lambda resource: "proving" in resource["status"])
    job.patch(application={"image": "localhost/no-such-image:1"}, restart={"rollbackAfter": "20s"})
    back = job.wait("the way back", _is_rolled_back)
    told = condition(back, "SpecApplied")["message"]
    assert "localhost/no-such-image:1" in told
    assert f"generation {good['metadata']['generation']}" in told.lower()
    job.wait_until_ready(incarnation=3)
    _run_the_command_of(told, job)
    again = job.wait("a way back again", lambda it: _is_rolled_back(it) and _retry_of(it) == "4")
    assert again["metadata"]["generation"] == back["metadata"]["generation"]
    running = job.wait_until_ready(incarnation=5)
    driver = job.driver()
    assert driver is not None
    assert driver["spec"]["containers"][0]["image"] == "localhost/sluice-spark:dev"
    assert running["spec"]["application"]["image"] == "localhost/no-such-image:1"
    job.patch(application={"image": "localhost/sluice-spark:dev"})
    mended = job.wait("the mended spec", lambda resource: not _is_rolled_back(resource))
    assert condition(mended, "SpecApplied")["status"] != "False", condition(mended, "SpecApplied")
    assert (job.driver() or {})["metadata"]["uid"] == driver["metadata"]["uid"]
    result_of(sending)
    account = load.check(job)
    assert account["right"], account


@pytest.mark.thorough
def test_a_paused_job_stays_as_it_is_until_it_is_resumed(job: Job, load: Load) -> None:
    load.send(f"{job.name}-in", rate=400, records=400)
    job.wait_until_ready()
    job.cluster.kubectl("annotate", "sj", job.name, "-n", job.namespace, "sluice.dev/paused=true")
    job.wait("the pause", lambda it: condition(it, "Managed").get("reason") == "Paused", seconds=30)
    job.cluster.delete("Pod", job.namespace, f"{job.name}-driver")
    down = job.wait("its end", lambda it: it["status"]["phase"] == "Paused", seconds=90)
    assert "sluice.dev/paused" in condition(down, "Ready")["message"]
    assert down["status"]["incarnation"] == 1
    load.send(f"{job.name}-in", rate=400, records=400)
    job.cluster.kubectl("annotate", "sj", job.name, "-n", job.namespace, "sluice.dev/paused-")
    job.wait_until_ready(incarnation=2)
    account = load.check(job)
    assert account["right"], account


@pytest.mark.alone
def test_a_drained_node_is_left_in_order(job: Job, load: Load) -> None:
    sending = load.start_sending(f"{job.name}-in", rate=50, records=50 * 90)
    job.wait_until_ready()
    first = job.driver()
    assert first is not None
    node = first["spec"]["nodeName"]
    with _uncordoned_afterwards(job.cluster, node):
        only_ours = f"--pod-selector=sluice.dev/job={job.name}"
        flags = ("--delete-emptydir-data", "--force", "--timeout=120s")
        job.cluster.kubectl("drain", node, only_ours, *flags)
        job.wait_until_ready(incarnation=2)
        for pod in wait_for("pods elsewhere", lambda: _pods_of(job), seconds=30):
            assert pod["spec"]["nodeName"] != node, pod["metadata"]["name"]
    moved = job.wait("the account of the move", _newest_recovery, seconds=60)
    assert _newest_recovery(moved)["cause"] == "PlannedMove"
    assert not moved["status"].get("failures", {}).get("inARow")
    result_of(sending)
    account = load.check(job)
    assert account["right"], account


def _is_rolled_back(resource: Json) -> bool:
    return condition(resource, "SpecApplied").get("reason") == "RolledBack"


def _run_the_command_of(told: str, job: Job) -> None:
    """Do what the message of SpecApplied says, to the letter."""
    command = re.search(r"kubectl (annotate .*--overwrite)", told)
    assert command is not None, told
    job.cluster.kubectl(*command[1].split())


def _retry_of(resource: Json) -> str:
    told = condition(resource, "SpecApplied")["message"]
    found = re.search(r"sluice\.dev/retry=(\d+)", told)
    assert found is not None, told
    return found[1]


def _newest_recovery(resource: Json) -> Json:
    recoveries: Json = resource["status"].get("recoveries", {})
    newest: Json = recoveries.get("present") or (recoveries.get("past") or [{}])[-1]
    return newest


def _pods_of(job: Job) -> list[Json]:
    """The driver and its executors, once there are both."""
    pods = job.cluster.list("Pod", job.namespace, f"sluice.dev/job={job.name}")
    live = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    return live if len(live) > 1 else []


@contextmanager
def _uncordoned_afterwards(cluster: Cluster, node: str) -> Iterator[None]:
    try:
        yield
    finally:
        cluster.kubectl("uncordon", node)
