"""From a StreamProfile to points: copies are made behind their guards, measured and removed."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from prometheus_client.exposition import generate_latest

from sluice.core.observations import AgentReport, Processing
from sluice.core.profiling.keys import key_of
from sluice.core.profiling.records import Start
from sluice.errors import ClusterUnavailable, InvalidSpec, NotAllowed, NotFound, Problem
from sluice.manifests.profiling.consent import COPIES_FROM
from sluice.ports import (
    CLAIMS,
    CONFIG_MAPS,
    LIMIT_RANGES,
    NAMESPACES,
    NETWORK_POLICIES,
    PODS,
    RESOURCE_QUOTAS,
    STREAM_JOBS,
    STREAM_PROFILES,
    Json,
    Resource,
)
from sluice.services import profiling
from sluice.services.ledgers import Ledgers
from sluice.services.profiles import Profiles
from tests.support import pods
from tests.support.jobs import job, query, report, resource
from tests.support.profiling import ENDING, SOURCES, Place, place, working
from tests.support.streams import Stream
from tests.support.virtual_time import in_virtual_time


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
@pytest.mark.parametrize(
    ("verb", "kind"), [("create", NAMESPACES), ("create", STREAM_JOBS), ("apply", STREAM_JOBS)]
)
@pytest.mark.parametrize("away", [170, 250, 700])
async def test_an_operator_that_is_away_while_a_copy_begins_is_no_lack_of_room(
    verb: str, kind: Resource, away: int
) -> None:
    here = Place()
    here.cluster.put(STREAM_JOBS, resource(sources=SOURCES))
    here.cluster.refuse(verb, kind, *[ClusterUnavailable("away")] * 500)
    async with working(here.operator("first")):
        here.profiled(executors=[1])
        await here.lives(5)
        assert here.status()["copies"]
    here.operators = []
    here.cluster.answer_again()
    await here.lives(away)
    here.are_nodes_full = True
    async with working(here.operator("second")):
        await here.lives(60)
        here.are_nodes_full = False
        await here.lives(150)
    assert here.status()["phase"] == "Succeeded"


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
async def test_copies_go_with_a_profile_that_a_finalizer_keeps_and_the_next_one_begins() -> None:
    async with place() as here:
        here.profiled(executors=[1, 2])
        await here.lives(20)
        assert len(here.places) == 2
        kept = here.cluster.stored(STREAM_PROFILES, "clicks-1")
        assert kept is not None
        leaving = {"deletionTimestamp": here.clock.now().isoformat(), "finalizers": ["shop/audit"]}
        here.cluster.put(STREAM_PROFILES, {**kept, "metadata": {**kept["metadata"], **leaving}})
        await here.lives(5)
        assert here.places == set()
        here.profiled(name="clicks-2", executors=[1])
        await here.lives(200)
        assert here.status("clicks-2")["phase"] == "Succeeded"


@in_virtual_time
async def test_a_look_for_copies_without_a_profile_that_fails_is_soon_taken_again() -> None:
    async with place() as here:
        here.profiled(executors=[1])
        await here.lives(20)
        here.cluster.refuse("list", NAMESPACES, *[ClusterUnavailable("away")] * 3)
        here.cluster.remove(STREAM_PROFILES, "shop", "clicks-1")
        await here.lives(2)
        assert len(here.places) == 1
        await here.lives(5)
        assert here.places == set()


@in_virtual_time
async def test_a_copy_that_the_cluster_does_not_let_go_keeps_no_other_from_being_removed() -> None:
    async with place() as here:
        here.profiled(executors=[1, 2])
        await here.lives(20)
        first, _ = sorted(here.places)
        told = [Problem(first, None, "admission webhook denied the request")]
        here.cluster.refuse("delete", NAMESPACES, InvalidSpec(told))
        here.cluster.remove(STREAM_PROFILES, "shop", "clicks-1")
        await asyncio.sleep(0.1)
        assert here.places == {first}
        await here.lives(5)
        assert here.places == set()


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
        await here.lives(40)
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
async def test_the_event_of_an_own_status_cuts_no_pause_of_a_profile_short() -> None:
    async with place() as here:
        here.cluster.refuse("create", NAMESPACES, *[ClusterUnavailable("away")] * 500)
        here.profiled(executors=[2])
        await here.lives(200)
        tries = [call for call in here.cluster.calls if str(call).startswith("create namespaces")]
        assert len(tries) == 10, "pauses of 0.5, 1, 2, 4, 8, 16, 32, 60 and 60 s"


class Guarded(Place):
    """A cluster that makes no namespace for a copy with so many executors, by no fault of the copy's."""

    def __init__(self, executors: int) -> None:
        super().__init__()
        self._create, self._ending = self.cluster.create, f"-x{executors}-{ENDING}"
        self.cluster.create = self._create_another  # type: ignore[method-assign]

    async def _create_another(self, resource: Resource, body: Mapping[str, Any]) -> Json:
        if resource == NAMESPACES and body["metadata"]["name"].endswith(self._ending):
            raise NotAllowed("namespaces is forbidden: User cannot create")
        return await self._create(resource, body)


