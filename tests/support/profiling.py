"""A cluster whose controllers and kubelets are played, and an operator that profiles in it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from itertools import count
from typing import Any

from sluice.core.observations import AgentReport
from sluice.manifests.profiling.consent import COPIES_FROM
from sluice.manifests.profiling.labelling import profile_uid
from sluice.ports import (
    NAMESPACES,
    PODS,
    STREAM_JOBS,
    STREAM_PROFILES,
    Json,
)
from sluice.services.operating import Operator, Scope
from sluice.services.polling import Pace
from tests.support import pods
from tests.support.agents import MemoryAgents
from tests.support.backlogs import Backlog
from tests.support.cluster import MemoryCluster
from tests.support.forecasts import LocalForecasts
from tests.support.jobs import resource
from tests.support.profiles import profile_resource
from tests.support.virtual_time import VirtualClock

SOURCES = [{"kafka": {"bootstrapServers": ["kafka:9092"], "topics": ["clicks"]}}]
ENDING = "0123u"
"""What the names of the namespaces of the profile's copies end with."""


class Place:
    """A cluster with its controllers and kubelets, played; each copy reads a backlog of its own."""

    pace = Pace()
    """How often agents are asked."""

    built_copies = ""
    """What kubelets tell of the image that copies run."""

    def __init__(self, **backlog: Any) -> None:
        self.clock = VirtualClock()
        self.cluster = MemoryCluster(self.clock.now)
        self.cluster.watchers.append(self._changed)
        self.agents = MemoryAgents(self.clock)
        self.backlogs: dict[str, Backlog] = {}
        self.operators: list[Operator] = []
        self.are_nodes_full = False
        self.last_words = ""
        """What drivers of copies end with, if they end at all."""
        self._backlog = backlog
        self._addresses = count(1)
        lab = {"name": "lab", "annotations": {COPIES_FROM: "bank, shop"}}
        self.cluster.put(NAMESPACES, {"metadata": lab})

    def operator(
        self, identity: str = "one", namespaces: tuple[str, ...] = (), *, makes: bool = True
    ) -> Operator:
        """An operator's process, which watches the cluster."""
        made = Operator(
            cluster=self.cluster,
            agents=self.agents,
            metrics=None,
            forecasts=LocalForecasts(),
            clock=self.clock,
            scope=Scope(
                namespaces=namespaces, makes_namespaces=makes, home="sluice", identity=identity
            ),
            agent=b"packed",
            fresh_key=b"fresh",
            pace=self.pace,
        )
        self.operators = [made]
        return made

    def profiled(self, **spec: Any) -> Json:
        """A user declares a profile of the job."""
        return self.cluster.put(STREAM_PROFILES, profile_resource(**spec))

    async def lives(self, seconds: float, *, step: int = 1) -> None:
        """So much time goes by, a step at a time."""
        for _ in range(int(seconds) // step):
            await asyncio.sleep(step)
            for namespace in self._namespaces():
                self._start_pods(namespace)
                self._let_pods_go(namespace)
            for address, backlog in self.backlogs.items():
                backlog.most_rows = self.agents.limits.get(address) or backlog.most_rows

    @property
    def copies(self) -> dict[str, Json]:
        """The StreamJobs outside of shop, by their namespaces."""
        found = {}
        for namespace in self._namespaces():
            job = self.cluster.stored(STREAM_JOBS, "clicks", namespace)
            if job is not None:
                found[namespace] = job
        return found

    @property
    def places(self) -> set[str]:
        """The namespaces that the operator has made and not removed."""
        found = ((name, self.cluster.stored(NAMESPACES, name, "")) for name in self._namespaces())
        return {name for name, body in found if body is not None and profile_uid(body) is not None}

    def status(self, name: str = "clicks-1") -> Json:
        """The status of the profile."""
        found = self.cluster.stored(STREAM_PROFILES, name)
        assert found is not None
        status: Json = found.get("status", {})
        return status

    def complete(self, name: str = "clicks-1") -> Json:
        """Its condition Complete."""
        (found,) = [one for one in self.status(name)["conditions"] if one["type"] == "Complete"]
        return dict(found)

    def _namespaces(self) -> set[str]:
        return {
            space for _, space, _ in self.cluster._objects if space not in ("", "shop", "sluice")
        } | {name for kind, _, name in self.cluster._objects if kind == "namespaces"}

    def _start_pods(self, namespace: str) -> None:
        pod = self.cluster.stored(PODS, "clicks-driver", namespace)
        if pod is None or "status" in pod or self.are_nodes_full:
            return
        if self.last_words:
            self.cluster.put(
                PODS, pods.failed(pod, exit_code=96, message=self.last_words, at=self.clock.now())
            )
            return
        address = f"10.0.0.{next(self._addresses)}"
        running = pods.running(pod, since=self.clock.now(), image=self.built_copies)
        running["status"]["podIP"] = address
        job = self.cluster.stored(STREAM_JOBS, "clicks", namespace)
        assert job is not None
        self.agents.reports[address] = self._reads(address, job["spec"]["executors"]["max"])
        self.cluster.put(PODS, running)

    def _reads(self, address: str, executors: int) -> Callable[[datetime], AgentReport]:
        """What the agent of a copy tells."""
        backlog = Backlog(executors, self.clock.now(), **self._backlog)
        self.backlogs[address] = backlog
        return backlog.told

    def _let_pods_go(self, namespace: str) -> None:
        """The kubelet has stopped what is being deleted."""
        pod = self.cluster.stored(PODS, "clicks-driver", namespace)
        if pod is not None and "deletionTimestamp" in pod["metadata"]:
            self.cluster.remove(PODS, namespace, "clicks-driver")

    def _changed(self, kind: str, plural: str, body: Json) -> None:
        if kind == "DELETED":
            self._collect(plural, body)
        for operator in self.operators:
            told = {
                "streamjobs": (operator.job_changed, operator.job_gone),
                "streamprofiles": (operator.profile_changed, operator.profile_gone),
                "pods": (operator.pod_changed, operator.pod_gone),
            }.get(plural)
            if told is not None:
                told[kind == "DELETED"](body)

    def _collect(self, plural: str, body: Json) -> None:
        """What Kubernetes' own controllers remove after something."""
        if plural == "namespaces":
            self.cluster.empty(body["metadata"]["name"])
        if plural == "streamjobs":
            self.cluster.collect(body["metadata"]["uid"])


@asynccontextmanager
async def working(operator: Operator) -> AsyncIterator[None]:
    """An operator's process, for a while."""
    task = asyncio.create_task(operator.run())
    try:
        yield
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def place(
    namespaces: tuple[str, ...] = (), job: dict[str, Any] | None = None, **backlog: Any
) -> AsyncIterator[Place]:
    """A cluster with the job clicks and an operator."""
    here = Place(**backlog)
    here.cluster.put(STREAM_JOBS, resource(**{"sources": SOURCES, **(job or {})}))
    async with working(here.operator(namespaces=namespaces)):
        await here.lives(2)
        yield here
