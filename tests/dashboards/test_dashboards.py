"""The dashboards: each panel can be read by itself, and asks only for what there is."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from sluice import catalogue
from sluice.agent import progress
from tests.docs.pages import ROOT
from tests.rules.promtool import promtool
from tests.support.promql import metrics_in

FILES = tuple(sorted((ROOT / "charts/sluice/dashboards").glob("*.json")))
PAGES = {path.stem: json.loads(path.read_text()) for path in FILES}
PANELS = [
    pytest.param(panel, id=f"{name}: {panel['title']}")
    for name, page in PAGES.items()
    for panel in page["panels"]
    if panel["type"] != "row"
]
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
each_panel = pytest.mark.parametrize("panel", PANELS)


def expressions() -> Iterator[str]:
    """Everything that a dashboard asks Prometheus for."""
    for page in PAGES.values():
        for panel in page["panels"]:
            yield from (target["expr"] for target in panel.get("targets", []))
        yield from (mark["expr"] for mark in page["annotations"]["list"])
        for variable in page["templating"]["list"]:
            if variable["type"] == "query":
                yield re.sub(r"label_values\((.*), \w+\)", r"\1", variable["query"])


def test_there_is_a_page_for_the_fleet_a_job_and_the_operator() -> None:
    assert {page["uid"] for page in PAGES.values()} == {
        "sluice-fleet",
        "sluice-job",
        "sluice-operator",
    }


def test_the_files_are_what_the_code_says() -> None:
    drawing = pytest.importorskip("dashboards.drawing", reason="needs grafana-foundation-sdk")
    from dashboards.__main__ import ALL

    for page in ALL:
        assert (ROOT / f"charts/sluice/dashboards/{page.name}.json").read_text() == drawing.drawn(
            page
        )


@each_panel
def test_a_panel_says_what_it_shows_in_which_unit_and_from_where_on_it_is_bad(
    panel: dict[str, Any],
) -> None:
    defaults = panel["fieldConfig"]["defaults"]
    assert panel["description"].endswith(".")
    assert defaults["unit"]
    assert defaults["thresholds"]["steps"][0]["value"] is None
    assert panel["targets"]


@each_panel
def test_a_panel_asks_the_chosen_data_source(panel: dict[str, Any]) -> None:
    assert panel["datasource"] == SOURCE
    assert all(target["datasource"] == SOURCE for target in panel["targets"])


@pytest.mark.parametrize("name", PAGES)
def test_panels_do_not_lie_on_each_other(name: str) -> None:
    taken = [
        (x, y)
        for panel in PAGES[name]["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(taken) == len(set(taken))
    assert max(x for x, _ in taken) == 23


@pytest.mark.parametrize("name", PAGES)
def test_panels_have_ids_of_their_own(name: str) -> None:
    ids = [panel["id"] for panel in PAGES[name]["panels"]]
    assert len(ids) == len(set(ids))


def test_panels_ask_only_for_what_is_exported_or_recorded() -> None:
    known = {series for metric in catalogue.ALL for series in metric.series} | recorded()
    for expression in expressions():
        assert metrics_in(expression), expression
        assert metrics_in(expression) <= known, expression


def recorded() -> set[str]:
    """The names that the chart's rules record."""
    rules = yaml.safe_load((ROOT / "charts/sluice/rules/recording.yaml").read_text())
    return {rule["record"] for group in rules["groups"] for rule in group["rules"]}


def test_variables_in_questions_are_declared() -> None:
    for page in PAGES.values():
        declared = {variable["name"] for variable in page["templating"]["list"]}
        asked = set(re.findall(r"\$(\w+)", "".join(questions(page))))
        assert asked <= declared
        assert "datasource" in declared


def questions(page: dict[str, Any]) -> Iterator[str]:
    """What the panels of one page ask."""
    for panel in page["panels"]:
        yield from (target["expr"] for target in panel.get("targets", []))


def test_phases_are_counted_over_the_jobs_of_all_operators_and_of_the_selection_only(
    tmp_path: Path,
) -> None:
    """An operator that takes over tells the same jobs as the one before it, and another tells others."""
    asked = question("fleet", "Phases").replace("$namespace", "shop|bank").replace("$job", ".*")
    told = (("a", "shop"), ("a-next", "shop"), ("b", "bank"), ("b", "hidden"))
    series = {
        f'sluice_job_phase{{pod="{pod}",namespace="{place}",job="clicks",phase="Running"}}': "1"
        for pod, place in told
    } | {f'sluice_jobs{{pod="{pod}",phase="Running"}}': "1" for pod in "ab"}
    answers(tmp_path, asked, series, {'{phase="Running"}': 2})


def question(name: str, title: str) -> str:
    """The first thing that a panel asks."""
    (expression,) = (
        panel["targets"][0]["expr"] for panel in PAGES[name]["panels"] if panel["title"] == title
    )
    return str(expression)


def of_clicks(expression: str) -> str:
    """What is asked where the job shop/clicks is selected."""
    return expression.replace("$namespace", "shop").replace("$job", "clicks")