@in_virtual_time
async def test_a_copy_that_cannot_be_made_keeps_no_other_from_being_made_measured_and_removed() -> (
    None
):
    here = Guarded(executors=1)
    here.cluster.put(STREAM_JOBS, resource(sources=SOURCES))
    async with working(here.operator()):
        here.profiled(executors=[1, 2], copyDeadline="10m")
        await here.lives(20)
        assert [job["spec"]["executors"]["max"] for job in here.copies.values()] == [2]
        await here.lives(400)
        (found,) = here.status()["points"]
        assert found["executors"] == 2
        assert not found["lowerBound"], "its batches got two sizes"
        assert here.status()["phase"] == "Profiling"
        assert here.places == set()


@in_virtual_time
async def test_what_keeps_a_copy_from_being_made_is_told_while_it_lasts_and_when_it_lasts_too_long() -> (
    None
):
    here = Guarded(executors=1)
    here.cluster.put(STREAM_JOBS, resource(sources=SOURCES))
    async with working(here.operator()):
        here.profiled(executors=[1], copyDeadline="5m")
        await here.lives(10)
        assert "namespaces is forbidden: User cannot create" in here.complete()["message"]
        await here.lives(400)
        assert here.status()["phase"] == "Failed"
        assert here.complete()["reason"] == "Refused"
        assert "namespaces is forbidden: User cannot create" in here.complete()["message"]


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


def without_batches(place: Place, processing: Processing) -> None:
    """The program has a trigger by which its batches do not tell what executors can do."""
    place._reads = lambda address, executors: (  # type: ignore[method-assign]  # noqa: ARG005
        lambda now: report(query(processing=processing), at=now, registered=executors)
    )


@in_virtual_time
@pytest.mark.parametrize("processing", [Processing.CONTINUOUS, Processing.REAL_TIME])
@pytest.mark.parametrize("start", ["Earliest", "Latest"])
async def test_a_copy_without_batches_that_could_be_measured_ends_all_at_once(
    processing: Processing, start: str
) -> None:
    async with place() as here:
        without_batches(here, processing)
        here.profiled(**{"executors": [1, 2], "from": start})
        await here.lives(60)
        assert here.complete()["reason"] == "NotProfilable"
        assert "profile it with another trigger" in here.complete()["message"]
        assert here.places == set()


@in_virtual_time
async def test_a_job_whose_driver_tells_that_nothing_can_be_measured_is_not_copied() -> None:
    async with place() as here:
        pod = here.cluster.stored(PODS, "clicks-driver")
        assert pod is not None
        running = pods.running(pod, since=here.clock.now())
        running["status"]["podIP"] = "10.1.0.1"
        told = query(processing=Processing.CONTINUOUS)
        here.agents.reports["10.1.0.1"] = lambda now: report(told, at=now)
        here.cluster.put(PODS, running)
        await here.lives(10)
        here.profiled(executors=[2])
        await here.lives(10)
        assert here.complete()["reason"] == "NotProfilable"
        assert not [
            call
            for call in here.cluster.calls
            if call.verb == "create" and call.plural == "namespaces"
        ]


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
@pytest.mark.parametrize(("there", "phase"), [("PEM", "Succeeded"), ("another", "Failed")])
async def test_a_config_map_that_is_in_each_namespace_is_used_if_it_says_the_same(
    there: str, phase: str
) -> None:
    variable = {"configMapKeyRef": {"name": "kube-root-ca.crt", "key": "ca.crt"}}
    application = {
        **resource()["spec"]["application"],
        "environment": [{"name": "A", "valueFrom": variable}],
    }
    async with place(job={"application": application}) as here:
        for namespace, authority in (("shop", "PEM"), (f"clicks-1-x2-{ENDING}", there)):
            metadata = {"name": "kube-root-ca.crt", "namespace": namespace}
            here.cluster.put(CONFIG_MAPS, {"metadata": metadata, "data": {"ca.crt": authority}})
        here.profiled(executors=[2])
        await here.lives(400)
        assert here.status()["phase"] == phase


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
async def test_an_operator_that_is_to_make_no_namespaces_says_so_and_uses_those_that_are_listed() -> (
    None
):
    here = Place()
    here.cluster.put(STREAM_JOBS, resource(sources=SOURCES))
    async with working(here.operator(makes=False)):
        here.profiled(executors=[1])
        await here.lives(5)
        assert here.complete()["reason"] == "Refused"
        assert "makes no namespaces; list namespaces that are there" in here.complete()["message"]
        here.cluster.remove(STREAM_PROFILES, "shop", "clicks-1")
        here.profiled(executors=[1], namespaces=["lab"])
        await here.lives(300)
        assert here.status()["phase"] == "Succeeded"


