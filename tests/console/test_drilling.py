"""`sluice drill`: what is checked before anything is killed, what is killed, and what is told of the recovery."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import click
import pytest
from click.testing import CliRunner

from sluice import cli
from sluice.console import drilling
from sluice.core.drilling.records import ANNOTATION
from sluice.ports import PODS, STREAM_JOBS, STREAM_PROFILES
from tests.console import resources
from tests.console.serving import FakeCluster, refusal
from tests.console.test_commands import sluice
from tests.support.jobs import NOW

Json = dict[str, Any]

EXECUTORS = ("clicks-3-exec-1", "clicks-3-exec-2")
PRESENT = {"cause": "DriverLoss", "incarnation": 4, "drilled": 3, "began": "2026-03-01T12:00:00Z"}
OLD = {**PRESENT, "incarnation": 3, "drilled": 2, "began": "2026-02-01T12:00:00Z", "caughtUp": 9.0}
ALL = {"allowed": ["Executor", "Driver"]}


def drillable(drills: Json | None = None, *, target: str = "2m", **changes: Any) -> Json:
    """A healthy job that may be drilled; it has been before."""
    recoveries = {"count": 1, "past": [OLD]}
    body = resources.healthy(**{"recoveries": recoveries, **changes})
    recovery = {"target": target, "drills": ALL if drills is None else drills}
    return {**body, "spec": {**body["spec"], "recovery": recovery}}


def pod(name: str, role: str) -> Json:
    labels = {"sluice.dev/job": "clicks", "sluice.dev/role": role}
    metadata = {"name": name, "namespace": "shop", "uid": f"uid-of-{name}", "labels": labels}
    return {"metadata": metadata, "status": {"phase": "Running"}}


@pytest.fixture
def shop(cluster: FakeCluster) -> FakeCluster:
    """A job that may be drilled, and its pods."""
    cluster.stores(drillable(decision={"likelyRecovery": 71.5, "expectedRecovery": 99.0}))
    for name, role in (("clicks-driver", "driver"), *((name, "executor") for name in EXECUTORS)):
        cluster.objects.put(PODS, pod(name, role))
    return cluster


class Operator:
    """What the operator writes, one step for each pause of the command."""

    def __init__(self, cluster: FakeCluster, **stages: float) -> None:
        self.cluster = cluster
        self.steps = self._steps(stages)

    def work(self, _: float) -> None:
        """The next step; when there is none any more the person presses Ctrl-C."""
        if next(self.steps, None) is None:
            raise KeyboardInterrupt

    def job(self) -> Json:
        found = self.cluster.objects.stored(STREAM_JOBS, "clicks")
        assert found is not None
        return found

    def asked(self) -> str | None:
        asked: str | None = self.job()["metadata"].get("annotations", {}).get(ANNOTATION)
        return asked

    def tells(self, **status: Any) -> None:
        body = self.job()
        self.cluster.stores({**body, "status": {**body["status"], **status}})

    def _steps(self, stages: dict[str, float]) -> Iterator[str]:
        self.tells(drill={"asked": self.asked(), "accepted": True, "done": False})
        yield "accepted"
        told: Json = dict(PRESENT)
        for stage, seconds in stages.items():
            told = {**told, stage: seconds}
            if stage == "caughtUp":
                self.tells(recoveries={"count": 2, "past": [OLD, told]})
            else:
                self.tells(recoveries={"count": 1, "past": [OLD], "present": told})
            yield stage


Work = Callable[..., Operator]


@pytest.fixture
def operator(shop: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> Work:
    """An operator that sees these stages, and by default all."""

    def start(**stages: float) -> Operator:
        told = stages or {"detection": 0.0, "container": 2.0, "session": 8.0, "firstBatch": 20.0}
        working = Operator(shop, **(told if stages else {**told, "caughtUp": 61.0}))
        monkeypatch.setattr(drilling, "sleep", working.work)
        return working

    return start


def pods(cluster: FakeCluster) -> set[str]:
    return {name for kind, _, name in cluster.objects._objects if kind == "pods"}


def deletions(cluster: FakeCluster) -> list[str]:
    return [call.name for call in cluster.objects.calls if call.verb == "delete"]


def test_a_driver_is_killed_and_its_recovery_told_stage_by_stage(
    shop: FakeCluster, operator: Work
) -> None:
    working = operator()
    done = sluice("drill", "clicks", "--kill", "driver", "--yes")
    assert done.exit_code == 0
    assert deletions(shop) == ["clicks-driver"]
    assert pods(shop) == set(EXECUTORS), "by force"
    assert "72s is predicted, the target is 2m" in done.stdout
    stages = [line.split(" s  ")[1] for line in done.stdout.splitlines() if " s  " in line]
    assert stages == ["seen", "container", "session", "first batch", "caught up"]
    assert "shop/clicks: recovered in 61s; the target of 2m is met; 72s had been predicted" in (
        done.stdout
    )
    assert working.asked() is None, "what is lost later is lost in earnest"


def test_the_operator_is_asked_for_what_is_killed(shop: FakeCluster, operator: Work) -> None:
    working = operator()
    assert sluice("drill", "clicks", "--pod", EXECUTORS[1], "--yes").exit_code == 0
    assert deletions(shop) == [EXECUTORS[1]]
    asked = working.job()["status"]["drill"]["asked"]
    assert asked.startswith(f"executor/{EXECUTORS[1]}@")


def test_without_a_name_some_executor_is_killed(shop: FakeCluster, operator: Work) -> None:
    operator()
    done = sluice("drill", "clicks", "--yes")
    assert done.exit_code == 0
    assert "nothing is predicted" in done.stdout, "the prediction is of a lost driver"
    assert len(deletions(shop)) == 1
    assert set(deletions(shop)) <= set(EXECUTORS)


def test_a_missed_target_is_told_by_the_exit_code(shop: FakeCluster, operator: Work) -> None:
    shop.stores(drillable(target="60s"))
    operator()
    done = sluice("drill", "clicks", "--kill", "driver", "--yes")
    assert done.exit_code == 1
    assert "the target of 60s is missed" in done.stdout


def test_data_stands_alone_on_the_output(shop: FakeCluster, operator: Work) -> None:
    operator()
    done = sluice("drill", "clicks", "--kill", "driver", "--yes", "-o", "json")
    told = json.loads(done.stdout)
    assert told["met"] is True
    assert told["killed"] == "Driver"
    assert told["pod"] == "clicks-driver"
    assert told["target"] == 120
    assert told["predicted"] == 71.5
    assert list(told["stages"]) == ["detection", "container", "session", "firstBatch", "caughtUp"]
    assert "first batch" in done.stderr


def test_who_does_not_agree_kills_nothing(shop: FakeCluster, operator: Work) -> None:
    operator()

    def run() -> None:
        raise SystemExit(cli.main(["drill", "clicks"]))

    done = CliRunner().invoke(click.Command("entry", callback=run), [], input="n\n")
    assert done.exit_code == 1
    assert "Nothing was killed" in done.output
    assert deletions(shop) == []


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (drillable({}), "spec.recovery.drills.allowed does not name Driver"),
        (resources.healthy(), "spec.recovery.drills.allowed does not name Driver"),
        (drillable({"allowed": ["Executor"]}), "Add Driver to allow it"),
        (drillable(executors={"wanted": 3, "running": 2}), "2 of 3 executors run"),
        (drillable(recoveries={"present": PRESENT}), "recovers already"),
        (drillable(conditions=resources.failing()["status"]["conditions"]), "is not Ready"),
    ],
)
def test_a_job_that_is_not_in_a_state_for_it_is_left_alone(
    shop: FakeCluster, operator: Work, body: Json, says: str
) -> None:
    working = operator()
    shop.stores(body)
    done = sluice("drill", "clicks", "--kill", "driver", "--yes")
    assert done.exit_code == 1
    assert says in done.stderr
    assert deletions(shop) == []
    assert working.asked() is None


def test_a_closed_window_is_told_with_the_next_one(shop: FakeCluster, operator: Work) -> None:
    operator()
    # Six hours from now, whatever the time of day is.
    start, end = (datetime.now(UTC) + timedelta(hours=6, minutes=minutes) for minutes in (0, 1))
    window = {"start": f"{start:%H:%M}", "end": f"{end:%H:%M}"}
    shop.stores(drillable({**ALL, "windows": [window]}))
    done = sluice("drill", "clicks", "--yes")
    assert done.exit_code == 1
    assert "is in no window of spec.recovery.drills.windows; the next begins at" in done.stderr
    assert deletions(shop) == []


def test_a_paused_or_suspended_job_is_not_drilled(shop: FakeCluster, operator: Work) -> None:
    operator()
    body = drillable()
    body["metadata"]["annotations"] = {"sluice.dev/paused": "true"}
    shop.stores(body)
    assert "kubectl sluice resume clicks" in sluice("drill", "clicks", "--yes").stderr
    body = drillable()
    shop.stores({**body, "spec": {**body["spec"], "suspend": True}})
    assert "is suspended" in sluice("drill", "clicks", "--yes").stderr


def test_a_job_that_is_profiled_is_not_drilled(shop: FakeCluster, operator: Work) -> None:
    operator()
    metadata = {"name": "clicks-1", "namespace": "shop"}
    body = {"metadata": metadata, "spec": {"job": "clicks"}, "status": {"phase": "Profiling"}}
    shop.objects.put(STREAM_PROFILES, body)
    done = sluice("drill", "clicks", "--yes")
    assert done.exit_code == 1
    assert "is being profiled by clicks-1" in done.stderr
    shop.objects.put(STREAM_PROFILES, {**body, "status": {"phase": "Failed"}})
    assert sluice("drill", "clicks", "--yes").exit_code == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--kill", "operator"], "'operator' is not one of"),
        (["--kill", "driver", "--pod", EXECUTORS[0]], "--pod names an executor"),
        (["--pod", "strange"], "'strange' is no running executor of shop/clicks"),
        (["--timeout", "1s"], "'1s' is too short; 10s is the least"),
    ],
)
def test_what_makes_no_sense_kills_nothing(
    shop: FakeCluster, operator: Work, words: list[str], says: str
) -> None:
    operator()
    done = sluice("drill", "clicks", "--yes", *words)
    assert done.exit_code == 2
    assert says in done.stderr
    assert deletions(shop) == []


def test_without_an_operator_nothing_is_killed(
    shop: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drilling, "ANSWERED_WITHIN", timedelta(0))
    done = sluice("drill", "clicks", "--yes")
    assert done.exit_code == 1
    assert "no operator has answered" in done.stderr
    assert "sluice doctor" in done.stderr
    assert deletions(shop) == []
    assert Operator(shop).asked() is None


def test_ctrl_c_before_the_answer_asks_for_nothing_any_more(
    shop: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(drilling, "sleep", interrupt)
    assert sluice("drill", "clicks", "--yes").exit_code == 130
    assert deletions(shop) == []
    assert Operator(shop).asked() is None


def test_a_refusal_of_the_operator_is_told(
    shop: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    working = Operator(shop)

    def refuse(_: float) -> None:
        told = {"asked": working.asked(), "accepted": False, "message": "1 of 2 executors run"}
        working.tells(drill=told)

    monkeypatch.setattr(drilling, "sleep", refuse)
    done = sluice("drill", "clicks", "--yes")
    assert done.exit_code == 1
    assert "the operator refuses, and nothing was killed: 1 of 2 executors run" in done.stderr
    assert deletions(shop) == []
    assert working.asked() is None


def test_who_may_not_delete_pods_is_told_and_leaves_no_annotation(
    shop: FakeCluster, operator: Work
) -> None:
    working = operator()
    path = f"/api/v1/namespaces/shop/pods/{EXECUTORS[0]}"
    shop.answers[path] = refusal(403, "pods is forbidden")
    done = sluice("drill", "clicks", "--yes", "--pod", EXECUTORS[0])
    assert done.exit_code == 4
    assert "pods is forbidden" in done.stderr
    assert "`edit` is enough to change jobs and to delete their pods" in done.stderr
    assert working.asked() is None


def test_ctrl_c_after_the_kill_says_that_the_operator_goes_on(
    shop: FakeCluster, operator: Work
) -> None:
    operator(detection=0.0, container=2.0)
    done = sluice("drill", "clicks", "--kill", "driver", "--yes")
    assert done.exit_code == 130
    assert "The operator goes on; look with: kubectl sluice history clicks -n shop" in done.stderr


def test_a_cluster_that_is_away_for_a_while_ends_no_drill(
    shop: FakeCluster, operator: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    working = operator()
    path = "/apis/sluice.dev/v1alpha1/namespaces/shop/streamjobs/clicks"
    is_away = iter([False, False, True, False])

    def work(seconds: float) -> None:
        shop.answers.pop(path, None)
        working.work(seconds)
        if next(is_away, False):
            shop.answers[path] = refusal(503, "etcd is away")

    monkeypatch.setattr(drilling, "sleep", work)
    assert sluice("drill", "clicks", "--kill", "driver", "--yes").exit_code == 0


def test_a_cluster_that_is_away_when_the_loss_is_seen_is_told_later_to_ask_for_no_drill(
    shop: FakeCluster, operator: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    working = operator()
    is_away = iter([True, True])

    def work(seconds: float) -> None:
        working.work(seconds)
        away = bool(deletions(shop)) and next(is_away, False)
        shop.refuses_patches = refusal(503, "etcd is away") if away else None

    monkeypatch.setattr(drilling, "sleep", work)
    assert sluice("drill", "clicks", "--kill", "driver", "--yes").exit_code == 0
    assert working.asked() is None


def test_what_does_not_recover_in_time_is_told(
    shop: FakeCluster, operator: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    working = operator(detection=0.0)
    clock = {"now": NOW}

    class Clock:
        def now(self) -> Any:
            return clock["now"]

    def work(seconds: float) -> None:
        if working.asked() is None:
            clock["now"] += timedelta(minutes=10)
        else:
            working.work(seconds)

    monkeypatch.setattr("sluice.console.acting.SystemClock", Clock)
    monkeypatch.setattr(drilling, "sleep", work)
    done = sluice("drill", "clicks", "--kill", "driver", "--yes", "--timeout", "5m")
    assert done.exit_code == 1
    assert "has not recovered within 5m" in done.stderr
    assert "kubectl sluice history clicks" in done.stderr
