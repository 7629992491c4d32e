"""Run the operator's process: kopf's watches beside our own work, until one of them ends."""

import asyncio
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
from sluice.handlers.streamjobs import kopf_settings, register
from sluice.handlers.sweeping import Sweeper
from sluice.ports import PODS, STREAM_JOBS, STREAM_PROFILES
from sluice.services.operating import Operator, Scope
from sluice.services.polling import Pace
from sluice.settings import Settings

if TYPE_CHECKING:
    from sluice.adapters.prometheus import PrometheusServer

PAUSED_BY = "SLUICE_OPERATOR_PAUSED (the chart's operator.paused)"
"""What a user is told to take away when the whole operator is paused."""


async def run_operator(settings: Settings, credentials: Credentials, *, fresh_key: bytes) -> None:
    """Run until a signal ends it; what is being done is finished, and the Lease is given up."""
    clock = SystemClock()
    namespaces = tuple(filter(None, settings.namespaces.split(",")))
    registry = kopf.OperatorRegistry()
    async with (
        KubernetesCluster(credentials) as cluster,
        HttpAgents(clock) as agents,
        ForecastProcess() as forecasts,
        AsyncExitStack() as stack,
    ):
        operator = Operator(
            cluster=cluster,
            agents=agents,
            metrics=await _metrics(settings, stack),
            forecasts=forecasts,
            clock=clock,
            scope=Scope(
                namespaces=namespaces,
                nodes=settings.watch_nodes,
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
            await asyncio.wait({work, sweeping})
        if not work.cancelled():
            work.result()


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
