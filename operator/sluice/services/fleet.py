"""What the operator has seen of the cluster: a cache, filled by lists and watches, empty after a restart.

Nothing here is the only copy of anything. It answers *what should I look at*; before something that cannot be
taken back, the API server is asked.

There can be thousands of jobs, so each spec is kept once, as it was understood: the resource has it in place of what
the API server sent, and so has the driver that was made from it.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from sluice.api import convert
from sluice.core.application import Checkpoint, JobKey, StreamJob
from sluice.core.claims import Claimant, Claims
from sluice.core.observations import DriverPod, ExecutorPod, LostExecutor, WaitingExecutor
from sluice.core.record import Record
from sluice.errors import InvalidSpec, Problem
from sluice.manifests import names, reading
from sluice.manifests.interning import interned
from sluice.manifests.reading import asks_the_same
from sluice.manifests.status import read_record
from sluice.services.versions import Versions

log = logging.getLogger(__name__)

Json = dict[str, Any]
Told = TypeVar("Told")
Waiting = TypeVar("Waiting", DriverPod, WaitingExecutor)

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class Fleet:
    """All StreamJobs, their driver pods, and how many executors each has."""

    def __init__(self) -> None:
        self._jobs: dict[JobKey, Json] = {}
        self._declared: dict[JobKey, StreamJob | InvalidSpec] = {}
        self._drivers: dict[JobKey, DriverPod] = {}
        self._executors: dict[JobKey, dict[str, ExecutorPod]] = {}
        self._waiting: dict[JobKey, dict[str, WaitingExecutor]] = {}
        self._lost: dict[JobKey, LostExecutor] = {}
        self._ended: dict[JobKey, tuple[str, int]] = {}
        self._unplaced: dict[JobKey, dict[str, str]] = {}
        self._versions = Versions()
        self.claims = Claims()

    def __len__(self) -> int:
        return len(self._jobs)

    def __iter__(self) -> Iterator[JobKey]:
        """All jobs that are known."""
        return iter(tuple(self._jobs))

    def job(self, key: JobKey) -> Json | None:
        """The StreamJob as last seen."""
        return self._jobs.get(key)

    def declared(self, key: JobKey) -> StreamJob | InvalidSpec:
        """What a job's spec means, or why it means nothing: the same object until people ask for something else.

        Raises KeyError for a job that is not known.
        """
        return self._declared[key]

    def driver(self, key: JobKey) -> DriverPod | None:
        """The driver pod as last seen."""
        return self._drivers.get(key)

    def hinder(self, key: JobKey, uid: str, obstacle: tuple[str, str] | None) -> None:
        """Enter what keeps a pod's container from being made, until a watch tells of that pod again."""
        self._enter(key, uid, lambda pod: {"obstacle": obstacle} if pod.is_being_made else {})

    def order_node(self, key: JobKey, uid: str, told: str) -> None:
        """Enter what the cluster's autoscaler tells of the node that it adds for a pod, until that has one."""
        self._enter(key, uid, lambda pod: {"ordered_node": told} if pod.lacks_node else {})

    def executors_running(self, key: JobKey) -> int:
        """How many executor pods run."""
        return len(self._executors.get(key, ()))

    def executors(self, key: JobKey) -> tuple[ExecutorPod, ...]:
        """The executor pods that run."""
        return tuple(self._executors.get(key, {}).values())

    def waiting(self, key: JobKey) -> tuple[WaitingExecutor, ...]:
        """The executor pods that do not run yet."""
        return tuple(self._waiting.get(key, {}).values())

    def lost(self, key: JobKey) -> LostExecutor | None:
        """The last executor of the present driver that has ended unasked."""
        lost, driver = self._lost.get(key), self._drivers.get(key)
        is_its = lost is not None and driver is not None and lost.driver_uid == driver.uid
        return lost if is_its else None

    def has_pods(self, key: JobKey) -> bool:
        """Whether a driver is there, be it on its way out, or an executor runs."""
        return key in self._drivers or self.executors_running(key) > 0

    def without_room(self, key: JobKey) -> str | None:
        """Why a pod of the job has no node, if that is because nodes are full."""
        return next(iter(self._unplaced.get(key, {}).values()), None)

    def jobs_without_room(self) -> Iterator[JobKey]:
        """The jobs of which a pod finds no room."""
        yield from (key for key in tuple(self._unplaced) if key in self._jobs)

    def nodes(self) -> set[str]:
        """The nodes that have drivers or executors of jobs."""
        drivers = (driver.node for driver in self._drivers.values())
        executors = (pod.node for pods in self._executors.values() for pod in pods.values())
        return {node for node in (*drivers, *executors) if node}

    def on_nodes(self, nodes: Set[str]) -> Iterator[JobKey]:
        """The jobs that have a driver or executors there."""
        for key in self if nodes else ():
            driver = self._drivers.get(key)
            places = {executor.node for executor in self.executors(key)}
            if (driver is not None and driver.node in nodes) or not places.isdisjoint(nodes):
                yield key

    def ended(self, key: JobKey) -> int:
        """The newest incarnation of the job whose driver was seen to have ended; 0 if none was."""
        job, (uid, incarnation) = self._jobs.get(key), self._ended.get(key, ("", 0))
        return incarnation if job is not None and job["metadata"]["uid"] == uid else 0

    def see_job(self, resource: Mapping[str, Any]) -> JobKey:
        """Take in a StreamJob; an older version than the known one changes nothing, nor does one that has gone."""
        metadata = interned(_slim(resource["metadata"]))
        key = JobKey(metadata["namespace"], metadata["name"])
        if not self._versions.see(metadata):
            return key
        known = self._jobs.get(key)
        if known is not None and known["metadata"]["uid"] != metadata["uid"]:
            self._leave(key, known["metadata"]["uid"])
        status = interned(resource.get("status") or {})
        self._jobs[key] = {**resource, "metadata": metadata, "status": status}
        self._understand(key, known)
        self._declare(key)
        return key

    def lose_job(self, resource: Mapping[str, Any]) -> JobKey:
        """Forget a StreamJob that was deleted; its checkpoint stays taken while its driver lives."""
        metadata = resource["metadata"]
        self._versions.lose(metadata)
        key = JobKey(metadata["namespace"], metadata["name"])
        known = self._jobs.get(key)
        if known is not None and known["metadata"]["uid"] == metadata["uid"]:
            del self._jobs[key]
            del self._declared[key]
            self._forget_ends(key)
            self._leave(key, metadata["uid"])
        return key

    def see_pod(self, pod: Mapping[str, Any]) -> JobKey | None:
        """Take in a pod as a job is taken in; the key of its job, or None if it is none of ours."""
        key = _job_key(pod)
        if key is None or not self._versions.see(pod["metadata"]):
            return key
        name = pod["metadata"]["name"]
        _note(self._unplaced, key, name, reading.lack_of_room(pod))
        if reading.role_of(pod) == names.DRIVER:
            self._see_driver(key, pod)
            return key
        was_there, runs = self._had_executor(key, name), reading.is_running(pod)
        _note(self._executors, key, name, reading.executor_pod(pod) if runs else None)
        waiting, before = reading.waiting_executor(pod), self._waiting.get(key, {}).get(name)
        _note(self._waiting, key, name, waiting and _still_ordered(waiting, before))
        self._note_loss(key, pod, was_there=was_there)
        return key

    def lose_pod(self, pod: Mapping[str, Any]) -> JobKey | None:
        """Forget a pod that is gone from the API; of one that went untold only the metadata are known."""
        key = _job_key(pod)
        if key is None:
            return None
        self._versions.lose(pod["metadata"])
        name = pod["metadata"]["name"]
        _note(self._unplaced, key, name, None)
        if reading.role_of(pod) == names.DRIVER:
            self._lose_driver(key, pod)
        else:
            was_there = self._had_executor(key, name)
            _note(self._executors, key, name, None)
            _note(self._waiting, key, name, None)
            self._note_loss(key, pod, was_there=was_there)
        if key not in self._jobs and key not in self._drivers:
            self._forget_ends(key)
        return key

    def claim(self, job: StreamJob, record: Record) -> JobKey | None:
        """The other job that has this one's checkpoint; None if it may have it."""
        return self.claims.holder(_claimant(job, record))

    def hold(self, job: StreamJob, record: Record) -> None:
        """Enter that a job starts on its checkpoint, before anybody else can decide to."""
        self.claims.put(_claimant(job, record))

    def _understand(self, key: JobKey, before: Json | None) -> None:
        """Read the spec, unless it is the one that was read before: most changes are of the status."""
        resource, known = self._jobs[key], self._declared.get(key)
        is_new = before is None or not asks_the_same(resource["metadata"], before["metadata"])
        if known is None or is_new:
            try:
                known = convert.streamjob(resource)
            except InvalidSpec as error:
                known = error.with_traceback(None)
            except Exception as error:
                # A mistake of ours: it must not keep the operator from all other jobs.
                log.exception("the spec of %s cannot be read", key)
                problem = Problem("spec", None, f"cannot be read: {error!r}; please report this")
                known = InvalidSpec([problem])
            self._declared[key] = known
        if isinstance(known, StreamJob):
            resource["spec"] = known.document

    def _document(self, key: JobKey, pod: Mapping[str, Any]) -> Mapping[str, object] | None:
        """The spec that a driver was made from: its pod's, which does not change, and mostly the job's present one."""
        known = self._drivers.get(key)
        if known is not None and known.uid == pod["metadata"]["uid"]:
            return known.document
        document, job = reading.document_of(pod, _canonical), self._declared.get(key)
        if isinstance(job, StreamJob) and job.document == document:
            return job.document
        return document

    def _declare(self, key: JobKey) -> None:
        """Enter the claim of a job: what it holds, also if its spec means nothing by now; else what it declares."""
        resource, job = self._jobs[key], self._declared[key]
        record = read_record(resource.get("status") or {})
        if record.incarnation and record.checkpoint is not None:
            metadata = resource["metadata"]
            held = Claimant(
                key=key,
                uid=metadata["uid"],
                location=record.checkpoint,
                has_started=True,
                created=datetime.fromisoformat(metadata["creationTimestamp"]),
            )
            self.claims.put(held)
        elif isinstance(job, StreamJob):
            self.claims.put(_claimant(job, record))

    def _enter(
        self, key: JobKey, uid: str, told: Callable[[DriverPod | WaitingExecutor], Json]
    ) -> None:
        """Change what is known of a pod that does not run yet by what is told of it as it is by now."""
        driver = self._drivers.get(key)
        if driver is not None and driver.uid == uid:
            self._drivers[key] = replace(driver, **told(driver))
        for name, pod in self._waiting.get(key, {}).items():
            if pod.uid == uid:
                self._waiting[key][name] = replace(pod, **told(pod))

    def _see_driver(self, key: JobKey, pod: Mapping[str, Any]) -> None:
        driver, before = reading.driver_pod(pod, self._document(key, pod)), self._drivers.get(key)
        if before is not None and before.uid != driver.uid:
            # Another one has its name: its end was told to nobody, or will be later, when it is known no more.
            self._forget_orphan(key, before)
        driver = _still_ordered(driver, before)
        self._drivers[key] = driver
        self._note_end(key, driver)
        job = self._jobs.get(key)
        if job is None or job["metadata"]["uid"] != driver.owner_uid:
            self._adopt_orphan(key, driver)

    def _lose_driver(self, key: JobKey, pod: Mapping[str, Any]) -> None:
        if "status" in pod:
            # The last that a watch tells of a pod may be the first that we see of its end.
            self._note_end(key, reading.driver_pod(pod, None))
        known = self._drivers.get(key)
        if known is not None and known.uid == pod["metadata"]["uid"]:
            del self._drivers[key]
            self._forget_orphan(key, known)

    def _note_end(self, key: JobKey, driver: DriverPod) -> None:
        if driver.is_proven_dead:
            self._ended[key] = (driver.owner_uid, driver.incarnation)

    def _forget_ends(self, key: JobKey) -> None:
        self._ended.pop(key, None)
        self._lost.pop(key, None)

    def _had_executor(self, key: JobKey, name: str) -> bool:
        return name in self._executors.get(key, {}) or name in self._waiting.get(key, {})

    def _note_loss(self, key: JobKey, executor: Mapping[str, Any], *, was_there: bool) -> None:
        """Count an executor once, when it ends: much is told of its pod after that."""
        lost, before = reading.lost_executor(executor), self._lost.get(key)
        if lost is None:
            return
        if before is not None and lost.follows(before):
            lost = replace(lost, so_far=before.so_far + was_there)
        self._lost[key] = lost

    def _adopt_orphan(self, key: JobKey, driver: DriverPod) -> None:
        """A driver whose job is gone still writes its checkpoint until it is gone, too."""
        place = _place(driver.document or {})
        if place is None:
            return
        self.claims.put(
            Claimant(
                key=key,
                uid=_claims_as(driver),
                location=place.location(key.namespace),
                has_started=True,
                created=driver.created,
            )
        )

    def _leave(self, key: JobKey, uid: str) -> None:
        driver = self._drivers.get(key)
        if driver is None or driver.owner_uid != uid:
            self.claims.remove(uid)

    def _forget_orphan(self, key: JobKey, driver: DriverPod) -> None:
        job = self._jobs.get(key)
        if job is None or job["metadata"]["uid"] != driver.owner_uid:
            self.claims.remove(_claims_as(driver))


