"""Run the operator's process: kopf's watches beside our own work, until one of them ends."""

import asyncio

import kopf

from sluice.adapters.agents import HttpAgents
from sluice.adapters.clock import SystemClock
from sluice.adapters.credentials import Credentials
from sluice.adapters.kubernetes import KubernetesCluster
from sluice.agent.pack import packed
from sluice.handlers.streamjobs import kopf_settings, register
from sluice.services.operating import Operator, Scope
from sluice.services.polling import Pace
from sluice.settings import Settings


async def run_operator(settings: Settings, credentials: Credentials, *, fresh_key: bytes) -> None:
    """Run until a signal ends it; what is being done is finished, and the Lease is given up."""
    clock = SystemClock()
    namespaces = tuple(filter(None, settings.namespaces.split(",")))
    registry = kopf.OperatorRegistry()
    async with KubernetesCluster(credentials) as cluster, HttpAgents(clock) as agents:
        operator = Operator(
            cluster=cluster,
            agents=agents,
            clock=clock,
            scope=Scope(namespaces=namespaces, home=settings.home, identity=settings.identity),
            agent=packed(),
            fresh_key=fresh_key,
            pace=Pace(interval=settings.poll_interval, per_second=settings.polls_per_second),
            workers=settings.workers,
        )
        register(registry, operator, credentials)
        work = asyncio.create_task(operator.run())
        watches = asyncio.create_task(
            kopf.operator(
                registry=registry,
                settings=kopf_settings(),
                standalone=True,
                clusterwide=not namespaces,
                namespaces=namespaces,
                liveness_endpoint=f"http://0.0.0.0:{settings.health_port}/healthz",
            )
        )
        done, rest = await asyncio.wait({work, watches}, return_when=asyncio.FIRST_COMPLETED)
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        for task in done:
            task.result()
