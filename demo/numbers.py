"""What only Prometheus knows: what the operator foresees, and how many records were within the bound."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from demo.names import JOB, NAMESPACE

_JOB = f'namespace="{NAMESPACE}",job="{JOB}"'

_MEMORY = "2h"
"""Longer than any story. Drivers that are gone are remembered for so long, and so are their counters."""


def queries(bound: float) -> Mapping[str, str]:
    """What Prometheus is asked for each of the numbers; the latency's bound is in seconds."""
    latency = "sluice_query_record_latency_seconds"
    # Each driver has counters of its own. Their last values add up, and nothing is lost between two drivers.
    kept = f'max_over_time({latency}_bucket{{{_JOB},le="{bound:.1f}"}}[{_MEMORY}])'
    every = f"max_over_time({latency}_count{{{_JOB}}}[{_MEMORY}])"
    return {
        "expected": f'max(sluice_job_forecast_rows_per_second{{{_JOB},bound="rate"}})',
        "expected_low": f'max(sluice_job_forecast_rows_per_second{{{_JOB},bound="low"}})',
        "expected_high": f'max(sluice_job_forecast_rows_per_second{{{_JOB},bound="high"}})',
        "capacity": f'max(sluice_job_capacity_rows_per_second{{{_JOB},bound="rate"}})',
        "within": f"sum({kept})",
        "records": f"sum({every})",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """Rows per second, and records of all drivers so far; None is not known.

    `expected` is the load at the end of the horizon, with the range in which four of five lie; executors are chosen for
    its upper edge. `capacity` is what the
    present executors can process by what was learned. `within` are the records that were within the latency's bound.
    """

    expected: float | None = None
    expected_low: float | None = None
    expected_high: float | None = None
    capacity: float | None = None
    within: float | None = None
    records: float | None = None


def question(bound: float) -> str:
    """All queries as one, so that one answer is of one moment; a label tells which is which."""
    return " or ".join(
        f'label_replace({query}, "number", "{name}", "", "")'
        for name, query in queries(bound).items()
    )


def read(answer: Mapping[str, Any]) -> Numbers:
    """Read Prometheus' answer to `question`."""
    samples = answer["data"]["result"]
    told = {sample["metric"]["number"]: float(sample["value"][1]) for sample in samples}
    # What is not a number is not known.
    return Numbers(**{name: value for name, value in told.items() if value == value})
