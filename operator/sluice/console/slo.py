"""What a job promises, in words, and what Prometheus is asked about it beyond the numbers in the job's status."""

from collections.abc import Mapping
from typing import Any

from sluice.console import words
from sluice.core import quantities
from sluice.core.objectives.burning import LADDER

GOOD_MINUTES = "job:sluice_slo_good:slice"
BURN_RATE = "job:sluice_slo_burn_rate:ratio1h"
RECORDED = (GOOD_MINUTES, BURN_RATE)
"""Recorded series without which objectives are not measured."""

DEFAULT_PERCENTILE = 0.95
DEFAULT_WINDOW = "28d"


def promise(spec: Mapping[str, Any]) -> str:
    """The objective of a spec; empty if there is none."""
    slo = spec.get("slo")
    if not slo:
        return ""
    bounds = []
    if slo.get("latency"):
        bounds.append(f"p{percentile(spec) * 100:g} within {slo['latency']['bound']}")
    if slo.get("throughput"):
        bounds.append(f"at least {slo['throughput']['minimum']} rows/s")
    if slo.get("freshness"):
        bounds.append(f"a batch each {slo['freshness']['bound']}")
    bound = ", ".join(bounds) or "its queries run"
    share = words.percent(slo.get("objective", 0.99))
    return f"{bound}, in {share} of {slo.get('window', DEFAULT_WINDOW)}"


def alarming_rate(spec: Mapping[str, Any]) -> float:
    """How many times as fast as allowed the budget is spent in an hour when somebody is called at once."""
    told = (spec.get("slo") or {}).get("window", DEFAULT_WINDOW)
    try:
        window = quantities.duration(str(told))
    except (OverflowError, ValueError):
        # Stored under other rules.
        window = quantities.duration(DEFAULT_WINDOW)
    return LADDER[0].threshold(window)


def percentile(spec: Mapping[str, Any]) -> float:
    """The percentile of the latency that the owner cares about."""
    latency = (spec.get("slo") or {}).get("latency") or {}
    return float(latency.get("percentile", DEFAULT_PERCENTILE))


def burn_question(namespace: str, name: str) -> str:
    """PromQL for how many times as fast as allowed the budget was spent in the last hour."""
    return f'max({BURN_RATE}{{namespace="{namespace}",job="{name}",sli="all"}})'
