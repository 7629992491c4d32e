"""What Prometheus and the metrics API answer becomes a course."""

import json
from dataclasses import dataclass, field
from subprocess import CompletedProcess
from typing import Any, cast

import pytest

from bench.closed_loop import gathering
from bench.closed_loop.scene import Scene
from bench.closed_loop.stage import Stage

SCENE = Scene(minutes=4)
BEGAN, READY = 1_000_000.0, 999_950.0


@dataclass
class Answers:
    """Stands for Prometheus and for kubectl: answers by a part of what is asked, and remembers the questions."""

    by_part: dict[str, Any]
    asked: list[str] = field(default_factory=list)

    def range(self, promql: str, *, start: float, end: float, step: float) -> Any:
        self.asked.append(promql)
        assert (start, end, step) == (BEGAN - 50, BEGAN + 300, 5)
        return next((told for part, told in self.by_part.items() if part in promql), [])

    def kubectl_process(self, *words: str) -> "CompletedProcess[str]":
        self.asked.append(words[-1])
        told = self.by_part["pods"]
        return CompletedProcess(words, returncode=1 if told is None else 0, stdout=json.dumps(told))


def stage(answers: Answers) -> Stage:
    return Stage(
        cluster=cast("Any", answers),
        namespace="loop-jobs",
        copies="loop-copies",
        home="loop-system",
        prometheus=cast("Any", answers),
        load=cast("Any", None),
    )


def series(*values: tuple[float, float], incarnation: str = "") -> dict[str, Any]:
    metric = {"sluice_dev_incarnation": incarnation} if incarnation else {}
    return {"metric": metric, "values": [[BEGAN + at, str(value)] for at, value in values]}


def test_samples_are_told_by_driver_and_moment_and_what_is_missing_is_unknown() -> None:
    answers = Answers(
        {
            "input_rows": [
                series((0, 400), (5, 800), incarnation="10"),
                series((15, 50), incarnation="11"),
            ],
            "last_commit": [series((5, BEGAN + 3.25), incarnation="10")],
            "executors_running": [series((0, 6), (10, 5))],
        }
    )
    found = gathering.course(stage(answers), SCENE, BEGAN, READY)
    at = {moment: place for place, moment in enumerate(found.times)}
    first, second = found.drivers
    assert (found.start, found.step, len(found.times)) == (-50, 5, 71)
    assert [first.rows[at[moment]] for moment in (-5, 0, 5, 10)] == [None, 400, 800, None]
    assert [second.rows[at[moment]] for moment in (10, 15, 20)] == [None, 50, None]
    assert first.committed[at[5]] == 3.25
    assert set(second.committed) == {None}
    assert [found.running[at[moment]] for moment in (0, 5, 10)] == [6, None, 5]
    assert set(found.wanted) == {None}


def test_only_rows_of_this_job_up_to_the_bound_are_asked_for() -> None:
    answers = Answers({})
    gathering.course(stage(answers), SCENE, BEGAN, READY)
    assert all('namespace="loop-jobs",job="enrichment"' in asked for asked in answers.asked)
    (bucket,) = (asked for asked in answers.asked if "_bucket" in asked)
    assert 'le="15.0"' in bucket


@pytest.mark.parametrize(
    ("usage", "millicores"), [("2500000n", 2.5), ("30m", 30), ("1", 1000), ("250u", 0.25)]
)
def test_the_cpu_of_executors_is_their_mean_in_millicores(usage: str, millicores: float) -> None:
    pod = {"containers": [{"usage": {"cpu": usage}}]}
    found = gathering.cpu(stage(Answers({"pods": {"items": [pod, pod]}})), lambda: 7.0)
    assert found is not None
    assert (found.at, found.executors) == (7.0, 2)
    assert found.millicores == pytest.approx(millicores, abs=0.01)


@pytest.mark.parametrize("told", [None, {"items": []}])
def test_cpu_that_nobody_tells_is_unknown(told: object) -> None:
    assert gathering.cpu(stage(Answers({"pods": told})), lambda: 7.0) is None
