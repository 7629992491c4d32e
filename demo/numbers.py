"""How the stream flows, told twice: by the StreamJob's status and by Prometheus, which scrapes the driver's agent."""

import json
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from demo import cluster
from demo.names import DRIVER, JOB, NAMESPACE

_OF_THE_JOB = f'{{namespace="{NAMESPACE}",pod="{DRIVER}"}}'
_LATENCIES = f"sum by (le) (rate(sluice_query_record_latency_seconds_bucket{_OF_THE_JOB}[1m]))"

QUERIES = {
    "arriving": f"sum(sluice_query_arrival_rows_per_second{_OF_THE_JOB})",
    "throughput": f"sum(rate(sluice_query_input_rows_total{_OF_THE_JOB}[1m]))",
    "speed": f"sum(sluice_query_processed_rows_per_second{_OF_THE_JOB})",
    "latency_p50": f"histogram_quantile(0.5, {_LATENCIES})",
    "latency_p95": f"histogram_quantile(0.95, {_LATENCIES})",
    "lag_rows": f"sum(sluice_query_backlog_rows{_OF_THE_JOB})",
    "lag_seconds": f"max(sluice_query_backlog_seconds{_OF_THE_JOB})",
    "running": f"max(sluice_executors_registered{_OF_THE_JOB})",
    "wanted": f"max(sluice_executors_target{_OF_THE_JOB})",
    "batch": f"max(sluice_query_batch_id{_OF_THE_JOB})",
    # The target's label, which discovery takes from the pod's.
    "incarnation": f"sum by (sluice_dev_incarnation) (sluice_agent_info{_OF_THE_JOB})",
}
"""What Prometheus is asked for each of the numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """The state of the stream at one moment, in rows, rows per second and seconds; None is not known."""

    source: str
    arriving: float | None = None
    throughput: float | None = None
    speed: float | None = None
    latency_p50: float | None = None
    latency_p95: float | None = None
    lag_rows: float | None = None
    lag_seconds: float | None = None
    running: float | None = None
    wanted: float | None = None
    batch: float | None = None
    incarnation: float | None = None


def from_status(status: Mapping[str, Any]) -> Numbers:
    """Read a StreamJob's status, which knows the speed of the last batch, and no rate of commits."""
    stream, executors = status.get("stream", {}), status.get("executors", {})
    return Numbers(
        source="StreamJob",
        arriving=stream.get("arrivalRate"),
        speed=stream.get("processingRate"),
        latency_p50=stream.get("latencyP50"),
        latency_p95=stream.get("latencyP95"),
        lag_rows=stream.get("lagRows"),
        lag_seconds=stream.get("lagSeconds"),
        running=executors.get("running"),
        wanted=executors.get("wanted"),
        batch=status.get("checkpoint", {}).get("lastBatch"),
        incarnation=status.get("incarnation"),
    )


def from_prometheus(answer: Mapping[str, Any]) -> Numbers:
    """Read Prometheus' answer to `question`."""
    found: dict[str, float] = {}
    for sample in answer["data"]["result"]:
        labels, value = sample["metric"], float(sample["value"][1])
        if labels["number"] == "incarnation":
            value = float(labels.get("sluice_dev_incarnation", "nan"))
        if value == value:  # a quantile of nothing is not a number
            found[labels["number"]] = value
    return Numbers(source="Prometheus", **found)


def question() -> str:
    """All queries as one, so that one answer is of one moment; a label tells which is which."""
    return " or ".join(
        f'label_replace({query}, "number", "{name}", "", "")' for name, query in QUERIES.items()
    )


def ask_prometheus() -> Numbers:
    """Ask through the API server, which reaches pods on every kind of cluster.

    Not by the Service: the API server looks that up in Endpoints, which are deprecated and need not be there.
    """
    words = ("-n", NAMESPACE, "-l", "app=prometheus", "--field-selector=status.phase=Running")
    pods = cluster.kubectl("get", "pods", *words, "-o", "name").split()
    if not pods:
        return Numbers(source="Prometheus")
    pod = f"/api/v1/namespaces/{NAMESPACE}/pods/{pods[0].removeprefix('pod/')}:9090/proxy"
    query = urllib.parse.urlencode({"query": question()})
    return from_prometheus(
        json.loads(cluster.kubectl("get", "--raw", f"{pod}/api/v1/query?{query}"))
    )


def ask_status() -> Numbers:
    """Ask the StreamJob."""
    return from_status(cluster.read("streamjob", JOB).get("status", {}))
