"""StreamJobs with the status that an operator would have written, and what Prometheus and events tell of them."""

from datetime import timedelta
from typing import Any

from sluice.console.job import Job
from sluice.console.queries import Query
from sluice.console.sight import Event, Lately, Sight
from sluice.console.trends import POINTS, Trend
from tests.support.jobs import NOW, resource

Json = dict[str, Any]

HOUR = timedelta(hours=1)
SLO = {"latency": {"percentile": 0.95, "bound": "10s"}, "objective": 0.99, "window": "28d"}
MOUNTAIN = tuple(float(abs(index % 14 - 7) * 70) for index in range(POINTS))


def ago(**span: float) -> str:
    """A moment before NOW, as the operator writes it."""
    return (NOW - timedelta(**span)).isoformat().replace("+00:00", "Z")


def condition(
    kind: str,
    status: str = "True",
    reason: str = "Fine",
    message: str = "All is well.",
    **span: float,
) -> Json:
    """One condition; its status has lasted for the span, by default for two hours."""
    since = ago(**(span or {"hours": 2}))
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since,
    }


def with_untried_spark() -> Json:
    """A job that runs as declared, with a release of Spark of which nobody knows."""
    job = healthy()
    of_driver = next(one for one in job["status"]["conditions"] if one["type"] == "DriverRunning")
    of_driver |= {"reason": "UntriedSpark", "message": "clicks-driver on node-1, with Spark 4.9.0."}
    return job


def with_waiting_tasks() -> Json:
    """A job that runs as declared, and whose batches are mostly waiting."""
    job = healthy()
    progress = next(one for one in job["status"]["conditions"] if one["type"] == "Progressing")
    progress |= {
        "reason": "TasksWait",
        "message": "The last committed batch is 812. Of the 4.4 s of a batch of query 'clicks', tasks wait for about "
        "2.5 s for the next row of a quiet partition: give its Kafka source "
        '.option("kafka.fetch.max.wait.ms", "10").',
    }
    return job


def healthy(name: str = "clicks", **changes: Any) -> Json:
    """A job that runs as declared; keyword arguments replace whole parts of its status."""
    conditions = [
        condition("SpecValid", reason="Accepted"),
        condition("DriverRunning", reason="Running"),
        condition("Progressing", reason="Batches", message="The last committed batch is 812."),
        condition("Ready", reason="Running", message="The job runs as declared."),
    ]
    status = {
        "observedGeneration": 1,
        "phase": "Running",
        "incarnation": 3,
        "driver": {"pod": f"{name}-driver", "node": "node-1", "startedAt": ago(hours=2)},
        "executors": {"wanted": 2, "running": 2},
        "checkpoint": {
            "location": f"claim://shop/checkpoints/{name}",
            "lastBatch": 812,
            "committedAt": ago(seconds=4),
        },
        "stream": {
            "arrivalRate": 487.2,
            "processingRate": 490.0,
            "lagRows": 1240,
            "lagSeconds": 2.5,
            "latencyP50": 0.8,
            "latencyP95": 2.1,
            "latencyP99": 3.4,
            "stateRows": 12300,
            "stateBytes": 4718592,
            "statePartitions": 8,
            "stateStore": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        },
        "slo": {"attainment": 0.9995, "budgetLeft": 0.95, "unknown": 0.03},
        "failures": {"inARow": 0},
        "change": {"kind": "None"},
        "conditions": conditions,
        **changes,
    }
    created = NOW - timedelta(days=3)
    return {**resource(name, created=created, slo=SLO), "status": status}


def scaled(name: str = "clicks", mode: str = "Approve", **changes: Any) -> Json:
    """A job whose executors the operator chooses: a wish for more of them waits for an approval."""
    decision = {
        "id": "20260301T115900Z",
        "at": ago(minutes=1),
        "wanted": 4,
        "executors": 2,
        "reason": "latency 14.2 s with 2 executors, the bound is 10 s",
        "keptBy": "mode: an approval of 4 executors is waited for",
        "pending": "20260301T115800Z",
        "expectedLatency": 3.2,
        "likelyRecovery": 46.5,
        "expectedRecovery": 71.5,
    }
    past = {
        "cause": "DriverLoss",
        "incarnation": 3,
        "began": ago(hours=2),
        "detection": 0.4,
        "container": 3.1,
        "session": 9.8,
        "firstBatch": 24.0,
        "caughtUp": 61.0,
    }
    body = healthy(name, decision=decision, recoveries={"count": 1, "past": [past]}, **changes)
    return {**body, "spec": {**body["spec"], "scaling": {"mode": mode}}}