@pytest.mark.parametrize(
    ("annotations", "told"),
    [
        ({}, "open to copies from nowhere"),
        ({COPIES_FROM: "bank,shops"}, f"{COPIES_FROM}=bank,shops,shop"),
    ],
)
@in_virtual_time
async def test_nothing_is_made_in_a_namespace_whose_owner_has_not_said_so(
    annotations: Json, told: str
) -> None:
    """Else whoever may profile a job of his own could run it where he has no rights, with the Secrets there."""
    async with place() as here:
        vault = {"name": "vault", "annotations": annotations}
        here.cluster.put(NAMESPACES, {"metadata": vault})
        here.profiled(executors=[1], namespaces=["vault"])
        await here.lives(60)
        assert here.complete()["reason"] == "Refused"
        assert told in here.complete()["message"]
        assert here.cluster.stored(CLAIMS, "clicks-x1-profile", "vault") is None
        assert here.copies == {}


@in_virtual_time
async def test_a_namespace_may_be_open_to_copies_from_all() -> None:
    async with place() as here:
        here.cluster.put(
            NAMESPACES, {"metadata": {"name": "pool", "annotations": {COPIES_FROM: "*"}}}
        )
        here.profiled(executors=[1], namespaces=["pool"])
        await here.lives(300)
        assert here.status()["phase"] == "Succeeded"


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


@in_virtual_time
async def test_copies_end_at_once_with_the_job_that_they_are_of() -> None:
    async with place() as here:
        here.profiled(executors=[1, 2])
        await here.lives(20)
        assert len(here.places) == 2
        here.cluster.remove(STREAM_JOBS, "shop", "clicks")
        await here.lives(5)
        assert here.complete()["reason"] == "JobNotFound"
        assert here.places == set()


@in_virtual_time
async def test_copies_of_a_profile_whose_spec_has_become_wrong_are_removed() -> None:
    async with place() as here:
        made = here.profiled(executors=[1, 2])
        await here.lives(20)
        assert len(here.places) == 2
        stored = here.cluster.stored(STREAM_PROFILES, "clicks-1")
        assert stored is not None
        stored["metadata"]["generation"] = 2
        here.cluster.put(
            STREAM_PROFILES, {**stored, "spec": {**made["spec"], "namespaces": ["shop"]}}
        )
        await here.lives(profiling.EVERY + 5)
        assert here.status()["phase"] == "Failed"
        assert here.places == set()


@in_virtual_time
async def test_nothing_is_left_in_a_users_namespace_that_a_profile_no_longer_names() -> None:
    async with place() as here:
        made = here.profiled(executors=[1], namespaces=["lab"])
        await here.lives(20)
        assert here.cluster.stored(CLAIMS, "clicks-x1-profile", "lab") is not None
        stored = here.cluster.stored(STREAM_PROFILES, "clicks-1")
        assert stored is not None
        here.cluster.put(STREAM_PROFILES, {**stored, "spec": {**made["spec"], "namespaces": []}})
        await here.lives(300)
        assert here.status()["phase"] == "Succeeded"
        assert here.cluster.stored(CLAIMS, "clicks-x1-profile", "lab") is None
        assert here.copies == {}


