"""What profiles tell of a job, and what production notices of them.

`make profile-drill`: half an hour. It writes bench/results/profile.
"""

import math
import time
from dataclasses import dataclass
from statistics import fmean

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bench import report
from bench.report import Figure, Result
from e2e.faults.field import sending
from e2e.support.api import Cluster, Json, to_yaml, wait_for
from e2e.support.jobs import Job, enrichment
from e2e.support.load import Load
from e2e.support.profiles import Profile

NAME = "drilled"
WAIT = 8
"""Milliseconds for each record: a core does 125 records per second at most."""

RATE = 150
"""More than one executor can do, and less than two."""

BACKLOG = 40_000
WINDOW = 180.0
"""Seconds in which production is watched without a profile."""

AGENT = 8090
LATENCY, BATCHES = "sluice_query_record_latency_seconds", "sluice_query_batch_duration_seconds"
ROWS = "sluice_query_input_rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """What the agent of a driver has counted so far: rows by the bound of their latency, and of batches the seconds."""

    buckets: dict[float, float]
    latency: float
    rows: float
    seconds: float

    @classmethod
    def read(cls, job: Job) -> "Counters":
        """As they are now."""
        page = job.cluster.pod_page(job.namespace, f"{job.name}-driver:{AGENT}", "metrics")
        samples = [
            sample for family in text_string_to_metric_families(page) for sample in family.samples
        ]
        told = {sample.name: sample.value for sample in samples}
        buckets = {
            float(sample.labels["le"]): sample.value
            for sample in samples
            if sample.name == f"{LATENCY}_bucket"
        }
        return cls(
            buckets=buckets,
            latency=told[f"{LATENCY}_sum"],
            rows=told[f"{ROWS}_total"],
            seconds=told[f"{BATCHES}_sum"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """Production in a while: rows, their latency in seconds, and rows per second of its batches."""

    rows: float
    mean: float
    p95: float
    pace: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiled:
    """The points of a profile by executors, and production beside what its copies did."""

    points: dict[int, Json]
    beside: dict[str, Watched]


def between(before: Counters, after: Counters) -> Watched:
    """What was counted from one moment to the other."""
    grown = {bound: after.buckets[bound] - before.buckets[bound] for bound in after.buckets}
    timed, rows = grown[math.inf], after.rows - before.rows
    return Watched(
        rows=rows,
        mean=(after.latency - before.latency) / timed,
        p95=min(bound for bound, count in grown.items() if count >= 0.95 * timed),
        pace=rows / (after.seconds - before.seconds),
    )


@pytest.mark.timeout(2 * 3600)
def test_profiles_tell_what_production_does_and_production_notices_little(
    cluster: Cluster, namespace: str, places: tuple[str, ...], operator: str, load: Load
) -> None:
    load.create_topic(f"{NAME}-in", partitions=12)
    load.create_topic(f"{NAME}-out", partitions=4)
    body = enrichment(NAME, WAIT)
    body["spec"]["scaling"] = {"mode": "Off"}
    body["spec"]["executors"]["initial"] = 2
    cluster.apply(to_yaml(body), namespace)
    job = Job(cluster, namespace, NAME)
    try:
        job.wait_until_ready()
        saturated = _saturated(job, load)
        rows = ("--schema", "enrichment", "--trace", f"constant:{RATE}", "--records", "10000000")
        with sending(cluster, namespace, f"{NAME}-in", *rows):
            time.sleep(60)
            quiet = [_quietly(job)]
            live = _profiled(job, places, "Latest")
            quiet.append(_quietly(job))
            capacity = _profiled(job, places, "Earliest")
            quiet.append(_quietly(job))
        account = load.check(job, kind="enrichment")
        assert (account["missing"], account["duplicates"]) == (0, 0), account
        assert job.read()["status"]["incarnation"] == 1
        _write(saturated, quiet, live, capacity, account)
        assert not live.points[1]["keepsUp"], live
        assert live.points[2]["keepsUp"], live
    finally:
        cluster.delete("StreamJob", namespace, NAME)
        job.wait_until_gone(seconds=180)


def _saturated(job: Job, load: Load) -> Watched:
    """Production while it works off rows that wait; the first of them warm it up."""
    load.send(f"{NAME}-in", rate=4000, records=BACKLOG // 4, schema="enrichment")
    _wait_until_read(job, BACKLOG // 4)
    before = Counters.read(job)
    load.send(f"{NAME}-in", rate=4000, records=BACKLOG, schema="enrichment")
    _wait_until_read(job, BACKLOG // 4 + BACKLOG)
    return between(before, Counters.read(job))


def _wait_until_read(job: Job, rows: int) -> None:
    wait_for(f"{rows} rows", lambda: Counters.read(job).rows >= rows, seconds=900, every=2)


def _quietly(job: Job) -> Watched:
    before = Counters.read(job)
    time.sleep(WINDOW)
    return between(before, Counters.read(job))


def _profiled(job: Job, places: tuple[str, ...], start: str) -> Profiled:
    """A profile from its beginning to its end."""
    profile = Profile(job.cluster, job.namespace, f"{NAME}-{start.lower()}", places)
    before = Counters.read(job)
    profile.start(NAME, executors=[1, 2], **{"from": start})
    profile.wait_until_measuring()
    started = Counters.read(job)
    status = profile.wait_until_ended(seconds=1200)
    after = Counters.read(job)
    print(f"{start}: {status['points']}", flush=True)
    profile.delete()
    return Profiled(
        points={
            point["executors"]: {**point, **point.get("latency", {})} for point in status["points"]
        },
        beside={
            "copies that start": between(before, started),
            "copies at work": between(started, after),
            "start and work": between(before, after),
        },
    )


def _write(
    saturated: Watched,
    quiet: list[Watched],
    live: Profiled,
    capacity: Profiled,
    account: Json,
) -> None:
    mean = fmean(one.mean for one in quiet)
    points, mirrored = capacity.points, live.points
    figures = [
        Figure(name="records, each delivered once", value=account["expected"], unit=""),
        Figure(name="production at saturation, 2 executors", value=saturated.pace, unit="rows/s"),
        *(
            Figure(
                name=f"profile from Earliest, {executors} executors",
                value=points[executors]["rowsPerSecond"],
                unit="rows/s",
            )
            for executors in (1, 2)
        ),
        Figure(
            name="profile by production, 2 executors",
            value=points[2]["rowsPerSecond"] / saturated.pace,
            unit="x",
            goal="<= 1.1",
        ),
        Figure(name="latency of production, mean, without a profile", value=mean, unit="s"),
        Figure(
            name="the same, longest window by the shortest",
            value=max(one.mean for one in quiet) / min(one.mean for one in quiet),
            unit="x",
        ),
        *(
            Figure(
                name=f"beside {doing} of a profile from {start}, by that without",
                value=watched.mean / mean,
                unit="x",
                goal="<= 1.05",
            )
            for start, profiled in (("Latest", live), ("Earliest", capacity))
            for doing, watched in profiled.beside.items()
        ),
        Figure(
            name="latency of production, p95, without a profile",
            value=max(one.p95 for one in quiet),
            unit="s",
        ),
        Figure(
            name="profile from Latest, 2 executors, p95", value=mirrored[2]["p95Seconds"], unit="s"
        ),
        Figure(
            name="profile from Latest, rows that arrived",
            value=mirrored[2]["arrivingRowsPerSecond"],
            unit="rows/s",
        ),
    ]
    result = Result(
        name="profile",
        title="Profiles beside production",
        method=f"A job with 2 executors, {WAIT} ms a record, works off a backlog; then {RATE} records/s arrive, and it "
        f"is watched for {WINDOW:.0f} s without a profile, beside one from Latest, without, beside one from Earliest, "
        "and without, from the profile's beginning to its end, with the starts of its copies (1 and 2 executors). All "
        "run on the same processors. Latencies are of the agent's histogram; p95 is the bound of its bucket.",
        settings={"rate": RATE, "milliseconds a record": WAIT, "backlog": BACKLOG},
        versions=report.versions("kopf"),
        runs={"run 1": figures},
    )
    print(f"written: {report.write(result)}")
