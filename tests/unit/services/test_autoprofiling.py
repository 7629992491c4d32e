"""Jobs are profiled by themselves: once, within their share, beside a production that comes first."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from sluice.core.application import JobKey, StreamJob
from sluice.errors import ClusterUnavailable, InvalidSpec, NotAllowed, Problem
from sluice.manifests import names
from sluice.ports import EVENTS, PODS, STREAM_JOBS, STREAM_PROFILES, Json
from sluice.services.ledgers import KEPT
from sluice.services.polling import Pace
from tests.support import pods
from tests.support.courses import decided
from tests.support.jobs import NOW, query, report, resource
from tests.support.profiles import profile_resource
from tests.support.profiling import SOURCES, Place, working
from tests.support.virtual_time import in_virtual_time

ONE = f"sha256:{'1' * 64}"
TWO = f"sha256:{'2' * 64}"
"""Digests of two builds that have had the same tag."""

MINUTE = 60
SOON = 12 * MINUTE
"""A job has been ready for ten minutes by then, and was looked at."""

FULL = "0/3 nodes are available: 3 Insufficient cpu."


def clicks(image: str = "shop/clicks:1", *, generation: int = 1, **profiling: Any) -> Json:
    """The job, which is to be profiled by itself at one and two executors."""
    declared = {"enabled": True, "executors": [1, 2], **profiling}
    return resource(
        sources=SOURCES,
        generation=generation,
        application={"image": image, "mainFile": "/opt/clicks.py"},
        profiling=declared,
    )


def pod_of(job: str, number: int, status: Json) -> Json:
    """An executor pod of a job."""
    labels = {**names.labels(job, names.EXECUTOR, 1), "spark-exec-id": str(number)}
    metadata = {
        "name": f"{job}-exec-{number}",
        "namespace": "shop",
        "labels": labels,
        "creationTimestamp": NOW.isoformat(),
    }
    return {"metadata": metadata, "spec": {"nodeName": "node-1"}, "status": status}


def waits(job: str, message: str = FULL) -> Json:
    """An executor pod that the scheduler cannot place."""
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
    }
    return pod_of(job, 9, {"phase": "Pending", "conditions": [condition]})


class Shop(Place):
    """A place in which production runs, too."""

    pace = Pace(interval=15.0)

    built = ""
    """What kubelets tell of the image that production runs."""

    async def lives(self, seconds: float, *, step: int = 1) -> None:
        """So much time goes by; the driver of production is started when it is made."""
        step = 5 if seconds >= MINUTE else step
        for _ in range(int(seconds) // step):
            await super().lives(step, step=step)
            self._start_production()

    def profiles(self) -> list[str]:
        """The names of all profiles that are there."""
        return [name for kind, _, name in self.cluster._objects if kind == "streamprofiles"]

    def told(self) -> Json:
        """What the job's status says of profiling."""
        found: Json = self.cluster.status().get("profiling", {})
        return found

    def events(self) -> list[str]:
        """The events that tell of the beginning of a profile."""
        calls = (call.body for call in self.cluster.calls if call.plural == EVENTS.plural)
        return [body["message"] for body in calls if body["reason"] == "ProfileStarting"]

    def _start_production(self) -> None:
        pod = self.cluster.stored(PODS, "clicks-driver")
        if pod is None or "status" in pod:
            return
        running = pods.running(pod, since=self.clock.now(), image=self.built)
        running["status"]["podIP"] = "10.1.0.1"
        incarnation = int(running["metadata"]["labels"][names.INCARNATION_LABEL])
        self.agents.reports["10.1.0.1"] = lambda now: report(
            query(committed_at=now), at=now, incarnation=incarnation
        )
        self.cluster.put(PODS, running)
        for number in (1, 2):
            self.cluster.put(PODS, pod_of("clicks", number, {"phase": "Running"}))


@asynccontextmanager
async def shop(job: Json | None = None, **backlog: Any) -> AsyncIterator[Shop]:
    """A cluster with the job clicks, and an operator."""
    here = Shop(**backlog)
    here.cluster.put(STREAM_JOBS, job or clicks())
    async with working(here.operator()):
        yield here