@in_virtual_time
async def test_copies_in_a_users_namespace_go_at_once_when_their_profile_names_another_job() -> (
    None
):
    other = {"image": "shop/views:1", "mainFile": "/opt/views.py"}
    async with place() as here:
        here.cluster.put(STREAM_JOBS, resource(name="views", sources=SOURCES, application=other))
        made = here.profiled(executors=[1], namespaces=["lab"])
        await here.lives(20)
        assert set(here.copies) == {"lab"}
        stored = here.cluster.stored(STREAM_PROFILES, "clicks-1")
        assert stored is not None
        stored["metadata"]["generation"] = 2
        here.cluster.put(STREAM_PROFILES, {**stored, "spec": {**made["spec"], "job": "views"}})
        await here.lives(10)
        assert here.complete()["reason"] == "Superseded"
        assert "spec.job" in here.complete()["message"]
        assert here.copies == {}


@in_virtual_time
async def test_a_successor_lets_a_copy_that_is_measured_go_on() -> None:
    here = Place()
    here.cluster.put(STREAM_JOBS, resource(sources=SOURCES))
    async with working(here.operator("first")):
        here.profiled(executors=[1], copyDeadline="20m")
        await here.lives(30)
        assert here.status()["copies"][0]["phase"] == "Measuring"
    here.operators = []
    await here.lives(200)
    reports, here.agents.reports = here.agents.reports, {}
    async with working(here.operator("second")):
        await here.lives(20)
        here.agents.reports = reports
        await here.lives(20)
    assert here.status()["phase"] == "Succeeded"


@asynccontextmanager
async def taken_over(after: float, **spec: Any) -> AsyncIterator[Place]:
    """A profile of one copy with which a second operator goes on, after so many seconds without any, and hears the
    copy's agent ten seconds later.
    """
    here = Place()
    here.cluster.put(STREAM_JOBS, resource(sources=SOURCES))
    async with working(here.operator("first")):
        here.profiled(executors=[1], **spec)
        await here.lives(40)
        assert here.status()["copies"][0]["phase"] == "Measuring"
    here.operators = []
    await here.lives(after)
    reports, here.agents.reports = here.agents.reports, {}
    async with working(here.operator("second")):
        await here.lives(10)
        here.agents.reports = reports
        yield here


@in_virtual_time
@pytest.mark.parametrize(
    "budget",
    [{"coreHours": 100, "wallTime": "15m"}, {"coreHours": 0.3, "wallTime": "10h"}],
    ids=["wall time", "core-hours"],
)
async def test_what_a_copy_has_told_is_taken_also_if_the_budget_was_spent_without_an_operator(
    budget: dict[str, Any],
) -> None:
    async with taken_over(1000, budget=budget, copyDeadline="5h") as here:
        await here.lives(20)
        assert here.status()["phase"] == "Succeeded", here.complete()
        assert here.status()["points"][0]["rowsPerSecond"] > 0


@in_virtual_time
async def test_a_copy_that_does_not_answer_ends_soon_when_the_budget_was_spent() -> None:
    budget = {"coreHours": 100, "wallTime": "15m"}
    async with taken_over(1000, budget=budget) as here:
        here.agents.reports.clear()
        await here.lives(60)
        assert here.complete()["reason"] == "BudgetSpent"


@in_virtual_time
async def test_a_successor_has_the_whole_deadline_of_a_copy_to_measure_it() -> None:
    async with taken_over(1000, copyDeadline="10m") as here:
        await here.lives(200)
        assert here.status()["phase"] == "Succeeded", here.complete()
        (found,) = here.status()["points"]
        assert not found["lowerBound"], "its batches got two sizes again"


@in_virtual_time
async def test_a_copy_that_has_crashed_late_is_started_again_or_says_why() -> None:
    async with place(rows=1e9, each=1.0) as here:
        here.profiled(executors=[2])
        await here.lives(250)
        (namespace,) = here.copies
        pod = here.cluster.stored(PODS, "clicks-driver", namespace)
        assert pod is not None
        here.last_words = '{"class": "ValueError", "message": "Offsets out of range"}'
        here.cluster.put(
            PODS, pods.failed(pod, exit_code=1, message=here.last_words, at=here.clock.now())
        )
        await here.lives(100)
        assert here.complete()["reason"] == "CopyFailed"
        assert "Offsets out of range" in here.complete()["message"]


