"""A job under load is rescaled live from one executor to four and to two, again and again: what it takes, and costs.

One job passes records on. Another one remembers each of them, so that executors that come or stay have state to load.
`make rescale-drill`: twenty times each, three quarters of an hour. It writes bench/results/rescale and rescale-state.
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
from e2e.support.api import Cluster, wait_for
from e2e.support.drivers import STATE, Driver, value
from e2e.support.jobs import Job, passthrough
from e2e.support.load import Load
from e2e.support.programs import running, running_program

pytestmark = pytest.mark.timeout(3 * 3600)

TIMES = int(os.environ.get("SLUICE_RESCALES", "20"))
RATE = 200
PARTITIONS = 12
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


def test_rescaling_live_again_and_again_loses_and_repeats_nothing(
    cluster: Cluster, namespace: str, operator: str, load: Load
) -> None:
    _create_topics(load, "rescaled")
    with running(cluster, namespace, passthrough("rescaled", executors=FIRST)) as job:
        figures = _drilled(job, load)
    _write("rescale", "Live rescales under load", f"passes {RATE} records/s on", figures)


REMEMBERING = """
import sys
sys.path.insert(0, "/opt")
from jobs import advertisement
enrich = advertisement.enrich_views
advertisement.enrich_views = lambda events, table: enrich(events.dropDuplicates(), table)
advertisement.main()
"""
"""Its state is all that it has ever read."""


def test_rescaling_a_job_with_state_live_again_and_again_loses_and_repeats_nothing(
    cluster: Cluster, namespace: str, operator: str, load: Load
) -> None:
    _create_topics(load, "remembering")
    partitions = {"sparkConf": {"spark.sql.shuffle.partitions": str(PARTITIONS)}}
    with running_program(
        *(cluster, namespace, "remembering", REMEMBERING), executors=FIRST, application=partitions
    ) as job:
        figures = _drilled(job, load)
    what = (
        f"passes {RATE} records/s on and remembers each of them in {PARTITIONS} partitions of state"
    )
    _write("rescale-state", "Live rescales of a job with state under load", what, figures)


def _create_topics(load: Load, name: str) -> None:
    for end in ("in", "out"):
        load.create_topic(f"{name}-{end}", partitions=PARTITIONS)


def _drilled(job: Job, load: Load) -> list[Figure]:
    """The figures of a job that has lost and repeated nothing."""
    with sender(job.cluster, job.namespace, f"{job.name}-in", rate=RATE):
        job.wait_until_ready()
        driver = Driver(job)
        watching = threading.Thread(target=driver.watch, daemon=True)
        watching.start()
        time.sleep(3 * CALM)
        grown, shrunk = _campaign(job, driver)
        state = value(driver.samples(), STATE) or 0.0
        driver.end()
        watching.join()
    compared = load.check(job)
    status = job.read()["status"]
    assert status["incarnation"] == 1
    assert status.get("failures", {}).get("inARow", 0) == 0
    assert (compared["missing"], compared["duplicates"]) == (0, 0)
    return _figures(grown, shrunk, compared["expected"], state)


def _campaign(job: Job, driver: Driver) -> tuple[list[Rescale], list[Rescale]]:
    grown, shrunk = [], []
    for turn in range(TIMES):
        grown.append(rescale(job, driver, LARGE))
        shrunk.append(rescale(job, driver, SMALL))
        rescale(job, driver, FIRST)
        print(f"{turn + 1} of {TIMES}: up {grown[-1]}, down {shrunk[-1]}", flush=True)
    return grown, shrunk


def _figures(
    grown: list[Rescale], shrunk: list[Rescale], records: int, state: float
) -> list[Figure]:
    up, down = [one.seconds for one in grown], [one.seconds for one in shrunk]
    return [
        Figure(name="rescales", value=3 * TIMES, unit=""),
        Figure(name="records, each delivered once", value=records, unit=""),
        Figure(name="rows of state at the end", value=state, unit=""),
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


def _write(name: str, title: str, what: str, figures: list[Figure]) -> None:
    result = Result(
        name=name,
        title=title,
        method=f"A job that {what} is rescaled from {FIRST} executor to {LARGE}, to {SMALL} and back, on the local "
        "cluster with the image present. An executor works when Spark's own account shows a task of its. Batches are "
        "those from the request until some seconds after its effect; the usual one is the median of the eight before. "
        "At the end every record must have come out once, from the first driver.",
        settings={"times": TIMES, "rate": RATE},
        versions=report.versions("kopf"),
        runs={"run 1": figures},
    )
    print(f"written: {report.write(result)}")
