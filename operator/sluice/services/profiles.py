"""The StreamProfiles that were seen, and what is remembered of their runs: a cache, filled by lists and watches."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from sluice.api import profiles
from sluice.core.application import JobKey, StreamJob
from sluice.core.observations import DriverPod
from sluice.core.profiling.keys import key_of
from sluice.core.profiling.records import Key, LivePoint, Point, Profile, Run, Start
from sluice.core.profiling.wanting import Former
from sluice.errors import InvalidSpec
from sluice.manifests.profiling.status import read_run
from sluice.manifests.reading import asks_the_same
from sluice.services.versions import Versions

Json = dict[str, Any]


class Profiles:
    """All StreamProfiles. What was written of a run is newer than what a watch brings back of it."""

    def __init__(self) -> None:
        self._resources: dict[JobKey, Json] = {}
        self._declared: dict[JobKey, Profile | InvalidSpec] = {}
        self._runs: dict[JobKey, tuple[str, Run]] = {}
        self._deleted: dict[JobKey, Former] = {}
        self._versions = Versions()

    def __iter__(self) -> Iterator[JobKey]:
        """All profiles that are known."""
        return iter(tuple(self._resources))

    def see(self, resource: Mapping[str, Any]) -> JobKey:
        """Take in a StreamProfile; an older version than the known one changes nothing, nor does one that has gone."""
        key = _key_of(resource)
        if not self._versions.see(resource["metadata"]):
            return key
        known = self._resources.get(key)
        self._resources[key] = dict(resource)
        if known is None or not asks_the_same(resource["metadata"], known["metadata"]):
            self._understand(key)
        return key

    def lose(self, resource: Mapping[str, Any], now: datetime) -> JobKey:
        """Forget a StreamProfile that was deleted, but not that somebody did not want it: one that would begin again at
        once could not be ended.
        """
        self._versions.lose(resource["metadata"])
        key = _key_of(resource)
        known = self._resources.get(key)
        if known is not None and known["metadata"]["uid"] == resource["metadata"]["uid"]:
            self._note_deletion(key, now)
            del self._resources[key]
            del self._declared[key]
            self._runs.pop(key, None)
        return key

    def start_afresh(self) -> None:
        """Forget what was remembered in this process: another one may have led since."""
        self._runs.clear()

    def resource(self, key: JobKey) -> Json | None:
        """The StreamProfile as last seen."""
        return self._resources.get(key)

    def declared(self, key: JobKey) -> Profile | InvalidSpec:
        """What its spec means: the same object until people ask for something else.

        Raises KeyError for one that is not known.
        """
        return self._declared[key]

    def deleted(self, job: JobKey) -> Former | None:
        """The automatic profile of a job that was deleted last while it was under way."""
        return self._deleted.get(job)

    def cost(self, key: JobKey) -> float | None:
        """The core-seconds of a profile that has ended, as they were written down then."""
        if self.run(key).ended is None:
            return None
        status = self._resources[key].get("status") or {}
        told = status.get("spent", {}).get("coreSeconds")
        return None if told is None else float(told)

    def run(self, key: JobKey) -> Run:
        """What is remembered of its run."""
        resource = self._resources[key]
        uid, run = self._runs.get(key, ("", None))
        if run is not None and uid == resource["metadata"]["uid"]:
            return run
        return read_run(resource.get("status") or {})

    def remember(self, profile: Profile, run: Run) -> None:
        """What has been written to its status."""
        self._runs[profile.key] = (profile.uid, run)

    def forget_run(self, key: JobKey) -> None:
        """What is stored of its run is newer than what was remembered."""
        self._runs.pop(key, None)

    def by_uid(self, uid: str) -> JobKey | None:
        """The profile of that uid."""
        return next(
            (key for key, body in self._resources.items() if body["metadata"]["uid"] == uid), None
        )

    def of_job(self, job: JobKey) -> tuple[Profile, ...]:
        """The valid profiles of a job, the oldest first."""
        found = (one for one in self._declared.values() if isinstance(one, Profile))
        of_job = (one for one in found if one.job == job)
        return tuple(sorted(of_job, key=lambda one: (one.created, one.uid)))

    def under_way(self) -> tuple[JobKey, ...]:
        """The valid profiles that are not over."""
        valid = (key for key, one in self._declared.items() if isinstance(one, Profile))
        return tuple(key for key in valid if self.run(key).ended is None)

    def rival(self, profile: Profile) -> str | None:
        """The older profile of the same job that is not over yet."""
        for other in self.of_job(profile.job):
            if other.uid == profile.uid:
                return None
            if self.run(other.key).ended is None:
                return other.key.name
        return None

    def measured(self, job: JobKey, key: Key) -> dict[str, tuple[Point | LivePoint, ...]]:
        """What ended profiles themselves have measured of a job as it is now, by their uids, the oldest first."""
        runs = ((one.uid, self.run(one.key)) for one in self.of_job(job))
        return {
            uid: tuple(point for point in run.points if run.began and point.at >= run.began)
            for uid, run in runs
            if run.ended is not None and key.agrees_with(run.key)
        }

    def points(
        self, job: StreamJob, driver: DriverPod | None
    ) -> Mapping[str, tuple[Point | LivePoint, ...]]:
        """The same for a job as it is declared and runs, wherever copies began to read."""
        if not self.of_job(job.key):
            return {}
        each = (self.measured(job.key, key_of(job, start, driver)) for start in Start)
        return {uid: points for measured in each for uid, points in measured.items()}

    def bounded(self, job: JobKey, key: Key) -> tuple[Point, ...]:
        """The newest point of each number of executors of which a mere bound is known, in their order."""
        bounds = (point for point in self._capacities(job, key) if not point.is_exact)
        newest = {point.executors: point for point in bounds}
        exact = {point.executors for point in self.known(job, key)}
        return tuple(newest[executors] for executors in sorted(newest) if executors not in exact)

    def known(self, job: JobKey, key: Key) -> tuple[Point, ...]:
        """The newest exact point of each number of executors, in their order."""
        exact = (point for point in self._capacities(job, key) if point.is_exact)
        newest = {point.executors: point for point in exact}
        return tuple(newest[executors] for executors in sorted(newest))

    def _note_deletion(self, key: JobKey, now: datetime) -> None:
        profile = self._declared[key]
        if not isinstance(profile, Profile) or not profile.is_automatic:
            return
        if self.run(key).ended is None:
            self._deleted[profile.job] = Former(
                name=key.name,
                ended=now,
                failures=profile.former_failures + 1,
                why="It was deleted: for none at all, set spec.profiling.enabled to false",
            )

    def _understand(self, key: JobKey) -> None:
        try:
            self._declared[key] = profiles.streamprofile(self._resources[key])
        except InvalidSpec as error:
            self._declared[key] = error.with_traceback(None)

    def _capacities(self, job: JobKey, key: Key) -> Iterator[Point]:
        """The points of all ended profiles that tell rows per second, the oldest first."""
        for points in self.measured(job, key).values():
            yield from (point for point in points if isinstance(point, Point))


def _key_of(resource: Mapping[str, Any]) -> JobKey:
    metadata = resource["metadata"]
    return JobKey(metadata["namespace"], metadata["name"])