@in_virtual_time
async def test_a_claim_whose_copy_was_never_made_goes_with_its_profile() -> None:
    here = Place()
    here.cluster.put(STREAM_JOBS, resource(sources=SOURCES))
    here.cluster.refuse("create", STREAM_JOBS, *[ClusterUnavailable("away")] * 500)
    async with working(here.operator("first", ("shop", "lab"))):
        here.profiled(executors=[1], namespaces=["lab"])
        await here.lives(20)
        assert here.cluster.stored(CLAIMS, "clicks-x1-profile", "lab") is not None
    here.operators = []
    here.cluster.remove(STREAM_PROFILES, "shop", "clicks-1")
    here.cluster.answer_again()
    async with working(here.operator("second", ("shop", "lab"))):
        await here.lives(20)
    assert here.cluster.stored(CLAIMS, "clicks-x1-profile", "lab") is None


@in_virtual_time
async def test_claims_of_others_are_left_alone() -> None:
    async with place() as here:
        mine = {"metadata": {"name": "mine", "namespace": "lab"}}
        here.cluster.put(CLAIMS, mine)
        here.cluster.put(
            CLAIMS,
            {
                "metadata": {
                    "name": "odd",
                    "namespace": "lab",
                    "labels": {"sluice.dev/profile": "x"},
                }
            },
        )
        await here.lives(profiling.EVERY + 5)
        assert here.cluster.stored(CLAIMS, "mine", "lab") is not None
        assert here.cluster.stored(CLAIMS, "odd", "lab") is not None


@in_virtual_time
async def test_a_copy_takes_no_claim_that_is_of_somebody_else() -> None:
    here = Place()
    here.cluster.put(STREAM_JOBS, resource(sources=SOURCES))
    mine = {"metadata": {"name": "clicks-x1-profile", "namespace": "lab"}}
    before = here.cluster.put(CLAIMS, mine)
    async with working(here.operator("one", ("shop", "lab"))):
        here.profiled(executors=[1], namespaces=["lab"])
        await here.lives(60)
        assert here.copies == {}
        assert here.complete()["reason"] == "Refused"
        told = "PersistentVolumeClaim clicks-x1-profile is in lab already, and of somebody else"
        assert told in here.complete()["message"]
        assert here.cluster.stored(CLAIMS, "clicks-x1-profile", "lab") == before


class Lingering(Place):
    """A cluster whose pods take a minute to go."""

    def _collect(self, plural: str, body: Json) -> None:
        if plural != "streamjobs":
            super()._collect(plural, body)
            return
        self.cluster.collect(body["metadata"]["uid"], spares=[PODS])
        pod = self.cluster.stored(PODS, "clicks-driver", body["metadata"]["namespace"])
        if pod is not None:
            going = {**pod["metadata"], "deletionTimestamp": self.clock.now().isoformat()}
            self.cluster.put(PODS, {**pod, "metadata": going})

    def _let_pods_go(self, namespace: str) -> None:
        pod = self.cluster.stored(PODS, "clicks-driver", namespace)
        since = pod and pod["metadata"].get("deletionTimestamp")
        if since and self.clock.now() - datetime.fromisoformat(since) >= timedelta(minutes=1):
            self.cluster.remove(PODS, namespace, "clicks-driver")


@in_virtual_time
async def test_the_next_copy_in_a_users_namespace_waits_until_the_pods_of_the_last_are_gone() -> (
    None
):
    """Its quota may have room for one of them only."""
    here = Lingering()
    here.cluster.put(STREAM_JOBS, resource(sources=SOURCES))
    async with working(here.operator("one", ("shop", "lab"))):
        here.profiled(executors=[1, 2], namespaces=["lab"])
        while "endedAt" not in here.status().get("copies", [{}])[0]:
            await here.lives(1)
        await here.lives(30)
        assert here.cluster.stored(PODS, "clicks-driver", "lab") is not None
        assert here.copies == {}
        await here.lives(300)
        one, two = here.status()["copies"]
        waited = datetime.fromisoformat(two["startedAt"]) - datetime.fromisoformat(one["endedAt"])
        assert waited >= timedelta(minutes=1)
        assert here.status()["phase"] == "Succeeded"


