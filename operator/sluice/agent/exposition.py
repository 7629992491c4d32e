"""Render a snapshot in Prometheus' text format, version 0.0.4.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sluice.agent import metrics
from sluice.agent.histogram import Histogram
from sluice.agent.snapshot import Snapshot

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def render(snapshot: Snapshot, now: float) -> str:
    """Return all metrics that have a value."""
    job = {"namespace": snapshot.settings.namespace, "job": snapshot.settings.name}
    lines: list[str] = []
    for metric in metrics.QUERY_METRICS:
        values = [
            ({**job, "query": record.label}, metric.value(record, now))
            for record in snapshot.records
        ]
        lines += _family(metric.name, metric.type, metric.meaning, values)
    for family in metrics.JOB_METRICS:
        labelled = [({**job, **labels}, value) for labels, value in family.values(snapshot)]
        lines += _family(family.name, family.type, family.meaning, labelled)
    text = "\n".join(lines) + "\n"
    # Java and the environment may hold halves of characters, which no encoding takes.
    return text.encode("utf-8", "replace").decode()


def _family(
    name: str,
    type: str,
    meaning: str,
    values: Iterable[tuple[dict[str, str], float | Histogram | None]],
) -> list[str]:
    samples = [line for labels, value in values for line in _samples(name, labels, value)]
    return [f"# HELP {name} {meaning}", f"# TYPE {name} {type}", *samples] if samples else []


def _samples(name: str, labels: dict[str, str], value: float | Histogram | None) -> Iterator[str]:
    if isinstance(value, Histogram):
        yield from _histogram(name, labels, value)
    elif value is not None:
        yield f"{name}{_labels(labels)} {_number(value)}"


def _histogram(name: str, labels: dict[str, str], histogram: Histogram) -> Iterator[str]:
    cumulative = 0.0
    bounds = [*(_number(bound) for bound in histogram.bounds), "+Inf"]
    for index, bound in enumerate(bounds):
        cumulative += histogram.counts[index]
        yield f"{name}_bucket{_labels({**labels, 'le': bound})} {_number(cumulative)}"
    yield f"{name}_sum{_labels(labels)} {_number(histogram.sum)}"
    yield f"{name}_count{_labels(labels)} {_number(cumulative)}"


def _labels(labels: dict[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return repr(float(value))
