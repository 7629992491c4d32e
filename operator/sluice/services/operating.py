"""The whole operator, put together from ports: what runs all the time, and what events set going."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry

from sluice.core.application import JobKey
from sluice.errors import SluiceError
from sluice.manifests import names
from sluice.manifests.profiling.guards import Surroundings
from sluice.ports import (
    PODS,
    STREAM_JOBS,
    STREAM_PROFILES,
    Agents,
    Clock,
    Cluster,
    Forecasts,
    Json,
    Metrics,
    Resource,
)
from sluice.services.agentkey import agent_key
from sluice.services.autoprofiling import AutoProfiler
from sluice.services.autoscaling import Autoscaler
from sluice.services.copies import Copies
from sluice.services.copyviews import CopyViews
from sluice.services.cordons import Cordons
from sluice.services.fleet import Fleet
from sluice.services.gate import LeaderOnly
from sluice.services.leadership import Leadership
from sluice.services.ledgers import Ledgers
from sluice.services.measuring import Measuring
from sluice.services.metrics.instruments import Instruments
from sluice.services.metrics.jobs import JobsCollector
from sluice.services.metrics.profiles import ProfilesCollector
from sluice.services.metrics.requests import MeasuredCluster
from sluice.services.polling import Pace, Poller
from sluice.services.profiles import Profiles
from sluice.services.profiling import Profiler
from sluice.services.reconciling import Reconciler
from sluice.services.restarts import Restarts
from sluice.services.statuses import Statuses
from sluice.services.workqueue import WorkQueue

log = logging.getLogger(__name__)

PROFILERS = 2
"""Profiles that are looked at at a time: making a copy takes a dozen requests."""

SCALERS = 4
"""Jobs that are decided upon at a time: while one waits for its forecast, another one writes."""

Listed = Callable[[Resource, Json], object]
"""Who is told of the objects that were listed: what goes before the watches have begun is told by none of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Where the operator acts: in these namespaces, or everywhere if none is named.

    With `nodes` it leaves those that are to be emptied; with `makes_namespaces` copies of jobs have some of their own.
    """

    namespaces: tuple[str, ...] = ()
    nodes: bool = True
    makes_namespaces: bool = True
    home: str = "default"
    identity: str = "sluice"

    @property
    def listed(self) -> Sequence[str | None]:
        """The namespaces to list, None for all."""
        return self.namespaces or (None,)


class Operator:
    """Hears of events, and brings jobs closer to their specs while it leads."""

    def __init__(
        self,
        *,
        cluster: Cluster,
        agents: Agents,
        metrics: Metrics | None,
        forecasts: Forecasts,
        clock: Clock,
        scope: Scope,
        agent: bytes,
        fresh_key: bytes,
        pace: Pace | None = None,
        workers: int = 16,
        pollers: int = 16,
        paused_by: str | None = None,
        concurrent_restarts: int = 10,
    ) -> None:
        self._clock = clock
        self._instruments = Instruments(clock.now())
        self._cluster = MeasuredCluster(cluster, self._instruments)
        self._scope = scope
        self._fresh_key = fresh_key
        self._workers = workers
        self._pollers = pollers
        self.fleet = Fleet()
        self._queue: WorkQueue[JobKey] = WorkQueue(
            self._reconcile, fields=lambda key: key.fields, declared=self._declared
        )
        self._poller = Poller(self.fleet, agents, clock, pace=pace or Pace(), told=self._heard)
        self._measuring = Measuring(metrics, self.fleet, clock, namespaces=scope.namespaces)
        self.leadership = Leadership(
            self._cluster,
            clock,
            namespace=scope.home,
            name="sluice-operator",
            identity=scope.identity,
        )
        ours = LeaderOnly(self._cluster, self.leadership)
        self._profiles = Profiles()
        self._autoscaler = Autoscaler(
            fleet=self.fleet,
            poller=self._poller,
            measuring=self._measuring,
            metrics=metrics,
            forecasts=forecasts,
            cluster=ours,
            clock=clock,
            told=self._has_decided,
            profiled=self._profiles.points,
        )
        self._cordons = Cordons(
            self._cluster,
            self.fleet,
            clock,
            told=self._queue.add,
            asks=scope.nodes,
        )
        copies = Copies(
            ours,
            Surroundings(operator=scope.home),
            namespaces=scope.namespaces,
            makes=scope.makes_namespaces,
        )
        self._views = CopyViews(
            fleet=self.fleet,
            poller=self._poller,
            profiles=self._profiles,
            copies=copies,
            agents=agents,
            grows=self._grows,
        )
        self._profiler = Profiler(
            fleet=self.fleet,
            profiles=self._profiles,
            copies=copies,
            views=self._views,
            cluster=ours,
            clock=clock,
            leads=lambda: self.leadership.is_held and paused_by is None,
        )
        self._autoprofiler = AutoProfiler(
            fleet=self.fleet,
            ledgers=Ledgers(self._profiles, self._views),
            profiler=self._profiler,
            views=self._views,
            decided=self._autoscaler.decided,
            learned=self._autoscaler.learned,
            cluster=ours,
            clock=clock,
            leads=lambda: self.leadership.is_held and paused_by is None,
            told=self._queue.add,
        )
        self._collectors = (
            JobsCollector(self.fleet, self._autoscaler.course),
            ProfilesCollector(self._profiles),
        )
        for collector in self._collectors:
            self.registry.register(collector)
        self._reconciler = Reconciler(
            fleet=self.fleet,
            poller=self._poller,
            measuring=self._measuring,
            autoscaler=self._autoscaler,
            cordons=self._cordons,
            restarts=Restarts(concurrent_restarts),
            statuses=Statuses(ours, self.fleet, clock),
            cluster=ours,
            agents=agents,
            clock=clock,
            agent=agent,
            profiling=self._autoprofiler.outlook,
            paused_by=paused_by,
        )

    @property
    def registry(self) -> CollectorRegistry:
        """The operator's metrics; `refresh` brings up to date what is not counted as it happens."""
        return self._instruments.registry

    async def refresh(self) -> None:
        """Look at what only the event loop may ask."""
        for collector in self._collectors:
            collector.leads = self.leadership.is_held
        self._instruments.leader.set(self.leadership.is_held)
        self._instruments.queues.labels("reconcile").set(len(self._queue))
        self._instruments.queues.labels("poll").set(len(self._poller.queue))

    def job_changed(self, resource: Mapping[str, Any]) -> None:
        """A watch tells of a StreamJob, perhaps only of the status that was written here."""
        self._queue.add_if_changed(self._see_job(resource))

    def job_listed(self, resource: Mapping[str, Any]) -> None:
        """A list tells of a StreamJob: the watch begins anew, and what hindered the next step may have passed."""
        self._queue.add(self._see_job(resource))

    def job_gone(self, resource: Mapping[str, Any]) -> None:
        """A StreamJob was deleted."""
        self._look_at(self.fleet.lose_job(resource))

    def profile_changed(self, resource: Mapping[str, Any]) -> None:
        """A StreamProfile was created or changed."""
        self._instruments.event_seen(self._clock.now())
        self._profiler.changed(resource)

    def profile_gone(self, resource: Mapping[str, Any]) -> None:
        """A StreamProfile was deleted."""
        self._instruments.event_seen(self._clock.now())
        self._profiler.gone(resource)

    def pod_changed(self, pod: Mapping[str, Any]) -> None:
        """A pod with our labels was created or changed."""
        self._look_at(self.fleet.see_pod(pod))

    def pod_gone(self, pod: Mapping[str, Any]) -> None:
        """A pod with our labels is gone from the API."""
        self._look_at(self.fleet.lose_pod(pod))

    async def run(self, listed: Listed = lambda _, __: None) -> None:
        """Work until cancelled. `listed` is called with each object that the operator lists itself as it begins."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.leadership.keep(partial(self._begin, listed)))
            group.create_task(self._queue.run(self._workers))
            group.create_task(self._poller.queue.run(self._pollers))
            group.create_task(self._measuring.run())
            group.create_task(self._cordons.run())
            group.create_task(self._autoscaler.queue.run(SCALERS))
            group.create_task(self._profiler.queue.run(PROFILERS))
            group.create_task(self._profiler.run())
            group.create_task(self._autoprofiler.queue.run(PROFILERS))

    async def _begin(self, listed: Listed) -> None:
        """Take over: see everything first, so that no claim on a checkpoint is missed, then look at all."""
        key = await agent_key(self._cluster, self._scope.home, self._fresh_key)
        self._reconciler.use_key(key)
        self._poller.use_key(key)
        self._views.use_key(key)
        self._reconciler.start_afresh()
        self._autoscaler.start_afresh()
        self._autoprofiler.start_afresh()
        await self._cordons.ask()
        for namespace in self._scope.listed:
            jobs = self._cluster.each(STREAM_JOBS, namespace)
            await _see_each(self._reconciler.take_stock, jobs, partial(listed, STREAM_JOBS))
            pods = self._cluster.each(PODS, namespace, selector=names.JOB_LABEL)
            await _see_each(self.fleet.see_pod, pods, partial(listed, PODS))
        self._measuring.begin()
        await self._begin_profiling(listed)
        # Nothing is waited for from here on: what is looked at before leadership has begun is not looked at again.
        for job in self.fleet:
            self._queue.add(job)
            self._autoprofiler.heard(job)
        log.info("looking after %d jobs", len(self.fleet))

    async def _begin_profiling(self, listed: Listed) -> None:
        """Take over profiles. Without their CRD, or the rights for them, jobs are looked after all the same."""
        try:
            for namespace in self._scope.listed:
                found = self._cluster.each(STREAM_PROFILES, namespace)
                await _see_each(self._profiler.changed, found, partial(listed, STREAM_PROFILES))
        except SluiceError as error:
            log.warning("jobs cannot be profiled: %s", error)
        await self._profiler.begin()

    async def _reconcile(self, key: JobKey) -> float | None:
        if not self.leadership.is_held:
            return None
        with self._instruments.reconciling():
            return await self._reconciler.reconcile(key)

    def _heard(self, key: JobKey) -> None:
        """An agent has answered, or has not."""
        # First: nothing that is learned of the answer may keep the job from being looked at.
        self._queue.add(key)
        self._autoscaler.heard(key)
        self._profiler.heard(key)
        self._autoprofiler.heard(key)

    def _has_decided(self, key: JobKey) -> None:
        """There is another decision on a job: copies may have to go for it."""
        self._queue.add(key)
        self._profiler.heard(key)

    def _grows(self, key: JobKey) -> bool:
        decided = self._autoscaler.decided(key)
        return decided is not None and decided.grows

    def _see_job(self, resource: Mapping[str, Any]) -> JobKey:
        key = self.fleet.see_job(resource)
        self._autoscaler.changed(key)
        self._tell(key)
        return key

    def _declared(self, key: JobKey) -> object | None:
        return self.fleet.declared(key) if self.fleet.job(key) is not None else None

    def _look_at(self, key: JobKey | None) -> None:
        if key is not None:
            self._queue.add(key)
        self._tell(key)

    def _tell(self, key: JobKey | None) -> None:
        """Let those who look at jobs for reasons of their own know of an event."""
        self._instruments.event_seen(self._clock.now())
        if key is not None:
            self._profiler.heard(key)
            self._autoprofiler.heard(key)


async def _see_each(
    see: Callable[[Json], object], bodies: AsyncIterator[Json], listed: Callable[[Json], object]
) -> None:
    """One object that cannot be read must not keep the operator from all others."""
    async for body in bodies:
        listed(body)
        try:
            see(body)
        except Exception:
            log.exception("cannot be read: %s", body["metadata"].get("name"))
