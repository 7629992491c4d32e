"""From what agents tell to the number of executors: what is decided, written down and done, and when nothing is."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from sluice.core.application import JobKey, StreamJob
from sluice.core.deciding.harms import Harm
from sluice.core.deciding.storing import record_from_data
from sluice.core.modelling.downtime import Cause
from sluice.core.profiling.keys import key_of
from sluice.errors import ClusterUnavailable, InvalidSpec, Problem
from sluice.ports import CONFIG_MAPS, STREAM_JOBS, Clock, Labelled, Resource
from tests.support import pods
from tests.support.cluster import MemoryCluster
from tests.support.jobs import NOW, job
from tests.support.metrics import MemoryMetrics
from tests.support.profiles import profile_resource
from tests.support.streams import Stream
from tests.support.virtual_time import in_virtual_time
from tests.support.world import World, world

SCALING = {"mode": "Auto", "interval": "30s", "policy": "sluice"}


class Scraping(MemoryMetrics):
    """A server that has scraped every agent just now."""

    def __init__(self, clock: Clock) -> None:
        super().__init__({})
        self._clock = clock

    async def now(self, query: str) -> list[Labelled]:
        """The server's clock is the world's."""
        now = self._clock.now()
        if "timestamp(" in query:
            self.answers[query] = [
                Labelled({"namespace": "shop", "job": "clicks"}, ((now, now.timestamp()),))
            ]
        self.answers["vector(1)"] = [Labelled({}, ((now, 1.0),))]
        return await super().now(query)


class Case:
    """A scaled job with a stream, looked at every five seconds by an operator."""

    def __init__(self, here: World, stream: Stream) -> None:
        self.here = here
        self.stream = stream

    @property
    def metrics(self) -> Scraping:
        """The metrics' server."""
        assert isinstance(self.here.metrics, Scraping)
        return self.here.metrics

    async def starts(self, **spec: Any) -> None:
        """The job is declared, its driver runs, and its agent answers."""
        await self.here.declare(**{"scaling": SCALING, **spec})
        self.here.runs()
        self.here.agents.reports[pods.ADDRESS] = self.stream.told
        await self.here.look()

    async def lives(self, seconds: float) -> None:
        """So much time goes by; what is asked for comes at once."""
        for _ in range(int(seconds / 5)):
            await self.here.measuring.ask(self.metrics)
            await asyncio.sleep(5)
            await self.here.look()
            if self.here.agents.targets:
                self.stream.executors = self.here.agents.targets[-1]

    async def lives_without_room(self, time: timedelta) -> None:
        """So much time goes by; the driver takes every number, and no executor comes."""
        targets = self.here.agents.targets
        for _ in range(int(time.total_seconds() / 5)):
            await self.here.measuring.ask(self.metrics)
            await asyncio.sleep(5)
            await self.here.look()
            self.stream.target = targets[-1] if targets else None

    @property
    def status(self) -> Mapping[str, Any]:
        """The job's status as it is stored."""
        stored = self.here.cluster.stored(STREAM_JOBS, "clicks")
        assert stored is not None
        return stored["status"]  # type: ignore[no-any-return]  # plain data

    def condition(self, kind: str) -> Mapping[str, Any]:
        """One of its conditions."""
        return next(one for one in self.status["conditions"] if one["type"] == kind)


@in_virtual_time
async def test_a_job_whose_load_outgrows_its_executors_gets_more_of_them_live() -> None:
    async with world(metrics=Scraping) as here:
        overloaded = Case(here, Stream(arriving=3500))
        await overloaded.starts()
        await overloaded.lives(300)
        assert here.agents.targets[-1] >= 4
        assert overloaded.status["chosen"]["executors"] == here.agents.targets[-1]
        assert overloaded.status["executors"]["wanted"] == here.agents.targets[-1]
        assert overloaded.condition("ScalingActive")["status"] == "True"


@in_virtual_time
async def test_nothing_is_decided_of_a_job_that_is_made_again_by_what_the_former_one_needed() -> (
    None
):
    async with world(metrics=Scraping) as here:
        overloaded = Case(here, Stream(arriving=3500))
        await overloaded.starts()
        while not here.agents.targets:
            await overloaded.lives(5)
        here.delete()
        await here.declare(uid="another", scaling=SCALING)
        assert "chosen" not in overloaded.status
        assert "decision" not in overloaded.status
        assert overloaded.status["executors"]["wanted"] == 2


