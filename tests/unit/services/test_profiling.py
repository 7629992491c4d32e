"""From a StreamProfile to points: copies are made behind their guards, measured and removed."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from prometheus_client.exposition import generate_latest

from sluice.errors import ClusterUnavailable, InvalidSpec, NotFound, Problem
from sluice.ports import (
    CLAIMS,
    CONFIG_MAPS,
    DISRUPTION_BUDGETS,
    EVENTS,
    LEASES,
    LIMIT_RANGES,
    NAMESPACES,
    NETWORK_POLICIES,
    PODS,
    RESOURCE_QUOTAS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    STREAM_JOBS,
    STREAM_PROFILES,
    Json,
)
from sluice.services import profiling
from sluice.services.operating import Operator, Scope
from tests.support import pods
from tests.support.agents import MemoryAgents
from tests.support.backlogs import Backlog
from tests.support.cluster import MemoryCluster
from tests.support.forecasts import LocalForecasts
from tests.support.jobs import resource
from tests.support.profiles import profile_resource
from tests.support.virtual_time import VirtualClock, in_virtual_time

SOURCES = [{"kafka": {"bootstrapServers": ["kafka:9092"], "topics": ["clicks"]}}]
INSIDE = (
    PODS,
    STREAM_JOBS,
    CONFIG_MAPS,
    CLAIMS,
    RESOURCE_QUOTAS,
    LIMIT_RANGES,
    NETWORK_POLICIES,
    SECRETS,
    SERVICE_ACCOUNTS,
    ROLES,
    ROLE_BINDINGS,
    LEASES,
    DISRUPTION_BUDGETS,
    EVENTS,
)
"""What may be in a namespace."""

ENDING = "0123u"
"""What the names of the namespaces of the profile's copies end with."""


class Place:
    """A cluster with its controllers and kubelets, played; each copy reads a backlog of its own."""

    def __init__(self, **backlog: Any) -> None:
        self.cluster = MemoryCluster()
        self.cluster.watchers.append(self._changed)
        self.clock = VirtualClock()
        self.agents = MemoryAgents(self.clock)
        self.backlogs: dict[str, Backlog] = {}
        self.operators: list[Operator] = []
        self.are_nodes_full = False
        self.last_words = ""
        """What drivers of copies end with, if they end at all."""
        self._backlog = backlog

    def operator(self, identity: str = "one", namespaces: tuple[str, ...] = ()) -> Operator:
        """An operator's process, which watches the cluster."""
        made = Operator(
            cluster=self.cluster,
            agents=self.agents,
            metrics=None,
            forecasts=LocalForecasts(),
            clock=self.clock,
            scope=Scope(namespaces=namespaces, home="sluice", identity=identity),
            agent=b"packed",
            fresh_key=b"fresh",
        )
        self.operators = [made]
        return made

    def profiled(self, **spec: Any) -> Json:
        """A user declares a profile of the job."""
        return self.cluster.put(STREAM_PROFILES, profile_resource(**spec))

    async def lives(self, seconds: float) -> None:
        """So much time goes by."""
        for _ in range(int(seconds)):
            await asyncio.sleep(1)
            for namespace in self._namespaces():
                self._start_pods(namespace)
                self._let_pods_go(namespace)
            for address, backlog in self.backlogs.items():
                backlog.most_rows = self.agents.limits.get(address) or backlog.most_rows

    @property
    def copies(self) -> dict[str, Json]:
        """The StreamJobs outside of shop, by their namespaces."""
        found = {}
        for namespace in self._namespaces():
            job = self.cluster.stored(STREAM_JOBS, "clicks", namespace)
            if job is not None:
                found[namespace] = job
        return found

    @property
    def places(self) -> set[str]:
        """The namespaces that the operator has made and not removed."""
        return {name for name in self._namespaces() if self.cluster.stored(NAMESPACES, name, "")}

    def status(self, name: str = "clicks-1") -> Json:
        """The status of the profile."""
        found = self.cluster.stored(STREAM_PROFILES, name)
        assert found is not None
        status: Json = found.get("status", {})
        return status

    def complete(self) -> Json:
        """Its condition Complete."""
        (found,) = [one for one in self.status()["conditions"] if one["type"] == "Complete"]
        return dict(found)

    def _namespaces(self) -> set[str]:
        return {
            space for _, space, _ in self.cluster._objects if space not in ("", "shop", "sluice")
        } | {name for kind, _, name in self.cluster._objects if kind == "namespaces"}

    def _start_pods(self, namespace: str) -> None:
        pod = self.cluster.stored(PODS, "clicks-driver", namespace)
        if pod is None or "status" in pod or self.are_nodes_full:
            return
        if self.last_words:
            self.cluster.put(
                PODS, pods.failed(pod, exit_code=96, message=self.last_words, at=self.clock.now())
            )
            return
        address = f"10.0.0.{len(self.backlogs) + 1}"
        running = pods.running(pod, since=self.clock.now())
        running["status"]["podIP"] = address
        job = self.cluster.stored(STREAM_JOBS, "clicks", namespace)
        assert job is not None
        backlog = Backlog(job["spec"]["executors"]["max"], self.clock.now(), **self._backlog)
        self.backlogs[address] = backlog
        self.agents.reports[address] = backlog.told
        self.cluster.put(PODS, running)

    def _let_pods_go(self, namespace: str) -> None:
        """The kubelet has stopped what is being deleted."""
        pod = self.cluster.stored(PODS, "clicks-driver", namespace)
        if pod is not None and "deletionTimestamp" in pod["metadata"]:
            self.cluster.remove(PODS, namespace, "clicks-driver")

    def _changed(self, kind: str, plural: str, body: Json) -> None:
        if kind == "DELETED":
            self._collect(plural, body)
        for operator in self.operators:
            told = {
                "streamjobs": (operator.job_changed, operator.job_gone),
                "streamprofiles": (operator.profile_changed, operator.profile_gone),
                "pods": (operator.pod_changed, operator.pod_gone),
            }.get(plural)
            if told is not None:
                told[kind == "DELETED"](body)

    def _collect(self, plural: str, body: Json) -> None:
        """What Kubernetes' own controllers remove after something."""
        name = body["metadata"]["name"]
        if plural == "namespaces":
            for inner, space, other in list(self.cluster._objects):
                if space == name and (inner, space, other) in self.cluster._objects:
                    kind = next(kind for kind in INSIDE if kind.plural == inner)
                    self.cluster.remove(kind, space, other)
        if plural == "streamjobs":
            space = body["metadata"]["namespace"]
            if self.cluster.stored(PODS, f"{name}-driver", space):
                self.cluster.remove(PODS, space, f"{name}-driver")


