"""What is seen of a profile's job and its copies, from the fleet and the agents' reports; and the steering of batches.

Copies are StreamJobs like all others: the reconciler keeps them running, and the poller asks their agents.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from sluice.core import executorfaults, hints
from sluice.core.application import JobKey, StreamJob
from sluice.core.observations import AgentReport, DriverPod, Processing, is_on_its_way
from sluice.core.parallelism import fixed_tasks
from sluice.core.profiling import steering
from sluice.core.profiling.keys import key_of
from sluice.core.profiling.measuring import Batches
from sluice.core.profiling.mirroring import Mirror
from sluice.core.profiling.records import (
    Copy,
    CopySeen,
    Key,
    Problem,
    Profile,
    Reason,
    Run,
    Seen,
    Start,
)
from sluice.errors import AgentUnavailable, InvalidSpec, SluiceError
from sluice.manifests.children import agent_token
from sluice.manifests.profiling.labelling import profile_uid
from sluice.manifests.status import read_record
from sluice.ports import Agents, Json
from sluice.services.copies import Copies
from sluice.services.fleet import Fleet
from sluice.services.polling import Poller
from sluice.services.profiles import Profiles

log = logging.getLogger(__name__)

_UNSCHEDULABLE = "Unschedulable"

_NOTHING: Mapping[Start, Batches | Mirror] = {Start.EARLIEST: Batches(), Start.LATEST: Mirror()}
"""What is measured of copies, before they have told anything."""


class CopyViews:
    """What all copies have shown so far, and what the cluster has refused of them."""

    def __init__(
        self,
        *,
        fleet: Fleet,
        poller: Poller,
        profiles: Profiles,
        copies: Copies,
        agents: Agents,
        grows: Callable[[JobKey], bool],
    ) -> None:
        """`grows` says whether it was just decided that a job is to have more executors."""
        self._fleet = fleet
        self._poller = poller
        self._profiles = profiles
        self._copies = copies
        self._agents = agents
        self._grows = grows
        self._key = b""
        self._shown: dict[JobKey, Batches | Mirror] = {}
        self._refused: dict[JobKey, Problem] = {}
        self._hindered: dict[JobKey, Problem] = {}

    def use_key(self, key: bytes) -> None:
        """The operator's secret, from which the agents' tokens are derived."""
        self._key = key

    def job(self, key: JobKey) -> StreamJob | InvalidSpec | None:
        """The job as it is declared."""
        return self._fleet.declared(key) if self._fleet.job(key) is not None else None

    def key(self, job: StreamJob, start: Start = Start.EARLIEST) -> Key:
        """What measurements of a job belong to, with the digest of the image that its driver runs."""
        return key_of(job, start, self._fleet.driver(job.key))

    def forget(self, copy: JobKey) -> None:
        """Drop what is known of a copy."""
        self._shown.pop(copy, None)
        self._refused.pop(copy, None)
        self._hindered.pop(copy, None)

    def start_afresh(self) -> None:
        """Forget everything; agents tell their last batches again."""
        self._shown.clear()
        self._refused.clear()
        self._hindered.clear()

    def was_made(self, copy: JobKey, refused: Problem | None) -> None:
        """A copy was made, or not."""
        self.forget(copy)
        if refused is not None:
            self._refused[copy] = refused

    def was_hindered(self, copy: JobKey, error: SluiceError) -> None:
        """A copy could not be made, for a reason that may pass."""
        told = f"the cluster could not make what the copy needs: {error}"
        self._hindered[copy] = Problem(Reason.REFUSED, told)

    def seen(self, profile: Profile, run: Run, *, since: datetime, now: datetime) -> Seen:
        """All that is seen around a profile, by an operator that has led since then."""
        job = self.job(profile.job)
        copies = {
            **{namespace: self._former(profile.job, namespace) for namespace in profile.namespaces},
            **{copy.namespace: self._copy(profile, copy, now) for copy in run.copies},
        }
        if not isinstance(job, StreamJob):
            return Seen(job=job, since=since, copies=copies)
        key = self.key(job, profile.start)
        return Seen(
            job=job,
            since=since,
            key=key,
            tasks=self.tasks(profile.job),
            obstacle=self.obstacle(job, profile.namespaces),
            rival=self._profiles.rival(profile),
            yields=self._yields(profile),
            known=self._profiles.known(profile.job, key),
            copies=copies,
        )

    def first_rows(self, profile: Profile, copy: Copy, job: StreamJob) -> int | None:
        """The most rows of a copy's first batches; live ones come as they do in production."""
        if profile.start is Start.LATEST:
            return None
        return steering.first_rows(copy.executors, job.executors.slots, self._report(job.key))

    async def steer(self, profile: Profile, run: Run) -> None:
        """Give the copies' batches the rows that tell most, where they do not come live."""
        if profile.start is Start.LATEST:
            return
        for copy in run.open:
            key = JobKey(copy.namespace, profile.job.name)
            driver, report = self._fleet.driver(key), self._report(key)
            if report is None or driver is None or driver.address is None:
                continue
            token = agent_token(driver.owner_uid, self._key)
            for limit in steering.limits(report, self._report(profile.job)):
                try:
                    await self._agents.set_limits(
                        driver.address,
                        token,
                        limit.query,
                        most_rows=limit.rows,
                        trigger_seconds=limit.trigger_seconds,
                    )
                except AgentUnavailable as error:
                    log.info("cannot limit the batches in %s: %s", copy.namespace, error)

    def obstacle(self, job: StreamJob, namespaces: Sequence[str]) -> Problem | None:
        """Why the job cannot be copied into these namespaces, or into ones that are made for it."""
        resource = self._fleet.job(job.key)
        if resource is not None and profile_uid(resource) is not None:
            told = (
                f"StreamJob {job.key.name!r} is a copy itself; profile the job that it is a copy of"
            )
            return Problem(Reason.JOB_INVALID, told)
        return self._copies.obstacle(job, namespaces) or _without_batches(self._report(job.key))

    def without_room(self) -> JobKey | None:
        """A job of production of which a pod finds no room."""
        waiting = self._fleet.jobs_without_room()
        return next((key for key in waiting if self._is_production(key)), None)

    def _is_production(self, key: JobKey) -> bool:
        resource = self._fleet.job(key)
        return resource is not None and profile_uid(resource) is None

    def _yields(self, profile: Profile) -> Problem | None:
        """Why copies must give their room to production; by hand one may profile a job that is to grow."""
        full = self.without_room()
        if full is not None:
            why = (self._fleet.without_room(full) or "").rstrip(".")
            told = f"pods of StreamJob {full} find no room, so no copies run: {why}; make room, or profile later"
            return Problem(Reason.YIELDED, told)
        if profile.is_automatic and self._grows(profile.job):
            told = f"StreamJob {profile.job.name!r} is to have more executors, so no copies run"
            return Problem(Reason.YIELDED, told)
        return None

    def tasks(self, job: JobKey, known: int | None = None) -> int | None:
        """The tasks of a stage, where executors do not decide on them; what is `known` stands until the job tells."""
        report = self._report(job)
        return known if report is None else fixed_tasks(report, known)

    def _report(self, job: JobKey) -> AgentReport | None:
        return self._heard(job)[0]

    def _heard(self, job: JobKey) -> tuple[AgentReport | None, str | None]:
        """What the agent in a job's driver tells, or why it does not; neither if it may answer yet."""
        driver = self._fleet.driver(job)
        if driver is None or not driver.is_up:
            return None, "no driver runs"
        return self._poller.report(job, driver)

    def _former(self, job: JobKey, namespace: str) -> CopySeen:
        """What a former profile of the job has left in a namespace of the user's, which is soon to go."""
        key = JobKey(namespace, job.name)
        resource = self._fleet.job(key)
        if resource is None:
            return CopySeen(has_place=self._fleet.has_pods(key))
        return CopySeen(has_place=profile_uid(resource) is not None)

    def _copy(self, profile: Profile, copy: Copy, now: datetime) -> CopySeen:
        key = JobKey(copy.namespace, profile.job.name)
        resource = self._fleet.job(key)
        refused = self._refused.get(key)
        if resource is None or profile_uid(resource) != profile.uid:
            # Until its last pod is gone, it takes the room that the quota of a user's namespace has for another copy.
            has_pods = resource is None and self._fleet.has_pods(key)
            is_there = self._copies.is_there(copy, profile.uid)
            return CopySeen(
                has_place=is_there or has_pods, problem=refused, obstacle=self._hindered.get(key)
            )
        declared = self._fleet.declared(key)
        driver, (report, silence) = self._fleet.driver(key), self._heard(key)
        if report is not None and copy.is_open:
            self._shown[key] = self._shown.get(key, _NOTHING[profile.start]).with_report(report)
        shown = self._shown.get(key, _NOTHING[profile.start])
        return CopySeen(
            has_place=True,
            has_job=True,
            driver_made=driver.created if driver is not None else None,
            driver_since=driver.started if driver is not None else None,
            registered=report.registered if report is not None else None,
            is_unheard=report is None and silence is None,
            digest=self.key(declared).digest if isinstance(declared, StreamJob) else None,
            problem=refused or _problem(resource, declared) or _without_batches(report),
            obstacle=_waiting(declared, driver)
            or _crashed(resource, driver)
            or self._without_executors(key, declared),
            is_on_its_way=self._is_on_its_way(key, driver, now),
            reading=shown.reading(copy.executors),
            is_dry=shown.is_dry,
        )

    def _is_on_its_way(self, key: JobKey, driver: DriverPod | None, now: datetime) -> bool:
        """Whether all pods that a copy waits for are likely to run soon."""
        if driver is not None and driver.started is None:
            return is_on_its_way(driver, now)
        waiting = self._fleet.waiting(key)
        return bool(waiting) and all(is_on_its_way(executor, now) for executor in waiting)

    def _without_executors(self, key: JobKey, copy: StreamJob | InvalidSpec) -> Problem | None:
        """What keeps a copy's executors from starting, or has ended one."""
        if isinstance(copy, InvalidSpec):
            return None
        lost, waiting = self._fleet.lost(key), self._fleet.waiting(key)
        told = executorfaults.of_waiting(copy, waiting)
        told = told or (executorfaults.of_lost(copy, lost) if lost is not None else "")
        is_full = any(pod.obstacle and pod.obstacle[0] == _UNSCHEDULABLE for pod in waiting)
        reason = Reason.NO_CAPACITY if is_full else Reason.COPY_FAILED
        return Problem(reason, told.strip()) if told else None