@in_virtual_time
async def test_a_job_that_is_ready_for_a_while_is_profiled_once_and_tells_of_it() -> None:
    async with shop() as here:
        await here.lives(8 * MINUTE)
        assert here.profiles() == []
        assert here.told()["reason"] == "Settling"
        assert "nextLook" in here.told()
        await here.lives(4 * MINUTE)
        assert here.profiles() == ["clicks-auto-1"]
        assert here.told()["reason"] == "ProfileUnderWay"
        await here.lives(10 * MINUTE)
        told = here.told()
        assert (told["profile"], told["phase"]) == ("clicks-auto-1", "Succeeded")
        assert told["reason"] == "Measured"
        assert told["points"].startswith("1: ")
        assert here.places == set()
        await here.lives(60 * MINUTE)
        assert here.profiles() == ["clicks-auto-1"]


@in_virtual_time
async def test_what_a_profile_will_cost_is_told_before_it_begins() -> None:
    async with shop() as here:
        await here.lives(SOON)
        (told,) = here.events()
        assert told.startswith("clicks-auto-1 measures 1, 2 executors: nothing was measured")
        assert "about 0.17 core-hours of 2.00 that it may take" in told
        made = [call for call in here.cluster.calls if call.plural in ("streamprofiles", "events")]
        order = [(call.verb, call.plural, call.body.get("reason")) for call in made]
        begins = order.index(("create", "events", "ProfileStarting"))
        assert begins < order.index(("create", "events", "CopyStarting"))


@in_virtual_time
async def test_an_automatic_profile_is_its_jobs_and_says_what_the_job_says() -> None:
    declared: Any = {"budget": {"coreHours": 1, "wallTime": "20m"}, "parallel": 1}
    async with shop(clicks(**declared, copyDeadline="5m", storage={"size": "2Gi"})) as here:
        await here.lives(SOON)
        made = here.cluster.stored(STREAM_PROFILES, "clicks-auto-1")
        assert made is not None
        assert made["metadata"]["ownerReferences"][0]["uid"] == "uid-of-clicks"
        assert made["metadata"]["labels"]["sluice.dev/automatic"] == "true"
        spec = made["spec"]
        assert spec["executors"] == [1, 2]
        assert spec["budget"] == {"coreHours": 1.0, "wallTime": "20m"}
        assert (spec["parallel"], spec["copyDeadline"]) == (1, "5m")
        assert spec["storage"]["size"] == "2Gi"


@in_virtual_time
async def test_a_job_is_not_profiled_by_itself_unless_it_says_so() -> None:
    async with shop(clicks(enabled=False)) as here:
        await here.lives(SOON)
        assert here.profiles() == []
        assert here.told() == {}


@in_virtual_time
async def test_another_operator_does_not_begin_anew() -> None:
    here = Shop()
    here.cluster.put(STREAM_JOBS, clicks())
    async with working(here.operator("first")):
        await here.lives(SOON)
        assert here.profiles() == ["clicks-auto-1"]
    async with working(here.operator("second")):
        await here.lives(30 * MINUTE)
        assert here.profiles() == ["clicks-auto-1"]
        assert here.told()["reason"] == "Measured"


@in_virtual_time
async def test_how_a_job_is_profiled_stays_told_while_operators_change() -> None:
    here = Shop()
    here.cluster.put(STREAM_JOBS, clicks())
    async with working(here.operator("first")):
        await here.lives(30 * MINUTE)
        # No agent is waited for by the next operator: it tells of the job at once.
        stored = here.cluster.stored(STREAM_JOBS, "clicks")
        assert stored is not None
        spec = {**stored["spec"], "suspend": True}
        here.cluster.put(STREAM_JOBS, {**stored, "spec": spec})
        await here.lives(5 * MINUTE)
    told, written = here.told(), len(here.cluster.calls)
    assert told["profile"] == "clicks-auto-1"
    async with working(here.operator("second")):
        await here.lives(5 * MINUTE)
    calls = here.cluster.calls[written:]
    found = [call.body["status"] for call in calls if str(call) == "apply streamjobs/clicks"]
    assert found
    assert all(status.get("profiling") == told for status in found)


@pytest.mark.parametrize("name", ["clicks-auto-1", "clicks-auto-4"], ids=["ours", "another's"])
@in_virtual_time
async def test_a_profile_that_nobody_told_of_is_asked_for_before_another_is_made(name: str) -> None:
    async with shop() as here:
        await here.lives(9 * MINUTE)
        # Its number is the next one if it was made by a request whose answer was lost.
        here.operators, listening = [], here.operators
        here.cluster.put(STREAM_PROFILES, profile_resource(name))
        here.operators = listening
        await here.lives(15 * MINUTE)
        assert here.profiles() == [name]


@in_virtual_time
async def test_an_api_server_that_is_away_only_delays_a_profile() -> None:
    async with shop() as here:
        here.cluster.refuse("create", STREAM_PROFILES, *[ClusterUnavailable("away")] * 4)
        await here.lives(SOON + 4 * MINUTE)
        assert here.profiles() == ["clicks-auto-1"]


