"""What Prometheus is asked for a report: the curves and counters of a job, and over which slices of time."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sluice.console import slo, trends
from sluice.console.job import Job
from sluice.console.reporting import declared
from sluice.core.series import Slices

POINTS = 720
"""About as many values of a curve as the picture has room for."""

FINEST = timedelta(seconds=15)
"""Scrapes are seldom closer."""

SHORTEST = timedelta(minutes=1)
"""Of a job that was just made."""


@dataclass(frozen=True, slots=True)
class Question:
    """PromQL, and the moments at which it is asked."""

    promql: str
    slices: Slices


def slices_until(now: datetime, since: timedelta, created: datetime) -> Slices:
    """The slices of a time; the last begins now.

    None is before the job was made: what is known of earlier times is of another job, which had its name.
    """
    end = now.replace(microsecond=0)
    span = max(SHORTEST, min(since, end - created))
    step = max(FINEST, timedelta(seconds=math.ceil(span.total_seconds() / POINTS)))
    count = span // step + 1
    return Slices(start=end - (count - 1) * step, step=step, count=count)


def questions(job: Job, slices: Slices) -> Mapping[str, Question]:
    """What is asked over time, by the name under which `course` takes the answer."""
    where, rate = _selector(job), _selector(job, bound="rate")
    caught_up = _selector(job, stage="caughtUp")
    flow = trends.questions(*job.key, slo.percentile(job.spec), slices.step)
    at_once = {
        **{name: flow[name] for name in ("arriving", "latency", "lag")},
        "capacity": f"max(sluice_job_capacity_rows_per_second{rate})",
        "wanted": f"max(sluice_job_executors_wanted{where})",
        "running": f"max(sluice_job_executors_running{where})",
        "wished": f"max(sluice_job_policy_executors{where})",
        "recoveries": f"max(sluice_job_recoveries_total{where})",
        "lasting": f"max by (cause, drill) (sluice_job_last_recovery_seconds{caught_up})",
        "rescales": f"max by (path) (sluice_job_rescales_total{where})",
        "profiles": f"max by (profile) (sluice_profile_core_seconds{where})",
    }
    forecast = f"max(sluice_job_forecast_rows_per_second{rate})"
    return {
        "forecast": Question(forecast, _earlier(slices, declared.ahead(job.spec))),
        **{name: Question(promql, slices) for name, promql in at_once.items()},
    }


def of_minutes(job: Job, slices: Slices) -> Mapping[str, str]:
    """What is asked once, about the good minutes of the whole time: their share, and how many are known."""
    span = f"{((slices.count - 1) * slices.step).total_seconds():.0f}s"
    minutes = f"{slo.GOOD_MINUTES}{_selector(job, sli='all')}[{span}]"
    return {
        "good": f"max(avg_over_time({minutes}))",
        "counted": f"max(count_over_time({minutes}))",
    }


def _selector(job: Job, **labels: str) -> str:
    wanted = {"namespace": job.namespace, "job": job.name, **labels}
    return "{" + ",".join(f'{name}="{value}"' for name, value in wanted.items()) + "}"


def _earlier(slices: Slices, ahead: timedelta) -> Slices:
    """With those at which was told what was expected in the first ones."""
    more = math.ceil(ahead / slices.step)
    return Slices(
        start=slices.start - more * slices.step, step=slices.step, count=slices.count + more
    )
