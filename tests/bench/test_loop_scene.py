"""What all contenders go through, and what they are applied as."""

from typing import Any

import pytest

from bench.closed_loop import contenders, simulating
from bench.closed_loop.contenders import CONTENDERS, PROFILED
from bench.closed_loop.scene import Scene
from e2e.faults.catalogue import FAULTS
from jobs.load import traces
from sluice.catalogue.agent import RECORD_LATENCY

SCENE = Scene()


def test_the_load_swings_twice_between_its_ends_for_forty_minutes() -> None:
    rates = [SCENE.rate(second) for second in range(2400)]
    assert SCENE.seconds == 2400
    assert min(rates) == pytest.approx(100)
    assert max(rates) == pytest.approx(400)
    assert rates[:1200] == pytest.approx(rates[1200:])
    assert SCENE.rate(-1) == SCENE.rate(2400) == 0


def test_the_generator_is_told_the_load_that_the_lab_has() -> None:
    due = traces.schedule(traces.parse_trace(SCENE.trace), duration=60)
    sent = sum(tick.count for tick in due)
    simulated = simulating.trace(SCENE, prelude=100).rates[100:160].sum()
    assert sent == pytest.approx(simulated, rel=0.001)


def test_a_trial_has_all_of_the_load_and_all_failures_in_less_time() -> None:
    trial = Scene(minutes=4)
    assert [one.fault for one in trial.strikes] == [one.fault for one in SCENE.strikes]
    assert [one.at for one in trial.strikes] == [one.at / 10 for one in SCENE.strikes]
    assert trial.rate(30) == pytest.approx(SCENE.rate(300))


def test_failures_are_known_to_the_faults_campaign() -> None:
    assert {one.fault for one in SCENE.strikes} <= set(FAULTS)


def test_prometheus_counts_rows_up_to_the_very_bound() -> None:
    assert SCENE.bound in RECORD_LATENCY.buckets


def test_contenders_differ_in_scaling_alone_and_rest_while_they_are_profiled() -> None:
    def rest(contender: str) -> dict[str, Any]:
        body = contenders.stream_job(SCENE, contender)
        spec = {
            name: part for name, part in body["spec"].items() if name not in ("scaling", "suspend")
        }
        return {**body, "spec": spec}

    assert all(rest(name) == rest("static") for name in CONTENDERS)
    suspended = {
        name for name in CONTENDERS if contenders.stream_job(SCENE, name)["spec"]["suspend"]
    }
    assert suspended == PROFILED


@pytest.mark.parametrize("name", CONTENDERS)
def test_each_contender_is_a_valid_job_of_which_all_is_in_force(name: str) -> None:
    job = simulating.declared(SCENE, name)
    assert not job.not_in_force
    assert job.executors.initial == job.executors.maximum == SCENE.largest
    assert job.recovery_target is not None
    assert job.recovery_target.total_seconds() == SCENE.target
    assert job.scaling.chooses == (name in PROFILED)


def test_the_autoscaler_aims_at_whole_millicores_within_the_bounds() -> None:
    spec = contenders.autoscaler(SCENE, 23.7)["spec"]
    assert spec["metrics"][0]["resource"]["target"]["averageValue"] == "24m"
    assert (spec["minReplicas"], spec["maxReplicas"]) == (SCENE.smallest, SCENE.largest)