def _claims_as(driver: DriverPod) -> str:
    """Whose claim an orphan holds: its job's, or its own where somebody has taken its owner away."""
    return driver.owner_uid or driver.uid


def _note(known: dict[JobKey, dict[str, Told]], key: JobKey, pod: str, told: Told | None) -> None:
    """Enter what is known of a job's pod, or with None that there is nothing any more."""
    pods = known.setdefault(key, {})
    if told is None:
        pods.pop(pod, None)
    else:
        pods[pod] = told
    if not pods:
        del known[key]


def _still_ordered(pod: Waiting, before: Waiting | None) -> Waiting:
    """The pod with the node that was ordered for it: the scheduler tells again and again that it has none yet."""
    if before is None or before.uid != pod.uid or not pod.lacks_node:
        return pod
    return replace(pod, ordered_node=before.ordered_node)


def _slim(metadata: Mapping[str, Any]) -> Json:
    """What is needed of metadata: not who wrote which field, and not the object once more as kubectl keeps it."""
    slim = {name: part for name, part in metadata.items() if name != "managedFields"}
    annotations = metadata.get("annotations") or {}
    slim["annotations"] = {
        name: text for name, text in annotations.items() if name != _LAST_APPLIED
    }
    return slim


def _claimant(job: StreamJob, record: Record) -> Claimant:
    return Claimant(
        key=job.key,
        uid=job.uid,
        location=job.checkpoint_location,
        has_started=record.incarnation > 0 and record.checkpoint == job.checkpoint_location,
        created=job.created,
    )


def _canonical(document: object) -> dict[str, Any]:
    try:
        return convert.spec_document(document)
    except InvalidSpec:
        # Made by another version under other rules: compare what it says as it stands.
        return dict(document) if isinstance(document, Mapping) else {}


def _place(document: Mapping[str, object]) -> Checkpoint | None:
    """The checkpoint of a spec that may have been written under other rules, or by anybody."""
    declared = document.get("checkpoint")
    if not isinstance(declared, Mapping):
        return None
    claim, path, uri = (declared.get(name) for name in ("claim", "path", "uri"))
    return Checkpoint(
        claim=None if claim is None else str(claim),
        path="" if path is None else str(path),
        uri=None if uri is None else str(uri),
    )


def _job_key(pod: Mapping[str, Any]) -> JobKey | None:
    """The job of a pod of ours; labels alone, which anybody can set, make no pod a driver."""
    job, metadata = reading.job_of(pod), pod["metadata"]
    if job is None:
        return None
    if reading.role_of(pod) == names.DRIVER and metadata["name"] != names.driver_pod(job):
        return None
    return JobKey(metadata["namespace"], job)