@in_virtual_time
async def test_the_first_copy_in_a_users_namespace_waits_until_those_of_a_former_profile_are_gone() -> (
    None
):
    here = Lingering()
    here.cluster.put(STREAM_JOBS, resource(sources=SOURCES))
    async with working(here.operator("one", ("shop", "lab"))):
        here.profiled(name="clicks-1", executors=[1], namespaces=["lab"])
        await here.lives(60)
        here.cluster.remove(STREAM_PROFILES, "shop", "clicks-1")
        await here.lives(2)
        here.profiled(name="clicks-2", executors=[1], namespaces=["lab"])
        await here.lives(20)
        assert here.cluster.stored(PODS, "clicks-driver", "lab") is not None
        assert "copies" not in here.status("clicks-2")
        await here.lives(300)
        assert here.status("clicks-2")["phase"] == "Succeeded"


@in_virtual_time
async def test_a_claim_that_is_about_to_go_is_waited_for() -> None:
    async with place(("shop", "lab")) as here:
        metadata = {"name": "clicks-x1-profile", "namespace": "lab"}
        leaving = {**metadata, "deletionTimestamp": here.clock.now().isoformat()}
        here.cluster.put(CLAIMS, {"metadata": leaving})
        here.profiled(executors=[1], namespaces=["lab"])
        await here.lives(10)
        assert "clicks-x1-profile is in lab already, and still to go" in here.complete()["message"]
        here.cluster.remove(CLAIMS, "lab", "clicks-x1-profile")
        await here.lives(200)
        assert here.status()["phase"] == "Succeeded"


class Starved(Place):
    """A cluster where the drivers of copies start, and their executors do not."""

    def _reads(self, address: str, executors: int) -> Callable[[datetime], AgentReport]:
        first = query(batch_id=None, committed_at=None)
        return lambda now: report(first, at=now, registered=0, incarnation=1)

    def hinder(self, node: str | None = None, **status: Any) -> None:
        """Spark has asked for an executor of the copy, whose pod is in this state, on a node if it has one."""
        (namespace,) = self.copies
        driver = self.cluster.stored(PODS, "clicks-driver", namespace)
        assert driver is not None
        pod = pods.executor("clicks", "clicks-1-exec-1", namespace=namespace)
        pod["metadata"]["ownerReferences"] = [{"kind": "Pod", "uid": driver["metadata"]["uid"]}]
        placed = {**pod["spec"], "nodeName": node} if node else pod["spec"]
        self.cluster.put(PODS, {**pod, "spec": placed, "status": status})


UNPLACED = {
    "phase": "Pending",
    "conditions": [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/2 nodes are available: 2 Insufficient cpu.",
        }
    ],
}
KILLED = {
    "phase": "Failed",
    "containerStatuses": [
        {
            "name": "executor",
            "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
        }
    ],
}


@in_virtual_time
@pytest.mark.parametrize(
    ("status", "reason", "parts"),
    [
        (UNPLACED, "NoCapacity", ["does not start: Unschedulable", "add a node"]),
        (KILLED, "CopyFailed", ["ended: OOMKilled: exit code 137", "memoryOverhead"]),
    ],
)
async def test_what_keeps_the_executors_of_a_copy_away_is_told_with_what_to_do(
    status: Json, reason: str, parts: list[str]
) -> None:
    here = Starved()
    here.cluster.put(STREAM_JOBS, resource(sources=SOURCES))
    async with working(here.operator()):
        await here.lives(2)
        here.profiled(executors=[2])
        await here.lives(10)
        here.hinder(**status)
        await here.lives(5)
        for part in ("The one of 2 waits: Executor clicks-1-exec-1", *parts):
            assert part in here.complete()["message"]
        await here.lives(240)
        assert here.complete()["reason"] == reason
        for part in parts:
            assert part in here.complete()["message"]
        assert here.places == set()


@in_virtual_time
async def test_executors_whose_image_is_pulled_have_a_place_and_time_until_the_deadline() -> None:
    here = Starved()
    here.cluster.put(STREAM_JOBS, resource(sources=SOURCES))
    pulls = {"name": "executor", "state": {"waiting": {"reason": "ContainerCreating"}}}
    async with working(here.operator()):
        await here.lives(2)
        here.profiled(executors=[2])
        await here.lives(10)
        here.hinder("node-2", phase="Pending", containerStatuses=[pulls])
        await here.lives(500)
        assert here.status()["phase"] == "Profiling"
        await here.lives(120)
        assert here.complete()["reason"] == "CopyFailed"
        assert "their images are pulled" in here.complete()["message"]
        assert here.places == set()


