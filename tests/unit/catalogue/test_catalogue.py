"""The catalogue is what is exported, neither more nor less, and its names follow Prometheus' conventions."""

import re

import pytest

from sluice import catalogue
from sluice.agent import metrics as agent_metrics
from sluice.agent.histogram import LONG_BOUNDS
from sluice.catalogue import agent
from sluice.catalogue.metric import Metric, Type
from sluice.catalogue.page import with_tables
from tests.docs.pages import page

each_metric = pytest.mark.parametrize("metric", catalogue.ALL, ids=lambda metric: metric.name)


def test_the_agent_exports_the_catalogue_s_part() -> None:
    of_queries = [(one.name, one.type, one.meaning) for one in agent_metrics.QUERY_METRICS]
    of_the_driver = [(one.name, one.type, one.meaning) for one in agent_metrics.JOB_METRICS]
    assert [described(one) for one in agent.QUERY_METRICS] == of_queries
    assert [described(one) for one in agent.DRIVER_METRICS] == of_the_driver


def described(metric: Metric) -> tuple[str, str, str]:
    return metric.name, str(metric.type), metric.meaning


def test_the_agent_s_histograms_have_the_catalogue_s_buckets() -> None:
    """The operator weighs the buckets by their bounds, which it knows from the catalogue only."""
    assert agent.STREAM_BUCKETS == LONG_BOUNDS


def test_no_name_is_in_use_twice() -> None:
    names = [series for metric in catalogue.ALL for series in metric.series]
    assert len(names) == len(set(names))


@each_metric
def test_names_follow_the_conventions(metric: Metric) -> None:
    assert re.fullmatch(r"(sluice|process)_[a-z_]+", metric.name)
    assert metric.name.endswith("_total") == (metric.type is Type.COUNTER)
    assert bool(metric.buckets) == (metric.type is Type.HISTOGRAM)
    assert metric.meaning
    assert not metric.meaning.endswith(".")


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("sluice_query_arrival_rows_per_second", "rows per second"),
        ("sluice_query_input_rows_total", "rows"),
        ("sluice_query_last_commit_timestamp_seconds", "Unix time"),
        ("sluice_query_backlog_seconds", "seconds"),
        ("sluice_job_slo_objective_ratio", "share"),
        ("sluice_query_active", ""),
    ],
)
def test_a_name_says_its_unit(name: str, unit: str) -> None:
    (metric,) = (one for one in catalogue.ALL if one.name == name)
    assert metric.unit == unit


def test_the_page_has_each_metric_once() -> None:
    listed = re.findall(
        r"^\| `(\w+)` \| (?:gauge|counter|histogram) \|", page("docs/metrics.md").text, re.MULTILINE
    )
    assert sorted(listed) == sorted(metric.name for metric in catalogue.ALL)


def test_the_prose_around_the_tables_stays() -> None:
    text = page("docs/metrics.md").text
    changed = text.replace("Prometheus", "Somebody", 1).replace("gauge | seconds", "wrong", 1)
    assert with_tables(changed) == text.replace("Prometheus", "Somebody", 1)


def test_a_page_that_has_lost_a_mark_is_refused() -> None:
    with pytest.raises(ValueError, match="one mark for each of"):
        with_tables("# Metrics\n")
