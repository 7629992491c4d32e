"""Start a driver: what it needs, the Lease of its checkpoint, its pod, and what keeps evictions from that."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from sluice.core.application import JobKey, StreamJob
from sluice.core.chosen import Chosen, sized
from sluice.core.steps import StartDriver
from sluice.errors import Conflict, Declined, InvalidSpec, NotFound, SluiceError
from sluice.manifests import children, names
from sluice.manifests.pods import driver_pod
from sluice.ports import (
    CONFIG_MAPS,
    DISRUPTION_BUDGETS,
    LEASES,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    Clock,
    Cluster,
    Json,
)
from sluice.services.cordons import Cordons
from sluice.services.fleet import Fleet

log = logging.getLogger(__name__)

Refusal = InvalidSpec | Declined | NotFound
"""The answers by which no pod is made: the spec is at fault, or another try is all that it takes."""

_KINDS = {
    "ServiceAccount": SERVICE_ACCOUNTS,
    "Role": ROLES,
    "RoleBinding": ROLE_BINDINGS,
    "ConfigMap": CONFIG_MAPS,
    "Secret": SECRETS,
    "PodDisruptionBudget": DISRUPTION_BUDGETS,
}


class Starter:
    """The one maker of drivers."""

    def __init__(
        self, *, cluster: Cluster, fleet: Fleet, cordons: Cordons, clock: Clock, agent: bytes
    ) -> None:
        """`agent` is the packed agent."""
        self._cluster = cluster
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
        except (InvalidSpec, Declined, NotFound) as refusal:
            return refusal
        self._fleet.see_pod(pod)
        uid: str = pod["metadata"]["uid"]
        await self._guard(job, uid, lambda budget: self._have(budget, incarnation))
        if incarnation > 1:
            await self._sweep(job.key, incarnation)
        return None

    async def guard(self, job: StreamJob, driver_uid: str) -> None:
        """Keep evictions from a driver where somebody would move it. What was not done at its start is done later: the
        request was lost, who made the driver has ended, or nobody knew yet which nodes are cordoned.
        """
        if self._guarded.get(job.key) != driver_uid:
            await self._guard(job, driver_uid, self._create_if_missing)

    async def _guard(
        self, job: StreamJob, driver_uid: str, make: Callable[[Json], Awaitable[None]]
    ) -> None:
        if not self._cordons.are_known:
            return
        try:
            await make(children.disruption_budget(job))
        except InvalidSpec as error:
            # A quota must not keep the job from being looked after; a drain just does not wait for it.
            log.warning("evictions of the driver are not refused: %s", error)
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
        for stage in children.children(job, incarnation, agent=self._agent, key=self._key):
            await asyncio.gather(*(self._have(body, incarnation) for body in stage))
        try:
            return await self._cluster.create(PODS, driver_pod(job, incarnation))
        except Conflict:
            # A pod of that name is there after all, or was until now; the next look must see it.
            name = names.driver_pod(job.key.name)
            with suppress(NotFound):
                self._fleet.see_pod(await self._cluster.get(PODS, job.key.namespace, name))
            raise

    async def _pass_on(self, job: StreamJob, step: StartDriver) -> None:
        """Let the new driver have the Lease of the checkpoint, unless somebody may still live who holds it."""
        lease = children.lease(job, step.incarnation, self._clock.now())
        with suppress(Conflict):
            if step.incarnation > 1:
                with suppress(NotFound):
                    await self._grant(lease, is_dead=step.inherits)
                    return
            await self._cluster.create(LEASES, lease)

    async def _grant(self, lease: Json, *, is_dead: bool) -> None:
        """Give the new driver the Lease that is there, unless who has it may live.

        Not by applying it: a former leader that wakes up late must not write over what it has not read.
        """
        metadata = lease["metadata"]
        found = await self._cluster.get(LEASES, metadata["namespace"], metadata["name"])
        granted = children.passed_on(found, lease, is_dead=is_dead)
        if granted is not None:
            await self._cluster.replace(LEASES, granted)

    async def _create_if_missing(self, body: Json) -> None:
        # One request each, for after a change of leader all drivers are looked at.
        with suppress(Conflict):
            await self._cluster.create(_KINDS[body["kind"]], body)

    async def _have(self, body: Json, incarnation: int) -> None:
        """Create a child, or bring it up to date. For the agent's map, applying costs the API server twice as
        much as creating, so a first start tries that.
        """
        kind = _KINDS[body["kind"]]
        if incarnation == 1:
            try:
                await self._cluster.create(kind, body)
            except Conflict:
                pass
            else:
                return
        await self._cluster.apply(kind, body)