@asynccontextmanager
async def working(operator: Operator) -> AsyncIterator[None]:
    """An operator's process, for a while."""
    task = asyncio.create_task(operator.run())
    try:
        yield
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def place(
    namespaces: tuple[str, ...] = (), job: dict[str, Any] | None = None, **backlog: Any
) -> AsyncIterator[Place]:
    """A cluster with the job clicks and an operator."""
    here = Place(**backlog)
    here.cluster.put(STREAM_JOBS, resource(**{"sources": SOURCES, **(job or {})}))
    async with working(here.operator(namespaces=namespaces)):
        await here.lives(2)
        yield here


@in_virtual_time
async def test_a_profile_ends_with_the_points_that_were_asked_for_and_leaves_nothing_behind() -> (
    None
):
    async with place() as here:
        here.profiled(executors=[1, 2, 4])
        await here.lives(400)
        assert here.status()["phase"] == "Succeeded"
        points = here.status()["points"]
        assert [point["executors"] for point in points] == [1, 2, 4]
        for point in points:
            assert point["rowsPerSecond"] == pytest.approx(1000 * point["executors"], rel=0.05)
            assert not point["lowerBound"]
        assert here.complete()["status"] == "True"
        assert here.copies == {}
        assert here.places == set()
        assert 0 < here.status()["spent"]["coreSeconds"] < 7200


@in_virtual_time
async def test_people_are_told_of_copies_and_of_the_end_by_events() -> None:
    async with place() as here:
        here.profiled(executors=[2])
        await here.lives(200)
        events = [call.body for call in here.cluster.calls if call.plural == "events"]
        told = [one["reason"] for one in events if one["involvedObject"]["name"] == "clicks-1"]
        assert told == ["CopyStarting", "CopyMeasured", "Profiled"]


@in_virtual_time
async def test_copies_are_not_among_the_metrics_of_jobs() -> None:
    async with place() as here:
        here.profiled(executors=[2])
        await here.lives(20)
        assert here.copies
        (operator,) = here.operators
        await operator.refresh()
        told = generate_latest(operator.registry).decode()
        assert 'namespace="shop"' in told
        assert ENDING not in told