@in_virtual_time
async def test_a_decision_is_in_the_status_before_the_agent_hears_of_it() -> None:
    async with world(metrics=Scraping) as here:
        overloaded = Case(here, Stream(arriving=3500))
        await overloaded.starts()
        asked: list[int] = []
        known: list[int | None] = []

        async def set_executors(address: str, token: str, target: int) -> None:
            asked.append(target)
            known.append(overloaded.status.get("chosen", {}).get("executors"))

        here.agents.set_executors = set_executors  # type: ignore[method-assign]  # to look behind the scenes
        await overloaded.lives(200)
        assert asked
        assert known == asked


@in_virtual_time
async def test_who_only_observes_is_told_the_wish_and_nothing_changes() -> None:
    async with world(metrics=Scraping) as here:
        watched = Case(here, Stream(arriving=3500))
        await watched.starts(scaling={**SCALING, "mode": "Observe"})
        await watched.lives(300)
        assert here.agents.targets == []
        assert watched.status["decision"]["wanted"] >= 4
        assert "mode" in watched.status["decision"]["keptBy"]
        assert "chosen" not in watched.status


@in_virtual_time
async def test_what_waits_for_an_approval_is_done_when_it_comes_and_not_before() -> None:
    async with world(metrics=Scraping) as here:
        asking = Case(here, Stream(arriving=3500))
        await asking.starts(scaling={**SCALING, "mode": "Approve"})
        await asking.lives(300)
        assert here.agents.targets == []
        pending = asking.status["decision"]["pending"]
        wanted = asking.status["decision"]["wanted"]
        told = asking.condition("ScalingActive")["message"]
        assert f"annotate sj clicks -n shop sluice.dev/approve={pending} --overwrite" in told
        approved = {"sluice.dev/approve": pending}
        await here.declare(scaling={**SCALING, "mode": "Approve"}, annotations=approved)
        await asking.lives(60)
        assert here.agents.targets == [wanted]
        assert asking.status["chosen"]["approval"] == pending
        await asking.lives(120)
        assert here.agents.targets == [wanted]
        assert "asks for nothing" not in asking.condition("ScalingActive")["message"]


@in_virtual_time
async def test_a_wrong_approval_is_told_in_the_condition_and_by_no_event() -> None:
    async with world(metrics=Scraping) as here:
        asking = Case(here, Stream(arriving=3500))
        await asking.starts(scaling={**SCALING, "mode": "Approve"})
        await asking.lives(300)
        before = asking.condition("ScalingActive")
        here.cluster.calls.clear()
        wrong = {"sluice.dev/approve": "yes"}
        await here.declare(scaling={**SCALING, "mode": "Approve"}, annotations=wrong)
        await asking.lives(60)
        after = asking.condition("ScalingActive")
        pending = asking.status["decision"]["pending"]
        assert f"'yes' asks for nothing; {pending!r} does" in after["message"]
        assert {**after, "message": before["message"]} == before
        assert here.agents.targets == []
        assert "events" not in {call.plural for call in here.cluster.calls}


@in_virtual_time
async def test_without_metrics_nothing_is_rescaled_and_the_condition_says_why() -> None:
    async with world(metrics=Scraping) as here:
        blind = Case(here, Stream(arriving=3500))
        await blind.starts()
        blind.metrics.is_away = True
        await blind.lives(300)
        assert here.agents.targets == []
        assert blind.condition("ScalingActive")["reason"] == "PrometheusUnavailable"


@in_virtual_time
async def test_a_stored_decision_is_made_again_from_the_notebook() -> None:
    async with world(metrics=Scraping) as here:
        overloaded = Case(here, Stream(arriving=3500))
        await overloaded.starts()
        await overloaded.lives(200)
        book = here.cluster.stored(CONFIG_MAPS, "clicks-scaling")
        assert book is not None
        newest = overloaded.status["decision"]
        stored = record_from_data(json.loads(book["data"][newest["id"]]))
        again = stored.decided()
        assert (again.wanted, again.reason) == (newest["wanted"], newest["reason"])
        assert newest["likelyRecovery"] < newest["expectedRecovery"]
        assert overloaded.status["chosen"]["decision"] in book["data"]


