"""StreamJobs of a benchmark, and when each got its driver: by our own clock, from a watch."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from bench.api import JOBS, PODS, Api
from bench.progress import BenchmarkFailed
from bench.simulation import PLACEMENT

Json = dict[str, Any]


def stream_job(name: str, namespace: str, *, suspend: bool = False) -> Json:
    """A usual job, whose driver goes to a simulated node."""
    return {
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "StreamJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "application": {
                "image": "localhost/sluice-spark:dev",
                "mainFile": "/opt/jobs/advertisement.py",
                "arguments": [
                    "--bootstrap-servers=$(SLUICE_KAFKA_BOOTSTRAP_SERVERS)",
                    "--input-topic=$(SLUICE_KAFKA_TOPICS)",
                    "--output-topic=views",
                    "--checkpoint=$(SLUICE_CHECKPOINT_LOCATION)",
                ],
                "sparkConf": {"spark.sql.shuffle.partitions": "4"},
                "driver": {"memory": "1Gi", "template": {"spec": PLACEMENT}},
            },
            "executors": {"min": 1, "max": 4, "initial": 2, "memory": "1Gi"},
            "checkpoint": {"uri": f"s3a://checkpoints/{namespace}/{name}"},
            "sources": [{"kafka": {"bootstrapServers": ["kafka:9092"], "topics": ["ads"]}}],
            "suspend": suspend,
        },
    }


class Population:
    """Jobs of one namespace: when each was asked for, and when its driver pod was there and ran."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._namespace = namespace
        self.requested: dict[str, float] = {}
        self.created: dict[str, float] = {}
        self.running: dict[str, float] = {}

    async def create(self, count: int, *, first: int = 0, suspend: bool = False) -> None:
        """Create the jobs from `first` to `count` at once; the clock of each starts before its request is sent."""
        async with asyncio.TaskGroup() as group:
            for number in range(first, count):
                body = stream_job(f"job-{number:05}", self._namespace, suspend=suspend)
                group.create_task(self._create(body))

    async def _create(self, body: Json) -> None:
        self.requested[body["metadata"]["name"]] = time.monotonic()
        await self._api.create(JOBS.format(self._namespace), body)

    async def watch(self) -> None:
        """Note when driver pods appear and run, until cancelled."""
        async for event in self._api.watch(PODS.format(self._namespace)):
            now, pod = time.monotonic(), event["object"]
            job = pod["metadata"].get("labels", {}).get("sluice.dev/job")
            if job is None or event["type"] == "DELETED":
                continue
            self.created.setdefault(job, now)
            if pod["status"].get("phase") == "Running":
                self.running.setdefault(job, now)

    def waits_for(self, reached: dict[str, float]) -> list[float]:
        """Seconds from each job's request to a moment of its driver."""
        return [at - self.requested[job] for job, at in reached.items()]


async def wait_until(
    what: str, look: Callable[[], bool], *, seconds: float, every: float = 0.1
) -> None:
    """Wait for something to become true; raises BenchmarkFailed after so many seconds."""
    until = time.monotonic() + seconds
    while not look():
        if time.monotonic() > until:
            raise BenchmarkFailed(f"after {seconds:g} s: not {what}")
        await asyncio.sleep(every)
