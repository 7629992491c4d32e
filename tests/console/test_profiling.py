"""`sluice profile`: what is declared, what is told of its price, and what is shown at the end."""

from typing import Any

import pytest

from sluice.console import profiling
from sluice.core.profiling.records import Start
from sluice.ports import STREAM_PROFILES
from tests.console import resources
from tests.console.serving import Answer, FakeCluster, refusal
from tests.console.test_commands import sluice
from tests.support.jobs import job

Json = dict[str, Any]

PROFILES = "/apis/sluice.dev/v1alpha1/namespaces/shop/streamprofiles"

POINTS = [
    {"executors": 1, "rowsPerSecond": 12345.0, "errorRowsPerSecond": 246.9, "batches": 9}
    | {"overheadSeconds": 0.31},
    {"executors": 4, "rowsPerSecond": 40100.0, "errorRowsPerSecond": 802.0, "batches": 7}
    | {"overheadSeconds": 0.29, "lowerBound": True},
]


def declared(cluster: FakeCluster) -> Json:
    """The only profile that was made."""
    (name,) = [name for kind, _, name in cluster.objects._objects if kind == "streamprofiles"]
    found = cluster.objects.stored(STREAM_PROFILES, name)
    assert found is not None
    return found


def ended(phase: str, reason: str = "Measured", message: str = "1: 12.3k rows/s.") -> Json:
    """A profile whose end the cluster tells."""
    copy = {"namespace": "a", "executors": 4, "phase": "Failed", "message": "0/3 nodes"}
    condition = {"type": "Complete", "status": "True", "reason": reason, "message": message}
    status = {"phase": phase, "points": POINTS, "copies": [copy], "conditions": [condition]}
    return {"metadata": {"name": "clicks-1"}, "status": status}


def test_a_profile_is_declared_as_it_was_asked_for(cluster: FakeCluster) -> None:
    cluster.stores(resources.healthy())
    words = ("--executors", "1,2,4", "--core-hours", "3", "--wall-time", "1h", "--parallel", "3")
    done = sluice("profile", "clicks", *words, "--in", "lab", "--in", "bench")
    assert done.exit_code == 0
    assert declared(cluster)["spec"] == {
        "job": "clicks",
        "from": "Earliest",
        "executors": [1, 2, 4],
        "budget": {"coreHours": 3.0, "wallTime": "3600s"},
        "parallel": 3,
        "namespaces": ["lab", "bench"],
    }


def test_the_price_is_told_before_anything_is_paid(cluster: FakeCluster) -> None:
    cluster.stores(resources.healthy())
    done = sluice("profile", "clicks", "--executors", "1,2,4")
    # 7 executors and 3 drivers of half a core, for 150 seconds each
    assert "3 copies, with 1, 2, 4 executors: about 0.35 of 2 core-hours, 5m" in done.stdout
    name = declared(cluster)["metadata"]["name"]
    assert f"kubectl get sp {name} -n shop -w" in done.stdout


def test_without_executors_it_is_told_that_others_may_be_measured() -> None:
    told = profiling.planned(job(executors={"min": 1, "max": 12}), profiling.Wish())
    assert "4 copies at most, with 1, 5, 8, 12 executors or others between them" in told


