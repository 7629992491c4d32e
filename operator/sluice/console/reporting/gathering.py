"""Ask the cluster for a job with its decisions, and Prometheus for its curves. Without those there is no report."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from sluice.console import words
from sluice.console.gathering import Reader
from sluice.console.job import Job
from sluice.console.reporting import asking
from sluice.console.reporting.course import Course, course, is_any_known
from sluice.console.slo import promise
from sluice.console.trouble import NotNow
from sluice.core.series import Slices
from sluice.errors import MetricsUnavailable
from sluice.ports import Labelled


def gathered(reader: Reader, name: str, since: timedelta, now: datetime) -> Course:
    """What is known of a job since then. Raises Trouble if there is no such job, or nothing is known of it."""
    past = reader.past(name)
    slices = asking.slices_until(now, since, past.job.created)
    try:
        answers = _answers(reader, past.job, slices)
    except MetricsUnavailable as error:
        told = f"no report without the history that Prometheus has: {error}"
        remedy = "Name one that answers with --prometheus URL; `sluice doctor` says what is wrong"
        raise NotNow(told, remedy) from error
    if not is_any_known(answers):
        told = f"Prometheus knows nothing of {past.job.namespace}/{past.job.name}"
        remedy = "Try a longer --since; `sluice doctor` says whether it is scraped"
        raise NotNow(f"{told} in --since {words.long_span(since)}", remedy)
    return course(past, slices, answers)


def _answers(reader: Reader, job: Job, slices: Slices) -> Mapping[str, list[Labelled]]:
    prometheus = reader.prometheus(job.namespace)
    asked = asking.questions(job, slices)
    over_time = {name: prometheus.history(one.promql, one.slices) for name, one in asked.items()}
    minutes = asking.of_minutes(job, slices) if promise(job.spec) else {}
    return {**over_time, **{name: prometheus.now(promql) for name, promql in minutes.items()}}
