"""A job under load is rescaled live from one executor to four and to two, again and again: what it takes, and costs.

`make rescale-drill`: twenty times, half an hour. It writes bench/results/rescale.
"""

import json
import os
import statistics
import threading
import time
from dataclasses import dataclass, field

import pytest
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

from bench import report
from bench.report import Figure, Result
from e2e.faults.field import sender
from e2e.support.api import Cluster, to_yaml, wait_for
from e2e.support.jobs import Job, passthrough
from e2e.support.load import Load

TIMES = int(os.environ.get("SLUICE_RESCALES", "20"))
RATE = 200
LARGE, SMALL, FIRST = 4, 2, 1
CALM = 12.0
"""Seconds between two rescales in which the job shows how long its batches usually take."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescale:
    """How long one took until its effect, and its longest batch by the usual one."""

    seconds: float
    stretch: float


def rescale(job: Job, driver: Driver, executors: int) -> Rescale:
    """Ask for a number of executors, and wait until as many work."""
    before = [seconds for _, seconds in list(driver.batches.values())[-8:]]
    began = time.monotonic()
    job.patch(executors={"initial": executors})
    wait_for(f"{executors} executors at work", lambda: driver.working() == executors, seconds=180)
    seconds = time.monotonic() - began
    time.sleep(CALM)
    since = [took for seen, took in list(driver.batches.values()) if seen >= began]
    return Rescale(seconds=seconds, stretch=max(since) / statistics.median(before))


@pytest.mark.timeout(3 * 3600)
def test_rescaling_live_again_and_again_loses_and_repeats_nothing(
    cluster: Cluster, namespace: str, operator: str, load: Load
) -> None:
    for end in ("in", "out"):
        load.create_topic(f"rescaled-{end}", partitions=12)
    cluster.apply(to_yaml(passthrough("rescaled", executors=FIRST)), namespace)
    job = Job(cluster, namespace, "rescaled")
    try:
        with sender(cluster, namespace, "rescaled-in", rate=RATE):
            job.wait_until_ready()
            driver = Driver(job)
            watching = threading.Thread(target=driver.watch, daemon=True)
            watching.start()
            time.sleep(3 * CALM)
            grown, shrunk = _campaign(job, driver)
            driver.end()
            watching.join()
        compared = load.check(job)
        status = job.read()["status"]
        assert status["incarnation"] == 1
        assert status.get("failures", {}).get("inARow", 0) == 0
        assert (compared["missing"], compared["duplicates"]) == (0, 0)
        _write(grown, shrunk, compared["expected"])
    finally:
        cluster.delete("StreamJob", namespace, job.name)
        job.wait_until_gone(seconds=180)


def _campaign(job: Job, driver: Driver) -> tuple[list[Rescale], list[Rescale]]:
    grown, shrunk = [], []
    for turn in range(TIMES):
        grown.append(rescale(job, driver, LARGE))
        shrunk.append(rescale(job, driver, SMALL))
        rescale(job, driver, FIRST)
        print(f"{turn + 1} of {TIMES}: up {grown[-1]}, down {shrunk[-1]}", flush=True)
    return grown, shrunk


def _write(grown: list[Rescale], shrunk: list[Rescale], records: int) -> None:
    up, down = [one.seconds for one in grown], [one.seconds for one in shrunk]
    figures = [
        Figure(name="rescales", value=3 * TIMES, unit=""),
        Figure(name="records, each delivered once", value=records, unit=""),
        Figure(name="up, median until all work", value=statistics.median(up), unit="s"),
        Figure(name="up, longest", value=max(up), unit="s", goal="<= 30"),
        Figure(
            name="down, median until the others are gone", value=statistics.median(down), unit="s"
        ),
        Figure(name="down, longest", value=max(down), unit="s"),
        Figure(
            name="up, longest batch by the usual one, median",
            value=statistics.median(one.stretch for one in grown),
            unit="x",
        ),
        Figure(
            name="down, longest batch by the usual one, median",
            value=statistics.median(one.stretch for one in shrunk),
            unit="x",
            goal="<= 2",
        ),
        Figure(
            name="down, longest batch by the usual one, at worst",
            value=max(one.stretch for one in shrunk),
            unit="x",
            goal="<= 2",
        ),
    ]
    result = Result(
        name="rescale",
        title="Live rescales under load",
        method=f"A job that passes {RATE} records/s on is rescaled from {FIRST} executor to {LARGE}, to {SMALL} and "
        "back, on the local cluster with the image present. An executor works when Spark's own account shows a task "
        "of its. Batches are those from the request until some seconds after its effect; the usual one is the median "
        "of the eight before. At the end every record must have come out once, from the first driver.",
        settings={"times": TIMES, "rate": RATE},
        versions=report.versions("kopf"),
        runs={"run 1": figures},
    )
    print(f"written: {report.write(result)}")
