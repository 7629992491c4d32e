"""Keep the last spec of each job that worked, and say which spec is in force: the declared one, or that in its place.

It is in a ConfigMap of the job's own, because a status is to be small; read only when it is needed.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sluice.api import convert
from sluice.core import changes
from sluice.core.application import JobKey, StreamJob
from sluice.core.proving import Proving
from sluice.core.record import Record
from sluice.errors import Declined, InvalidSpec, NameTaken, NotFound
from sluice.manifests import names, proving
from sluice.ports import CONFIG_MAPS, Cluster
from sluice.services.fleet import Fleet
from sluice.services.having import Children

Json = dict[str, Any]

log = logging.getLogger(__name__)

REFUSED_AGAIN = 600.0
"""Seconds after which it is seen whether the cluster takes a spec by now that it has refused to keep."""

DECLINED_AGAIN = 30.0
"""The same where the cluster could not keep it, for a reason that may pass: a webhook of admission is away."""


class LastGood:
    """The last good specs; one that was fetched is remembered for as long as it is needed."""

    def __init__(self, cluster: Cluster, fleet: Fleet) -> None:
        self._cluster = cluster
        self._children = Children(cluster)
        self._fleet = fleet
        self._fetched: dict[JobKey, tuple[str, Json | None]] = {}
        self._refused: dict[JobKey, tuple[str, float]] = {}
        """The fingerprint of a spec that was not kept, and when to try again, by the loop's clock."""

    def forget(self, key: JobKey) -> None:
        """Drop what is known of a job that is gone."""
        self._fetched.pop(key, None)
        self._refused.pop(key, None)

    def forget_all(self) -> None:
        """Read all anew: another one may have written since."""
        self._fetched.clear()
        self._refused.clear()

    async def fetch(self, key: JobKey, record: Record, *, is_left_alone: bool) -> bool:
        """Have the spec at hand if it is needed; whether that took a question, so that all must be looked at anew."""
        if not self._is_needed(key, record.proving, is_left_alone=is_left_alone):
            self._fetched.pop(key, None)
            return False
        uid = self._uid(key)
        if self._fetched.get(key, ("", None))[0] == uid:
            return False
        try:
            found = await self._cluster.get(CONFIG_MAPS, key.namespace, names.last_good(key.name))
        except NotFound:
            document = None
        else:
            document = proving.read_last_good(found, uid)
        if document is None:
            log.warning("%s has no last good spec of this job", names.last_good(key.name))
        self._fetched[key] = (uid, document)
        return True

    def in_force(
        self, key: JobKey, record: Record, *, is_left_alone: bool
    ) -> tuple[Record, StreamJob | InvalidSpec]:
        """What the next driver is made from, and the record: without a good spec, nothing was rolled back.

        A driver that goes on is left alone while the spec is not valid: what it has taken live since its start is in no
        document.
        """
        declared, good = self._fleet.declared(key), self._document(key)
        if isinstance(declared, InvalidSpec):
            if good is None or is_left_alone:
                return record, declared
            return record, self._read(key, good) or declared
        record = record.retried(declared)
        if not record.proving.is_rolled_back(declared.generation):
            return record, declared
        restored = self._read(key, changes.restored(declared.document, good)) if good else None
        if restored is None:
            return replace(record, proving=Proving()), declared
        return record, restored

    def as_started(self, job: StreamJob) -> StreamJob:
        """The job that the present driver was made from: its next executors begin with that, whatever changed live."""
        driver = self._fleet.driver(job.key)
        if driver is None or driver.document is None or driver.document == job.document:
            return job
        return self._read(job.key, driver.document) or job

    async def keep(self, job: StreamJob, *, is_first: bool) -> bool:
        """Write the spec of a job that works; whether the cluster has taken it."""
        now = asyncio.get_running_loop().time()
        refused, again = self._refused.get(job.key, ("", now))
        if refused == job.fingerprint and now < again:
            return False
        try:
            await self._children.have(proving.last_good(job), is_new=is_first)
        except (InvalidSpec, NameTaken, Declined) as error:
            # None must keep the job from being looked after; it only has nothing to go back to.
            log.warning("the last good spec cannot be kept: %s", error)
            pause = DECLINED_AGAIN if isinstance(error, Declined) else REFUSED_AGAIN
            self._refused[job.key] = (job.fingerprint, now + pause)
            return False
        self.forget(job.key)
        return True

    def _is_needed(self, key: JobKey, known: Proving, *, is_left_alone: bool) -> bool:
        declared = self._fleet.declared(key)
        if known.good is None:
            return False
        if isinstance(declared, InvalidSpec):
            return not is_left_alone
        return known.retried(declared).is_rolled_back(declared.generation)

    def _document(self, key: JobKey) -> Mapping[str, object] | None:
        """The spec as it was fetched; else that of the present driver, which needs no other one in its place."""
        owner, document = self._fetched.get(key, ("", None))
        if document is not None and owner == self._uid(key):
            return document
        driver = self._fleet.driver(key)
        return driver.document if driver is not None else None

    def _read(self, key: JobKey, document: Mapping[str, object]) -> StreamJob | None:
        """The job that this spec would be; None if another version has kept it, under other rules."""
        resource = self._fleet.job(key)
        try:
            return convert.streamjob({**(resource or {}), "spec": document})
        except InvalidSpec as error:
            log.warning("the last good spec cannot be used: %s", error)
            return None

    def _uid(self, key: JobKey) -> str:
        resource = self._fleet.job(key)
        return resource["metadata"]["uid"] if resource is not None else ""
