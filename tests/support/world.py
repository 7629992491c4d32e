"""A reconciler with everything it needs in memory; the test plays the watches, the kubelet and the agents."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from sluice.core.application import JobKey
from sluice.core.observations import AgentReport
from sluice.manifests import names
from sluice.ports import LEASES, PODS, STREAM_JOBS, Clock, Json, Metrics
from sluice.services.autoscaling import Autoscaler
from sluice.services.cordons import Cordons
from sluice.services.fleet import Fleet
from sluice.services.measuring import Measuring
from sluice.services.polling import Pace, Poller
from sluice.services.profiles import Profiles
from sluice.services.reconciling import Reconciler
from sluice.services.restarts import Restarts
from sluice.services.statuses import Statuses
from tests.support import pods
from tests.support.agents import MemoryAgents
from tests.support.cluster import MemoryCluster
from tests.support.forecasts import LocalForecasts
from tests.support.jobs import job, resource
from tests.support.virtual_time import VirtualClock

KEY = b"the operator's own secret"


MakeMetrics = Callable[[Clock], Metrics | None]


def _no_metrics(_: Clock) -> None:
    """No metrics' server is configured."""


class World:
    """One operator's process, and the cluster around it. It needs a loop on virtual time."""

    def __init__(
        self,
        cluster: MemoryCluster,
        metrics: MakeMetrics = _no_metrics,
        *,
        asks: bool = True,
        **settings: Any,
    ) -> None:
        clock = VirtualClock()
        self.metrics = metrics(clock)
        self.cluster = cluster
        self.clock = clock
        self.agents = MemoryAgents(clock)
        self.fleet = Fleet()
        self.told: list[JobKey] = []
        self.poller = Poller(self.fleet, self.agents, clock, pace=Pace(), told=self._heard)
        self.measuring = Measuring(self.metrics, self.fleet, clock)
        self.profiles = Profiles()
        self.autoscaler = Autoscaler(
            fleet=self.fleet,
            poller=self.poller,
            measuring=self.measuring,
            metrics=self.metrics,
            forecasts=LocalForecasts(),
            cluster=cluster,
            clock=clock,
            told=self.told.append,
            profiled=self.profiles.points,
        )
        self.cordons = Cordons(cluster, self.fleet, clock, told=self.told.append, asks=asks)
        self.reconciler = Reconciler(
            fleet=self.fleet,
            poller=self.poller,
            measuring=self.measuring,
            autoscaler=self.autoscaler,
            cordons=self.cordons,
            statuses=Statuses(cluster, self.fleet, clock),
            cluster=cluster,
            agents=self.agents,
            clock=clock,
            agent=b"packed",
            **{"restarts": Restarts(), **settings},
        )
        self.poller.use_key(KEY)
        self.reconciler.use_key(KEY)

    def _heard(self, key: JobKey) -> None:
        self.autoscaler.heard(key)
        self.told.append(key)

    async def declare(self, name: str = "clicks", **changes: Any) -> float | None:
        """A user applies a StreamJob; its status stays. Then look."""
        known = self.cluster.stored(STREAM_JOBS, name) or {}
        kept = {"status": known["status"]} if "status" in known else {}
        self.cluster.put(STREAM_JOBS, {**resource(name, **changes), **kept})
        return await self.look(name)

    async def look(self, name: str = "clicks") -> float | None:
        """A watch brings the newest state of the job and its driver; then look once."""
        self.watch(name)
        return await self.reconciler.reconcile(JobKey("shop", name))

    def watch(self, name: str = "clicks") -> None:
        """Let the operator see the job and its driver as they are."""
        job, pod = self.cluster.stored(STREAM_JOBS, name), self.cluster.pod(f"{name}-driver")
        if job is not None:
            self.fleet.see_job(job)
        if pod is not None:
            self.fleet.see_pod(pod)

    def drive(self, change: Any, name: str = "clicks") -> Json:
        """A kubelet changes the driver pod by one of the functions of `pods`."""
        pod = self.cluster.pod(f"{name}-driver")
        assert pod is not None
        return self.cluster.put(PODS, change(pod))

    def runs(self, name: str = "clicks") -> Json:
        """The driver's container starts now."""
        return self.drive(lambda pod: pods.running(pod, since=self.clock.now()), name)

    def executors_run(self, count: int, name: str = "clicks") -> None:
        """So many pods of executors run."""
        for number in range(1, count + 1):
            pod = pods.executor(name, f"{name}-1-exec-{number}")
            self.fleet.see_pod(self.cluster.put(PODS, pod))

    def ends(self, name: str = "clicks", **how: Any) -> Json:
        """The driver ends now."""
        return self.drive(lambda pod: pods.failed(pod, at=self.clock.now(), **how), name)

    def takes_lease(self, name: str = "clicks") -> Json:
        """The agent of the driver renews the Lease that it was granted."""
        lease = self.cluster.stored(LEASES, names.lease(job(name).checkpoint_location))
        assert lease is not None
        lease["spec"]["renewTime"] = self.clock.now().isoformat()
        return self.cluster.put(LEASES, lease)

    async def answers(self, report: AgentReport) -> None:
        """The agent tells this whenever it is asked, and is asked at once."""
        self.agents.reports[pods.ADDRESS] = report
        await asyncio.sleep(self.poller_pause)

    @property
    def poller_pause(self) -> float:
        """The longest time until an agent that answers is asked again."""
        return Pace().interval

    def gone(self, name: str = "clicks") -> None:
        """The driver pod is gone from the API, which a watch tells."""
        self.fleet.lose_pod(self.cluster.remove(PODS, "shop", names.driver_pod(name)))

    def delete(self, name: str = "clicks") -> None:
        """A user deletes the job; its pod stays for now."""
        self.fleet.lose_job(self.cluster.remove(STREAM_JOBS, "shop", name))

    def collect(self, name: str = "clicks") -> None:
        """The garbage collector removes what belonged to a job that was deleted."""
        self.cluster.collect(resource(name)["metadata"]["uid"])


@asynccontextmanager
async def world(
    cluster: MemoryCluster | None = None, metrics: MakeMetrics = _no_metrics, **settings: Any
) -> AsyncIterator[World]:
    """An operator that sees what is in the cluster, asks agents, and decides."""
    whole = World(cluster or MemoryCluster(), metrics, **settings)
    polling = asyncio.create_task(whole.poller.queue.run(2))
    deciding = asyncio.create_task(whole.autoscaler.queue.run(1))
    try:
        yield whole
    finally:
        polling.cancel()
        deciding.cancel()
        await asyncio.gather(polling, deciding, return_exceptions=True)
