"""What the driver of a job tells over HTTP: the agent its numbers, and Spark who works."""

import json
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from kubernetes.client.exceptions import ApiException
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from urllib3.exceptions import HTTPError

from e2e.support.jobs import Job

AGENT, UI = 8090, 4040
BATCH = "sluice_query_batch_id"
SECONDS = "sluice_query_last_batch_duration_seconds"
STATE = "sluice_query_state_rows"


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
                told = self.samples()
            except (ApiException, HTTPError):
                continue
            batch, seconds = value(told, BATCH), value(told, SECONDS, phase="trigger_execution")
            if batch is not None and seconds is not None:
                self.batches.setdefault(int(batch), (time.monotonic(), seconds))

    def end(self) -> None:
        """Watch no more."""
        self._over.set()

    def samples(self) -> list[Sample]:
        """The agent's metrics."""
        families = text_string_to_metric_families(self._page(AGENT, "metrics"))
        return [sample for family in families for sample in family.samples]

    def working(self) -> int:
        """The executors that are there and have run a task."""
        (application,) = json.loads(self._page(UI, "api/v1/applications"))
        executors = json.loads(self._page(UI, f"api/v1/applications/{application['id']}/executors"))
        return sum(
            1
            for executor in executors
            if executor["id"] != "driver" and executor["isActive"] and executor["totalTasks"] > 0
        )

    def _page(self, port: int, path: str) -> str:
        pod = f"{self.job.name}-driver:{port}"
        return self.job.cluster.pod_page(self.job.namespace, pod, path)


def value(samples: Iterable[Sample], metric: str, **labels: str) -> float | None:
    """The metric of the only query that has these labels; None if the agent does not tell it yet."""
    found = [
        sample.value
        for sample in samples
        if sample.name == metric and labels.items() <= sample.labels.items()
    ]
    assert len(found) <= 1, f"{metric} of {labels}: {found}"
    return found[0] if found else None