def answers(
    tmp_path: Path,
    expression: str,
    series: Mapping[str, str],
    expected: Mapping[str, float],
    *,
    at: str = "0m",
    interval: str = "1m",
) -> None:
    """Let promtool ask of series with these values; fail if the answer is another one."""
    samples = [{"labels": labels, "value": value} for labels, value in expected.items()]
    asked = {"expr": expression, "eval_time": at, "exp_samples": samples}
    told = [{"series": name, "values": values} for name, values in series.items()]
    test = {"interval": interval, "input_series": told, "promql_expr_test": [asked]}
    path = tmp_path / "answers.yaml"
    path.write_text(yaml.safe_dump({"tests": [test]}))
    promtool("test", "rules", path)


def test_the_phases_of_a_batch_are_its_parts_without_the_whole(tmp_path: Path) -> None:
    """Spark tells the trigger as a whole among them; on top of its parts, each second would count twice."""
    milliseconds = {"addBatch": 300, "walCommit": 100, "triggerExecution": 400}
    told = {"runId": "r", "batchId": 1, "timestamp": "2026-03-01T12:00:00.000Z"}
    batch = progress.parse(json.dumps({**told, "durationMs": milliseconds}))
    name = "sluice_query_last_batch_duration_seconds"
    series = {
        f'{name}{{namespace="shop",job="clicks",query="q",phase="{phase}"}}': f"{seconds}"
        for phase, seconds in batch.phases
    }
    asked = of_clicks(question("job", "Phases of the last batch"))
    answers(tmp_path, asked, series, {'{phase="add_batch"}': 0.3, '{phase="wal_commit"}': 0.1})


@pytest.mark.parametrize("quarter", range(4))
@pytest.mark.parametrize(
    ("mark", "metric"),
    [
        ("Driver starts", "sluice_job_driver_starts_total"),
        ("Rescales", "sluice_job_executors_wanted"),
    ],
)
def test_a_change_is_marked_at_the_next_full_minute_wherever_between_two_of_them_it_was(
    mark: str, metric: str, quarter: int, tmp_path: Path
) -> None:
    """Grafana asks for marks each minute; the change is that of a scrape in one of the quarters since the fourth."""
    (asked,) = (
        of_clicks(one["expr"]) for one in PAGES["job"]["annotations"]["list"] if one["name"] == mark
    )
    series = {f'{metric}{{namespace="shop",job="clicks"}}': f"2x{16 + quarter} 3x40"}
    for minute, expected in ((4, {}), (5, {"{}": 1}), (6, {})):
        answers(tmp_path, asked, series, expected, at=f"{minute}m", interval="15s")


@pytest.mark.parametrize(
    ("name", "title", "minutes", "labels"),
    [
        ("job", "Driver starts and failures", 60, "{}"),
        ("fleet", "Driver starts per day", 1440, '{namespace="shop",job="clicks"}'),
    ],
)
def test_driver_starts_are_counted_through_when_another_operator_takes_over(
    name: str, title: str, minutes: int, labels: str, tmp_path: Path
) -> None:
    """The count is the job's, and the next operator goes on with it in a series of its own."""
    part = minutes // 6
    starts = 'sluice_job_driver_starts_total{namespace="shop",job="clicks",pod='
    series = {
        f'{starts}"one"}}': f"3x{part} 4x{part} 5x{part} stale",
        f'{starts}"two"}}': f"_x{3 * part + 3} 5x{part} 6x{part} 7x{part}",
    }
    asked = f"round({of_clicks(question(name, title))})"
    answers(tmp_path, asked, series, {labels: 4}, at=f"{minutes}m")


def test_an_operator_that_is_gone_leads_no_more(tmp_path: Path) -> None:
    """A number that ends is shown on by Grafana, as green as it was."""
    series = {'sluice_operator_leader{pod="one"}': "1 stale"}
    for minute, leaders in enumerate((1, 0)):
        asked = question("operator", "Leaders")
        answers(tmp_path, asked, series, {"{}": leaders}, at=f"{minute}m")


@pytest.mark.parametrize(
    ("title", "told"),
    [
        ("Not ready", 'sluice_job_condition{type="Ready",'),
        ("Missing their bounds", 'job:sluice_slo_good:slice{sli="all",'),
    ],
)
def test_no_job_fails_only_where_it_is_known_of_some(title: str, told: str, tmp_path: Path) -> None:
    asked = question("fleet", title).replace("$namespace", "shop").replace("$job", ".*")
    series = {
        f'{told}namespace="shop",job="{job}"}}': values
        for job, values in (("clicks", "1 1 stale"), ("views", "0 1 stale"))
    }
    answers(tmp_path, asked, series, {"{}": 1}, at="0m")
    answers(tmp_path, asked, series, {"{}": 0}, at="1m")
    answers(tmp_path, asked, series, {}, at="2m")


def test_prometheus_understands_every_question(tmp_path: Path) -> None:
    """Questions are no rules; but as such, promtool parses them."""
    rules = [
        {"record": f"question:{number}", "expr": expression}
        for number, expression in enumerate(expressions())
    ]
    path = tmp_path / "questions.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "questions", "rules": rules}]}))
    promtool("check", "rules", path)


def test_the_columns_of_a_table_have_no_label_by_which_lines_would_not_be_joined() -> None:
    """Grafana joins lines that agree in all labels, and a series that is not aggregated has its name as one more."""
    columns = [
        target["expr"]
        for page in PAGES.values()
        for panel in page["panels"]
        if panel["type"] == "table"
        for target in panel["targets"]
    ]
    assert columns
    bare = [one for one in columns if not re.match(r"(sum|max|min|count|avg) (by|without) \(", one)]
    assert bare == []