@in_virtual_time
async def test_a_refusal_of_the_cluster_is_told_in_its_words() -> None:
    async with shop() as here:
        refusal = InvalidSpec([Problem("spec.parallel", 2, "not today")])
        here.cluster.refuse("create", STREAM_PROFILES, *[refusal] * 100)
        await here.lives(SOON)
        assert here.told()["reason"] == "Refused"
        assert "not today" in here.told()["message"]


@in_virtual_time
@pytest.mark.parametrize("verb", ["list", "create"])
async def test_a_right_that_the_operator_lacks_is_told_and_asked_for_again(verb: str) -> None:
    async with shop() as here:
        await here.lives(2 * MINUTE)
        told = "streamprofiles.sluice.dev is forbidden: User sluice cannot"
        here.cluster.refuse(verb, STREAM_PROFILES, *[NotAllowed(told)] * 100)
        await here.lives(SOON)
        assert here.told()["reason"] == "Refused"
        assert told in here.told()["message"]
        here.cluster.answer_again()
        await here.lives(2 * MINUTE)
        assert here.profiles() == ["clicks-auto-1"]


@in_virtual_time
async def test_a_profile_by_hand_goes_first() -> None:
    async with shop() as here:
        await here.lives(9 * MINUTE)
        here.profiled(executors=[1, 2])
        await here.lives(2 * MINUTE)
        assert here.told()["reason"] == "ProfileUnderWay"
        assert "clicks-1" in here.told()["message"]
        await here.lives(20 * MINUTE)
        assert here.told()["reason"] == "Measured"
        assert here.profiles() == ["clicks-1"]


@in_virtual_time
async def test_what_cannot_be_copied_is_not_tried() -> None:
    async with shop({**clicks(), "spec": {**clicks()["spec"], "sources": []}}) as here:
        await here.lives(SOON)
        assert here.profiles() == []
        assert here.told()["reason"] == "NotReplayable"


@in_virtual_time
async def test_a_failure_is_followed_by_pauses_that_double_also_for_another_operator() -> None:
    here = Shop(rows=6000.0)
    here.cluster.put(STREAM_JOBS, clicks())
    async with working(here.operator("first")):
        await here.lives(20 * MINUTE)
        assert here.complete("clicks-auto-1")["reason"] == "HistoryTooShort"
        assert here.told()["reason"] == "BackingOff"
        assert "HistoryTooShort" in here.told()["message"]
        await here.lives(30 * MINUTE)
        assert here.profiles() == ["clicks-auto-1", "clicks-auto-2"]
    async with working(here.operator("second")):
        await here.lives(45 * MINUTE)
        assert here.profiles() == ["clicks-auto-1", "clicks-auto-2"]
        await here.lives(35 * MINUTE)
        assert here.profiles()[-1] == "clicks-auto-3"


@in_virtual_time
async def test_one_that_is_deleted_under_way_does_not_come_again_at_once() -> None:
    async with shop() as here:
        await here.lives(SOON + MINUTE)
        here.cluster.remove(STREAM_PROFILES, "shop", "clicks-auto-1")
        await here.lives(2 * MINUTE)
        assert here.profiles() == []
        assert here.places == set()
        assert here.told()["reason"] == "BackingOff"
        assert "set spec.profiling.enabled to false" in here.told()["message"]
        await here.lives(30 * MINUTE)
        assert here.profiles() == ["clicks-auto-1"]
        here.cluster.remove(STREAM_PROFILES, "shop", "clicks-auto-1")
        await here.lives(45 * MINUTE)
        assert here.profiles() == [], "twice in a row is an hour"


@in_virtual_time
async def test_a_failure_after_a_deletion_is_the_second_in_a_row_and_the_one_that_is_told() -> None:
    async with shop(rows=6000.0) as here:
        while not here.profiles():
            await here.lives(1)
        here.cluster.remove(STREAM_PROFILES, "shop", "clicks-auto-1")
        await here.lives(45 * MINUTE)
        assert here.complete("clicks-auto-1")["reason"] == "HistoryTooShort"
        assert here.profiles() == ["clicks-auto-1"]
        assert "2 in a row" in here.told()["message"]
        assert "HistoryTooShort" in here.told()["message"]


