"""A job under load is rescaled live from one executor to four and to two, again and again: what it takes, and costs.

`make rescale-drill`: twenty times, half an hour. It writes bench/results/rescale.
"""

import os
import statistics
import threading
import time
from dataclasses import dataclass

import pytest

from bench import report
from bench.report import Figure, Result
from e2e.faults.field import sender
from e2e.support.api import Cluster, to_yaml, wait_for
from e2e.support.drivers import Driver
from e2e.support.jobs import Job, passthrough
from e2e.support.load import Load

TIMES = int(os.environ.get("SLUICE_RESCALES", "20"))
RATE = 200
LARGE, SMALL, FIRST = 4, 2, 1
CALM = 12.0
"""Seconds between two rescales in which the job shows how long its batches usually take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescale:
    """How long one took until its effect, and the longest batch beside the usual one; all in seconds."""

    seconds: float
    usual: float
    longest: float

    @property
    def stretch(self) -> float:
        """The longest batch by the usual one."""
        return self.longest / self.usual


def rescale(job: Job, driver: Driver, executors: int) -> Rescale:
    """Ask for a number of executors, and wait until as many work."""
    before = [seconds for _, seconds in list(driver.batches.values())[-8:]]
    began = time.monotonic()
    job.patch(executors={"initial": executors})
    wait_for(f"{executors} executors at work", lambda: driver.working() == executors, seconds=180)
    seconds = time.monotonic() - began
    time.sleep(CALM)
    since = [took for seen, took in list(driver.batches.values()) if seen >= began]
    return Rescale(seconds=seconds, usual=statistics.median(before), longest=max(since))


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
            name="usual batch, median",
            value=statistics.median(one.usual for one in [*grown, *shrunk]),
            unit="s",
        ),
        Figure(name="up, longest batch", value=max(one.longest for one in grown), unit="s"),
        Figure(name="down, longest batch", value=max(one.longest for one in shrunk), unit="s"),
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
