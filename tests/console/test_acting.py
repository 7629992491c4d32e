"""The commands that change a job: what is stored afterwards, and what is refused with which remedy."""

import time
from typing import Any

import pytest

from sluice.ports import STREAM_JOBS
from tests.console import resources
from tests.console.serving import FakeCluster, refusal
from tests.console.test_commands import sluice

Json = dict[str, Any]

JOB = "/apis/sluice.dev/v1alpha1/namespaces/shop/streamjobs/clicks"


def stored(cluster: FakeCluster) -> Json:
    """The job as it is stored now."""
    found = cluster.objects.stored(STREAM_JOBS, "clicks")
    assert found is not None
    return found


def with_mode(mode: str, **spec: Any) -> Json:
    body = resources.scaled(mode=mode)
    return {**body, "spec": {**body["spec"], **spec}}


def test_approving_notes_the_decision_that_waits_on_the_job(cluster: FakeCluster) -> None:
    cluster.stores(resources.scaled())
    done = sluice("approve", "clicks")
    assert done.exit_code == 0
    assert "decision 20260301T115800Z is approved, 4 executors" in done.stdout
    assert stored(cluster)["metadata"]["annotations"] == {"sluice.dev/approve": "20260301T115800Z"}


def test_only_the_decision_that_a_person_has_seen_is_approved(cluster: FakeCluster) -> None:
    cluster.stores(resources.scaled())
    done = sluice("approve", "clicks", "--decision", "20260301T100000Z")
    assert done.exit_code == 1
    assert "20260301T100000Z of shop/clicks does not wait; 20260301T115800Z does" in done.stderr
    assert stored(cluster)["metadata"]["annotations"] == {}
    assert sluice("approve", "clicks", "--decision", "20260301T115800Z").exit_code == 0


@pytest.mark.parametrize(
    ("mode", "says"),
    [("Auto", "spec.scaling.mode is Auto"), ("Approve", "`sluice status clicks` shows the newest")],
)
def test_where_nothing_waits_nothing_is_approved(
    cluster: FakeCluster, mode: str, says: str
) -> None:
    body = resources.scaled(mode=mode)
    del body["status"]["decision"]["pending"]
    cluster.stores(body)
    done = sluice("approve", "clicks")
    assert done.exit_code == 1
    assert "nothing of shop/clicks waits for an approval" in done.stderr
    assert says in done.stderr


def test_a_restart_is_asked_for_by_another_value_each_time(cluster: FakeCluster) -> None:
    cluster.stores(resources.healthy())
    values = set()
    for _ in range(2):
        done = sluice("restart", "clicks")
        assert done.exit_code == 0
        assert "the next driver goes on from the last batch" in done.stdout
        values.add(stored(cluster)["metadata"]["annotations"]["sluice.dev/restart"])
        time.sleep(0.002)
    assert len(values) == 2


def why_not_restarted(cluster: FakeCluster, body: Json) -> str:
    """What is said of a job that cannot be restarted, and is not asked to."""
    cluster.stores(body)
    done = sluice("restart", "clicks")
    assert done.exit_code == 1
    assert "sluice.dev/restart" not in (stored(cluster)["metadata"].get("annotations") or {})
    return done.stderr


def test_a_suspended_job_is_not_restarted(cluster: FakeCluster) -> None:
    body = resources.healthy()
    body["spec"]["suspend"] = True
    told = why_not_restarted(cluster, body)
    assert "nothing runs that could be restarted" in told
    assert '"suspend": false' in told


def test_a_job_that_was_given_up_is_not_restarted_before_its_spec_changes(
    cluster: FakeCluster,
) -> None:
    body = resources.failing()
    body["status"]["failures"]["gaveUp"] = True
    told = why_not_restarted(cluster, body)
    assert "was given up" in told
    assert '"suspend": true' in told
    changed = {**body, "metadata": {**body["metadata"], "generation": 99}}
    cluster.stores(changed)
    assert sluice("restart", "clicks").exit_code == 0


def test_of_a_paused_job_it_is_said_that_it_restarts_later(cluster: FakeCluster) -> None:
    body = resources.healthy()
    body["metadata"]["annotations"] = {"sluice.dev/paused": "true"}
    cluster.stores(body)
    assert "it is paused, and restarts when it is resumed" in sluice("restart", "clicks").stdout


def test_a_paused_job_is_resumed_by_taking_the_annotation_away(cluster: FakeCluster) -> None:
    cluster.stores(resources.healthy())
    assert sluice("pause", "clicks").exit_code == 0
    assert stored(cluster)["metadata"]["annotations"] == {"sluice.dev/paused": "true"}
    assert sluice("resume", "clicks").exit_code == 0
    assert stored(cluster)["metadata"]["annotations"] == {}
    assert "was not paused" in sluice("resume", "clicks").stdout


@pytest.mark.parametrize("mode", ["Off", "Observe"])
def test_executors_are_asked_for_through_the_scale_subresource(
    cluster: FakeCluster, mode: str
) -> None:
    cluster.stores(with_mode(mode))
    done = sluice("rescale", "clicks", "5")
    assert done.exit_code == 0
    assert cluster.asked[-1][0] == f"{JOB}/scale"
    assert stored(cluster)["spec"]["executors"] == {"min": 1, "max": 8, "initial": 5}


@pytest.mark.parametrize(
    ("body", "executors", "code", "says"),
    [
        (with_mode("Auto"), "3", 1, "choose yourself: kubectl patch sj clicks -n shop"),
        (with_mode("Approve"), "3", 1, "spec.scaling.mode of shop/clicks is Approve"),
        (with_mode("Off", suspend=True), "3", 1, '{"spec": {"suspend": false}}'),
        (with_mode("Off"), "9", 2, "9 executors are beyond the bounds of shop/clicks: 1 to 8"),
        (with_mode("Off"), "0", 2, "0 is not in the range"),
        (with_mode("Off"), "many", 2, "'many' is not a valid integer"),
    ],
)
def test_executors_that_would_not_come_are_refused_with_what_to_change(
    cluster: FakeCluster, body: Json, executors: str, code: int, says: str
) -> None:
    cluster.stores(body)
    done = sluice("rescale", "clicks", executors)
    assert done.exit_code == code
    assert says in done.stderr
    assert stored(cluster)["spec"] == body["spec"]


def test_of_a_paused_job_it_is_said_that_executors_come_later(cluster: FakeCluster) -> None:
    body = resources.healthy()
    body["metadata"]["annotations"] = {"sluice.dev/paused": "true"}
    cluster.stores(body)
    assert (
        "it is paused, and takes them when it is resumed" in sluice("rescale", "clicks", "3").stdout
    )


@pytest.mark.parametrize(
    "words",
    [["approve", "clicks"], ["pause", "clicks"], ["restart", "clicks"], ["rescale", "clicks", "3"]],
)
def test_who_may_only_look_is_told_of_the_role_that_may_change(
    cluster: FakeCluster, words: list[str]
) -> None:
    body = with_mode("Approve" if words[0] == "approve" else "Off")
    cluster.stores(body)
    cluster.refuses_patches = refusal(403, "streamjobs is forbidden")
    done = sluice(*words)
    assert done.exit_code == 4
    assert "the role `edit` is enough" in done.stderr


@pytest.mark.parametrize("command", ["approve", "pause", "restart", "resume"])
def test_a_job_that_is_not_there_is_not_changed(cluster: FakeCluster, command: str) -> None:
    cluster.stores(resources.scaled())
    done = sluice(command, "click")
    assert done.exit_code == 5
    assert "Did you mean clicks?" in done.stderr
