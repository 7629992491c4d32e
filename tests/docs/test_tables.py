"""The tables of the pages say what the code says."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from sluice import catalogue
from sluice.api import convert
from sluice.core import (
    changes,
    failures,
    news,
    releases,
    reporting,
    scalingclaims,
    specclaims,
    staffing,
)
from sluice.core.conditions import Condition
from sluice.core.ownedconf import OWNED_SETTINGS
from sluice.core.record import Phase
from sluice.manifests.pods import driver_pod
from sluice.manifests.sparkconf import DEFAULTS
from tests.docs.pages import ROOT, code, page
from tests.support import jobs

OPERATING = page("docs/operating.md")
WRITING = page("docs/writing-a-job.md")


def first_column(rows: list[list[str]]) -> list[str]:
    return [name for row in rows for name in code(row[0])]


def test_every_phase_is_explained() -> None:
    assert first_column(OPERATING.table("phase")) == [str(phase) for phase in Phase]


def test_every_condition_is_explained() -> None:
    assert first_column(OPERATING.table("condition")) == [str(kind) for kind in Condition]


@pytest.mark.parametrize(
    "module",
    [reporting, news, failures, scalingclaims, specclaims, staffing],
    ids=lambda module: module.__name__,
)
def test_every_reason_that_the_core_gives_is_on_the_page(module: Any) -> None:
    text = Path(module.__file__).read_text()
    reasons = set(re.findall(r'"([A-Z][a-z]+(?:[A-Z][a-z]+)*)"', text))
    assert reasons, "the pattern finds nothing: it must be mended"
    assert reasons <= set(code(OPERATING.text))


def test_the_releases_of_spark_that_were_tried_on_a_cluster_are_listed() -> None:
    rows = WRITING.table("PySpark")
    tried = [release for release, how in rows if not re.search("no cluster|^no:", how)]
    assert {release.rpartition(".")[0] for release in tried} == set(releases.TRIED)
    assert not any(releases.is_tried(release) for release, _ in rows if release not in tried)


def test_metrics_in_questions_exist() -> None:
    names = {series for metric in catalogue.ALL for series in metric.series}
    asked = set(re.findall(r"sluice_\w+", "\n".join(page("docs/metrics.md").blocks("promql"))))
    assert asked
    assert asked <= names


def test_every_indicator_that_the_rules_record_is_explained() -> None:
    rules = (ROOT / "charts/sluice/rules/recording.yaml").read_text()
    recorded = re.findall(r"^    labels: \{sli: (\w+)\}$", rules, re.MULTILINE)
    assert first_column(page("docs/metrics.md").table("`sli`")) == recorded


def test_every_variable_that_the_program_gets_is_listed() -> None:
    source = {"kafka": {"bootstrapServers": ["kafka:9092"], "topics": ["clicks"]}}
    job = convert.streamjob(jobs.resource(sources=[source]))
    container = driver_pod(job, 1)["spec"]["containers"][0]
    given = {one["name"] for one in container["env"] if one["name"].startswith("SLUICE_")}
    assert set(first_column(WRITING.table("variable"))) == given


def test_every_setting_that_is_refused_is_listed() -> None:
    refused = {f"{name}*" if name.endswith(".") else name for name in OWNED_SETTINGS}
    assert set(first_column(WRITING.table("setting"))) == refused


def test_every_default_of_the_operators_is_listed() -> None:
    defaults = {f"{name}={value}" for name, value in DEFAULTS.items()}
    assert set(first_column(WRITING.table("default"))) == defaults


@pytest.mark.parametrize("row", OPERATING.table("class"), ids=lambda row: row[0])
def test_fields_are_in_their_class_of_change(row: list[str]) -> None:
    assert code(row[1])
    for field in code(row[1]):
        path = field if not field.startswith("spark.") else f"application.sparkConf.{field}"
        changed = changes.classify({}, nested(path))
        assert str(changed.kind) == row[0], field


def nested(path: str) -> dict[str, object]:
    """A document in which only this field is set; a Spark setting is one key, dots and all."""
    if path.startswith("application.sparkConf."):
        return {"application": {"sparkConf": {path.removeprefix("application.sparkConf."): "7"}}}
    document: object = "changed"
    for part in reversed(path.split(".")):
        document = {part: document}
    assert isinstance(document, dict)
    return document


def test_the_examples_are_valid_jobs() -> None:
    texts = [
        block
        for name in ("README.md", "docs/writing-a-job.md")
        for block in page(name).blocks("yaml")
    ]
    texts += [path.read_text() for path in sorted((ROOT / "samples").glob("*.yaml"))]
    found = [
        body for text in texts for body in yaml.safe_load_all(text) if body["kind"] == "StreamJob"
    ]
    assert len(found) == 3
    for body in found:
        job = convert.streamjob({**jobs.resource(body["metadata"]["name"]), "spec": body["spec"]})
        assert not job.not_in_force
