"""Copies of a job tell its capacity, beside production, which notices nothing and whose sink gets nothing of theirs."""

from collections.abc import Callable

import pytest

from e2e.support.api import Cluster, Json, condition, to_yaml, wait_for
from e2e.support.jobs import Job, enrichment
from e2e.support.load import Load

NAME = "profiled"
WAIT = 8
"""Milliseconds for each record: a core does 125 records per second at most."""
RECORDS = 40_000
"""More than two executors can do while they are measured."""

OWNED = ("StreamJob", "Pod", "PersistentVolumeClaim", "Secret", "ServiceAccount")
"""Kinds of which nothing of a copy may be left."""


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
    job = Job(cluster, namespace, NAME)
    try:
        wait_for("its driver", job.driver, seconds=30)
        # The copies start while production works on the same rows.
        _profile(cluster, namespace, places)
        _wait(cluster, namespace, "copies at work", lambda it: _phases(it) == {"Measuring"})
        cluster.kubectl("delete", "pod", "-n", operator, "--all", "--grace-period=0", "--force")
        ended = _wait(cluster, namespace, "its end", lambda it: "endedAt" in it["status"], 600)
        assert ended["status"]["phase"] == "Succeeded", ended["status"]
        one, two = sorted(ended["status"]["points"], key=lambda point: point["executors"])
        assert (one["executors"], two["executors"]) == (1, 2)
        assert 0.3 * 1000 / WAIT < one["rowsPerSecond"] < 1.1 * 1000 / WAIT
        assert 1.2 < two["rowsPerSecond"] / one["rowsPerSecond"] < 2.5
        assert condition(ended, "Complete")["status"] == "True"
        wait_for("no copy", lambda: not _left_in(cluster, places), seconds=120)
        account = load.check(job, kind="enrichment")
        assert (account["missing"], account["duplicates"]) == (0, 0)
        assert job.read()["status"]["incarnation"] == 1
    finally:
        cluster.delete("StreamProfile", namespace, NAME)
        cluster.delete("StreamJob", namespace, NAME)
        job.wait_until_gone(seconds=180)


def _profile(cluster: Cluster, namespace: str, places: tuple[str, ...]) -> None:
    profile = {
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "StreamProfile",
        "metadata": {"name": NAME},
        "spec": {"job": NAME, "executors": [1, 2], "namespaces": [*places]},
    }
    cluster.apply(to_yaml(profile), namespace)


def _phases(profile: Json) -> set[str]:
    return {copy["phase"] for copy in profile["status"].get("copies", [])}


def _wait(
    cluster: Cluster,
    namespace: str,
    what: str,
    look: Callable[[Json], object],
    seconds: float = 180,
) -> Json:
    """The profile as soon as `look` finds what it looks for in it."""

    def seen() -> Json | None:
        profile = cluster.get("StreamProfile", namespace, NAME)
        return profile if profile and "status" in profile and look(profile) else None

    return wait_for(f"{what} of the profile", seen, seconds=seconds)


def _left_in(cluster: Cluster, places: tuple[str, ...]) -> list[str]:
    return [
        f"{place}/{kind}/{item['metadata']['name']}"
        for place in places
        for kind in OWNED
        for item in cluster.list(kind, place)
        if item["metadata"]["name"] != "default"
    ]