@in_virtual_time
async def test_another_operator_goes_on_with_what_was_learned_and_chosen() -> None:
    cluster = MemoryCluster()
    async with world(cluster, Scraping) as here:
        first = Case(here, Stream(arriving=3500))
        await first.starts()
        await first.lives(300)
        chosen = first.status["chosen"]["executors"]
        course = here.autoscaler.course(next(iter(here.fleet)))
        assert course is not None
        learned = course.watcher.experience.models.capacity.points
    async with world(cluster, Scraping) as there:
        second = Case(there, Stream(arriving=3500, executors=chosen))
        there.watch()
        there.agents.reports[pods.ADDRESS] = second.stream.told
        await second.lives(60)
        assert there.agents.targets in ([], [chosen])
        course = there.autoscaler.course(next(iter(there.fleet)))
        assert course is not None
        points = course.watcher.experience.models.capacity.points
        for (executors, rate), (before, known) in zip(points, learned, strict=False):
            assert executors == before
            assert rate == pytest.approx(known, rel=1e-3)
        assert len(points) >= len(learned) > 0


@in_virtual_time
async def test_another_operator_remembers_the_harm_that_was_done_since_executors_were_resized() -> (
    None
):
    cluster = MemoryCluster()
    executor = {"cpuLimit": "2"}
    application = {"image": "shop/clicks:1", "mainFile": "/opt/clicks.py", "executor": executor}
    async with world(cluster, Scraping) as here:
        first = Case(here, Stream(arriving=3500))
        await first.starts()
        await here.declare(generation=2, scaling=SCALING, application=application)
        await first.lives(120)
        assert first.status["resize"]["cpuLimit"] == "2"
        course = here.autoscaler.course(next(iter(here.fleet)))
        assert course is not None
        harm = Harm(
            at=here.clock.now().timestamp(),
            decision="d0",
            before=4,
            executors=2,
            arrival=900.0,
            reason="",
            undone=True,
        )
        course.watcher.effects = replace(course.watcher.effects, harms=(harm,))
        await first.lives(60)
        executors = first.status["chosen"]["executors"]
    async with world(cluster, Scraping) as there:
        second = Case(there, Stream(arriving=3500, executors=executors))
        there.watch()
        there.agents.reports[pods.ADDRESS] = second.stream.told
        await second.lives(60)
        course = there.autoscaler.course(next(iter(there.fleet)))
        assert course is not None
        assert harm in course.watcher.effects.harms


@in_virtual_time
async def test_a_notebook_that_cannot_be_read_is_begun_anew() -> None:
    cluster = MemoryCluster()
    async with world(cluster, Scraping) as here:
        first = Case(here, Stream(arriving=1500))
        await first.starts()
        await first.lives(60)
        book = cluster.stored(CONFIG_MAPS, "clicks-scaling")
        assert book is not None
        cluster.put(CONFIG_MAPS, {**book, "data": {"memory": '{"kind": "Memory"}', "x": "no JSON"}})
    async with world(cluster, Scraping) as there:
        second = Case(there, Stream(arriving=1500))
        there.watch()
        there.agents.reports[pods.ADDRESS] = second.stream.told
        await second.lives(120)
        assert second.status["decision"]["reason"]
        book = cluster.stored(CONFIG_MAPS, "clicks-scaling")
        assert book is not None
        assert "x" not in book["data"]


@in_virtual_time
async def test_a_job_that_goes_back_to_off_has_the_executors_that_it_declares() -> None:
    async with world(metrics=Scraping) as here:
        overloaded = Case(here, Stream(arriving=3500))
        await overloaded.starts()
        await overloaded.lives(300)
        assert here.agents.targets[-1] >= 4
        await here.declare(scaling={"mode": "Off"}, generation=2)
        await overloaded.lives(60)
        assert here.agents.targets[-1] == 2
        assert "decision" not in overloaded.status


def remembered(case: Case) -> tuple[tuple[datetime, float], ...]:
    """The metrics' server has an hour of steady load."""
    past = tuple((NOW - timedelta(minutes=60 - minute), 500.0) for minute in range(60))
    case.metrics.answers["sluice_query_arrived_rows_total"] = [Labelled({}, past)]
    return past


@in_virtual_time
async def test_the_load_of_the_past_comes_from_the_metrics_server() -> None:
    async with world(metrics=Scraping) as here:
        quiet = Case(here, Stream(arriving=500))
        past = remembered(quiet)
        await quiet.starts(created=NOW - timedelta(days=1))
        await quiet.lives(60)
        course = here.autoscaler.course(next(iter(here.fleet)))
        assert course is not None
        known = list(course.watcher.history.since(0))
        assert known[:60] == [(at.timestamp(), rate) for at, rate in past]


