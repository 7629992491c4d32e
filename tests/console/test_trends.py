"""What Prometheus is asked about a job, and what becomes of its answers."""

from datetime import timedelta

import pytest

from sluice import catalogue
from sluice.console import slo, trends
from sluice.console.doctor import measured
from sluice.ports import Labelled
from tests.docs.pages import ROOT
from tests.support.jobs import NOW
from tests.support.promql import metrics_in

QUESTIONS = {
    **trends.questions("shop", "clicks", 0.95, timedelta(minutes=3)),
    "burn": slo.burn_question("shop", "clicks"),
    "load": trends.load_question(None),
    "agents": measured.AGENTS,
    "leaders": measured.LEADERS,
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_only_what_is_exported_or_recorded_is_asked_for(name: str) -> None:
    exported = {series for metric in catalogue.ALL for series in metric.series}
    assert metrics_in(QUESTIONS[name]) <= exported | set(slo.RECORDED)
    assert metrics_in(QUESTIONS[name])


def test_the_recorded_series_are_those_of_the_rules() -> None:
    rules = (ROOT / "charts/sluice/rules/recording.yaml").read_text()
    for name in slo.RECORDED:
        assert f"record: {name}\n" in rules


def test_slices_end_now() -> None:
    slices = trends.slices_until(NOW, timedelta(hours=1))
    assert slices.count == trends.POINTS
    assert slices.end - slices.step == NOW
    assert slices.start == NOW - timedelta(hours=1) + slices.step


def test_each_sample_is_in_the_slice_that_it_was_asked_for() -> None:
    slices = trends.slices_until(NOW, timedelta(minutes=40), count=4)
    samples = [(slices.start + index * slices.step, float(index)) for index in range(4)]
    assert trends.trend([Labelled({}, tuple(samples))], slices).values == (0.0, 1.0, 2.0, 3.0)


def test_a_slice_without_a_sample_is_a_gap() -> None:
    slices = trends.slices_until(NOW, timedelta(minutes=40), count=4)
    trend = trends.trend([Labelled({}, ((NOW, 5.0),))], slices)
    assert trend.values == (None, None, None, 5.0)
    assert trend.largest == 5.0
    assert trends.trend([], slices).largest is None


def test_a_rate_spans_at_least_two_minutes() -> None:
    short = trends.questions("shop", "clicks", 0.95, timedelta(seconds=15))
    long = trends.questions("shop", "clicks", 0.95, timedelta(minutes=30))
    assert "[120s]" in short["latency"]
    assert "[1800s]" in long["latency"]


def test_the_trend_of_processing_is_of_the_number_that_stands_beside_it() -> None:
    # What Spark says of its last batch, as in `status.stream.processingRate`, and not what was admitted over time.
    asked = trends.questions("shop", "clicks", 0.95, timedelta(minutes=1))["processing"]
    assert asked == 'sum(sluice_query_processed_rows_per_second{namespace="shop",job="clicks"})'


def test_loads_are_told_apart_by_namespace_and_job() -> None:
    slices = trends.slices_until(NOW, timedelta(minutes=2), count=1)
    answer = [
        Labelled({"namespace": place, "job": "clicks"}, ((NOW, rate),))
        for place, rate in (("shop", 1.0), ("test", 2.0))
    ]
    found = trends.trends_by_job(answer, slices)
    assert {key: trend.values for key, trend in found.items()} == {
        ("shop", "clicks"): (1.0,),
        ("test", "clicks"): (2.0,),
    }


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        (None, ""),
        ({"latency": {"bound": "10s"}}, "p95 within 10s, in 99 % of 28d"),
        (
            {"latency": {"percentile": 0.999, "bound": "1m"}, "throughput": {"minimum": 500}},
            "p99.9 within 1m, at least 500 rows/s, in 99 % of 28d",
        ),
        ({"objective": 0.9995, "window": "7d"}, "its queries run, in 99.95 % of 7d"),
    ],
)
def test_a_promise_is_told_in_words(declared: dict[str, object] | None, words: str) -> None:
    assert slo.promise({"slo": declared} if declared is not None else {}) == words