def test_who_waits_is_shown_what_was_measured(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.stores(resources.healthy())
    monkeypatch.setattr(profiling, "look", lambda *_: ended("Succeeded"))
    done = sluice("profile", "clicks", "--executors", "1,4", "--wait")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert "4 executors: Failed: 0/3 nodes" in lines
    assert lines[-3].split() == ["EXECUTORS", "ROWS/S", "ERROR", "BATCHES", "OVERHEAD"]
    assert lines[-2].split() == ["1", "12.3k", "2", "%", "9", "310ms"]
    assert lines[-1].endswith("may be higher")


def test_a_live_profile_is_declared_with_where_it_begins(cluster: FakeCluster) -> None:
    cluster.stores(resources.healthy())
    assert sluice("profile", "clicks", "--from", "latest").exit_code == 0
    assert declared(cluster)["spec"]["from"] == "Latest"


def test_a_live_profile_measures_just_what_is_told_before() -> None:
    wish = profiling.Wish(start=Start.LATEST)
    told = profiling.planned(job(executors={"min": 1, "max": 12}), wish)
    assert told.startswith("4 copies, with 1, 5, 8, 12 executors: ")


LATENCY = {"p50Seconds": 0.5, "p95Seconds": 1.4, "p99Seconds": 2.25}
LIVE = [
    {"executors": 1, "batches": 4}
    | {"latency": {**LATENCY, "arrivingRowsPerSecond": 12345.0, "keepsUp": False}},
    {"executors": 4, "batches": 20, "lowerBound": True}
    | {"latency": {**LATENCY, "arrivingRowsPerSecond": 12345.0, "keepsUp": True}},
]


def test_who_waits_for_a_live_profile_is_shown_latencies_and_what_does_not_keep_up() -> None:
    title, one, four = profiling.table({"status": {"points": LIVE}})
    assert title.split() == ["EXECUTORS", "P50", "P95", "P99", "ARRIVING/S", "BATCHES"]
    assert one.split()[:6] == ["1", "500ms", "1.4s", "2.2s", "12.3k", "4"]
    assert one.endswith("does not keep up")
    assert four.endswith("  may be higher")


def test_who_waits_for_what_fails_is_told_why(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.stores(resources.healthy())
    failed = ended("Failed", "NoCapacity", "0/3 nodes are available")
    monkeypatch.setattr(profiling, "look", lambda *_: failed)
    done = sluice("profile", "clicks", "--wait")
    assert done.exit_code == 1
    assert "NoCapacity: 0/3 nodes are available" in done.stdout


def test_each_news_of_a_copy_is_told_once(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.stores(resources.healthy())
    waiting = ended("Pending", "AnotherProfile", "clicks-0 is older")
    looks = [waiting, waiting, ended("Profiling"), ended("Profiling"), ended("Succeeded")]
    monkeypatch.setattr(profiling, "EVERY", 0.0)
    monkeypatch.setattr(profiling, "look", lambda *_: looks.pop(0))
    done = sluice("profile", "clicks", "--wait")
    assert done.stdout.count("4 executors: Failed") == 1
    assert done.stdout.count("AnotherProfile: clicks-0 is older") == 1


def test_a_cluster_that_is_away_for_a_while_does_not_end_the_wait(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.stores(resources.healthy())
    away = refusal(503, "etcd is away")
    answers = [Answer(ended("Profiling")), away, away, Answer(ended("Succeeded"))]

    def answer_otherwise(_: float) -> None:
        name = declared(cluster)["metadata"]["name"]
        cluster.answers[f"{PROFILES}/{name}"] = answers.pop(0)

    monkeypatch.setattr(profiling, "sleep", answer_otherwise)
    done = sluice("profile", "clicks", "--executors", "1,4", "--wait")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-1].endswith("may be higher")
    assert not answers


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--executors", "1,two"], "'two' is no number of executors; write for example 1,2,4"),
        (["--executors", "0"], "'0' is no number of executors"),
        (["--executors", "2,2"], "names the same number twice"),
        (["--core-hours", "0"], "0.0 is not in the range"),
        (["--wall-time", "5s"], "'5s' is too short; 60s is the least"),
        (["--parallel", "17"], "17 is not in the range"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_declared(
    cluster: FakeCluster, words: list[str], says: str
) -> None:
    cluster.stores(resources.healthy())
    done = sluice("profile", "clicks", *words)
    assert done.exit_code == 2
    assert says in done.stderr
    assert not [kind for kind, _, _ in cluster.objects._objects if kind == "streamprofiles"]


def test_a_cluster_without_the_kind_is_told_what_to_apply(cluster: FakeCluster) -> None:
    cluster.stores(resources.healthy())
    cluster.answers[PROFILES] = refusal(404, "the server could not find the requested resource")
    done = sluice("profile", "clicks")
    assert done.exit_code == 5
    assert "streamprofiles.sluice.dev is not installed" in done.stderr
    assert "kubectl apply --server-side -f crds/" in done.stderr


def test_who_may_only_look_may_not_profile(cluster: FakeCluster) -> None:
    cluster.stores(resources.healthy())
    cluster.answers[PROFILES] = refusal(403, "streamprofiles is forbidden")
    done = sluice("profile", "clicks")
    assert done.exit_code == 4
    assert "the role `edit` is enough" in done.stderr


def test_a_job_that_is_not_there_is_not_profiled(cluster: FakeCluster) -> None:
    cluster.stores(resources.healthy())
    done = sluice("profile", "click")
    assert done.exit_code == 5
    assert "Did you mean clicks?" in done.stderr