@in_virtual_time
async def test_the_load_of_a_job_that_had_the_name_before_is_not_this_ones() -> None:
    async with world(metrics=Scraping) as here:
        anew = Case(here, Stream(arriving=500))
        remembered(anew)
        created = NOW - timedelta(minutes=20)
        await anew.starts(created=created)
        await anew.lives(60)
        course = here.autoscaler.course(next(iter(here.fleet)))
        assert course is not None
        first, _ = next(iter(course.watcher.history.since(0)))
        assert first == (created + timedelta(minutes=5)).timestamp()


@in_virtual_time
async def test_what_happens_each_day_is_foreseen_by_an_operator_that_has_just_been_started() -> (
    None
):
    async with world(metrics=Scraping) as here:
        opening = Case(here, Stream(arriving=500))
        past = [NOW - timedelta(minutes=minute) for minute in range(10 * 1440, 0, -1)]
        # The shop opens twelve minutes from now, as it did each day at this time.
        loads = [
            3000.0 if 12 <= (at - NOW) // timedelta(minutes=1) % 1440 < 600 else 500.0
            for at in past
        ]
        opening.metrics.answers["sluice_query_arrived_rows_total"] = [
            Labelled({}, tuple(zip(past, loads, strict=True)))
        ]
        await opening.starts(created=NOW - timedelta(days=30))
        await opening.lives(600)
        assert max(here.agents.targets) >= 4


@in_virtual_time
async def test_how_long_a_lost_driver_is_away_is_learned_from_its_recovery() -> None:
    async with world(metrics=Scraping) as here:
        losing = Case(here, Stream(arriving=1200))
        await losing.starts(restart={"initialBackoff": "1s"})
        await losing.lives(240)
        lost_at = here.clock.now()
        here.agents.reports.pop(pods.ADDRESS)
        here.ends()
        await here.look()
        here.gone()
        await losing.lives(40)
        losing.stream = Stream(arriving=1200, incarnation=2)
        losing.stream.starts_at(here.clock.now())
        here.runs()
        here.agents.reports[pods.ADDRESS] = losing.stream.told
        await losing.lives(240)
        course = here.autoscaler.course(next(iter(here.fleet)))
        assert course is not None
        learned = course.watcher.experience.models.downtimes.of(Cause.DRIVER_LOSS).observed
        away = (losing.stream.first - lost_at).total_seconds()
        (seconds,) = learned
        assert seconds == pytest.approx(away, abs=1.0)


def _ended_profile(declared: StreamJob, uid: str, **points: float) -> dict[str, Any]:
    """A StreamProfile that has measured so many rows per second at so many executors (x1=...)."""
    key = key_of(declared)
    told = [
        {
            "executors": int(name[1:]),
            "rowsPerSecond": rate,
            "errorRowsPerSecond": 10.0,
            "overheadSeconds": 0.2,
            "measuredAt": NOW.isoformat(),
        }
        for name, rate in points.items()
    ]
    body = profile_resource(uid)
    body["status"] = {
        "key": {"image": key.image, "configuration": key.configuration},
        "startedAt": NOW.isoformat(),
        "endedAt": NOW.isoformat(),
        "points": told,
    }
    return body


async def _declared(here: World) -> StreamJob:
    """The job that was profiled."""
    await here.declare(scaling=SCALING)
    declared = here.fleet.declared(JobKey("shop", "clicks"))
    assert isinstance(declared, StreamJob)
    return declared


@in_virtual_time
async def test_the_first_decision_of_a_profiled_job_knows_its_capacity_already() -> None:
    async with world(metrics=Scraping) as here:
        profiled = Case(here, Stream(arriving=100))
        declared = await _declared(here)
        here.profiles.see(_ended_profile(declared, "a", x1=1000.0, x4=3900.0, x8=7500.0))
        await profiled.starts()
        await profiled.lives(40)
        course = here.autoscaler.course(JobKey("shop", "clicks"))
        assert course is not None
        points = course.watcher.experience.models.capacity.points
        assert points[:3] == ((1, 1000.0), (4, 3900.0), (8, 7500.0))


@in_virtual_time
async def test_what_a_profile_has_measured_is_learned_once_whoever_leads() -> None:
    cluster = MemoryCluster()
    for _ in range(2):
        async with world(cluster, Scraping) as here:
            profiled = Case(here, Stream(arriving=100))
            declared = await _declared(here)
            here.profiles.see(_ended_profile(declared, "a", x7=6500.0))
            here.runs()
            here.agents.reports[pods.ADDRESS] = profiled.stream.told
            await profiled.lives(120)
            course = here.autoscaler.course(JobKey("shop", "clicks"))
            assert course is not None
            points = course.watcher.experience.models.capacity.points
            assert [rate for executors, rate in points if executors == 7] == [6500.0]


