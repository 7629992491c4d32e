"""Run the operator's process: kopf's watches beside our own work, until one of them ends."""

import asyncio
import logging
from collections.abc import Collection
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import kopf

from sluice.adapters.agents import HttpAgents
from sluice.adapters.clock import SystemClock
from sluice.adapters.credentials import Credentials
from sluice.adapters.forecasting import ForecastProcess
from sluice.adapters.health import HealthServer
from sluice.adapters.kubernetes import KubernetesCluster
from sluice.adapters.metrics import MetricsServer
from sluice.agent.pack import packed
from sluice.handlers.kinds import wait_for_kinds
from sluice.handlers.namespaces import listable, one_returns
from sluice.handlers.streamjobs import kopf_settings, register
from sluice.handlers.sweeping import Sweeper
from sluice.ports import PODS, STREAM_JOBS, STREAM_PROFILES
from sluice.services.operating import Operator, Scope
from sluice.services.polling import Pace
from sluice.settings import Settings

if TYPE_CHECKING:
    from sluice.adapters.prometheus import PrometheusServer

log = logging.getLogger(__name__)

PAUSED_BY = "SLUICE_OPERATOR_PAUSED (the chart's operator.paused)"
"""What a user is told to take away when the whole operator is paused."""


async def run_operator(settings: Settings, credentials: Credentials, *, fresh_key: bytes) -> None:
    """Run until a signal ends it; what is being done is finished, and the Lease is given up."""
    clock = SystemClock()
    declared = tuple(filter(None, settings.namespaces.split(",")))
    registry = kopf.OperatorRegistry()
    async with (
        KubernetesCluster(credentials) as cluster,
        HttpAgents(clock) as agents,
        ForecastProcess() as forecasts,
        AsyncExitStack() as stack,
    ):
        namespaces = await listable(cluster, declared)
        operator = Operator(
            cluster=cluster,
            agents=agents,
            metrics=await _metrics(settings, stack),
            forecasts=forecasts,
            clock=clock,
            scope=Scope(
                namespaces=namespaces,
                nodes=settings.watch_nodes,
                makes_namespaces=settings.make_namespaces,
                home=settings.home,
                identity=settings.identity,
            ),
            agent=packed(),
            fresh_key=fresh_key,
            pace=Pace(interval=settings.poll_interval, per_second=settings.polls_per_second),
            workers=settings.workers,
            paused_by=PAUSED_BY if settings.paused else None,
            concurrent_restarts=settings.concurrent_restarts,
        )
        gone = {
            STREAM_JOBS: operator.job_gone,
            STREAM_PROFILES: operator.profile_gone,
            PODS: operator.pod_gone,
        }
        sweeper = Sweeper(cluster, namespaces, gone)
        register(registry, operator, sweeper, credentials)
        metrics = MetricsServer(operator.registry, operator.refresh, port=settings.metrics_port)
        await stack.enter_async_context(metrics)
        health = await stack.enter_async_context(HealthServer(settings.health_port))
        await wait_for_kinds(cluster, namespaces)
        health.is_ready = True
        work = asyncio.create_task(operator.run(sweeper.see))
        sweeping = asyncio.create_task(sweeper.run())
        has_ended = asyncio.Event()
        work.add_done_callback(lambda _: has_ended.set())
        returning = asyncio.create_task(
            _until_one_returns(cluster, set(declared).difference(namespaces), has_ended)
        )

        @kopf.on.cleanup(registry=registry)
        async def finish(**_: Any) -> None:
            # kopf would first wait five seconds for tasks that are not its own, with the Lease still held.
            work.cancel()

        try:
            await kopf.operator(
                registry=registry,
                settings=kopf_settings(),
                stop_flag=has_ended,
                standalone=True,
                clusterwide=not namespaces,
                namespaces=namespaces,
            )
        finally:
            work.cancel()
            sweeping.cancel()
            returning.cancel()
            await asyncio.wait({work, sweeping, returning})
        if not work.cancelled():
            work.result()


async def _until_one_returns(
    cluster: KubernetesCluster, left_out: Collection[str], has_ended: asyncio.Event
) -> None:
    """End the process when a namespace that was left out may be listed: kopf takes no others while it runs."""
    if left_out:
        namespace = await one_returns(cluster, sorted(left_out))
        log.info("the namespace %s may be listed by now; beginning anew with it", namespace)
        has_ended.set()


async def _metrics(settings: Settings, stack: AsyncExitStack) -> "PrometheusServer | None":
    """The metrics' server, if one is configured; its client only then costs memory."""
    if not settings.prometheus_url:
        return None
    from sluice.adapters.prometheus import Endpoint, PrometheusServer

    endpoint = Endpoint(
        url=settings.prometheus_url,
        login=settings.prometheus_login,
        authority_file=settings.prometheus_ca_file,
        headers=tuple(settings.prometheus_headers.items()),
        deadline=settings.prometheus_deadline,
    )
    return await stack.enter_async_context(PrometheusServer(endpoint))
