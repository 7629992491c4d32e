"""What the driver of a job tells over HTTP: the agent its numbers, and Spark who works."""

import json
import threading
import time
from dataclasses import dataclass, field

from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

from e2e.support.jobs import Job

AGENT, UI = 8090, 4040


@dataclass
class Driver:
    """What the driver of a job tells over HTTP, and the duration of each batch that was seen in passing."""

    job: Job
    batches: dict[int, tuple[float, float]] = field(default_factory=dict)
    _over: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        """Note each batch, when it was seen and how long it took, until `end`."""
        while not self._over.wait(0.5):
            try:
                numbers = self.numbers()
            except (ApiException, HTTPError):
                continue
            batch = numbers.get("sluice_query_batch_id")
            duration = numbers.get("sluice_query_last_batch_duration_seconds")
            if batch is not None and duration is not None:
                self.batches.setdefault(int(batch), (time.monotonic(), duration))

    def end(self) -> None:
        """Watch no more."""
        self._over.set()

    def numbers(self) -> dict[str, float]:
        """The agent's metrics of the only query, without their labels."""
        lines = self._read(AGENT, "metrics").splitlines()
        told = (line.rpartition(" ") for line in lines if line and not line.startswith("#"))
        return {name.partition("{")[0]: float(value) for name, _, value in told}

    def working(self) -> int:
        """The executors that are there and have run a task."""
        (application,) = json.loads(self._read(UI, "api/v1/applications"))
        executors = json.loads(self._read(UI, f"api/v1/applications/{application['id']}/executors"))
        return sum(
            1
            for executor in executors
            if executor["id"] != "driver" and executor["isActive"] and executor["totalTasks"] > 0
        )

    def _read(self, port: int, path: str) -> str:
        pod = f"{self.job.name}-driver:{port}"
        return self.job.cluster.pod_page(self.job.namespace, pod, path)