@in_virtual_time
async def test_a_copy_comes_after_its_guards() -> None:
    async with place() as here:
        here.profiled(executors=[2])
        await here.lives(5)
        namespace = f"clicks-1-x2-{ENDING}"
        assert set(here.copies) == {namespace}
        made = [call for call in here.cluster.calls if call.verb == "create"]
        order = [call.plural for call in made if call.plural not in ("pods", "leases", "secrets")]
        kinds = [NAMESPACES, RESOURCE_QUOTAS, LIMIT_RANGES, NETWORK_POLICIES, CLAIMS, STREAM_JOBS]
        places = [order.index(kind.plural) for kind in kinds]
        assert places == sorted(places)
        assert here.cluster.stored(CLAIMS, "clicks-x2-profile", namespace) is not None


@in_virtual_time
async def test_the_driver_of_a_copy_is_told_to_drop_what_it_would_write() -> None:
    async with place() as here:
        here.profiled(executors=[2])
        await here.lives(5)
        pod = here.cluster.stored(PODS, "clicks-driver", f"clicks-1-x2-{ENDING}")
        assert pod is not None
        (container,) = pod["spec"]["containers"]
        variables = {one["name"]: one.get("value") for one in container["env"]}
        orders = json.loads(variables["SLUICE_PROFILE"])
        assert orders["sinks"] == "drop"
        assert orders["checkpoint"].startswith("file:///checkpoint/")
        assert variables["SLUICE_KAFKA_BOOTSTRAP_SERVERS"] == "kafka.shop:9092"
        assert variables["SLUICE_EXECUTORS"] == "2"


@in_virtual_time
async def test_what_is_decided_is_in_the_status_before_it_is_done() -> None:
    async with place() as here:
        here.profiled(executors=[2])
        await here.lives(5)
        calls = [
            call for call in here.cluster.calls if call.plural in ("streamprofiles", "namespaces")
        ]
        assert [call.verb for call in calls[:2]] == ["apply", "create"]
        assert calls[0].body["status"]["copies"][0]["namespace"] == calls[1].name


@in_virtual_time
async def test_another_operator_goes_on_where_one_stopped() -> None:
    here = Place()
    here.cluster.put(STREAM_JOBS, resource(sources=SOURCES))
    async with working(here.operator("first")):
        here.profiled(executors=[1, 2])
        await here.lives(15)
        assert len(here.copies) == 2
    async with working(here.operator("second")):
        for job in (*here.copies.values(), here.cluster.stored(STREAM_JOBS, "clicks")):
            here.operators[0].job_changed(job or {})
        await here.lives(300)
    assert here.status()["phase"] == "Succeeded"
    made = [call for call in here.cluster.calls if str(call) == "create streamjobs/clicks"]
    assert len(made) == 2
    assert here.places == set()


@in_virtual_time
async def test_a_copy_that_was_not_made_when_the_operator_ended_is_made_by_the_next() -> None:
    here = Place()
    here.cluster.put(STREAM_JOBS, resource(sources=SOURCES))
    here.cluster.refuse("create", NAMESPACES, *[ClusterUnavailable("away")] * 50)
    async with working(here.operator("first")):
        here.profiled(executors=[2])
        await here.lives(2)
        assert here.status()["copies"]
        assert here.copies == {}
    here.cluster.answer_again()
    async with working(here.operator("second")):
        await here.lives(20)
        assert len(here.copies) == 1


@in_virtual_time
async def test_copies_go_with_their_profile() -> None:
    async with place() as here:
        here.profiled(executors=[1, 2])
        await here.lives(20)
        assert len(here.places) == 2
        here.cluster.remove(STREAM_PROFILES, "shop", "clicks-1")
        await here.lives(5)
        assert here.places == set()
        assert here.copies == {}


@in_virtual_time
async def test_copies_whose_profile_went_while_no_operator_was_there_are_removed() -> None:
    here = Place()
    here.cluster.put(STREAM_JOBS, resource(sources=SOURCES))
    async with working(here.operator("first")):
        here.profiled(executors=[1, 2])
        await here.lives(20)
    here.operators = []
    here.cluster.remove(STREAM_PROFILES, "shop", "clicks-1")
    assert len(here.places) == 2
    async with working(here.operator("second")):
        await here.lives(20)
    assert here.places == set()