@in_virtual_time
async def test_the_latency_that_a_live_profile_has_measured_is_learned_at_the_load_of_then() -> (
    None
):
    async with world(metrics=Scraping) as here:
        profiled = Case(here, Stream(arriving=100))
        declared = await _declared(here)
        body = _ended_profile(declared, "a")
        body["status"]["key"]["from"] = "Latest"
        latency = {"p50Seconds": 0.5, "p95Seconds": 1.5, "p99Seconds": 2.5}
        for executors, keeps_up in ((1, False), (2, True)):
            load = {"arrivingRowsPerSecond": 1200.0, "keepsUp": keeps_up}
            point = {"executors": executors, "latency": {**latency, **load}}
            body["status"]["points"].append({**point, "measuredAt": NOW.isoformat()})
        here.profiles.see(body)
        await profiled.starts()
        await profiled.lives(40)
        course = here.autoscaler.course(JobKey("shop", "clicks"))
        assert course is not None
        models = course.watcher.experience.models
        assert [(one.executors, one.rate, one.seconds) for one in models.latency.profiled] == [
            (2, 1200.0, 1.5)
        ]
        assert all(rate != 1200.0 for _, rate in models.capacity.points)


@in_virtual_time
async def test_of_one_tag_only_the_digest_that_runs_and_what_tells_none_is_learned() -> None:
    async with world(metrics=Scraping) as here:
        profiled = Case(here, Stream(arriving=100))
        declared = await _declared(here)
        runs, former = (f"sha256:{digit * 64}" for digit in "12")
        for uid, point, digest in (("a", "x3", runs), ("b", "x5", former), ("c", "x7", None)):
            body = _ended_profile(declared, uid, **{point: 6500.0})
            body["status"]["key"] |= {} if digest is None else {"digest": digest}
            here.profiles.see(body)
        here.drive(lambda pod: pods.running(pod, image=f"shop/clicks@{runs}"))
        here.agents.reports[pods.ADDRESS] = profiled.stream.told
        await profiled.lives(120)
        course = here.autoscaler.course(JobKey("shop", "clicks"))
        assert course is not None
        points = course.watcher.experience.models.capacity.points
        assert [executors for executors, rate in points if rate == 6500.0] == [3, 7]


@in_virtual_time
async def test_what_was_measured_of_another_configuration_teaches_nothing() -> None:
    async with world(metrics=Scraping) as here:
        profiled = Case(here, Stream(arriving=100))
        other = job(scaling=SCALING, executors={"min": 1, "max": 8, "memory": "4Gi"})
        here.profiles.see(_ended_profile(other, "a", x7=6500.0))
        await profiled.starts()
        await profiled.lives(60)
        course = here.autoscaler.course(JobKey("shop", "clicks"))
        assert course is not None
        assert not any(
            executors == 7 for executors, _ in course.watcher.experience.models.capacity.points
        )


@in_virtual_time
async def test_of_a_spec_that_is_declared_and_does_not_run_nothing_is_learned() -> None:
    async with world(metrics=Scraping) as here:
        refused = Case(here, Stream(arriving=1500))
        await refused.starts()
        await refused.lives(120)
        elsewhere = {"claim": "checkpoints", "path": "elsewhere"}
        spec: dict[str, Any] = {
            "executors": {"min": 1, "max": 8, "initial": 2, "cores": 16},
            "checkpoint": elsewhere,
            "scaling": SCALING,
        }
        here.profiles.see(_ended_profile(job(generation=2, **spec), "a", x7=65_000.0))
        await here.declare(generation=2, **spec)
        await refused.lives(120)
        assert refused.condition("SpecApplied")["reason"] == "MigrationRefused"
        course = here.autoscaler.course(JobKey("shop", "clicks"))
        assert course is not None
        capacity = course.watcher.experience.models.capacity
        assert capacity.slots.cores == 1
        assert capacity.points
        assert all(rate != 65_000.0 for _, rate in capacity.points)


