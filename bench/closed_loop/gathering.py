"""What Prometheus has of a run, as a course, and what the metrics API says of the executors' CPU."""

import json
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from kubernetes.utils import parse_quantity

from bench.closed_loop.contenders import JOB
from bench.closed_loop.courses import Course, DriverCourse, Samples
from bench.closed_loop.measurements import Cpu
from bench.closed_loop.scene import Scene
from bench.closed_loop.simulating import STEP, TAIL
from bench.closed_loop.stage import Stage
from e2e.support.api import Json

_DRIVER = "sluice_dev_incarnation"
"""Prometheus' label of a driver's samples."""

LONGEST = 900.0
"""Seconds before the load that are kept."""


def course(stage: Stage, scene: Scene, began: float, ready: float) -> Course:
    """The samples of a run whose load began at a moment, from its job's readiness on (both in seconds since 1970)."""
    before = min(began - ready, LONGEST)
    first = -STEP * int(before / STEP)
    count = int((scene.seconds + TAIL - first) / STEP) + 1
    moments = [began + first + STEP * place for place in range(count)]

    def ask(promql: str) -> list[Json]:
        return stage.prometheus.range(promql, start=moments[0], end=moments[-1], step=STEP)

    def since(samples: Samples) -> Samples:
        return tuple(None if at is None else round(at - began, 3) for at in samples)

    mine = f'namespace="{stage.namespace}",job="{JOB}"'
    told = {name: _drivers(ask(query), moments) for name, query in _queries(scene, mine).items()}
    names = sorted({driver for by_driver in told.values() for driver in by_driver}, key=int)
    unknown: Samples = (None,) * count
    columns = {
        driver: {name: by_driver.get(driver, unknown) for name, by_driver in told.items()}
        for driver in names
    }
    return Course(
        start=first,
        step=STEP,
        wanted=_only(ask(f"max(sluice_job_executors_wanted{{{mine}}})"), moments),
        running=_only(ask(f"max(sluice_job_executors_running{{{mine}}})"), moments),
        drivers=tuple(
            DriverCourse(**{**column, "committed": since(column["committed"])})
            for column in columns.values()
        ),
    )


def _queries(scene: Scene, mine: str) -> Mapping[str, str]:
    bucket = f'sluice_query_record_latency_seconds_bucket{{{mine},le="{float(scene.bound)!r}"}}'
    summed = {
        "rows": f"sluice_query_input_rows_total{{{mine}}}",
        "batches": f"sluice_query_batches_total{{{mine}}}",
        "seconds": f"sluice_query_batch_duration_seconds_sum{{{mine}}}",
        "timed": f"sluice_query_record_latency_seconds_count{{{mine}}}",
        "within": bucket,
        "backlog": f"sluice_query_backlog_rows{{{mine}}}",
        "committed": f"sluice_query_last_commit_timestamp_seconds{{{mine}}}",
        "registered": f"sluice_executors_registered{{{mine}}}",
    }
    return {name: f"sum by ({_DRIVER}) ({series})" for name, series in summed.items()}


def _drivers(series: Sequence[Json], moments: Sequence[float]) -> dict[str, Samples]:
    return {one["metric"][_DRIVER]: _samples(one, moments) for one in series}


def _only(series: Sequence[Json], moments: Sequence[float]) -> Samples:
    return _samples(series[0], moments) if series else (None,) * len(moments)


def _samples(one: Json, moments: Sequence[float]) -> Samples:
    """The values of a series at each moment: Prometheus leaves out those at which it has none."""
    known = {
        round((float(at) - moments[0]) / STEP): round(float(value), 3)
        for at, value in one["values"]
    }
    return tuple(known.get(place) for place in range(len(moments)))


def restarts(stage: Stage, began: float, ended: float) -> int:
    """Rescales by a restart, as the operator has counted them between two moments."""
    query = f'max(sluice_job_rescales_total{{namespace="{stage.namespace}",job="{JOB}",path="Restart"}})'
    series = stage.prometheus.range(query, start=began, end=ended, step=STEP)
    values = [float(value) for _, value in series[0]["values"]] if series else []
    return round(values[-1] - values[0]) if values else 0


def processed(stage: Stage) -> float:
    """Rows that the job has committed so far, under whichever drivers."""
    series = f'sluice_query_input_rows_total{{namespace="{stage.namespace}",job="{JOB}"}}'
    query = f"sum(max_over_time({series}[1h]))"
    return stage.prometheus.value(query) or 0.0


def cpu(stage: Stage, clock: Callable[[], float]) -> Cpu | None:
    """The mean CPU of the executors now; None where the metrics API has none of them."""
    path = f"/apis/metrics.k8s.io/v1beta1/namespaces/{stage.namespace}/pods"
    selector = {"labelSelector": f"sluice.dev/job={JOB},sluice.dev/role=executor"}
    done = stage.cluster.kubectl_process(
        "get", "--raw", f"{path}?{urllib.parse.urlencode(selector)}"
    )
    if done.returncode:
        return None
    used = [
        sum(1000 * float(parse_quantity(one["usage"]["cpu"])) for one in pod["containers"])
        for pod in json.loads(done.stdout)["items"]
    ]
    if not used:
        return None
    return Cpu(at=round(clock(), 1), executors=len(used), millicores=round(fmean(used), 2))