class Live(Place):
    """A cluster where so many rows per second arrive, of which an executor processes a thousand.

    The program has a limit of rows of its own.
    """

    def __init__(self, arriving: float) -> None:
        super().__init__()
        self.arriving = arriving

    def _reads(self, address: str, executors: int) -> Callable[[datetime], AgentReport]:
        if not self.arriving:
            idle = query(arrival_rate=0.0, backlog_rows=0.0)
            return lambda now: report(idle, at=now, registered=executors, incarnation=1)
        stream = Stream(self.arriving, executors=executors)
        stream.starts_at(self.clock.now())

        def told(now: datetime) -> AgentReport:
            whole = stream.told(now)
            queries = (replace(one, most_rows=90000.0) for one in whole.queries)
            return replace(whole, queries=tuple(queries))

        return told


@asynccontextmanager
async def live(arriving: float) -> AsyncIterator[Live]:
    here = Live(arriving)
    here.cluster.put(STREAM_JOBS, resource(sources=SOURCES))
    async with working(here.operator()):
        await here.lives(2)
        yield here


@in_virtual_time
async def test_a_live_profile_tells_the_latency_of_the_load_and_no_rows_per_second() -> None:
    async with live(arriving=1500) as here:
        here.profiled(executors=[1, 2], **{"from": "Latest"})
        await here.lives(200)
        assert here.status()["phase"] == "Succeeded"
        one, two = here.status()["points"]
        assert not one["latency"]["keepsUp"]
        assert two["latency"]["keepsUp"]
        assert two["latency"]["arrivingRowsPerSecond"] == 1500
        assert 0 < two["latency"]["p50Seconds"] < two["latency"]["p95Seconds"] < 3
        assert "rowsPerSecond" not in {**one, **two}
        assert here.status()["key"]["from"] == "Latest"
        assert here.status()["summary"]["points"].startswith("1: falls behind, 2: p95 ")
        assert here.places == set()


@in_virtual_time
async def test_the_batches_of_a_live_copy_are_limited_by_its_program_alone() -> None:
    async with live(arriving=1500) as here:
        here.profiled(executors=[2], **{"from": "Latest"})
        await here.lives(60)
        (copy,) = here.copies.values()
        (variable,) = copy["spec"]["application"]["environment"]
        orders = json.loads(variable["value"])
        assert (orders["startingOffsets"], orders["mostRows"]) == ("latest", None)
        assert here.agents.limits == {}


@in_virtual_time
async def test_a_live_profile_of_a_stream_without_rows_says_that_there_is_no_load() -> None:
    async with live(arriving=0) as here:
        here.profiled(executors=[1, 2], copyDeadline="2m", **{"from": "Latest"})
        await here.lives(150)
        assert here.complete()["reason"] == "NoLoad"
        assert here.places == set()


@in_virtual_time
async def test_what_was_measured_live_is_no_capacity_that_is_known() -> None:
    async with live(arriving=1500) as here:
        here.profiled(executors=[1, 2], **{"from": "Latest"})
        await here.lives(200)
        profiles, of = Profiles(), job(sources=SOURCES)
        profiles.see(here.cluster.stored(STREAM_PROFILES, "clicks-1") or {})
        assert profiles.known(of.key, key_of(of)) == ()
        assert profiles.known(of.key, key_of(of, Start.LATEST)) == ()
        assert profiles.bounded(of.key, key_of(of)) == ()
        ledger = Ledgers(profiles, here.operators[0]._views).of(of, here.clock.now())
        assert not ledger.has_model
        assert ledger.spent > 0
        (points,) = profiles.points(of, None).values()
        assert [point.executors for point in points] == [1, 2]


@in_virtual_time
async def test_people_are_told_of_the_latency_by_events() -> None:
    async with live(arriving=1500) as here:
        here.profiled(executors=[1, 2], **{"from": "Latest"})
        await here.lives(200)
        events = [call.body for call in here.cluster.calls if call.plural == "events"]
        (told,) = [one["message"] for one in events if one["reason"] == "Profiled"]
        assert "1: does not keep up with 1500 rows/s, 2: p95 " in told
        assert told.endswith(" at 1500 rows/s")