@in_virtual_time
async def test_a_notebook_that_the_cluster_refuses_keeps_no_job_from_being_scaled() -> None:
    error = InvalidSpec([Problem("clicks-scaling", None, "exceeded quota: configmaps")])
    async with world(metrics=Scraping) as here:
        overloaded = Case(here, Stream(arriving=3500))
        await overloaded.starts()
        for verb in ("create", "amend"):
            here.cluster.refuse(verb, CONFIG_MAPS, *[error] * 500)
        await overloaded.lives(300)
        assert here.agents.targets
        assert here.agents.targets[-1] >= 4


@in_virtual_time
async def test_a_change_that_could_not_be_written_down_is_done_all_the_same_at_once() -> None:
    async with world(metrics=Scraping) as here:
        overloaded = Case(here, Stream(arriving=3500))
        amend = here.cluster.amend
        lost: list[datetime] = []

        async def loses_a_change(
            kind: Resource, body: Mapping[str, Any], *, tests: Mapping[str, object]
        ) -> bool:
            if kind == CONFIG_MAPS and '"keep":true' in str(body.get("data")) and not lost:
                lost.append(here.clock.now())
                raise ClusterUnavailable("timeout")
            return await amend(kind, body, tests=tests)

        here.cluster.amend = loses_a_change  # type: ignore[method-assign,assignment]  # an answer is lost
        await overloaded.starts()
        while not lost:
            await overloaded.lives(5)
        await overloaded.lives(10)
        assert here.agents.targets
        assert here.agents.targets[-1] >= 4


@in_virtual_time
async def test_a_shorter_interval_holds_from_when_it_is_declared() -> None:
    key = JobKey("shop", "clicks")
    async with world(metrics=Scraping) as here:
        calm = Case(here, Stream(arriving=100))
        await calm.starts(scaling={**SCALING, "interval": "6h"})
        await calm.lives(60)
        before = here.autoscaler.decided(key)
        await here.declare(scaling={**SCALING, "interval": "1m"}, generation=2)
        here.autoscaler.changed(key)
        await calm.lives(50)
        assert here.autoscaler.decided(key) == before
        await calm.lives(20)
        assert here.autoscaler.decided(key) != before


@in_virtual_time
async def test_room_that_was_missing_until_a_far_future_is_asked_for_again() -> None:
    """A clock was set back, or somebody has edited the status."""
    async with world(metrics=Scraping) as here:
        overloaded = Case(here, Stream(arriving=3500))
        await overloaded.starts()
        stored = here.cluster.stored(STREAM_JOBS, "clicks")
        assert stored is not None
        room = {"executors": 2, "until": "2036-01-01T00:00:00Z"}
        here.cluster.put(STREAM_JOBS, {**stored, "status": {**stored["status"], "room": room}})
    async with world(here.cluster, metrics=Scraping) as successor:
        again = Case(successor, Stream(arriving=3500))
        successor.agents.reports[pods.ADDRESS] = again.stream.told
        await again.lives(300)
        assert successor.agents.targets
        assert successor.agents.targets[-1] >= 4


@in_virtual_time
async def test_executors_that_came_when_their_owner_asked_for_them_are_not_too_many_for_the_room() -> (
    None
):
    async with world(metrics=Scraping) as here:
        crowded = Case(here, Stream(arriving=5500))
        await crowded.starts()
        while "room" not in crowded.status:
            await crowded.lives_without_room(timedelta(seconds=30))
        assert crowded.status["room"]["executors"] == 2
        # A node is added, and the owner has seen it.
        fixed = {"min": 1, "max": 8, "initial": 8}
        await here.declare(generation=2, scaling={**SCALING, "mode": "Observe"}, executors=fixed)
        crowded.stream.target = None
        await crowded.lives(240)
        assert crowded.stream.executors == 8
        told = len(here.agents.targets)
        await here.declare(generation=3, scaling=SCALING, executors=fixed)
        await crowded.lives(240)
        assert "room" in crowded.status
        assert here.agents.targets[told:] == []


@in_virtual_time
async def test_a_job_is_scaled_at_once_after_the_clock_was_set_back() -> None:
    async with world(metrics=Scraping) as here:
        grown, ahead, right = Case(here, Stream(arriving=700)), timedelta(hours=1), here.clock.now
        here.clock.now = lambda: right() + ahead  # type: ignore[method-assign]  # a clock of its own
        told = grown.stream.told
        grown.stream.told = lambda now: replace(told(right()), at=now)  # type: ignore[method-assign]
        await grown.starts()
        await grown.lives(400)
        assert here.agents.targets == []
        ahead, grown.stream.arriving = timedelta(0), 5000
        await grown.lives(300)
        assert here.agents.targets
        assert here.agents.targets[-1] >= 6
