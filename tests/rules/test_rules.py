"""The alert and recording rules: Prometheus takes them, they fire when they should, and each has its page."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import yaml

from sluice import catalogue
from sluice.core.objectives.burning import LADDER, Rung
from tests.docs.pages import ROOT
from tests.rules.promtool import promtool
from tests.support.promql import metrics_in

FILES = tuple(sorted((ROOT / "charts/sluice/rules").glob("*.yaml")))
PAGES = "https://sluice.dev/docs/runbooks/"


def rules(kind: str) -> Iterator[dict[str, Any]]:
    """All rules that record, or that alert."""
    for path in FILES:
        for group in yaml.safe_load(path.read_text())["groups"]:
            yield from (rule for rule in group["rules"] if kind in rule)


ALERTS = tuple(rules("alert"))
RECORDED = {rule["record"] for rule in rules("record")}
each_alert = pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])


def test_prometheus_takes_the_rules() -> None:
    promtool("check", "rules", *FILES)


@pytest.mark.parametrize("name", ["indicators", "objectives", "streams", "operator"])
def test_the_rules_do_what_their_tests_say(name: str) -> None:
    promtool("test", "rules", f"tests/rules/{name}.yaml")


def test_every_alert_is_tried() -> None:
    tried = "".join(path.read_text() for path in (ROOT / "tests/rules").glob("*.yaml"))
    assert {alert["alert"] for alert in ALERTS} <= set(re.findall(r"alertname: (\w+)", tried))


def test_rules_read_only_what_is_exported_or_recorded() -> None:
    known = {series for metric in catalogue.ALL for series in metric.series} | RECORDED
    for rule in (*rules("alert"), *rules("record")):
        assert metrics_in(rule["expr"]), rule
        assert metrics_in(rule["expr"]) <= known, rule


@each_alert
def test_an_alert_says_how_bad_it_is_what_it_saw_and_where_to_read_on(
    alert: dict[str, Any],
) -> None:
    assert alert["labels"]["severity"] in {"critical", "warning"}
    assert re.search(r"\$value|\d+ minutes", alert["annotations"]["summary"])
    link = alert["annotations"]["runbook_url"]
    assert link.startswith(PAGES)
    text = (ROOT / "docs/runbooks" / link.removeprefix(PAGES)).read_text()
    assert f"`{alert['alert']}`" in text
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == [
        "What it means",
        "How to look",
        "How to mend",
    ]


def test_every_runbook_belongs_to_an_alert() -> None:
    linked = {alert["annotations"]["runbook_url"].removeprefix(PAGES) for alert in ALERTS}
    assert {path.name for path in (ROOT / "docs/runbooks").glob("*.md")} == linked


@pytest.mark.parametrize("rung", LADDER, ids=lambda rung: span(rung.long))
def test_burn_rates_that_call_are_the_core_s(rung: Rung) -> None:
    long, short, seconds = span(rung.long), span(rung.short), int(rung.long.total_seconds())
    (alert,) = (one for one in ALERTS if one["labels"].get("long") == long)

    assert alert["labels"] == {"severity": str(rung.severity), "long": long, "short": short}
    assert re.findall(r"ratio(\w+)\{", alert["expr"]) == [long, short]
    factors = re.findall(r"clamp_min\(([\d.]+) \* .* / (\d+), 1\)", alert["expr"])
    assert factors == [(f"{rung.share:g}", str(seconds))] * 2


def span(length: timedelta) -> str:
    """A span as Prometheus writes it."""
    for unit, one in (("d", timedelta(days=1)), ("h", timedelta(hours=1))):
        if length % one == timedelta(0):
            return f"{length // one}{unit}"
    return f"{length // timedelta(minutes=1)}m"


def test_burn_rates_of_all_spans_are_computed_alike() -> None:
    minutes = {"m": 1, "h": 60, "d": 1440}
    found: dict[str, str] = {}
    for rule in rules("record"):
        name, _, over = rule["record"].partition(":ratio")
        if name == "job:sluice_slo_burn_rate":
            length = int(over[:-1]) * minutes[over[-1]]
            shape = rule["expr"].replace(f"[{over}]", "[SPAN]")
            found[over] = re.sub(rf"\b{length}\b", "MINUTES", shape)
    assert len(found) == 8
    assert len(set(found.values())) == 1
