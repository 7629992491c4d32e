"""Copies of a job tell its capacity, beside production, which notices nothing and whose sink gets nothing of theirs."""

import pytest

from e2e.support.api import Cluster, condition, to_yaml, wait_for
from e2e.support.jobs import Job, enrichment
from e2e.support.load import Load
from e2e.support.profiles import Profile
from sluice.manifests.profiling.consent import COPIES_FROM

NAME = "profiled"
WAIT = 8
"""Milliseconds for each record: a core does 125 records per second at most."""
RECORDS = 40_000
"""More than two executors can do while they are measured."""


def test_nobody_has_copies_made_in_a_namespace_whose_owner_has_not_said_so(
    cluster: Cluster, namespace: str, places: tuple[str, ...], operator: str
) -> None:
    body, closed = enrichment("elsewhere", WAIT), places[0]
    body["spec"]["suspend"] = True
    cluster.apply(to_yaml(body), namespace)
    profile = Profile(cluster, namespace, "elsewhere", (closed,))
    cluster.kubectl("annotate", "namespace", closed, f"{COPIES_FROM}-")
    try:
        profile.start("elsewhere", executors=[1])
        status = profile.wait("the refusal", lambda status: "endedAt" in status)
        complete = condition({"status": status}, "Complete")
        assert complete["reason"] == "Refused"
        assert f"kubectl annotate --overwrite namespace {closed}" in complete["message"]
        assert cluster.get("StreamJob", closed, "elsewhere") is None
    finally:
        cluster.kubectl("annotate", "namespace", closed, f"{COPIES_FROM}={namespace}")
        profile.delete()
        cluster.delete("StreamJob", namespace, "elsewhere")


@pytest.mark.alone
def test_a_profile_measures_copies_and_leaves_production_and_its_sink_alone(
    cluster: Cluster, namespace: str, places: tuple[str, ...], operator: str, load: Load
) -> None:
    load.create_topic(f"{NAME}-in", partitions=12)
    load.create_topic(f"{NAME}-out", partitions=4)
    load.send(f"{NAME}-in", rate=2000, records=RECORDS, schema="enrichment")
    body = enrichment(NAME, WAIT)
    body["spec"]["scaling"] = {"mode": "Off"}
    body["spec"]["executors"]["initial"] = 2
    cluster.apply(to_yaml(body), namespace)
    job, profile = Job(cluster, namespace, NAME), Profile(cluster, namespace, NAME, places)
    try:
        wait_for("its driver", job.driver, seconds=30)
        # The copies start while production works on the same rows.
        profile.start(NAME, executors=[1, 2])
        profile.wait_until_measuring()
        cluster.kubectl("delete", "pod", "-n", operator, "--all", "--grace-period=0", "--force")
        status = profile.wait_until_ended()
        one, two = sorted(status["points"], key=lambda point: point["executors"])
        assert (one["executors"], two["executors"]) == (1, 2)
        assert 0.3 * 1000 / WAIT < one["rowsPerSecond"] < 1.1 * 1000 / WAIT
        assert 1.2 < two["rowsPerSecond"] / one["rowsPerSecond"] < 2.5
        assert condition({"status": status}, "Complete")["status"] == "True"
        assert status["key"]["digest"] == _digest(job)
        change = '{"spec": {"executors": [1, 2, 3]}}'
        words = ("patch", "sp", NAME, "-n", namespace, "--type=merge", "-p", change)
        assert "this profile has ended" in cluster.kubectl(*words, check=False)
        account = load.check(job, kind="enrichment")
        assert (account["missing"], account["duplicates"]) == (0, 0)
        assert job.read()["status"]["incarnation"] == 1
    finally:
        profile.delete()
        cluster.delete("StreamJob", namespace, NAME)
        job.wait_until_gone(seconds=180)


def _digest(job: Job) -> str:
    """What the kubelet says that production runs."""
    driver = job.driver()
    assert driver is not None
    (container,) = driver["status"]["containerStatuses"]
    return "sha256:" + str(container["imageID"]).rpartition("sha256:")[2]
