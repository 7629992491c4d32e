"""Start a driver: what it needs, the Lease of its checkpoint, its pod, and what keeps evictions from that."""

import asyncio
import logging
from contextlib import suppress
from functools import partial

from sluice.core.application import JobKey, StreamJob
from sluice.core.chosen import Chosen, sized
from sluice.core.steps import StartDriver
from sluice.errors import (
    Conflict,
    Declined,
    InvalidSpec,
    NameTaken,
    NotAllowed,
    NotFound,
    NotYetGone,
    SluiceError,
)
from sluice.manifests import children, names
from sluice.manifests.pods import driver_pod
from sluice.ports import PODS, Clock, Cluster, Json, Resource
from sluice.services.cordons import Cordons
from sluice.services.fleet import Fleet
from sluice.services.having import Children, have, is_a_formers, not_yet_gone, taken

log = logging.getLogger(__name__)

Refusal = InvalidSpec | Declined | NotFound | NameTaken
"""Why no pod is made: the spec is at fault, something is in the way, or another try is all that it takes."""


class Starter:
    """The one maker of drivers."""

    def __init__(
        self, *, cluster: Cluster, fleet: Fleet, cordons: Cordons, clock: Clock, agent: bytes
    ) -> None:
        """`agent` is the packed agent."""
        self._cluster = cluster
        self._children = Children(cluster)
        self._fleet = fleet
        self._cordons = cordons
        self._clock = clock
        self._agent = agent
        self._key = b""
        self._guarded: dict[JobKey, str] = {}

    def use_key(self, key: bytes) -> None:
        """The operator's secret, from which the jobs' are derived."""
        self._key = key

    def forget(self, key: JobKey) -> None:
        """Drop what is known of a job that is gone."""
        self._guarded.pop(key, None)

    def forget_all(self) -> None:
        """Another one may have made drivers since."""
        self._guarded.clear()

    async def start(
        self, job: StreamJob, chosen: Chosen | None, step: StartDriver
    ) -> Refusal | None:
        """Make the driver's children, then its pod; why the cluster does not take them, or None if it has.

        Raises Conflict if there is a pod of that name already; the fleet knows it then. Raises ClusterUnavailable if
        nobody knows what became of a request: the pod may be there, or come yet.
        """
        incarnation = step.incarnation
        try:
            await self._pass_on(job, step)
            pod = await self._make(sized(job, chosen), incarnation)
        except (InvalidSpec, Declined, NotFound, NameTaken) as refusal:
            return refusal
        self._fleet.see_pod(pod)
        uid: str = pod["metadata"]["uid"]
        await self._guard(job, uid, is_new=incarnation == 1)
        if incarnation > 1:
            await self._sweep(job.key, incarnation)
        return None

    async def guard(self, job: StreamJob, driver_uid: str) -> None:
        """Keep evictions from a driver where somebody would move it. What was not done at its start is done later: the
        request was lost, who made the driver has ended, or nobody knew yet which nodes are cordoned.
        """
        if self._guarded.get(job.key) != driver_uid:
            # One request for most, for after a change of leader all drivers are looked at.
            await self._guard(job, driver_uid, is_new=False)

    async def have_lease(self, job: StreamJob) -> None:
        """Let there be a Lease for a driver that waits for one, and may not make it: the garbage collector has taken a
        deleted job's away in spite of its new owner, or somebody has.
        """
        lease = children.lease_of_nobody(job, self._clock.now())
        await have(self._cluster, lease, self._find, is_new=False)

    async def _guard(self, job: StreamJob, driver_uid: str, *, is_new: bool) -> None:
        if not self._cordons.asks:
            await self._unguard(job, driver_uid)
            return
        if not self._cordons.are_known:
            return
        try:
            await self._children.have(children.disruption_budget(job), is_new=is_new)
        except NotYetGone:
            return
        except (InvalidSpec, NameTaken, NotAllowed) as error:
            # None must keep the job from being looked after; a drain just does not wait for it.
            log.warning("evictions of the driver are not refused: %s", error)
        self._guarded[job.key] = driver_uid

    async def _unguard(self, job: StreamJob, driver_uid: str) -> None:
        """Let a budget that was made when nodes were asked for refuse no eviction: nobody would move the driver."""
        with suppress(NotFound, InvalidSpec, NotAllowed):
            await self._children.amend(children.disruption_budget(job, refuses=False))
        self._guarded[job.key] = driver_uid

    async def _sweep(self, key: JobKey, incarnation: int) -> None:
        """Delete executors of former drivers. Kubernetes' own collection misses some after an outage of the API server:
        the next driver's pod has the name of the owner that went.
        """
        former = self._cluster.each(
            PODS, key.namespace, selector=names.executor_selector(key), metadata_only=True
        )
        try:
            async for pod in former:
                metadata = pod["metadata"]
                if metadata["labels"].get(names.INCARNATION_LABEL) != str(incarnation):
                    uid = metadata["uid"]
                    await self._cluster.delete(PODS, key.namespace, metadata["name"], uid=uid)
        except SluiceError as error:
            log.warning("executors of former drivers may be left: %s", error)

    async def _make(self, job: StreamJob, incarnation: int) -> Json:
        """The pod, after all that it needs."""
        # The agent's map is large: what is likely to be there is not sent twice.
        is_new = incarnation == 1
        for stage in children.children(job, incarnation, agent=self._agent, key=self._key):
            await asyncio.gather(*(self._children.have(body, is_new=is_new) for body in stage))
        pod = driver_pod(job, incarnation)
        try:
            return await self._cluster.create(PODS, pod)
        except Conflict:
            # A pod of that name is there after all, or was until now; the next look must see it.
            with suppress(NotFound):
                await self._see(job.key, pod)
            raise

    async def _see(self, key: JobKey, pod: Json) -> None:
        """See the pod that has the driver's name. Raises NameTaken if it is none of ours, of which no watch tells."""
        found = await self._cluster.get(PODS, key.namespace, pod["metadata"]["name"])
        self._fleet.see_pod(found)
        driver = self._fleet.driver(key)
        if driver is None or driver.uid != found["metadata"]["uid"]:
            raise taken(pod)

    async def _pass_on(self, job: StreamJob, step: StartDriver) -> None:
        """Let the new driver have the Lease of the checkpoint, unless somebody may still live who holds it."""
        lease = children.lease(job, step.incarnation, self._clock.now())
        grant = partial(self._grant, is_dead=step.inherits)
        with suppress(Conflict):
            await have(self._cluster, lease, grant, is_new=step.incarnation == 1)

    async def _find(self, kind: Resource, body: Json) -> None:
        await self._cluster.get(kind, body["metadata"]["namespace"], body["metadata"]["name"])

    async def _grant(self, kind: Resource, lease: Json, *, is_dead: bool) -> None:
        """Give the new driver the Lease that is there, unless who has it may live.

        Not by applying it: a former leader that wakes up late must not write over what it has not read.
        """
        metadata = lease["metadata"]
        found = await self._cluster.get(kind, metadata["namespace"], metadata["name"])
        if is_a_formers(found, lease):
            raise not_yet_gone(lease)
        ours = children.adopted(found, lease)
        granted = children.passed_on(ours, lease, is_dead=is_dead) or ours
        if granted != found:
            await self._cluster.replace(kind, granted)
