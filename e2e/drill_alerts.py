"""Alerts fire and resolve in a real Prometheus: a driver in a crash loop, a load above capacity, a broker that is away.

A drill of about 40 minutes, for the rules wait on purpose: `make alert-drill`. It writes bench/results/alerts.
"""

import time
from contextlib import ExitStack

import pytest

from bench import report
from bench.report import Figure, Result
from e2e.faults.field import Field, sender
from e2e.support.api import Cluster, Json, to_yaml, wait_for
from e2e.support.jobs import Job, passthrough
from e2e.support.load import Load
from e2e.support.prometheus import Prometheus

PATIENCE = 45 * 60
RATE = 50
WAIT_MILLISECONDS = 40
"""One core does 25 of these a second, half of what arrives."""


class Watch:
    """When the alerts of this drill fired and resolved, in seconds since their cause began and ended."""

    def __init__(self, prometheus: Prometheus) -> None:
        self._prometheus = prometheus
        self.times: list[Figure] = []

    def wait(self, alert: str, job: str, *, fires: bool, since: float) -> None:
        """Until an alert of a job fires, or does no more."""
        word = "to fire" if fires else "to resolve"
        wait_for(
            f"{alert} of {job} {word}",
            lambda: self._is_firing(alert, job) is fires,
            seconds=PATIENCE,
            every=5,
        )
        seconds = time.monotonic() - since
        print(f"{alert} of {job}: {seconds:.0f} s {word}", flush=True)
        self.times.append(Figure(name=f"{alert}, {word}", value=seconds, unit="s"))

    def _is_firing(self, alert: str, job: str) -> bool | None:
        query = f'ALERTS{{alertname="{alert}",job="{job}",alertstate="firing"}}'
        try:
            return bool(self._prometheus.query(query))
        except AssertionError as error:
            # A busy machine's kubelet may start it anew; alerts that are pending outlive that.
            print(error, flush=True)
            return None


def write(times: list[Figure]) -> None:
    """Keep what a drill that ended well has seen."""
    result = Result(
        name="alerts",
        title="Alerts that fire and resolve",
        method="Jobs on the local cluster under the chart's rules in a real Prometheus. The cause is a driver that "
        f"fails at once, a load of {RATE} rows/s on a job that can process half of it, and a broker that stands "
        "still; it ends by a mended spec, by the end of the load, and by the broker going on. Times are those since "
        "the cause began, or ended.",
        settings={"rate": RATE},
        versions=report.versions("kopf"),
        runs={"run 1": times},
    )
    print(f"written: {report.write(result)}")


def overloaded() -> Json:
    """A job whose capacity is bound by a wait for each record."""
    body = passthrough(
        "overloaded", slo={"latency": {"percentile": 0.95, "bound": "5s"}, "window": "7d"}
    )
    body["spec"]["application"]["mainFile"] = "/opt/jobs/enrichment.py"
    arguments = body["spec"]["application"]["arguments"]
    arguments.remove("--passthrough")
    arguments += [f"--wait-milliseconds={WAIT_MILLISECONDS}", "--max-offsets-per-trigger=200"]
    return body


@pytest.mark.timeout(3 * 3600)
def test_alerts_fire_and_resolve(
    cluster: Cluster,
    namespace: str,
    prometheus: Prometheus,
    operator: str,
    load: Load,
) -> None:
    watch = Watch(prometheus)
    looping = passthrough("looping")
    looping["spec"]["application"]["mainFile"] = "/opt/jobs/missing.py"
    steady = passthrough("steady", progressDeadline="30s")
    jobs = {body["metadata"]["name"]: body for body in (looping, steady, overloaded())}
    for name, body in jobs.items():
        for end in ("in", "out"):
            load.create_topic(f"{name}-{end}")
        cluster.apply(to_yaml(body), namespace)
    with ExitStack() as senders:
        senders.enter_context(sender(cluster, namespace, "steady-in", rate=RATE))
        began = time.monotonic()
        with sender(cluster, namespace, "overloaded-in", rate=RATE):
            watch.wait("SluiceDriverCrashLoop", "looping", fires=True, since=began)
            job = Job(cluster, namespace, "looping")
            job.patch(application={"mainFile": "/opt/jobs/advertisement.py"})
            watch.wait("SluiceDriverCrashLoop", "looping", fires=False, since=time.monotonic())
            watch.wait("SluiceErrorBudgetBurns", "overloaded", fires=True, since=began)
            watch.wait("SluiceLagGrows", "overloaded", fires=True, since=began)
        ended = time.monotonic()
        field = Field(cluster, Job(cluster, namespace, "steady"), operator, home="", away="")
        field.job.wait_until_ready()
        began = time.monotonic()
        with field.frozen(field.kafka_pods()):
            watch.wait("SluiceNoProgress", "steady", fires=True, since=began)
        watch.wait("SluiceNoProgress", "steady", fires=False, since=time.monotonic())
        watch.wait("SluiceLagGrows", "overloaded", fires=False, since=ended)
    for name in jobs:
        cluster.delete("StreamJob", namespace, name)
        Job(cluster, namespace, name).wait_until_gone(seconds=180)
    write(watch.times)
