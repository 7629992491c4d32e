"""Bring one job closer to what its spec says: look, decide in the core, remember, act.

Every trigger ends here, and running it twice changes nothing. What is decided is written to the status before
it is done, so a crash at any point is met again by the next look.
"""

import asyncio
import logging
from dataclasses import replace
from datetime import datetime
from typing import Any, assert_never

from sluice import logs
from sluice.core import failures, lifecycle, reporting
from sluice.core.application import JobKey, StreamJob
from sluice.core.chosen import sized
from sluice.core.conditions import settle
from sluice.core.news import news
from sluice.core.observations import Observed
from sluice.core.record import Phase, Record
from sluice.core.steps import ReplaceExecutors, SetExecutors, StartDriver, StopDriver, Verdict, Wait
from sluice.errors import AgentUnavailable, Conflict, InvalidSpec
from sluice.manifests import children, names
from sluice.manifests.pods import driver_pod
from sluice.manifests.status import read_record, remembered, status_of
from sluice.ports import (
    CONFIG_MAPS,
    DISRUPTION_BUDGETS,
    LEASES,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    Agents,
    Clock,
    Cluster,
    Json,
)
from sluice.services.autoscaling import Autoscaler
from sluice.services.cordons import Cordons
from sluice.services.fleet import Fleet
from sluice.services.lastgood import LastGood
from sluice.services.measuring import Measuring
from sluice.services.polling import Poller
from sluice.services.restarts import Restarts
from sluice.services.statuses import Statuses

log = logging.getLogger(__name__)

RESYNC = 600.0
"""Seconds after which a job is looked at although nothing was heard of it."""

REFUSED_AGAIN = 5.0
"""Seconds after which it is seen whether a taken checkpoint is free by now."""

HELD_BACK_AGAIN = 5.0
"""Seconds after which it is seen whether fewer jobs restart by now."""

_KINDS = {
    "ServiceAccount": SERVICE_ACCOUNTS,
    "Role": ROLES,
    "RoleBinding": ROLE_BINDINGS,
    "ConfigMap": CONFIG_MAPS,
    "Secret": SECRETS,
    "PodDisruptionBudget": DISRUPTION_BUDGETS,
}


