"""The queries of a job one by one: what Prometheus is asked of them, and its answer."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sluice.console import words
from sluice.console.page import Line, Tone
from sluice.console.trends import SHORTEST_RATE
from sluice.ports import Json, Labelled

_NUMBER = "number"
"""The label that tells the numbers of a query from each other, so that one question is enough for all of them."""

_METRICS = {
    "is_active": "sluice_query_active",
    "failures": "sluice_query_failures_total",
    "arriving": "sluice_query_arrival_rows_per_second",
    "lag": "sluice_query_backlog_rows",
    "batch": "sluice_query_batch_id",
    "committed": "sluice_query_last_commit_timestamp_seconds",
    "retention_used": "sluice_query_retention_used_ratio",
    "expired": "sluice_query_expired_rows_total",
}
"""The numbers that are a metric each; the latency is made from a histogram."""

MOST = 20
"""Queries that a page has room for."""

NEAR = 0.8
"""Where so much of what is kept waits, rows are about to be deleted unread, as the alert on it has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query at present. Rates are in rows per second, the latency in seconds; what is not known is None."""

    name: str
    is_active: bool = True
    failures: float = 0.0
    arriving: float | None = None
    latency: float | None = None
    lag: float | None = None
    batch: float | None = None
    committed: float | None = None
    retention_used: float | None = None
    expired: float | None = None

    @property
    def state(self) -> str:
        """Whether it runs; else whether by an error."""
        if self.is_active:
            return "Running"
        return "Failed" if self.failures else "Ended"


def question(namespace: str, name: str, percentile: float) -> str:
    """PromQL for all numbers of all queries of a job."""
    job = f'{{namespace="{namespace}",job="{name}"}}'
    span = f"[{SHORTEST_RATE.total_seconds():.0f}s]"
    buckets = f"sum by (le, query) (rate(sluice_query_record_latency_seconds_bucket{job}{span}))"
    numbers = {number: f"max by (query) ({metric}{job})" for number, metric in _METRICS.items()} | {
        "latency": f"histogram_quantile({percentile:g}, {buckets})"
    }
    return " or ".join(
        f'label_replace({asked}, "{_NUMBER}", "{number}", "", "")'
        for number, asked in numbers.items()
    )


def queries(answer: Iterable[Labelled]) -> tuple[Query, ...]:
    """The queries of an answer, by their names."""
    found: dict[str, dict[str, float]] = {}
    for one in answer:
        numbers = found.setdefault(one.labels["query"], {})
        numbers[one.labels[_NUMBER]] = one.samples[-1][1]
    return tuple(_query(name, numbers) for name, numbers in sorted(found.items()))


def lines(found: Sequence[Query], share: str, now: datetime) -> Iterator[Line]:
    """A table of them, those that do not run first; `share` is the percentile of their latencies."""
    yield Line(cells=("QUERY", "STATE", "ARRIVING", share, "LAG", "BATCH", "AGO"))
    for one in sorted(found, key=lambda one: one.is_active)[:MOST]:
        yield Line(
            cells=(
                one.name,
                one.state,
                words.rate(one.arriving),
                words.span(one.latency),
                words.count(one.lag),
                words.NOTHING if one.batch is None else f"{one.batch:.0f}",
                _ago(one.committed, now),
            ),
            tone=Tone.PLAIN if one.is_active else Tone.BAD if one.failures else Tone.ODD,
        )
    if len(found) > MOST:
        yield Line(cells=(f"{len(found) - MOST} more",), detail="all of them with -o json")


def losses(found: Iterable[Query]) -> Iterator[Line]:
    """What the source has deleted unread, or is about to."""
    for one in found:
        if one.expired:
            told = f"{words.count(one.expired)} rows, unread, of query {one.name} since the driver's start"
            yield Line(cells=("Expired",), detail=told, tone=Tone.BAD)
        if one.retention_used is not None and one.retention_used > NEAR:
            told = f"{words.percent(one.retention_used)} of what its source keeps waits for query {one.name}"
            yield Line(cells=("Expiring",), detail=told, tone=Tone.ODD)


def data(one: Query) -> Json:
    """A query for scripts."""
    return {
        "name": one.name,
        "state": one.state,
        "arrivalRate": one.arriving,
        "latency": one.latency,
        "lagRows": one.lag,
        "lastBatch": one.batch,
        "retentionUsed": one.retention_used,
        "expiredRows": one.expired,
        "committedAt": None if one.committed is None else _moment(one.committed).isoformat(),
    }


def _query(name: str, numbers: dict[str, float]) -> Query:
    return Query(name=name, is_active=numbers.pop("is_active", 1.0) == 1.0, **numbers)


def _ago(committed: float | None, now: datetime) -> str:
    return words.NOTHING if committed is None else words.since(_moment(committed), now)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