def failing(name: str = "clicks") -> Json:
    """A job whose driver has failed four times, and waits for its next start."""
    told = (
        "Incarnation 7 ended: Query 'clicks' failed: [DATA_SOURCE_NOT_FOUND] Failed to find the data "
        "source: kafak. Failure 4, next in 80s."
    )
    return healthy(
        name,
        phase="BackingOff",
        incarnation=7,
        driver={},
        executors={"wanted": 2, "running": 0},
        stream={},
        slo={"attainment": 0.981, "budgetLeft": -0.9},
        change={"kind": "Restart", "fields": ["application.image"]},
        failures={
            "inARow": 4,
            "reason": "QueryFailed",
            "message": "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: kafak.",
            "exitCode": 1,
            "incarnation": 7,
            "at": ago(seconds=40),
            "nextStart": ago(seconds=-80),
        },
        conditions=[
            condition("SpecValid", reason="Accepted"),
            condition("DriverRunning", "False", "QueryFailed", told, minutes=9),
            condition("Progressing", "Unknown", "NoReport", "Nothing is known of the queries."),
            condition("Ready", "False", "QueryFailed", told, minutes=9),
        ],
    )


def suspended(name: str = "clicks") -> Json:
    """A job that its owner has stopped."""
    told = "spec.suspend is true; the checkpoint is kept."
    stopped = healthy(
        name,
        phase="Suspended",
        driver={},
        executors={"wanted": 0, "running": 0},
        stream={},
        conditions=[
            condition("DriverRunning", "False", "Suspended", told, days=1),
            condition("Ready", "False", "Suspended", told, days=1),
        ],
    )
    return {**stopped, "spec": {**stopped["spec"], "suspend": True}}


def brand_new(name: str = "clicks") -> Json:
    """A job that no operator has seen."""
    return resource(name, created=NOW - timedelta(seconds=3))


def hostile(name: str = "clicks") -> Json:
    """A job whose texts are long, in many scripts, and would play tricks on a terminal."""
    told = (
        "Ünïcode 日本語のメッセージ [bold]not markup[/bold] [/red] \x1b[31mred\x1b[0m \u202eesrever "
        "first\nsecond " + "x" * 150
    )
    return healthy(
        name,
        checkpoint={"location": "s3a://" + "very-long-bucket/" * 12, "lastBatch": 1},
        conditions=[condition("Ready", "False", "Ünïcode", told, minutes=5)],
    )


def lately() -> Lately:
    """An hour as Prometheus tells it."""
    gap = (None,) * 5
    return Lately(
        span=HOUR,
        trends={
            "arriving": Trend(MOUNTAIN),
            "processing": Trend((*gap, *MOUNTAIN[5:])),
            "latency": Trend(tuple(value / 100 for value in MOUNTAIN)),
            "lag": Trend((0.0,) * POINTS),
        },
        burn_rate=0.2,
    )


QUERIES = (
    Query(
        name="clicks",
        arriving=487.2,
        latency=2.1,
        lag=1240.0,
        batch=812.0,
        committed=(NOW - timedelta(seconds=4)).timestamp(),
    ),
    Query(name="refunds", is_active=False, failures=1.0, batch=40.0, lag=3.0),
)


def sight(body: Json, **changes: Any) -> Sight:
    """A job with its events, and an hour of Prometheus."""
    events = (
        Event(
            at=NOW - 2 * HOUR,
            reason="DriverStarting",
            message="Incarnation 3 starts",
            is_warning=False,
        ),
        Event(
            at=NOW - timedelta(minutes=9),
            reason="QueryFailed",
            message="Incarnation 2: the query failed (failure 1)",
            is_warning=True,
        ),
    )
    known = {"job": Job(body), "now": NOW, "lately": lately(), "events": events, **changes}
    return Sight(**known)