def _problem(resource: Json, declared: StreamJob | InvalidSpec) -> Problem | None:
    """What certainly keeps a copy from working."""
    if isinstance(declared, InvalidSpec):
        return Problem(Reason.REFUSED, f"the copy's spec is not valid: {declared}")
    record = read_record(resource.get("status") or {})
    failure = record.last_failure
    if failure is None:
        return None
    if "NotReplayable" in failure.message:
        return Problem(Reason.NOT_REPLAYABLE, failure.message)
    if "NotProfilable" in failure.message:
        return Problem(Reason.NOT_PROFILABLE, failure.message)
    if "exceeded quota" in failure.message:
        return Problem(Reason.QUOTA_EXCEEDED, failure.message)
    if record.gave_up:
        return Problem(Reason.COPY_FAILED, f"{failure.reason}: {failure.message}")
    return None


def _without_batches(report: AgentReport | None) -> Problem | None:
    """Why nothing can be measured of what runs: its batches do not tell what executors can do, however long it runs."""
    running = report.running if report is not None else ()
    if not running or any(query.processing is Processing.BATCHES for query in running):
        return None
    told = (
        f"query {running[0].name!r} has a trigger of continuous processing or of real-time mode, and nothing but "
        "batches that end when their work is done can be measured; profile it with another trigger"
    )
    return Problem(Reason.NOT_PROFILABLE, told)


def _waiting(copy: StreamJob | InvalidSpec, driver: DriverPod | None) -> Problem | None:
    """What keeps a copy's driver waiting, and may pass."""
    if driver is None or driver.obstacle is None or isinstance(copy, InvalidSpec):
        return None
    reason, message = driver.obstacle
    is_full = reason == _UNSCHEDULABLE
    told = f"the driver's pod waits: {reason}: {message.rstrip('.')}."
    told += hints.remedy(copy, f"{reason}: {message}")
    return Problem(Reason.NO_CAPACITY if is_full else Reason.COPY_FAILED, told)


def _crashed(resource: Json, driver: DriverPod | None) -> Problem | None:
    """Why a copy is without a driver just now, if its last one has failed."""
    failure = read_record(resource.get("status") or {}).last_failure
    if failure is None or (driver is not None and not driver.is_over):
        return None
    return Problem(Reason.COPY_FAILED, f"{failure.reason}: {failure.message}")
