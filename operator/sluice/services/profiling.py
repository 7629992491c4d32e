"""Bring one profile closer to its end: look at its copies, decide in the core, remember, make and end copies.

What is decided is in the status before it is done, so a crash at any point is met again by the next look. Copies
that nobody needs any more are found by their labels, also after a restart.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, assert_never

from sluice.core.application import JobKey, StreamJob
from sluice.core.profiling import budget
from sluice.core.profiling.news import news
from sluice.core.profiling.places import is_copys
from sluice.core.profiling.records import Copy, EndCopy, MakeCopy, Profile, Run, Step, Verdict
from sluice.core.profiling.stepping import next_steps
from sluice.errors import InvalidSpec, NotFound, SluiceError
from sluice.manifests.profiling import status
from sluice.manifests.profiling.labelling import job_key, profile_key, profile_uid
from sluice.ports import STREAM_PROFILES, Clock, Cluster, Json
from sluice.services.copies import Copies
from sluice.services.copyviews import CopyViews
from sluice.services.fleet import Fleet
from sluice.services.profiles import Profiles
from sluice.services.telling import announce, apply_status
from sluice.services.workqueue import WorkQueue

log = logging.getLogger(__name__)

EVERY = 120.0
"""Seconds between two looks for copies whose profile is gone; one that fails is taken again sooner, with a back-off."""

_LEFT_BEHIND = "copies that no profile needs"

SHORTEST_PAUSE = timedelta(seconds=10)
"""Between two writes of a status that only bring new numbers."""

_NUMBERS = frozenset(("spent", "summary"))


class Profiler:
    """The one writer of profiles' statuses, and of what their copies are made of."""

    def __init__(
        self,
        *,
        fleet: Fleet,
        profiles: Profiles,
        copies: Copies,
        views: CopyViews,
        cluster: Cluster,
        clock: Clock,
        leads: Callable[[], bool],
    ) -> None:
        self._fleet = fleet
        self._profiles = profiles
        self._copies = copies
        self._views = views
        self._cluster = cluster
        self._clock = clock
        self._leads = leads
        self._since = clock.now()
        self._written: dict[JobKey, tuple[Json, datetime]] = {}
        self.queue: WorkQueue[JobKey] = WorkQueue(
            self._look, fields=_fields, declared=self._declared
        )
        self._sweeps: WorkQueue[str] = WorkQueue(self._sweep, fields=lambda _: {})

    def changed(self, resource: Mapping[str, Any]) -> None:
        """A StreamProfile is there, perhaps with nothing new but the status that was written here."""
        if "deletionTimestamp" in resource["metadata"]:
            # Somebody's finalizer may keep the object for long, and nobody would end its copies.
            self.gone(resource)
            return
        self.queue.add_if_changed(self._profiles.see(resource))

    def gone(self, resource: Mapping[str, Any]) -> None:
        """A StreamProfile was deleted: its copies go, too."""
        self._written.pop(self._profiles.lose(resource, self._clock.now()), None)
        self._sweeps.add(_LEFT_BEHIND)

    def heard(self, job: JobKey) -> None:
        """A job has changed, or its agent has told something: it may be a copy, or the job of a profile."""
        resource = self._fleet.job(job)
        uid = profile_uid(resource) if resource is not None else None
        profile = self._profiles.by_uid(uid) if uid is not None else None
        if profile is not None:
            self.queue.add(profile)
        for one in self._profiles.of_job(job):
            if self._profiles.run(one.key).ended is None:
                self.queue.add(one.key)
        if self._fleet.without_room(job) is not None:
            # Copies of all jobs may be in its way.
            for key in self._profiles.under_way():
                self.queue.add(key)

    async def begin(self) -> None:
        """Take over: look at every profile, and for what was left behind."""
        self._since = self._clock.now()
        self._profiles.start_afresh()
        self._views.start_afresh()
        self._written.clear()
        try:
            await self._copies.take_stock()
        except SluiceError as error:
            log.warning("cannot see which copies there are: %s", error)
        for key in self._profiles:
            self.queue.add(key)
        self._sweeps.add(_LEFT_BEHIND)

    async def run(self) -> None:
        """Remove what is left behind, until cancelled."""
        await self._sweeps.run(1)

    def _declared(self, key: JobKey) -> object | None:
        return self._profiles.declared(key) if self._profiles.resource(key) is not None else None

    async def _look(self, key: JobKey) -> float | None:
        """Take the next steps of a profile; the seconds after which to look again."""
        resource = self._profiles.resource(key)
        if resource is None or not self._leads():
            return None
        profile, now = self._profiles.declared(key), self._clock.now()
        if isinstance(profile, InvalidSpec):
            await self._report_invalid(key, resource, profile, now)
            return None
        run = self._profiles.run(key)
        seen = self._views.seen(profile, run, since=self._since, now=now)
        verdict = next_steps(profile, run, seen, now)
        await self._remember(profile, verdict, now)
        for item in news(run, verdict.run):
            await announce(self._cluster, self._clock, "StreamProfile", key, profile.uid, item)
        failure = await _first_failure(self._act(profile, step) for step in verdict.steps)
        await self._views.steer(profile, verdict.run)
        if failure is not None:
            raise failure
        return verdict.again

    async def _remember(self, profile: Profile, verdict: Verdict, now: datetime) -> None:
        """Write the status; at once if something has happened, else when its numbers are old."""
        resource = self._profiles.resource(profile.key) or {"metadata": {}}
        before = resource.get("status") or {}
        spent = self._spent(profile, verdict.run, now)
        told = status.status_of(profile, verdict.run, verdict.phase, spent, before, now)
        if self._is_due(profile.key, told, now):
            version = resource["metadata"].get("resourceVersion") if verdict.steps else None
            await self._write(profile.key, profile.uid, told, version)
            self._written[profile.key] = (told, now)
        self._profiles.remember(profile, verdict.run)

    def _is_due(self, key: JobKey, told: Json, now: datetime) -> bool:
        written, at = self._written.get(key, ({}, now))
        if _without_numbers(told) != _without_numbers(written):
            return True
        return told != written and now - at >= SHORTEST_PAUSE

    def _spent(self, profile: Profile, run: Run, now: datetime) -> float:
        told, job = self._profiles.cost(profile.key), self._views.job(profile.job)
        if told is not None:
            return told
        if isinstance(job, StreamJob):
            return budget.spent(job, run.copies, now)
        stored = (self._profiles.resource(profile.key) or {}).get("status") or {}
        return float(stored.get("spent", {}).get("coreSeconds", 0.0))

    async def _write(self, key: JobKey, uid: str, told: Json, version: str | None) -> None:
        self._profiles.see(
            await apply_status(self._cluster, "StreamProfile", key, uid, told, version)
        )

    async def _report_invalid(
        self, key: JobKey, resource: Json, error: InvalidSpec, now: datetime
    ) -> None:
        metadata, before = resource["metadata"], resource.get("status") or {}
        told = status.invalid(metadata.get("generation", 1), error, before, now)
        if told != before:
            log.warning("its spec is not valid: %s", error)
            await self._write(key, metadata["uid"], told, None)
            # It has no open copy any more, so what there is of them is left behind.
            self._profiles.forget_run(key)
            self._sweeps.add(_LEFT_BEHIND)

    async def _act(self, profile: Profile, step: Step) -> None:
        copy, job = step.copy, self._views.job(profile.job)
        key = JobKey(copy.namespace, profile.job.name)
        match step:
            case MakeCopy():
                if isinstance(job, StreamJob):
                    await self._make(profile, copy, job)
            case EndCopy():
                is_ours = is_copys(copy.namespace, profile.uid)
                await self._copies.end(copy.namespace, profile.uid, profile.job, is_ours=is_ours)
                self._views.forget(key)
            case _:
                assert_never(step)

    async def _make(self, profile: Profile, copy: Copy, job: StreamJob) -> None:
        key, rows = JobKey(copy.namespace, job.key.name), self._views.first_rows(profile, copy, job)
        try:
            refused = await self._copies.make(profile, copy, job, most_rows=rows)
        except SluiceError as error:
            self._views.was_hindered(key, error)
            raise
        self._views.was_made(key, refused)

    async def _sweep(self, _: str) -> float:
        """Remove copies that no profile needs; the seconds after which to look for others."""
        if self._leads():
            await self._remove_left_behind()
        return EVERY

    async def _remove_left_behind(self) -> None:
        """Those in namespaces of ours, and what is left in the users' own."""
        found = [one async for one in self._found()]
        failure = await _first_failure(self._remove_orphan(*one) for one in found)
        if failure is not None:
            raise failure

    async def _found(self) -> AsyncIterator[tuple[str, JobKey | None, Json, bool]]:
        """What may be of a copy: its namespace, its job, the object, and whether that namespace should be ours."""
        for body in await self._copies.take_stock():
            yield body["metadata"]["name"], job_key(body), body, True
        for key in self._fleet:
            yield key.namespace, key, self._fleet.job(key) or {"metadata": {}}, False
        # An operator may have ended between the claim of a copy and its StreamJob.
        for body in await self._copies.claims():
            yield body["metadata"]["namespace"], job_key(body), body, False

    async def _remove_orphan(
        self, namespace: str, job: JobKey | None, body: Json, is_ours: bool
    ) -> None:
        uid, is_leaving = profile_uid(body), "deletionTimestamp" in body["metadata"]
        if uid is None or job is None or is_leaving or is_copys(namespace, uid) is not is_ours:
            return
        if await self._is_orphan(namespace, body):
            log.info("removing the copy of %s in %s: no profile needs it", job, namespace)
            await self._copies.end(namespace, uid, job, is_ours=is_ours)

    async def _is_orphan(self, namespace: str, body: Json) -> bool:
        """Whether no profile has an open copy there. That a profile is gone is asked, not remembered."""
        uid, named = profile_uid(body), profile_key(body)
        known = self._profiles.by_uid(uid or "")
        if known is not None:
            return namespace not in {copy.namespace for copy in self._profiles.run(known).open}
        if named is None:
            return False
        try:
            found = await self._cluster.get(STREAM_PROFILES, named.namespace, named.name)
        except NotFound:
            return True
        return found["metadata"]["uid"] != uid or "deletionTimestamp" in found["metadata"]


async def _first_failure(doings: Iterable[Awaitable[None]]) -> SluiceError | None:
    """Do one after the other, also after one that fails: what is in the way of one copy is in the way of no other."""
    first: SluiceError | None = None
    for doing in doings:
        try:
            await doing
        except SluiceError as error:
            first = first or error
    return first


def _fields(key: JobKey) -> dict[str, str]:
    return {"namespace": key.namespace, "profile": key.name}


def _without_numbers(told: Json) -> Json:
    """What a person would want to hear of at once."""
    return {name: part for name, part in told.items() if name not in _NUMBERS}
