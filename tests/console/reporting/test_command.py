"""The command from end to end: one whole file, or none and the reason."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sluice.console.reporting.writing import write
from sluice.console.trouble import WrongUse
from tests.console import notebooks, resources
from tests.console.serving import PROMETHEUS, PROXY, Answer, FakeCluster, refusal
from tests.console.test_commands import prometheus_answer, sluice

Json = dict[str, Any]


@pytest.fixture
def measured(cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    """A scaled job of which Prometheus knows the load, and a directory to write to."""
    cluster.installs(prometheus=PROMETHEUS)
    notebooks.keeps(cluster)
    now = datetime.now(UTC).timestamp()
    load = {"metric": {}, "values": [[now - 120, "900"], [now - 60, "950"]]}
    cluster.answers[f"{PROXY}/api/v1/query_range"] = prometheus_answer([load])
    cluster.answers[f"{PROXY}/api/v1/query"] = prometheus_answer([])
    monkeypatch.chdir(tmp_path)
    return cluster


def files() -> set[str]:
    return {one.name for one in Path().iterdir()} - {"kubeconfig"}


def test_by_default_a_page_is_written_that_is_named_after_the_job(measured: FakeCluster) -> None:
    done = sluice("report", "clicks")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("clicks-report.html: ")
    assert Path("clicks-report.html").read_text().startswith("<!doctype html>")
    assert files() == {"clicks-report.html"}


def test_the_ending_says_what_is_written(measured: FakeCluster) -> None:
    assert sluice("report", "clicks", "--since", "2h", "-o", "a.SVG").exit_code == 0
    assert Path("a.SVG").read_text().startswith("<svg ")
    asked = [query for path, query in measured.asked if path.endswith("query_range")]
    assert {query["step"] for query in asked} == {"15"}


def test_a_file_that_was_there_is_replaced(measured: FakeCluster) -> None:
    Path("a.svg").write_text("old")
    assert sluice("report", "clicks", "-o", "a.svg").exit_code == 0
    assert Path("a.svg").read_text().startswith("<svg ")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--since", "soon"], "Invalid value for '--since': 'soon' is not a duration"),
        (["--since", "1m"], "'1m' is too short; 5m is the least"),
        (["--since", "29d"], "'29d' is too long; 28d is the most"),
        (["-o", "report.pdf"], "'report.pdf' ends neither in .html nor in .svg; write for example"),
        (["-o", "report"], "Invalid value for '-o' / '--output': 'report' ends neither"),
        (["-o", "none/a.svg"], "--output: 'none/a.svg' cannot be written: No such file"),
        (["-o", "kubeconfig/a.svg"], "cannot be written: Not a directory"),
    ],
)
def test_wrong_options_are_named_with_their_value_and_a_remedy(
    measured: FakeCluster, words: list[str], says: str
) -> None:
    done = sluice("report", "clicks", *words)
    assert done.exit_code == 2
    assert says in " ".join(done.stderr.split())
    assert files() == set()


def test_without_a_prometheus_there_is_no_report(measured: FakeCluster) -> None:
    measured.installs(prometheus="")
    done = sluice("report", "clicks")
    assert done.exit_code == 1
    assert "was given no Prometheus; name one with --prometheus" in done.stderr
    assert files() == set()


def test_a_prometheus_that_does_not_answer_is_named(measured: FakeCluster) -> None:
    measured.answers[f"{PROXY}/api/v1/query_range"] = refusal(503, "no endpoints available")
    done = sluice("report", "clicks", "-o", "a.svg")
    assert done.exit_code == 1
    assert f"{PROMETHEUS}, through the API server" in done.stderr
    assert "no endpoints available" in done.stderr
    assert "--prometheus URL" in done.stderr
    assert files() == set()


def test_of_a_job_without_data_there_is_no_report(measured: FakeCluster) -> None:
    measured.answers[f"{PROXY}/api/v1/query_range"] = prometheus_answer([])
    done = sluice("report", "clicks", "--since", "2h")
    assert done.exit_code == 1
    assert "Prometheus knows nothing of shop/clicks in --since 2h" in done.stderr
    assert "Try a longer --since" in done.stderr
    assert files() == set()


def test_a_job_that_is_not_there_is_looked_for_elsewhere(measured: FakeCluster) -> None:
    measured.stores(resources.healthy("views"))
    done = sluice("report", "view")
    assert done.exit_code == 5
    assert "Did you mean views?" in done.stderr


def test_a_job_without_decisions_is_reported_too(measured: FakeCluster) -> None:
    measured.stores(resources.healthy("views"))
    assert sluice("report", "views", "-o", "a.html").exit_code == 0
    assert "None in this time." in Path("a.html").read_text()


def test_minutes_are_asked_for_only_where_there_is_an_objective(measured: FakeCluster) -> None:
    body = resources.healthy("views")
    del body["spec"]["slo"]
    measured.stores(body)
    assert sluice("report", "views", "-o", "a.svg").exit_code == 0
    assert not [path for path, _ in measured.asked if path.endswith("/query")]
    measured.answers[f"{PROXY}/api/v1/query"] = Answer(json.dumps({"status": "error"}))
    assert sluice("report", "views", "-o", "a.svg").exit_code == 0
    assert sluice("report", "clicks", "-o", "b.svg").exit_code == 1


def test_what_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    there = tmp_path / "a.svg"
    there.mkdir()
    with pytest.raises(WrongUse, match=r"--output: .*a\.svg' cannot be written"):
        write(there, "text")
    assert [one.name for one in tmp_path.iterdir()] == ["a.svg"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.svg").symlink_to(tmp_path / "real.svg")
    write(tmp_path / "link.svg", "text")
    assert (tmp_path / "link.svg").is_symlink()
    assert (tmp_path / "real.svg").read_text() == "text"