@in_virtual_time
async def test_what_an_ended_profile_has_cost_is_not_that_of_the_jobs_later_shape() -> None:
    async with shop() as here:
        await here.lives(SOON + 10 * MINUTE)
        before = here.status("clicks-auto-1")["spent"]["coreSeconds"]
        larger = clicks(generation=2)
        larger["spec"]["executors"] |= {"cores": 16}
        here.cluster.put(STREAM_JOBS, larger)
    async with working(here.operator("second")):
        await here.lives(3 * MINUTE)
        assert here.status("clicks-auto-1")["spent"]["coreSeconds"] == before
        second = here.operators[-1]
        job = second.fleet.declared(JobKey("shop", "clicks"))
        assert isinstance(job, StreamJob)
        ledger = second._autoprofiler._ledgers.of(job, here.clock.now())
        assert ledger.spent == pytest.approx(before, rel=0.05)


@in_virtual_time
async def test_copies_end_at_once_when_pods_of_production_find_no_room() -> None:
    async with shop() as here:
        await here.lives(SOON)
        assert len(here.copies) == 2
        here.cluster.put(PODS, waits("clicks"))
        await here.lives(2)
        assert here.copies == {}
        assert here.places == set()
        assert here.complete("clicks-auto-1")["reason"] == "Yielded"
        assert "Insufficient cpu" in here.complete("clicks-auto-1")["message"]


@in_virtual_time
async def test_copies_of_a_profile_by_hand_end_for_production_and_for_any_job() -> None:
    async with shop(clicks(enabled=False)) as here:
        other = resource("views", checkpoint={"claim": "others", "path": "views"})
        here.cluster.put(STREAM_JOBS, other)
        here.profiled(executors=[1, 2])
        await here.lives(20)
        # Between two looks at copies, which come every five seconds.
        await asyncio.sleep(2.5)
        assert len(here.copies) == 2
        here.cluster.put(PODS, waits("views"))
        await asyncio.sleep(0.1)
        assert here.copies == {}
        assert "shop/views" in here.complete()["message"]


@in_virtual_time
async def test_pods_that_no_node_would_ever_take_end_no_copies() -> None:
    async with shop() as here:
        await here.lives(SOON)
        never = "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."
        here.cluster.put(PODS, waits("clicks", never))
        await here.lives(30)
        assert len(here.copies) == 2


@in_virtual_time
async def test_copies_that_find_no_room_themselves_end_no_others() -> None:
    async with shop() as here:
        await here.lives(SOON)
        copy = sorted(here.copies)[0]
        pod = waits("clicks")
        pod["metadata"]["namespace"] = copy
        here.cluster.put(PODS, pod)
        await here.lives(30)
        assert len(here.copies) == 2


@in_virtual_time
async def test_automatic_copies_end_when_their_job_is_to_grow_and_those_by_hand_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with shop() as here:
        await here.lives(SOON)
        (operator,) = here.operators
        monkeypatch.setattr(operator._autoscaler, "decided", lambda _: decided(2, 4))
        operator._has_decided(JobKey("shop", "clicks"))
        await here.lives(2)
        assert here.copies == {}
        assert here.complete("clicks-auto-1")["reason"] == "Yielded"
        here.profiled(executors=[1])
        await here.lives(5)
        assert len(here.copies) == 1


@in_virtual_time
async def test_another_image_is_measured_anew_within_the_share() -> None:
    async with shop(clicks(maxShare=1)) as here:
        await here.lives(SOON + 10 * MINUTE)
        here.cluster.put(STREAM_JOBS, clicks("shop/clicks:2", generation=2, maxShare=1))
        here._let_pods_go("shop")
        for _ in range(30):
            await here.lives(MINUTE)
            here._let_pods_go("shop")
        assert here.profiles() == ["clicks-auto-1", "clicks-auto-2"]
        second = here.cluster.stored(STREAM_PROFILES, "clicks-auto-2")
        assert second is not None
        assert second["spec"]["budget"]["coreHours"] < 2.0
        here.cluster.put(STREAM_JOBS, clicks("shop/clicks:3", generation=3))
        for _ in range(20):
            await here.lives(MINUTE)
            here._let_pods_go("shop")
        assert here.told()["reason"] == "ShareSpent"
        # The first image is known, and is not measured again.
        here.cluster.put(STREAM_JOBS, clicks("shop/clicks:1", generation=4))
        await here.lives(2 * MINUTE)
        assert here.told()["reason"] == "Measured"


