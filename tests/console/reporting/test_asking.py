"""What Prometheus is asked for a report, and at which moments."""

from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from sluice import catalogue
from sluice.console import slo
from sluice.console.job import Job
from sluice.console.reporting import asking, declared
from tests.console.reporting.scenes import HOUR, body, slices
from tests.rules.promtool import promtool
from tests.support.jobs import NOW
from tests.support.promql import metrics_in


@pytest.mark.parametrize(
    ("since", "step"),
    [(timedelta(minutes=5), 15), (HOUR, 15), (6 * HOUR, 30), (timedelta(days=28), 3360)],
)
def test_a_report_has_as_many_points_as_the_picture_has_room_for(
    since: timedelta, step: int
) -> None:
    found = slices(since, created=NOW - timedelta(days=99))
    assert found.step == timedelta(seconds=step)
    assert found.count <= asking.POINTS + 1
    assert found.end - found.step == NOW
    assert since - found.step < NOW - found.start <= since


def test_nothing_is_asked_of_the_time_before_the_job_was_made() -> None:
    assert slices(HOUR, created=NOW - timedelta(minutes=20)).start == NOW - timedelta(minutes=20)


def test_a_job_that_was_just_made_has_a_minute() -> None:
    assert slices(HOUR, created=NOW + timedelta(seconds=2)).start == NOW - timedelta(minutes=1)


def asked() -> list[str]:
    """All PromQL of a report."""
    job = Job(body())
    over_time = asking.questions(job, slices()).values()
    return [*(one.promql for one in over_time), *asking.of_minutes(job, slices()).values()]


def test_what_is_asked_for_is_exported_or_recorded() -> None:
    exported = {series for metric in catalogue.ALL for series in metric.series}
    for one in asked():
        assert metrics_in(one), one
        assert metrics_in(one) <= exported | {slo.GOOD_MINUTES}, one
        assert 'namespace="shop",job="clicks"' in one


def test_prometheus_takes_each_question(tmp_path: Path) -> None:
    rules = [{"record": f"asked:{number}", "expr": one} for number, one in enumerate(asked())]
    file = tmp_path / "asked.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "asked", "rules": rules}]}))
    promtool("check", "rules", file)


def test_the_percentile_is_that_of_the_objective() -> None:
    job = body()
    job["spec"]["slo"]["latency"]["percentile"] = 0.99
    asked = asking.questions(Job(job), slices())
    assert asked["latency"].promql.startswith("histogram_quantile(0.99, ")


@pytest.mark.parametrize(("horizon", "ahead"), [("15m", 300), ("2m", 120), ("rubbish", 300)])
def test_a_forecast_is_asked_for_from_before_the_first_moment_of_which_it_speaks(
    horizon: str, ahead: int
) -> None:
    job = Job(body() | {"spec": {"scaling": {"horizon": horizon}}})
    over = slices()
    asked = asking.questions(job, over)["forecast"].slices
    assert declared.ahead(job.spec) == timedelta(seconds=ahead)
    assert over.start - asked.start == timedelta(seconds=ahead)
    assert asked.end == over.end
