"""From a stored StreamJob to the core's record: defaults and derived sizes."""

from datetime import timedelta
from typing import get_args

import pytest

from sluice.api import convert
from sluice.api.v1alpha1.objectives import Scaling
from sluice.core.deciding.policies.named import POLICIES
from sluice.core.objectives.budget import Objective
from sluice.core.objectives.verdicts import Gaps
from sluice.core.quantities import MEBIBYTE
from sluice.errors import InvalidSpec
from tests.support.jobs import application, job


def test_a_short_spec_gets_sensible_defaults() -> None:
    of = job(executors={})
    assert (of.executors.minimum, of.executors.maximum, of.executors.initial) == (1, 10, 1)
    assert of.restart.initial == timedelta(seconds=10)
    assert of.application.stop_deadline == timedelta(seconds=30)
    assert of.suspend is False
    assert of.not_in_force == ()


def test_a_job_starts_with_its_fewest_executors_unless_told_otherwise() -> None:
    assert job(executors={"min": 3, "max": 5}).executors.initial == 3
    assert job(executors={"min": 3, "max": 5, "initial": 4}).executors.initial == 4


@pytest.mark.parametrize(
    ("declared", "overhead"),
    [({}, 409), ({"memory": "512Mi"}, 384), ({"memoryOverhead": "64Mi"}, 64)],
)
def test_a_driver_has_forty_percent_overhead_and_at_least_384_mebibytes(
    declared: dict[str, str], overhead: int
) -> None:
    shape = job(application=application(driver=declared)).application.driver
    assert shape.overhead // MEBIBYTE == overhead


@pytest.mark.parametrize(("memory", "overhead"), [("1Gi", 384), ("8Gi", 819)])
def test_an_executor_has_ten_percent_overhead_and_at_least_384_mebibytes(
    memory: str, overhead: int
) -> None:
    assert job(executors={"memory": memory}).application.executor.overhead // MEBIBYTE == overhead


def test_an_executor_reserves_a_core_for_each_task_slot() -> None:
    assert job(executors={"cores": 3}).application.executor.cpu_request == 3000


@pytest.mark.parametrize(("cores", "taken", "slots"), [(4, None, 4), (4, "2", 2), (4, "3", 1)])
def test_an_executor_has_a_slot_for_each_task_for_which_it_has_the_cores(
    cores: int, taken: str | None, slots: int
) -> None:
    conf = {} if taken is None else {"spark.task.cpus": taken}
    spec = job(executors={"cores": cores}, application=application(sparkConf=conf))
    assert spec.executors.slots == slots
    assert spec.application.executor.cpu_request == 1000 * cores


def test_a_place_has_one_name_however_it_is_written() -> None:
    for path in ("a/b", "/a/b", "a//b/", "/a/b/"):
        of = job(checkpoint={"claim": "c", "path": path})
        assert of.checkpoint_location == "claim://shop/c/a/b"
        assert of.checkpoint.url == "file:///checkpoint/a/b"


def test_the_same_claim_in_another_namespace_is_another_place() -> None:
    assert job(namespace="a").checkpoint_location != job(namespace="b").checkpoint_location


def test_a_uri_is_one_place_with_and_without_a_slash_at_its_end() -> None:
    one, other = (job(checkpoint={"uri": f"s3a://b/c{end}"}) for end in ("", "/"))
    assert one.checkpoint_location == other.checkpoint_location == "s3a://b/c"


def test_an_objective_is_a_share_of_a_window_and_a_policy_for_gaps() -> None:
    declared = job(slo={"objective": 0.999, "window": "7d", "gaps": "Bad"}).objective
    assert declared == Objective(share=0.999, window=timedelta(days=7), gaps=Gaps.BAD)
    assert job().objective is None


def test_a_window_of_less_than_a_minute_is_taken_as_one() -> None:
    declared = job(slo={"window": "10s"}).objective
    assert declared is not None
    assert declared.slices == 1


def test_fields_that_this_version_only_stores_are_named() -> None:
    of = job(profiling={"enabled": True}, utility={}, recovery={"target": "1m"})
    assert of.not_in_force == ("recovery", "utility")
    assert job(scaling={"mode": "Auto"}, recovery={"target": "1m"}).not_in_force == ()


def test_an_interval_that_was_stored_when_shorter_ones_were_taken_is_the_shortest() -> None:
    assert job(scaling={"mode": "Auto", "interval": "1ms"}).scaling.interval == timedelta(seconds=5)
    assert job(scaling={"mode": "Auto", "interval": "6s"}).scaling.interval == timedelta(seconds=6)


def test_a_horizon_that_was_stored_when_shorter_ones_were_taken_is_still_read() -> None:
    assert job(scaling={"mode": "Auto", "horizon": "30s"}).scaling.horizon == timedelta(seconds=30)


def test_what_profiles_may_cost_is_read_in_the_cores_units() -> None:
    declared = {"enabled": True, "budget": {"coreHours": 0.5}, "maxShare": 0.1, "maxAge": "7d"}
    found = job(profiling=declared).profiling
    assert found.enabled
    assert (found.core_seconds, found.max_share, found.max_age) == (1800, 0.1, timedelta(days=7))


def test_copies_cannot_be_beside_their_job() -> None:
    with pytest.raises(InvalidSpec) as refusal:
        job(profiling={"namespaces": ["lab", "shop"]})
    assert "spec.profiling.namespaces[1]: 'shop'" in str(refusal.value)
    assert "name another namespace" in str(refusal.value)


def test_unknown_fields_of_a_newer_version_are_ignored() -> None:
    assert job(fieldOfAnotherVersion={"a": 1}).document == job().document


def test_defaults_written_out_are_no_change_of_the_spec() -> None:
    short = job(executors={})
    spelt = job(executors={"min": 1, "max": 10, "cores": 1, "memory": "1Gi"}, suspend=False)
    assert short.document == spelt.document


def test_a_document_read_again_stays_the_same() -> None:
    document = job(slo={"latency": {"bound": "5s"}}).document
    assert convert.spec_document(document) == document


def test_every_policy_that_there_is_can_be_declared_and_no_other() -> None:
    declared = get_args(Scaling.model_fields["policy"].annotation)
    assert set(declared) == set(POLICIES)
