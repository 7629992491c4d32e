"""How the load and the latency of jobs went lately: what to ask Prometheus, and its answers in equal slices of time."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sluice.core.series import NoData, Slices, series
from sluice.ports import Labelled

POINTS = 20
"""So that a line, its name and its numbers fit into sixty columns."""

SHORTEST_RATE = timedelta(minutes=2)
"""Spans several batches and scrapes, as in the recording rules."""

Key = tuple[str, str]
"""Namespace and name of a job."""


@dataclass(frozen=True, slots=True)
class Trend:
    """A number over time; a slice in which it is not known is None."""

    values: tuple[float | None, ...]

    @property
    def largest(self) -> float | None:
        """The largest number; None if nothing is known."""
        return max((value for value in self.values if value is not None), default=None)


def slices_until(now: datetime, since: timedelta, count: int = POINTS) -> Slices:
    """Slices whose beginnings are spread over that time; the last one begins now."""
    step = timedelta(seconds=max(1, round(since.total_seconds() / count)))
    end = now.replace(microsecond=0)
    return Slices(start=end - (count - 1) * step, step=step, count=count)


def questions(namespace: str, name: str, percentile: float, step: timedelta) -> dict[str, str]:
    """PromQL for each trend of a job."""
    job = f'{{namespace="{namespace}",job="{name}"}}'
    span = f"[{max(step, SHORTEST_RATE).total_seconds():.0f}s]"
    buckets = f"sum by (le) (rate(sluice_query_record_latency_seconds_bucket{job}{span}))"
    return {
        "arriving": f"sum(sluice_query_arrival_rows_per_second{job})",
        "processing": f"sum(sluice_query_processed_rows_per_second{job})",
        "latency": f"histogram_quantile({percentile:g}, {buckets})",
        "lag": f"sum(sluice_query_backlog_rows{job})",
    }


def load_question(namespace: str | None) -> str:
    """PromQL for the arrival rate of every job."""
    where = f'{{namespace="{namespace}"}}' if namespace is not None else ""
    return f"sum by (namespace, job) (sluice_query_arrival_rows_per_second{where})"


def trend(answer: Iterable[Labelled], slices: Slices) -> Trend:
    """The one series of an answer; there may be none."""
    samples = [sample for one in answer for sample in one.samples]
    measured = series(samples).sliced(slices)
    return Trend(tuple(None if isinstance(value, NoData) else value for value in measured))


def trends_by_job(answer: Iterable[Labelled], slices: Slices) -> Mapping[Key, Trend]:
    """The trend of each job in an answer."""
    return {
        (one.labels.get("namespace", ""), one.labels.get("job", "")): trend([one], slices)
        for one in answer
    }