@in_virtual_time
async def test_namespaces_that_only_look_like_a_copys_are_left_alone() -> None:
    async with place() as here:
        labels = {"sluice.dev/profile": "0123-uid-of-nobody"}
        named = {"sluice.dev/profile-name": "shop/nobody", "sluice.dev/profiled-job": "shop/clicks"}
        metadata = {"name": "precious", "labels": labels, "annotations": named}
        here.cluster.put(NAMESPACES, {"metadata": metadata})
        await here.lives(profiling.EVERY + 5)
        assert "precious" in here.places


@in_virtual_time
async def test_a_job_without_a_source_that_can_be_read_again_is_not_copied() -> None:
    async with place(job={"sources": []}) as here:
        here.profiled()
        await here.lives(5)
        assert here.status()["phase"] == "Failed"
        assert here.complete()["reason"] == "NotReplayable"
        assert here.places == set()


@in_virtual_time
async def test_a_profile_of_no_job_says_so() -> None:
    async with place() as here:
        here.profiled(job="views")
        await here.lives(5)
        assert here.complete()["reason"] == "JobNotFound"
        assert "'views'" in here.complete()["message"]


@in_virtual_time
async def test_a_wrong_spec_is_told_and_nothing_is_made() -> None:
    async with place() as here:
        here.profiled(namespaces=["shop"])
        await here.lives(5)
        (valid,) = [one for one in here.status()["conditions"] if one["type"] == "SpecValid"]
        assert (valid["status"], valid["reason"]) == ("False", "InvalidSpec")
        assert "spec.namespaces[0]" in valid["message"]
        assert here.copies == {}


@in_virtual_time
async def test_two_profiles_of_a_job_run_one_after_the_other() -> None:
    async with place() as here:
        here.profiled(name="clicks-1", executors=[1])
        here.profiled(name="clicks-2", executors=[2])
        await here.lives(20)
        assert [job["spec"]["executors"]["max"] for job in here.copies.values()] == [1]
        assert here.status("clicks-2")["phase"] == "Pending"
        await here.lives(400)
        assert here.status("clicks-1")["phase"] == "Succeeded"
        assert here.status("clicks-2")["phase"] == "Succeeded"


@in_virtual_time
async def test_what_a_former_profile_has_measured_is_not_measured_again() -> None:
    async with place() as here:
        here.profiled(name="clicks-1", executors=[1, 8])
        await here.lives(300)
        here.profiled(name="clicks-2", executors=[])
        await here.lives(400)
        assert here.status("clicks-2")["phase"] == "Succeeded"
        measured = [copy["executors"] for copy in here.status("clicks-2")["copies"]]
        assert 1 not in measured
        assert 8 not in measured
        known = [point["executors"] for point in here.status("clicks-2")["points"]]
        assert {1, 8} < set(known)


@in_virtual_time
async def test_a_quota_that_a_copy_does_not_fit_in_is_told() -> None:
    async with place() as here:
        told = [Problem("clicks", None, "exceeded quota: claims")]
        here.cluster.refuse("create", CLAIMS, InvalidSpec(told))
        here.profiled(executors=[2])
        await here.lives(20)
        assert here.complete()["reason"] == "QuotaExceeded"
        assert "exceeded quota: claims" in here.complete()["message"]
        assert here.places == set()


@in_virtual_time
async def test_a_quota_that_the_copys_own_claim_has_used_up_refuses_nothing() -> None:
    async with place() as here:
        here.profiled(executors=[2])
        await here.lives(1)
        (namespace,) = here.copies
        told = [Problem("clicks", None, "exceeded quota: claims")]
        here.cluster.refuse("create", CLAIMS, InvalidSpec(told))
        here.cluster.remove(STREAM_JOBS, namespace, "clicks")
        await here.lives(5)
        assert [*here.copies] == [namespace], here.status()


@in_virtual_time
async def test_copies_that_find_no_room_are_given_up_and_removed() -> None:
    async with place() as here:
        here.are_nodes_full = True
        here.profiled(executors=[2])
        await here.lives(400)
        assert here.complete()["reason"] == "NoCapacity"
        assert here.places == set()


@in_virtual_time
async def test_a_program_that_cannot_be_read_again_is_told_in_its_agents_words() -> None:
    async with place() as here:
        here.last_words = '{"class": "NotReplayable", "message": "it reads a socket"}'
        here.profiled(executors=[1, 2, 4])
        await here.lives(30)
        assert here.complete()["reason"] == "NotReplayable"
        assert "it reads a socket" in here.complete()["message"]
        assert len(here.status()["copies"]) == 2
        assert here.places == set()


