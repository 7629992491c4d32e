"""Bring one job closer to what its spec says: look, decide in the core, remember, act.

Every trigger ends here, and running it twice changes nothing. What is decided is written to the status before
it is done, so a crash at any point is met again by the next look.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any, assert_never

from sluice import logs
from sluice.core import failures, lifecycle, reporting, specclaims, succession
from sluice.core.application import JobKey, StreamJob
from sluice.core.conditions import settle
from sluice.core.news import news
from sluice.core.observations import DriverPod, Observed, ProfilingOutlook
from sluice.core.record import Phase, Record
from sluice.core.steps import (
    ReplaceExecutors,
    ResizeExecutors,
    SetExecutors,
    StartDriver,
    StopDriver,
    Verdict,
    Wait,
)
from sluice.errors import AgentUnavailable, InvalidSpec, NotAllowed, NotFound
from sluice.manifests import children, names
from sluice.manifests.pods import resized
from sluice.manifests.status import read_record, remembered, status_of
from sluice.ports import (
    PODS,
    Agents,
    Clock,
    Cluster,
    Json,
)
from sluice.services.admission import Admission
from sluice.services.autoscaling import Autoscaler
from sluice.services.cordons import Cordons
from sluice.services.fleet import Fleet
from sluice.services.lastgood import LastGood
from sluice.services.measuring import Measuring
from sluice.services.podevents import PodEvents
from sluice.services.polling import Poller
from sluice.services.restarts import Restarts
from sluice.services.starting import Refusal, Starter
from sluice.services.statuses import Statuses

log = logging.getLogger(__name__)

RESYNC = 600.0
"""Seconds after which a job is looked at although nothing was heard of it."""

REFUSED_AGAIN = 5.0
"""Seconds after which it is seen whether a taken checkpoint is free by now."""

HELD_BACK_AGAIN = 5.0
"""Seconds after which it is seen whether fewer jobs restart by now."""


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
        profiling: Callable[[JobKey], ProfilingOutlook | None] = lambda _: None,
        paused_by: str | None = None,
    ) -> None:
        """`profiling` tells how a job is profiled by itself.

        `paused_by` names what keeps this operator from acting on any job.
        """
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
        self._starter = Starter(
            cluster=cluster, fleet=fleet, cordons=cordons, clock=clock, agent=agent
        )
        self._profiling = profiling
        self._paused_by = paused_by
        self._good = LastGood(cluster, fleet)
        self._pod_events = PodEvents(cluster, fleet, clock)
        self._admission = Admission(cluster, clock)
        self._key = b""
        self._records: dict[JobKey, tuple[str, Record]] = {}
        self._led_since = clock.now()

    def use_key(self, key: bytes) -> None:
        """The operator's secret, from which the jobs' are derived."""
        self._key = key
        self._starter.use_key(key)

    def start_afresh(self) -> None:
        """Forget what was remembered in this process: another one may have led since."""
        self._led_since = self._clock.now()
        self._records.clear()
        self._statuses.forget_all()
        self._good.forget_all()
        self._starter.forget_all()
        self._admission.forget_all()
        self._restarts.forget_all()

    def take_stock(self, resource: Json) -> None:
        """Find out whether a job restarts already, before any other one may."""
        key = self._fleet.see_job(resource)
        self._restarts.note(key, read_record(resource.get("status") or {}))

    async def reconcile(self, key: JobKey) -> float | None:
        """Take the next step of a job; the seconds after which to look again."""
        # Before anything of the job is read: while this is waited for, another one may be made under its name.
        again = await self._pod_events.hear(key)
        resource = self._fleet.job(key)
        if resource is None:
            self._forget(key)
            return None
        if "deletionTimestamp" in resource["metadata"]:
            return None
        record, uid = self._recall(key, resource), resource["metadata"]["uid"]
        seen = self._look(key, uid)
        is_left_alone = _works(seen, uid, self._clock.now())
        if await self._good.fetch(key, record, is_left_alone=is_left_alone):
            return 0.0
        declared = self._fleet.declared(key)
        record, job = self._good.in_force(key, record, is_left_alone=is_left_alone)
        if isinstance(job, InvalidSpec):
            return await self._report_invalid(resource, record, seen, job, self._clock.now())
        refused, refused_again = await self._admission.ask(self._good.as_started(job), seen)
        now = self._clock.now()
        # Nothing is waited for from here to the note of what this job does: others decide on their restarts meanwhile.
        seen = replace(seen, refused=refused, crowd=self._restarts.crowd(key, now))
        if self._paused_by is not None:
            job = replace(job, paused_by=self._paused_by)
        holder = self._fleet.claim(job, record)
        verdict = lifecycle.next_step(job, record, seen, holder=holder, now=now)
        if succession.knows_less(record, verdict, seen):
            await self._guard(job, verdict, seen)
            return _pause(verdict, seen, now)
        claims = reporting.conditions_of(job, verdict, seen, holder=holder, now=now)
        if isinstance(declared, InvalidSpec):
            claims = specclaims.without_spec(claims, str(declared), verdict)
        settled = settle(claims, record.conditions, job.generation, now)
        verdict = replace(verdict, record=replace(verdict.record, conditions=settled))
        self._restarts.note(key, verdict.record)
        if isinstance(verdict.step, StartDriver):
            self._fleet.hold(job, verdict.record)
        with logs.about(incarnation=verdict.record.incarnation):
            later = await self._remember(job, record, verdict, seen, now)
            is_refused = await self._act(job, verdict, seen)
            await self._guard(job, verdict, seen)
        return 0.0 if is_refused else _pause(verdict, seen, now, later, again, refused_again)

    def _forget(self, key: JobKey) -> None:
        self._records.pop(key, None)
        self._poller.forget(key)
        self._autoscaler.forget(key)
        self._statuses.forget(key)
        self._good.forget(key)
        self._starter.forget(key)
        self._admission.forget(key)
        self._restarts.forget(key)

    def _recall(self, key: JobKey, resource: dict[str, Any]) -> Record:
        """The newest record: what we wrote is newer than what a watch brings back."""
        uid, record = self._records.get(key, ("", None))
        if record is not None and uid == resource["metadata"]["uid"]:
            return record
        return read_record(resource.get("status") or {})

    def _look(self, key: JobKey, uid: str) -> Observed:
        driver = self._fleet.driver(key)
        seen = Observed(
            driver=driver,
            executors_running=self._fleet.executors_running(key),
            executors=self._fleet.executors(key),
            waiting=self._fleet.waiting(key),
            lost=self._fleet.lost(key),
            measured=self._measuring.of(key),
            decided=self._autoscaler.decided(key),
            led_since=self._led_since,
            leaving=self._leaving(key),
            ended=self._fleet.ended(key),
            profiling=self._profiling(key),
        )
        if driver is None or not driver.is_up or driver.owner_uid != uid:
            # What the driver of a deleted job of this name has done is none of this one's progress.
            return seen
        report, silence = self._poller.report(key, driver)
        why_leave = self._cordons.why_leave(driver.node, driver.created)
        return replace(seen, report=report, silence=silence, why_leave=why_leave)

    def _leaving(self, key: JobKey) -> tuple[str, ...]:
        return tuple(
            sorted(
                executor.id
                for executor in self._fleet.executors(key)
                if executor.id and self._cordons.why_leave(executor.node, executor.created)
            )
        )

    async def _remember(
        self, job: StreamJob, before: Record, verdict: Verdict, seen: Observed, now: datetime
    ) -> float | None:
        """Write the status; at once if something is about to be done because of it."""
        good = before.proving.good
        is_new = verdict.record.proving.good != good
        if is_new and not await self._good.keep(job, is_first=good is None):
            proving = replace(verdict.record.proving, good=good)
            verdict = replace(verdict, record=replace(verdict.record, proving=proving))
        status = status_of(job, verdict.record, verdict.phase, seen, now)
        acting = isinstance(verdict.step, StartDriver | StopDriver)
        return await self._store(
            job.key, job.uid, status, before, verdict.record, must_be_seen=acting
        )

    async def _store(
        self,
        key: JobKey,
        uid: str,
        status: Json,
        before: Record,
        after: Record,
        *,
        must_be_seen: bool,
    ) -> float | None:
        """Write a status and keep its record; the seconds to wait if that only brings numbers."""
        later = await self._statuses.write(key, uid, status, must_be_seen=must_be_seen)
        await self._keep(key, uid, before, after)
        return later

    async def _keep(self, key: JobKey, uid: str, before: Record, after: Record) -> None:
        """Keep a record for the next look, and tell what is new."""
        self._records[key] = (uid, after)
        for item in news(before, after):
            await self._statuses.announce(key, uid, item)

    async def _act(self, job: StreamJob, verdict: Verdict, seen: Observed) -> bool:
        """Take the step. Whether it was refused, so that there is another one by now."""
        match verdict.step:
            case StartDriver() as step:
                refusal = await self._starter.start(job, verdict.record.chosen, step)
                if refusal is not None:
                    await self._refused(job, verdict.record, refusal)
                    return True
            case StopDriver(uid=uid, by_force=by_force):
                name = names.driver_pod(job.key.name)
                await self._cluster.delete(
                    PODS, job.key.namespace, name, uid=uid, by_force=by_force
                )
            case SetExecutors(target=target):
                await self._tell_agent(job, seen, target=target)
            case ReplaceExecutors(ids=ids):
                await self._tell_agent(job, seen, leaving=ids)
            case ResizeExecutors() as step:
                return await self._resize(job, verdict.record, step)
            case Wait():
                pass
            case _:
                assert_never(verdict.step)
        return False

    async def _guard(self, job: StreamJob, verdict: Verdict, seen: Observed) -> None:
        """A driver that goes on is to have what it needs, whoever has made it: what keeps evictions from it, and the
        Lease for which it waits.
        """
        driver, report = _going_on(seen.driver, job.uid), seen.report
        if driver is None or job.paused_by is not None or isinstance(verdict.step, StopDriver):
            return
        await self._starter.guard(job, driver.uid)
        if report is not None and report.phase == "waiting":
            await self._starter.have_lease(self._good.as_started(job))

    async def _refused(self, job: StreamJob, record: Record, refusal: Refusal) -> None:
        """Keep why a start was refused; the look that follows at once writes it, with all that it means."""
        follow = failures.refused if isinstance(refusal, InvalidSpec) else failures.put_off
        after = follow(job, record, str(refusal), self._clock.now())
        await self._keep(job.key, job.uid, record, after)

    async def _resize(self, job: StreamJob, record: Record, step: ResizeExecutors) -> bool:
        """Resize executors; whether the cluster refuses that."""
        for pod in step.pods:
            try:
                await self._cluster.resize(resized(job.key.namespace, pod, step.share))
            except NotFound:
                continue
            except (InvalidSpec, NotAllowed) as error:
                assert record.resize is not None
                resize = replace(record.resize, refusal=f"a pod cannot be resized: {error}")
                self._records[job.key] = (job.uid, replace(record, resize=resize))
                return True
        return False

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
        seen = replace(seen, driver=_going_on(seen.driver, metadata["uid"]))
        claims = settle(specclaims.invalid(str(error), seen), record.conditions, generation, now)
        after = replace(record, conditions=claims)
        phase = Phase.RUNNING if seen.driver is not None else Phase.INVALID
        status = remembered(key, generation, after, phase)
        await self._store(key, metadata["uid"], status, record, after, must_be_seen=False)
        return RESYNC


def _going_on(driver: DriverPod | None, uid: str) -> DriverPod | None:
    """The driver of the job of that uid, if it neither has ended nor is about to."""
    if driver is None or driver.owner_uid != uid or driver.deleting or driver.is_over:
        return None
    return driver


def _works(seen: Observed, uid: str, now: datetime) -> bool:
    """Whether the driver of the job of that uid goes on, has not died inside, and may stay where it is."""
    driver, report = _going_on(seen.driver, uid), seen.report
    if driver is None or seen.why_leave:
        return False
    return report is None or not failures.has_died_inside(report, driver, now)


def _pause(verdict: Verdict, seen: Observed, now: datetime, *asked: float | None) -> float:
    """Seconds until the next look: the first that there is a reason for, also of those that others ask for."""
    pauses = [REFUSED_AGAIN if verdict.phase is Phase.REFUSED else RESYNC]
    overdue = seen.led_since + succession.SOON
    if now < overdue:
        # Nobody else looks then at a job without a driver, of which the former operator's words are told until then.
        pauses.append((overdue - now).total_seconds())
    if verdict.held_back is not None:
        pauses.append(HELD_BACK_AGAIN)
    pauses += (pause for pause in asked if pause is not None)
    if isinstance(verdict.step, Wait) and verdict.step.until is not None:
        pauses.append(max(0.0, (verdict.step.until - now).total_seconds()))
    return min(pauses)
