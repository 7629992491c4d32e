"""What the operator exports of itself and of its jobs, and when it tells of them."""

import asyncio
from dataclasses import dataclass, replace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from sluice import catalogue
from sluice.catalogue.metric import Type
from sluice.core.application import JobKey
from sluice.core.deciding.decision import Veto
from sluice.core.deciding.judging import Outcome
from sluice.errors import ClusterUnavailable, Conflict
from sluice.ports import STREAM_JOBS, Json
from sluice.services.autoscaling import Autoscaler
from sluice.services.courses import Course
from sluice.services.fleet import Fleet
from sluice.services.metrics.jobs import JobsCollector
from sluice.services.metrics.profiles import ProfilesCollector
from sluice.services.operating import Operator, Scope
from sluice.services.profiles import Profiles
from tests.support.agents import MemoryAgents
from tests.support.cluster import MemoryCluster
from tests.support.courses import FORESEEN, course, decided
from tests.support.forecasts import LocalForecasts
from tests.support.jobs import NOW, resource
from tests.support.virtual_time import VirtualClock, in_virtual_time

SLO = {
    "latency": {"percentile": 0.95, "bound": "6s"},
    "throughput": {"minimum": 2000},
    "freshness": {"bound": "2m"},
    "objective": 0.99,
    "window": "28d",
}
STATUS = {
    "phase": "Running",
    "incarnation": 3,
    "failures": {"inARow": 2},
    "recoveries": {
        "count": 3,
        "past": [
            {"cause": "SpecChange", "began": "2026-03-01T10:00:00.000Z", "firstBatch": 9.0},
            {
                "cause": "DriverLoss",
                "began": "2026-03-01T11:00:00.000Z",
                "detection": 1.5,
                "firstBatch": 20.0,
                "caughtUp": 41.0,
            },
        ],
    },
    "executors": {"wanted": 4, "running": 1},
    "decision": {
        "wanted": 3,
        "executors": 4,
        "expectedLatency": 1.25,
        "likelyRecovery": 40.5,
        "expectedRecovery": 70.5,
    },
    "checkpoint": {"committedAt": "2026-03-01T12:00:30.000Z"},
    "conditions": [
        {"type": "Ready", "status": "True", "reason": "Running"},
        {"type": "Progressing", "status": "False", "reason": "NoBatch"},
        {"type": "DriverRunning", "status": "Unknown", "reason": "AgentSilent"},
    ],
}
JOB = {"namespace": "shop", "job": "clicks"}


def executor(name: str) -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": f"uid-of-{name}",
            "labels": {"sluice.dev/job": "clicks", "sluice.dev/role": "executor"},
        },
        "status": {"phase": "Running"},
    }


async def started(
    cluster: MemoryCluster, identity: str = "one"
) -> tuple[Operator, asyncio.Task[None]]:
    """An operator that has looked around and leads, if no other one does."""
    operator = Operator(
        cluster=cluster,
        agents=MemoryAgents(VirtualClock()),
        metrics=None,
        forecasts=LocalForecasts(),
        clock=VirtualClock(),
        scope=Scope(home="home", identity=identity),
        agent=b"packed",
        fresh_key=b"fresh",
    )
    task = asyncio.create_task(operator.run())
    await asyncio.sleep(1)
    await operator.refresh()
    return operator, task


def samples(registry: CollectorRegistry, name: str) -> dict[tuple[str, ...], float]:
    """The samples of a metric, by the values of its labels without the job's."""
    return {
        tuple(value for label, value in sample.labels.items() if label not in JOB): sample.value
        for family in text_string_to_metric_families(generate_latest(registry).decode())
        for sample in family.samples
        if sample.name == name
    }


def scaled() -> Course:
    """A course with all there is to tell of it."""
    seen = course()
    seen.has_decided(decided(2, 4), FORESEEN)
    kept = decided(4, 4, wanted=3, veto=Veto("cool-down", "so soon"))
    expected = replace(kept.decision, expected_latency=1.25, expected_recovery=70.5)
    seen.has_decided(replace(kept, decision=expected, likely_recovery=40.5), FORESEEN)
    seen.predicted_recovery = 38.5
    seen.tally.judged[Outcome.HARMFUL] += 1
    return seen


@dataclass(frozen=True, slots=True)
class Told:
    """A fleet, and the registry that tells of its jobs."""

    fleet: Fleet
    registry: CollectorRegistry