class Reconciler:
    """The one writer of jobs' statuses and drivers."""

    def __init__(
        self,
        *,
        fleet: Fleet,
        poller: Poller,
        measuring: Measuring,
        autoscaler: Autoscaler,
        cordons: Cordons,
        restarts: Restarts,
        statuses: Statuses,
        cluster: Cluster,
        agents: Agents,
        clock: Clock,
        agent: bytes,
        paused_by: str | None = None,
    ) -> None:
        """`paused_by` names what keeps this operator from acting on any job."""
        self._fleet = fleet
        self._poller = poller
        self._measuring = measuring
        self._autoscaler = autoscaler
        self._cordons = cordons
        self._restarts = restarts
        self._statuses = statuses
        self._cluster = cluster
        self._agents = agents
        self._clock = clock
        self._agent = agent
        self._paused_by = paused_by
        self._good = LastGood(cluster, fleet)
        self._key = b""
        self._records: dict[JobKey, tuple[str, Record]] = {}

    def use_key(self, key: bytes) -> None:
        """The operator's secret, from which the jobs' are derived."""
        self._key = key

    def start_afresh(self) -> None:
        """Forget what was remembered in this process: another one may have led since."""
        self._records.clear()
        self._statuses.forget_all()
        self._good.forget_all()

    def take_stock(self, resource: Json) -> None:
        """Find out whether a job restarts already, before any other one may."""
        key = self._fleet.see_job(resource)
        self._restarts.note(key, read_record(resource.get("status") or {}))

    async def reconcile(self, key: JobKey) -> float | None:
        """Take the next step of a job; the seconds after which to look again."""
        resource = self._fleet.job(key)
        if resource is None:
            self._forget(key)
            return None
        if "deletionTimestamp" in resource["metadata"]:
            return None
        record = self._recall(key, resource)
        if await self._good.fetch(key, record):
            return 0.0
        seen, now = self._look(key), self._clock.now()
        declared = self._fleet.declared(key)
        record, job = self._good.in_force(key, record)
        if isinstance(job, InvalidSpec):
            return await self._report_invalid(resource, record, seen, job, now)
        if self._paused_by is not None:
            job = replace(job, paused_by=self._paused_by)
        holder = self._fleet.claim(job, record)
        verdict = lifecycle.next_step(job, record, seen, holder=holder, now=now)
        claims = reporting.conditions_of(job, verdict, seen, holder=holder, now=now)
        if isinstance(declared, InvalidSpec):
            claims = reporting.without_spec(claims, str(declared), verdict)
        settled = settle(claims, record.conditions, job.generation, now)
        verdict = replace(verdict, record=replace(verdict.record, conditions=settled))
        self._restarts.note(key, verdict.record)
        if isinstance(verdict.step, StartDriver):
            self._fleet.hold(job, verdict.record)
        with logs.about(incarnation=verdict.record.incarnation):
            later = await self._remember(job, record, verdict, seen)
            await self._act(job, verdict, seen)
        return _pause(verdict, later, now)

    def _forget(self, key: JobKey) -> None:
        self._records.pop(key, None)
        self._poller.forget(key)
        self._autoscaler.forget(key)
        self._statuses.forget(key)
        self._good.forget(key)
        self._restarts.forget(key)

    def _recall(self, key: JobKey, resource: dict[str, Any]) -> Record:
        """The newest record: what we wrote is newer than what a watch brings back."""
        uid, record = self._records.get(key, ("", None))
        if record is not None and uid == resource["metadata"]["uid"]:
            return record
        return read_record(resource.get("status") or {})

    def _look(self, key: JobKey) -> Observed:
        driver = self._fleet.driver(key)
        seen = Observed(
            driver=driver,
            executors_running=self._fleet.executors_running(key),
            measured=self._measuring.of(key),
            decided=self._autoscaler.decided(key),
            leaving=self._leaving(key),
            crowd=self._restarts.crowd(key, self._clock.now()),
            ended=self._fleet.ended(key),
        )
        if driver is None or driver.deleting or driver.is_over or driver.started is None:
            return seen
        report, silence = self._poller.report(key, driver)
        is_cordoned = self._cordons.concern(driver.node, driver.created)
        return replace(seen, report=report, silence=silence, is_cordoned=is_cordoned)

    def _leaving(self, key: JobKey) -> tuple[str, ...]:
        return tuple(
            sorted(
                executor.id
                for executor in self._fleet.executors(key)
                if executor.id and self._cordons.concern(executor.node, executor.created)
            )
        )

    async def _remember(
        self, job: StreamJob, before: Record, verdict: Verdict, seen: Observed
    ) -> float | None:
        """Write the status; at once if something is about to be done because of it."""
        if verdict.record.proving.good != before.proving.good and not await self._good.keep(job):
            proving = replace(verdict.record.proving, good=before.proving.good)
            verdict = replace(verdict, record=replace(verdict.record, proving=proving))
        status = status_of(job, verdict.record, verdict.phase, seen)
        acting = isinstance(verdict.step, StartDriver | StopDriver)
        later = await self._statuses.write(job.key, job.uid, status, must_be_seen=acting)
        self._records[job.key] = (job.uid, verdict.record)
        for item in news(before, verdict.record):
            await self._statuses.announce(job.key, job.uid, item)
        return later

    async def _act(self, job: StreamJob, verdict: Verdict, seen: Observed) -> None:
        match verdict.step:
            case StartDriver() as step:
                await self._start(job, verdict.record, step)
            case StopDriver(uid=uid, by_force=by_force):
                name = names.driver_pod(job.key.name)
                await self._cluster.delete(
                    PODS, job.key.namespace, name, uid=uid, by_force=by_force
                )
            case SetExecutors(target=target):
                await self._tell_agent(job, seen, target=target)
            case ReplaceExecutors(ids=ids):
                await self._tell_agent(job, seen, leaving=ids)
            case Wait():
                pass
            case _:
                assert_never(verdict.step)

    async def _start(self, job: StreamJob, record: Record, step: StartDriver) -> None:
        incarnation = step.incarnation
        is_ours = await self._pass_on(job, step)
        job = sized(job, record.chosen)
        stages = children.children(
            job,
            incarnation,
            agent=self._agent,
            key=self._key,
            is_moved=self._cordons.are_known,
        )
        for stage in stages:
            await asyncio.gather(*(self._have(body, incarnation) for body in stage))
        try:
            pod = await self._cluster.create(PODS, driver_pod(job, incarnation))
        except Conflict:
            # A pod of that name is there after all; the next look must see it.
            name = names.driver_pod(job.key.name)
            self._fleet.see_pod(await self._cluster.get(PODS, job.key.namespace, name))
            raise
        except InvalidSpec as error:
            # Where no driver is, none writes: the next one may have the Lease that this one was to get.
            known = replace(record, ended=incarnation) if is_ours else record
            await self._refused(job, known, error)
        else:
            self._fleet.see_pod(pod)

    async def _pass_on(self, job: StreamJob, step: StartDriver) -> bool:
        """Let the new driver have the Lease of the checkpoint, unless somebody may still live who holds it."""
        lease = children.lease(job, step.incarnation, self._clock.now())
        if step.inherits:
            await self._cluster.apply(LEASES, lease)
            return True
        try:
            await self._cluster.create(LEASES, lease)
        except Conflict:
            return False
        return True

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

    async def _refused(self, job: StreamJob, record: Record, error: InvalidSpec) -> None:
        counted = failures.refused(job, record, str(error), self._clock.now())
        status = status_of(job, counted, Phase.BACKING_OFF, Observed())
        await self._statuses.write(job.key, job.uid, status, must_be_seen=True)
        self._records[job.key] = (job.uid, counted)
        for item in news(record, counted):
            await self._statuses.announce(job.key, job.uid, item)

    async def _tell_agent(
        self,
        job: StreamJob,
        seen: Observed,
        *,
        target: int | None = None,
        leaving: tuple[str, ...] = (),
    ) -> None:
        assert seen.driver is not None
        assert seen.driver.address is not None
        token = children.agent_token(job.uid, self._key)
        try:
            if target is not None:
                await self._agents.set_executors(seen.driver.address, token, target)
            if leaving:
                await self._agents.decommission(seen.driver.address, token, leaving)
        except AgentUnavailable as error:
            log.warning("cannot change the executors: %s", error)

    async def _report_invalid(
        self,
        resource: dict[str, Any],
        record: Record,
        seen: Observed,
        error: InvalidSpec,
        now: datetime,
    ) -> float | None:
        metadata = resource["metadata"]
        key, generation = JobKey(metadata["namespace"], metadata["name"]), metadata["generation"]
        claims = settle(reporting.invalid(str(error), seen), record.conditions, generation, now)
        after = replace(record, conditions=claims)
        phase = Phase.RUNNING if seen.driver is not None else Phase.INVALID
        status = remembered(key, generation, after, phase)
        await self._statuses.write(key, metadata["uid"], status, must_be_seen=False)
        self._records[key] = (metadata["uid"], after)
        for item in news(record, after):
            await self._statuses.announce(key, metadata["uid"], item)
        return RESYNC


def _pause(verdict: Verdict, later: float | None, now: datetime) -> float:
    pauses = [REFUSED_AGAIN if verdict.phase is Phase.REFUSED else RESYNC]
    if verdict.held_back is not None:
        pauses.append(HELD_BACK_AGAIN)
    if later is not None:
        pauses.append(later)
    if isinstance(verdict.step, Wait) and verdict.step.until is not None:
        pauses.append(max(0.0, (verdict.step.until - now).total_seconds()))
    return min(pauses)