@in_virtual_time
async def test_another_digest_under_the_same_tag_is_measured_anew_and_the_former_is_known() -> None:
    async with shop(clicks(maxShare=1)) as here:
        here.built = here.built_copies = f"shop/clicks@{ONE}"
        await here.lives(SOON + 10 * MINUTE)
        assert here.told()["reason"] == "Measured"
        assert here.status("clicks-auto-1")["key"]["digest"] == ONE
        here.built = here.built_copies = f"shop/clicks@{TWO}"
        here.cluster.remove(PODS, "shop", "clicks-driver")
        await here.lives(5 * MINUTE)
        assert here.told().get("points", "") == ""
        await here.lives(25 * MINUTE)
        assert here.profiles() == ["clicks-auto-1", "clicks-auto-2"]
        assert here.status("clicks-auto-2")["key"]["digest"] == TWO
        here.built = f"shop/clicks@{ONE}"
        here.cluster.remove(PODS, "shop", "clicks-driver")
        await here.lives(20 * MINUTE)
        assert here.told()["reason"] == "Measured"
        assert here.profiles() == ["clicks-auto-1", "clicks-auto-2"]


@in_virtual_time
async def test_a_failure_of_another_digest_is_not_waited_for() -> None:
    async with shop() as here:
        here.built, here.built_copies = f"shop/clicks@{ONE}", f"shop/clicks@{TWO}"
        await here.lives(SOON + 2 * MINUTE)
        assert here.complete("clicks-auto-1")["reason"] == "OtherImage"
        assert here.status("clicks-auto-1").get("points", []) == []
        assert here.told()["reason"] == "BackingOff"
        assert here.places == set()
        here.built = f"shop/clicks@{TWO}"
        here.cluster.remove(PODS, "shop", "clicks-driver")
        await here.lives(SOON + 2 * MINUTE)
        assert here.profiles() == ["clicks-auto-1", "clicks-auto-2"]


@in_virtual_time
async def test_a_job_takes_the_cores_that_its_driver_was_started_with() -> None:
    key = JobKey("shop", "clicks")
    async with shop() as here:
        await here.lives(2 * MINUTE)
        (operator,) = here.operators
        before = operator._autoprofiler._looks[key].usage.cores
        refused = clicks(generation=2)
        refused["spec"]["executors"] |= {"cores": 16}
        refused["spec"]["checkpoint"] = {"claim": "checkpoints", "path": "elsewhere"}
        here.cluster.put(STREAM_JOBS, refused)
        await here.lives(2 * MINUTE)
        claims = {one["type"]: one["reason"] for one in here.cluster.status()["conditions"]}
        assert claims["SpecApplied"] == "MigrationRefused"
        assert operator._autoprofiler._looks[key].usage.cores == before > 0


def ended(number: int, *, days: int, points: list[Json], image: str = "shop/clicks:1") -> Json:
    """An automatic profile that ended so many days ago."""
    body = profile_resource(f"clicks-auto-{number}")
    body["metadata"]["labels"] = {"sluice.dev/automatic": "true"}
    moment = NOW.replace(month=2, day=28 - days).isoformat()
    key = {"image": image, "configuration": "0"}
    body["status"] = {"startedAt": moment, "endedAt": moment, "points": points, "key": key}
    return body


@in_virtual_time
async def test_old_profiles_beyond_the_last_three_are_removed() -> None:
    async with shop() as here:
        for number in range(1, 7):
            here.cluster.put(STREAM_PROFILES, ended(number, days=10 - number, points=[]))
        here.cluster.put(STREAM_PROFILES, profile_resource("by-hand"))
        await here.lives(2 * MINUTE)
        kept = [f"clicks-auto-{number}" for number in range(7 - KEPT, 7)]
        assert sorted(here.profiles()) == ["by-hand", *kept]


@in_virtual_time
async def test_a_job_that_was_measured_once_keeps_to_its_share_after_three_that_failed() -> None:
    point = {
        "executors": 1,
        "rowsPerSecond": 1000.0,
        "errorRowsPerSecond": 10.0,
        "measuredAt": NOW.replace(month=2, day=19).isoformat(),
    }
    async with shop() as here:
        for number in range(1, 6):
            points = [point] if number < 3 else []
            here.cluster.put(STREAM_PROFILES, ended(number, days=10 - number, points=points))
        await here.lives(SOON)
        assert sorted(here.profiles()) == [f"clicks-auto-{number}" for number in range(2, 6)]
        assert here.told()["reason"] == "ShareSpent"


@in_virtual_time
async def test_the_number_of_a_profile_is_not_used_again() -> None:
    async with shop() as here:
        here.cluster.put(STREAM_PROFILES, ended(7, days=3, points=[]))
        await here.lives(SOON)
        assert sorted(here.profiles()) == ["clicks-auto-7", "clicks-auto-8"]
