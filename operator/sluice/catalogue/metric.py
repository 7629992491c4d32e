"""What there is to say of a metric."""

from dataclasses import dataclass
from enum import StrEnum

_UNITS = {
    "_rows_per_second": "rows per second",
    "_timestamp_seconds": "Unix time",
    "_seconds": "seconds",
    "_bytes": "bytes",
    "_rows": "rows",
    "_ratio": "share",
    "_batches": "batches",
    "_partitions": "partitions",
}


class Type(StrEnum):
    """Prometheus' types of metrics that are in use."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric. A number that is not known is not exported, so a series may be absent."""

    name: str
    type: Type
    labels: tuple[str, ...]
    meaning: str
    buckets: tuple[float, ...] = ()

    @property
    def unit(self) -> str:
        """The unit, which the name says as Prometheus' conventions have it; empty for counts and states."""
        name = self.name.removesuffix("_total")
        return next((unit for end, unit in _UNITS.items() if name.endswith(end)), "")

    @property
    def series(self) -> tuple[str, ...]:
        """The names under which its samples are stored."""
        if self.type is Type.HISTOGRAM:
            return tuple(f"{self.name}_{part}" for part in ("bucket", "sum", "count"))
        return (self.name,)


@dataclass(frozen=True, slots=True)
class Scope:
    """Metrics that have these labels in common; the methods describe one each."""

    labels: tuple[str, ...] = ()

    def counter(self, name: str, meaning: str, *labels: str) -> Metric:
        """A number that only grows, and begins again with its process."""
        return Metric(name=name, type=Type.COUNTER, labels=(*self.labels, *labels), meaning=meaning)

    def gauge(self, name: str, meaning: str, *labels: str) -> Metric:
        """A number as it is now."""
        return Metric(name=name, type=Type.GAUGE, labels=(*self.labels, *labels), meaning=meaning)

    def histogram(
        self, name: str, meaning: str, *labels: str, buckets: tuple[float, ...]
    ) -> Metric:
        """Counts of numbers by size, cumulative; `buckets` are the upper bounds below infinity."""
        return Metric(
            name=name,
            type=Type.HISTOGRAM,
            labels=(*self.labels, *labels),
            meaning=meaning,
            buckets=buckets,
        )