def told_job() -> Told:
    """One job that has all there is to tell of it."""
    fleet, registry = Fleet(), CollectorRegistry()
    collector = JobsCollector(fleet, {JobKey("shop", "clicks"): scaled()}.get)
    collector.leads = True
    registry.register(collector)
    fleet.see_job({**resource(slo=SLO, recovery={"target": "3m"}), "status": STATUS})
    for name in ("one", "two"):
        fleet.see_pod(executor(name))
    return Told(fleet, registry)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("sluice_jobs", {("Running",): 1, ("Failed",): 0, ("Unseen",): 0}),
        ("sluice_job_phase", {("Running",): 1}),
        ("sluice_job_condition", {("Ready",): 1, ("Progressing",): 0}),
        ("sluice_job_created_timestamp_seconds", {(): NOW.timestamp()}),
        ("sluice_job_driver_starts_total", {(): 3}),
        ("sluice_job_failures_in_a_row", {(): 2}),
        ("sluice_job_recoveries_total", {(): 3}),
        (
            "sluice_job_last_recovery_seconds",
            {
                ("DriverLoss", "no", "detection"): 1.5,
                ("DriverLoss", "no", "firstBatch"): 20.0,
                ("DriverLoss", "no", "caughtUp"): 41.0,
            },
        ),
        ("sluice_job_last_commit_timestamp_seconds", {(): NOW.timestamp() + 30}),
        ("sluice_job_executors_wanted", {(): 4}),
        ("sluice_job_executors_running", {(): 2}),
        ("sluice_job_policy_executors", {(): 3}),
        ("sluice_job_decided_executors", {(): 4}),
        ("sluice_job_expected_latency_seconds", {(): 1.25}),
        ("sluice_job_likely_recovery_seconds", {(): 40.5}),
        ("sluice_job_expected_recovery_seconds", {(): 70.5}),
        (
            "sluice_job_decisions_total",
            {("", "changed"): 1, ("", "held"): 0, ("cool-down", "kept"): 1},
        ),
        ("sluice_job_rescales_total", {("Live",): 1, ("Restart",): 0}),
        (
            "sluice_job_rescales_judged_total",
            {("Good",): 0, ("Harmful",): 1, ("Inconclusive",): 0},
        ),
        (
            "sluice_job_forecast_rows_per_second",
            {("rate",): 900, ("low",): 800, ("high",): 1000},
        ),
        (
            "sluice_job_capacity_rows_per_second",
            {("rate",): 2000, ("low",): 1800, ("high",): 2200},
        ),
        ("sluice_job_last_loss_likely_recovery_seconds", {(): 38.5}),
        ("sluice_job_slo_objective_ratio", {(): 0.99}),
        ("sluice_job_slo_window_seconds", {(): 28 * 86400}),
        ("sluice_job_slo_latency_bound_seconds", {(): 6}),
        ("sluice_job_slo_latency_share_ratio", {(): 0.95}),
        ("sluice_job_slo_latency_bucket_weight", {("5.0",): 0.6, ("7.5",): 0.4}),
        ("sluice_job_slo_throughput_rows_per_second", {(): 2000}),
        ("sluice_job_slo_freshness_bound_seconds", {(): 120}),
        ("sluice_job_recovery_target_seconds", {(): 180}),
    ],
)
def test_a_job_is_told_as_its_spec_and_status_have_it(
    name: str, told: dict[tuple[str, ...], float]
) -> None:
    found = samples(told_job().registry, name)
    assert found == pytest.approx({**found, **told})
    if name != "sluice_jobs":
        assert set(found) == set(told)


def test_what_a_job_does_not_declare_is_left_out() -> None:
    told = told_job()
    told.fleet.see_job(resource("plain"))

    of_jobs = {
        family.name: {sample.labels.get("job") for sample in family.samples}
        for family in told.registry.collect()
    }
    assert "plain" in of_jobs["sluice_job_phase"]
    assert "plain" not in of_jobs["sluice_job_slo_objective_ratio"]
    assert "plain" not in of_jobs["sluice_job_decisions"]
    assert "plain" not in of_jobs["sluice_job_last_commit_timestamp_seconds"]


def test_a_duration_of_other_rules_is_not_known() -> None:
    told = told_job()
    changed = resource(slo={"window": "a month"}, generation=2)
    changed["metadata"]["resourceVersion"] = "2"
    told.fleet.see_job(changed)
    assert samples(told.registry, "sluice_job_slo_window_seconds") == {}


