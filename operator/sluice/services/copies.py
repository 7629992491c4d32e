"""Make the copies of a job with all that guards them, and remove them: the guards come first, and go with the copy.

In a namespace of the user's, the guards are the user's own; there is made the claim and the StreamJob alone.
"""

import logging
from collections.abc import Sequence
from typing import Any

from sluice.core.application import JobKey, StreamJob
from sluice.core.profiling.places import is_copys
from sluice.core.profiling.records import Copy, Problem, Profile, Reason
from sluice.errors import InvalidSpec, NameTaken, NotFound, NotYetGone
from sluice.manifests.profiling import consent, copying, guards
from sluice.manifests.profiling.guards import Surroundings
from sluice.manifests.profiling.labelling import PROFILE_LABEL, profile_uid
from sluice.ports import CLAIMS, CONFIG_MAPS, NAMESPACES, STREAM_JOBS, Cluster, Json, Resource
from sluice.services.having import have

log = logging.getLogger(__name__)


class Copies:
    """What was made for copies and is still there, as far as is known: by namespace, the profile's uid."""

    def __init__(
        self,
        cluster: Cluster,
        around: Surroundings,
        *,
        namespaces: Sequence[str] = (),
        makes: bool = True,
    ) -> None:
        """`namespaces` are those that the operator looks after; none means all, and that it may make some if it `makes`
        any.
        """
        self._cluster = cluster
        self._around = around
        self._makes = makes
        self._namespaces = tuple(namespaces)
        self._places: dict[str, str] = {}

    @property
    def may_make_namespaces(self) -> bool:
        """Whether the operator has rights in all of the cluster, and is to."""
        return self._makes and not self._namespaces

    def is_there(self, copy: Copy, uid: str) -> bool:
        """Whether something of the profile of that uid is in the copy's namespace."""
        return self._places.get(copy.namespace) == uid

    def obstacle(self, job: StreamJob, namespaces: Sequence[str]) -> Problem | None:
        """Why no copy of this job can be made in these namespaces, or in ones that are made for it."""
        if self._namespaces:
            others = [one for one in namespaces if one not in self._namespaces]
            if others or not namespaces:
                told = (
                    f"the operator looks after {', '.join(self._namespaces)} only and makes no namespaces; "
                    "list some of these in spec.namespaces"
                )
                return Problem(Reason.REFUSED, told)
        elif not (self._makes or namespaces):
            told = "the operator makes no namespaces; list namespaces that are there in spec.namespaces"
            return Problem(Reason.REFUSED, told)
        return copying.obstacle(job, namespaces)

    async def make(
        self, profile: Profile, copy: Copy, job: StreamJob, *, most_rows: int | None
    ) -> Problem | None:
        """Make a copy, or what is missing of it; why the cluster does not take it."""
        self._places[copy.namespace] = profile.uid
        try:
            if is_copys(copy.namespace, profile.uid):
                await self._have(guards.namespace(profile, copy))
                for guard in guards.guards(profile, copy, job, self._around):
                    await self._have(guard)
                await self._bring_config_maps(profile, copy, job)
            else:
                theirs = await self._cluster.get(NAMESPACES, "", copy.namespace)
                refused = consent.refusal(theirs, job.key.namespace)
                if refused is not None:
                    return refused
            await self._have(guards.claim(profile, copy, job, await self._claim_of(job)))
            body = copying.copy_job(profile, copy, job, self._around, most_rows=most_rows)
            await self._have(body)
        except InvalidSpec as error:
            reason = Reason.QUOTA_EXCEEDED if "exceeded quota" in str(error) else Reason.REFUSED
            return Problem(reason, f"the cluster refused what the copy needs: {error}")
        except NotYetGone:
            raise
        except NameTaken as error:
            return Problem(Reason.REFUSED, f"what the copy needs cannot be made: {error}")
        except NotFound as error:
            told = f"what the copy needs is not there: {error}"
            return Problem(Reason.REFUSED, told)
        return None

    async def end(self, namespace: str, uid: str, job: JobKey, *, is_ours: bool) -> None:
        """Remove a copy. Its StreamJob is what it is found by, so in a namespace of the user's that goes last."""
        if is_ours:
            # In a namespace of ours it goes first: nothing is started anew in what goes.
            await self._remove(STREAM_JOBS, namespace, job.name, uid)
            if is_copys(namespace, uid):
                await self._remove(NAMESPACES, "", namespace, uid)
        else:
            for kind in (CLAIMS, STREAM_JOBS):
                found = self._cluster.each(kind, namespace, selector=f"{PROFILE_LABEL}={uid}")
                async for body in found:
                    await self._remove(kind, namespace, body["metadata"]["name"], uid)
        self._places.pop(namespace, None)

    async def take_stock(self) -> tuple[Json, ...]:
        """All namespaces of copies that there are, as metadata."""
        if not self.may_make_namespaces:
            return ()
        listed = self._cluster.each(NAMESPACES, None, selector=PROFILE_LABEL, metadata_only=True)
        found = [body async for body in listed]
        for body in found:
            uid = profile_uid(body)
            if uid is not None and "deletionTimestamp" not in body["metadata"]:
                self._places[body["metadata"]["name"]] = uid
        return tuple(found)

    async def claims(self) -> tuple[Json, ...]:
        """All claims of copies that there are, as metadata."""
        found: list[Json] = []
        for namespace in self._namespaces or (None,):
            listed = self._cluster.each(
                CLAIMS, namespace, selector=PROFILE_LABEL, metadata_only=True
            )
            found += [body async for body in listed]
        return tuple(found)

    async def _have(self, body: Json) -> None:
        await have(self._cluster, body, self._leave, is_new=True)

    async def _leave(self, kind: Resource, body: Json) -> None:
        """Leave what is there as it is. Raises NameTaken if it goes, or was not made for the same profile."""
        metadata = body["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        found = await self._cluster.get(kind, namespace, name)
        where = f"{body['kind']} {name} is in {namespace or 'the cluster'} already"
        if "deletionTimestamp" in found["metadata"]:
            raise NotYetGone(f"{where}, and still to go")
        if profile_uid(found) != profile_uid(body):
            raise NameTaken(f"{where}, and of somebody else; use another namespace")

    async def _bring_config_maps(self, profile: Profile, copy: Copy, job: StreamJob) -> None:
        for name in copying.config_maps(job):
            original = await self._cluster.get(CONFIG_MAPS, job.key.namespace, name)
            body = copying.config_map(profile, copy, original)
            try:
                await self._have(body)
            except NameTaken:
                # Some are published into each namespace, as that of the cluster's authority: it has what is needed.
                there = await self._cluster.get(CONFIG_MAPS, body["metadata"]["namespace"], name)
                if any(there.get(part) != body.get(part) for part in ("data", "binaryData")):
                    raise

    async def _claim_of(self, job: StreamJob) -> dict[str, Any] | None:
        """The job's own claim, which that of a copy is to be like."""
        if job.checkpoint.claim is None:
            return None
        try:
            return await self._cluster.get(CLAIMS, job.key.namespace, job.checkpoint.claim)
        except NotFound:
            return None

    async def _remove(self, kind: Resource, namespace: str, name: str, uid: str) -> None:
        """Remove an object that was made for the profile of that uid, if it is there."""
        try:
            found = await self._cluster.get(kind, namespace, name)
        except NotFound:
            return
        metadata = found["metadata"]
        if profile_uid(found) == uid and "deletionTimestamp" not in metadata:
            await self._cluster.delete(kind, namespace, name, uid=metadata["uid"])
