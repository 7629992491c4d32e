"""The tables of the metrics page, written between their marks; the prose around them is people's."""

import re
from collections.abc import Sequence

from sluice.catalogue import agent, operator
from sluice.catalogue.metric import Metric

TABLES: dict[str, Sequence[Metric]] = {
    "query": agent.QUERY_METRICS,
    "driver": agent.DRIVER_METRICS,
    "job": operator.JOB_METRICS,
    "profile": operator.PROFILE_METRICS,
    "operator": (*operator.FLEET_METRICS, *operator.PROCESS_METRICS),
}
_IMPLIED = frozenset({"namespace", "job"})
_MARKED = re.compile(r"<!-- metrics: (\w+) -->\n.*?<!-- end -->", re.DOTALL)


def with_tables(page: str) -> str:
    """The page with its tables as the catalogue has them. Raises ValueError if a mark is missing."""
    marks = _MARKED.findall(page)
    if sorted(marks) != sorted(TABLES):
        raise ValueError(
            f"the page marks the tables {marks}; write one mark for each of {[*TABLES]}"
        )
    return _MARKED.sub(lambda found: _marked(found[1]), page)


def _marked(name: str) -> str:
    head = "| metric | type | unit | labels | meaning |\n|---|---|---|---|---|"
    rows = "\n".join(_row(metric) for metric in TABLES[name])
    return f"<!-- metrics: {name} -->\n{head}\n{rows}\n<!-- end -->"


def _row(metric: Metric) -> str:
    labels = " ".join(f"`{label}`" for label in metric.labels if label not in _IMPLIED)
    return f"| `{metric.name}` | {metric.type} | {metric.unit} | {labels} | {metric.meaning}. |"