@in_virtual_time
async def test_a_copy_whose_driver_fails_twice_is_given_up() -> None:
    async with place() as here:
        here.last_words = '{"class": "ValueError", "message": "no such topic"}'
        here.profiled(executors=[2])
        await here.lives(60)
        assert here.complete()["reason"] == "CopyFailed"
        assert "no such topic" in here.complete()["message"]
        drivers = [call for call in here.cluster.calls if str(call) == "create pods/clicks-driver"]
        assert len([call for call in drivers if "x2" in call.body["metadata"]["namespace"]]) == 2
        assert here.places == set()


@in_virtual_time
async def test_a_source_with_too_little_history_is_told() -> None:
    async with place(rows=6000.0) as here:
        here.profiled(executors=[2])
        await here.lives(120)
        assert here.complete()["reason"] == "HistoryTooShort"


@in_virtual_time
async def test_a_job_that_changes_meanwhile_ends_its_profile() -> None:
    async with place() as here:
        here.profiled(executors=[2])
        await here.lives(20)
        changed = resource(
            sources=SOURCES,
            generation=2,
            application={"image": "shop/clicks:2", "mainFile": "/opt/clicks.py"},
        )
        here.cluster.put(STREAM_JOBS, changed)
        await here.lives(5)
        assert here.complete()["reason"] == "Superseded"
        await here.lives(5)
        assert here.places == set()


@in_virtual_time
async def test_config_maps_of_the_job_come_along_and_secrets_do_not() -> None:
    variable = {"configMapKeyRef": {"name": "tuning", "key": "a"}}
    application = {
        **resource()["spec"]["application"],
        "environment": [{"name": "A", "valueFrom": variable}],
    }
    async with place(job={"application": application}) as here:
        tuning = {"metadata": {"name": "tuning", "namespace": "shop"}, "data": {"a": "1"}}
        here.cluster.put(CONFIG_MAPS, tuning)
        here.profiled(executors=[2])
        await here.lives(5)
        copied = here.cluster.stored(CONFIG_MAPS, "tuning", f"clicks-1-x2-{ENDING}")
        assert copied is not None
        assert copied["data"] == {"a": "1"}


@in_virtual_time
async def test_an_operator_of_some_namespaces_uses_those_that_are_listed_for_it() -> None:
    async with place(("shop", "lab")) as here:
        here.profiled(executors=[1, 2])
        await here.lives(5)
        assert here.complete()["reason"] == "Refused"
        assert "spec.namespaces" in here.complete()["message"]
        here.cluster.remove(STREAM_PROFILES, "shop", "clicks-1")
        here.profiled(executors=[1, 2], namespaces=["lab"])
        await here.lives(20)
        assert set(here.copies) == {"lab"}
        await here.lives(400)
        assert here.status()["phase"] == "Succeeded"
        assert here.copies == {}
        assert here.cluster.stored(CLAIMS, "clicks-x1-profile", "lab") is None
        assert not any(call.plural == "namespaces" for call in here.cluster.calls)


@in_virtual_time
async def test_nothing_is_left_in_a_users_namespace_by_an_operator_that_ends_in_the_middle() -> (
    None
):
    here = Place()
    here.cluster.put(STREAM_JOBS, resource(sources=SOURCES))
    async with working(here.operator("first", ("shop", "lab"))):
        here.profiled(executors=[1], namespaces=["lab"])
        await here.lives(20)
        here.cluster.refuse("delete", CLAIMS, *[ClusterUnavailable("away")] * 500)
        await here.lives(150)
        assert here.status()["phase"] == "Succeeded"
    here.cluster.answer_again()
    async with working(here.operator("second", ("shop", "lab"))):
        await here.lives(20)
    assert here.copies == {}
    assert here.cluster.stored(CLAIMS, "clicks-x1-profile", "lab") is None


@in_virtual_time
async def test_an_operator_without_the_crd_looks_after_jobs_all_the_same() -> None:
    here = Place()
    here.cluster.refuse("list", STREAM_PROFILES, NotFound("no such kind"))
    here.cluster.put(STREAM_JOBS, resource())
    async with working(here.operator()):
        await here.lives(3)
        assert here.cluster.pod() is not None