@in_virtual_time
async def test_the_operator_exports_the_catalogue_s_part(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = MemoryCluster()
    cluster.put(STREAM_JOBS, {**resource(slo=SLO, recovery={"target": "3m"}), "status": STATUS})
    monkeypatch.setattr(Autoscaler, "course", lambda *_: scaled())
    monkeypatch.setattr(Autoscaler, "decided", lambda *_: scaled().decided)
    operator, task = await started(cluster)
    operator.job_changed(resource("refused", checkpoint={"claim": "one"}))
    cluster.refuse("apply", STREAM_JOBS, ClusterUnavailable("gone"))
    await asyncio.sleep(1)
    operator.profile_changed(_profile("runs", {"phase": "Profiling"}))

    exported = {family.name: family for family in operator.registry.collect()}
    declared = {metric.name.removesuffix("_total"): metric for metric in catalogue.OPERATOR}
    assert set(exported) == set(declared)
    for name, family in exported.items():
        assert family.type == str(declared[name].type)
        added = {"le"} if declared[name].type is Type.HISTOGRAM else set()
        assert family.samples, name
        for sample in family.samples:
            assert set(sample.labels) - added == set(declared[name].labels) - added, name
    task.cancel()


@in_virtual_time
async def test_only_the_operator_that_leads_tells_of_jobs() -> None:
    cluster = MemoryCluster()
    cluster.put(STREAM_JOBS, resource())
    first, one = await started(cluster)
    second, other = await started(cluster, "two")
    second.job_changed(resource())

    assert samples(first.registry, "sluice_operator_leader") == {(): 1}
    assert samples(second.registry, "sluice_operator_leader") == {(): 0}
    assert samples(first.registry, "sluice_job_phase") != {}
    assert samples(second.registry, "sluice_job_phase") == {}
    one.cancel()
    other.cancel()


@in_virtual_time
async def test_looks_and_requests_are_counted_with_what_became_of_them() -> None:
    cluster = MemoryCluster()
    cluster.put(STREAM_JOBS, resource())
    cluster.refuse("apply", STREAM_JOBS, ClusterUnavailable("gone"), Conflict("changed"))
    operator, task = await started(cluster)
    await asyncio.sleep(5)

    looks = samples(operator.registry, "sluice_operator_reconcile_duration_seconds_count")
    assert looks[()] >= 3
    assert samples(operator.registry, "sluice_operator_reconcile_errors_total") == {
        ("ClusterUnavailable",): 1,
        ("Conflict",): 1,
    }
    requests = samples(operator.registry, "sluice_operator_api_requests_total")
    by_label = {frozenset(labels): count for labels, count in requests.items()}
    assert by_label[frozenset({"apply", "streamjobs", "ClusterUnavailable"})] == 1
    assert by_label[frozenset({"create", "pods", "ok"})] == 1
    task.cancel()


@in_virtual_time
async def test_the_last_event_is_the_last_thing_that_a_watch_brought() -> None:
    operator, task = await started(MemoryCluster())
    begin = samples(operator.registry, "sluice_operator_last_watch_event_timestamp_seconds")[()]
    await asyncio.sleep(100)
    operator.pod_gone(executor("one"))

    found = samples(operator.registry, "sluice_operator_last_watch_event_timestamp_seconds")[()]
    assert found == pytest.approx(begin + 101)
    task.cancel()


def test_of_a_profile_under_way_it_is_told_what_it_takes_and_may_take() -> None:
    profiles, registry = Profiles(), CollectorRegistry()
    collector = ProfilesCollector(profiles)
    registry.register(collector)
    profiles.see(_profile("runs", {"phase": "Profiling", "spent": {"coreSeconds": 1234.5}}))
    profiles.see(_profile("over", {"phase": "Succeeded", "endedAt": "2026-03-01T08:00:00Z"}))

    def told(name: str) -> dict[str, float]:
        return {
            sample.labels["profile"]: sample.value
            for family in registry.collect()
            for sample in family.samples
            if sample.name == name
        }

    assert told("sluice_profile_core_seconds") == {}, "who does not lead tells nothing"
    collector.leads = True
    assert told("sluice_profile_core_seconds") == {"runs": 1234.5}
    assert told("sluice_profile_budget_core_seconds") == {"runs": 3600}


def _profile(name: str, status: Json) -> Json:
    return {
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "StreamProfile",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": f"uid-of-{name}",
            "resourceVersion": "1",
            "generation": 1,
            "creationTimestamp": "2026-03-01T07:00:00Z",
        },
        "spec": {"job": "clicks", "executors": [1, 2], "budget": {"coreHours": 1}},
        "status": status,
    }
