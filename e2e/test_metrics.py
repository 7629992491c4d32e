"""What Prometheus has of a job is true, complete, and used: panels, rules, percentiles, conditions.

SLUICE_OUTAGE keeps Prometheus away for so many seconds more.
"""

import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.faults.field import sender
from e2e.support.api import Cluster, Json, condition, wait_for
from e2e.support.jobs import Job, passthrough, progress_of, short_lived
from e2e.support.load import Load
from e2e.support.programs import running, running_program
from e2e.support.prometheus import Prometheus
from sluice.catalogue.agent import RECORD_LATENCY

pytestmark = pytest.mark.long

RATE = 200
SLO = {
    # A slow machine with many other jobs keeps that, too: what is tested is what is told of it.
    "latency": {"percentile": 0.95, "bound": "60s"},
    "throughput": {"minimum": RATE // 2},
    "freshness": {"bound": "120s"},
    "window": "28d",
}

OBSERVED = {"mode": "Observe", "interval": "10s"}

EMPTY_WHILE_HEALTHY = (
    # Somebody must have failed, or nothing is wrong:
    "sluice_operator_reconcile_errors_total",
    "sluice_job_last_loss_likely_recovery_seconds",
    'stage="caughtUp"',
    # Kafka must have deleted something:
    "sluice_query_retention_used_ratio",
)
"""What panels ask for that is not there while nothing goes wrong."""

EMPTY_WITHOUT_PRESSURE = (
    # A light load says nothing of the capacity, nor of what follows from it, and asks for no other executors:
    "sluice_job_capacity_rows_per_second",
    "sluice_job_expected_latency_seconds",
    "sluice_job_likely_recovery_seconds",
    "sluice_job_expected_recovery_seconds",
    'outcome="kept"',
)
"""What panels ask for that is not known of a job whose executors have little to do."""

MAY_BE_EMPTY = (*EMPTY_WHILE_HEALTHY, *EMPTY_WITHOUT_PRESSURE)


@pytest.fixture(scope="module")
def watched(
    cluster: Cluster, namespace: str, prometheus: Prometheus, operator: str, load: Load
) -> Iterator[Job]:
    """A job with windows, state and objectives under a steady load, decided about but left alone.

    It runs while tests of other jobs do, and what takes it minutes to have is asked for after them.
    """
    for end in ("in", "out"):
        load.create_topic(f"watched-{end}")
    body = passthrough("watched", slo=SLO, scaling=OBSERVED, recovery={"target": "3m"})
    body["spec"]["application"]["arguments"].remove("--passthrough")
    body["spec"]["application"]["sparkConf"] = {"spark.sql.shuffle.partitions": "2"}
    with (
        running(cluster, namespace, short_lived(body)) as job,
        sender(cluster, namespace, "watched-in", rate=RATE),
    ):
        job.wait_until_ready()
        yield job


def test_the_arrival_rate_is_the_generators(watched: Job, prometheus: Prometheus) -> None:
    query = f'sum(rate(sluice_query_arrived_rows_total{{job="{watched.name}"}}[2m]))'

    def close() -> float | None:
        value = prometheus.value(query)
        return value if value is not None and abs(value - RATE) <= 0.02 * RATE else None

    wait_for(f"an arrival rate within 2 % of {RATE}", close, seconds=400, every=5)


@pytest.mark.thorough
def test_percentiles_agree_with_the_records_own_times(
    cluster: Cluster, namespace: str, prometheus: Prometheus, operator: str, load: Load
) -> None:
    name = "percentiles"
    for end in ("in", "out"):
        load.create_topic(f"{name}-{end}")
    with running(cluster, namespace, short_lived(passthrough(name))) as job:
        # Rows that waited before the driver was there are timed, too.
        sent = load.send(f"{name}-in", rate=RATE, records=RATE * 5)
        job.wait_until_ready()
        sent = load.send(f"{name}-in", rate=RATE, records=RATE * 60)
        truth = load.check(job)
        assert truth["right"], truth
        counted = f'sum(sluice_query_record_latency_seconds_count{{job="{name}"}})'
        rows = sent["next_sequence"]
        wait_for("all rows", lambda: prometheus.value(counted) == rows, seconds=60, every=2)
        for percentile in (50, 95, 99):
            # The driver is young: its counters began at zero, and are the whole history.
            told = prometheus.value(
                f"histogram_quantile({percentile / 100}, sum by (le) "
                f'(sluice_query_record_latency_seconds_bucket{{job="{name}"}}))'
            )
            real = truth["latency_milliseconds"][f"p{percentile}"] / 1000
            assert told is not None
            assert abs(_bucket(told) - _bucket(real)) <= 1, f"p{percentile}: {told} and {real}"


def _bucket(seconds: float) -> int:
    """The number of the bucket of the latency histogram that a value is in."""
    return sum(bound < seconds for bound in RECORD_LATENCY.buckets)


def test_all_rules_are_loaded_and_healthy(watched: Job, prometheus: Prometheus) -> None:
    declared = len(re.findall(r"^ *- (?:record|alert):", _rules(), re.M))

    def all_healthy() -> list[Json]:
        rules = prometheus.rules()
        return rules if all(rule["health"] == "ok" for rule in rules) else []

    rules = wait_for("a first evaluation of all rules", all_healthy, seconds=400, every=10)
    assert len(rules) == declared
    # A slow machine may really break the promise; nothing else may call anybody.
    firing = {rule["name"] for rule in rules if rule.get("state") == "firing"}
    assert firing <= {"SluiceErrorBudgetBurns"}


def _rules() -> str:
    return "".join(path.read_text() for path in Path("charts/sluice/rules").glob("*.yaml"))


def test_the_status_tells_what_is_attained(watched: Job, prometheus: Prometheus) -> None:
    watched.wait(
        "an objective that is met",
        lambda resource: condition(resource, "ObjectivesMet")["status"] == "True",
        seconds=240,
    )
    # The first minutes of a young job count against it: rows waited for its driver.
    met = watched.wait(
        "more good time than bad",
        lambda resource: resource["status"]["slo"].get("attainment", 0) > 0.5,
        seconds=240,
    )
    assert condition(met, "MetricsAvailable")["reason"] == "Scraped"
    assert met["status"]["summary"]["slo"].endswith("%/99%")


HUNG = """
import os, time
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
rows = (spark.readStream.format("kafka").option("subscribe", os.environ["SLUICE_KAFKA_TOPICS"])
        .option("kafka.bootstrap.servers", os.environ["SLUICE_KAFKA_BOOTSTRAP_SERVERS"])
        .option("startingOffsets", "earliest").load())
def write(batch, number):
    batch.count()
    if number == 1:
        time.sleep(3600)
query = (rows.writeStream.foreachBatch(write).queryName("hung").trigger(processingTime="1 second")
         .option("checkpointLocation", "/checkpoint/hung").start())
query.awaitTermination()
"""


@pytest.mark.thorough
def test_of_a_hung_query_it_is_told_that_it_makes_no_progress_and_exactly_what_waits(
    cluster: Cluster, namespace: str, operator: str, prometheus: Prometheus, load: Load
) -> None:
    load.create_topic("hung-in")
    load.send("hung-in", rate=RATE, records=100)
    with running_program(cluster, namespace, "hung", HUNG, progressDeadline="10s") as job:
        job.wait_until_ready()
        load.send("hung-in", rate=RATE, records=523)
        stuck = job.wait(
            "the deadline",
            lambda resource: condition(resource, "Progressing")["status"] == "False",
            seconds=60,
        )
        assert condition(stuck, "Progressing")["reason"] == "BatchStuck"
        job.wait("lag", lambda resource: resource["status"]["stream"]["lagRows"] == 523, seconds=60)
        backlog = f'sum(sluice_query_backlog_rows{{namespace="{namespace}",job="hung"}})'
        wait_for("the metric", lambda: prometheus.value(backlog) == 523, seconds=60)
        assert condition(stuck, "Ready")["status"] == "False"
        driver = job.driver()
        assert driver is not None
        assert driver["status"]["phase"] == "Running"
        assert stuck["status"]["incarnation"] == 1


TWICE = """
import os
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
servers = os.environ["SLUICE_KAFKA_BOOTSTRAP_SERVERS"]
rows = (spark.readStream.format("kafka").option("subscribe", os.environ["SLUICE_KAFKA_TOPICS"])
        .option("kafka.bootstrap.servers", servers).option("failOnDataLoss", "false")
        .option("startingOffsets", "earliest").load().select("key", "value"))
def start(name, writer):
    place = os.environ["SLUICE_CHECKPOINT_LOCATION"] + "/" + name
    writer = writer.queryName(name).option("checkpointLocation", place)
    writer.trigger(processingTime="1 second").start()
start("kept", rows.writeStream.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", "twice-out"))
start("dropped", rows.writeStream.format("noop"))
spark.streams.awaitAnyTermination()
"""


@pytest.mark.thorough
def test_of_each_of_several_queries_it_is_told_how_many_rows_kafka_deleted_unread(
    cluster: Cluster, namespace: str, operator: str, prometheus: Prometheus, load: Load
) -> None:
    for end in ("in", "out"):
        load.create_topic(f"twice-{end}")
    load.send("twice-in", rate=RATE, records=1000)
    with running_program(cluster, namespace, "twice", TWICE) as job:
        job.wait_until_ready()
        job.wait("no lag", lambda it: it["status"]["stream"].get("lagRows") == 0, seconds=60)
        job.patch(suspend=True)
        job.wait("suspension", lambda it: it["status"]["phase"] == "Suspended")
        load.send("twice-in", rate=RATE, records=1000)
        left = load.delete_all_but("twice-in", 50)
        assert left == 4 * 50
        job.patch(suspend=False)
        job.wait_until_ready(incarnation=2)
        metric = f'sluice_query_expired_rows_total{{namespace="{namespace}",job="twice"}}'

        def expired() -> dict[str, float]:
            told = prometheus.query(metric)
            return {one["metric"]["query"]: float(one["value"][1]) for one in told}

        lost = 1000 - left
        both = {"kept": lost, "dropped": lost}
        wait_for("what both have lost", lambda: expired() == both, seconds=180, every=5)
        page = cluster.sluice("status", "twice", "-n", namespace).stdout
        for query in both:
            assert f"Expired      {lost} rows, unread, of query {query}" in page
            assert re.search(rf"{query} +Running", page)
        alert = (
            f'ALERTS{{alertname="SluiceRowsExpired",alertstate="firing",namespace="{namespace}"}}'
        )
        (alarm,) = wait_for("the alert", lambda: prometheus.query(alert), seconds=90, every=5)
        assert alarm["metric"]["job"] == "twice"


def test_every_panel_shows_something(watched: Job, prometheus: Prometheus) -> None:
    wanted = queries_of_panels(watched)
    assert len(wanted) > 60

    def answered() -> bool:
        for query in [*wanted]:
            if any(part in query for part in MAY_BE_EMPTY) or prometheus.query(query):
                del wanted[query]
        return not wanted

    try:
        # What was forecast is shown five minutes later; the tests before this one have taken them, or most.
        wait_for("data in every panel", answered, seconds=780, every=10)
    except AssertionError:
        raise AssertionError(f"nothing to show: {wanted}") from None


def queries_of_panels(job: Job) -> dict[str, str]:
    """Each query of each panel with the variables filled in, by itself and its place."""
    found = {}
    for path in sorted(Path("charts/sluice/dashboards").glob("*.json")):
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel.get("targets", []):
                query = target["expr"].replace("$namespace", job.namespace)
                query = query.replace("$job", job.name).replace("$__rate_interval", "1m")
                found[query] = f"{path.stem}/{panel['title']}"
    return found


def test_a_prometheus_that_goes_away_is_told_and_touches_no_job(
    watched: Job, prometheus: Prometheus
) -> None:
    before = watched.driver()

    def reason(name: str) -> str:
        return str(condition(watched.read(), name).get("reason"))

    with prometheus.down():
        wait_for(
            "the condition",
            lambda: reason("MetricsAvailable") == "PrometheusUnavailable",
            seconds=90,
        )
        assert reason("ObjectivesMet") == "NotMeasured"
        watched.wait_until_ready()
        assert "attainment" not in watched.read()["status"]["slo"]
        batch = progress_of(watched.read())
        time.sleep(float(os.environ.get("SLUICE_OUTAGE", "0")))
        watched.wait("further batches", lambda resource: progress_of(resource) > batch)
    wait_for("metrics again", lambda: reason("MetricsAvailable") == "Scraped", seconds=120)
    after = watched.driver()
    assert before is not None
    assert after is not None
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
