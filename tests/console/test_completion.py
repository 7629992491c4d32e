"""Completing words: for the shells by `sluice`, for `kubectl sluice` in kubectl's own protocol."""

import sys

import pytest

from sluice import cli
from tests.console import notebooks, resources
from tests.console.serving import FakeCluster, refusal


def kubectl_asks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> list[str]:
    """What kubectl is told of the words after `kubectl sluice`, the last of which is unfinished."""
    monkeypatch.setattr(sys, "argv", ["kubectl_complete-sluice", *words])
    assert cli.complete() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == ":4"
    return [line.partition("\t")[0] for line in lines[:-1]]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["st"], ["status"]),
        (["l"], ["logs", "lab"]),
        (["logs", "--fol"], ["--follow"]),
        (["status", "x", "-o", ""], ["table", "json", "yaml"]),
        (["completion", "z"], ["zsh"]),
    ],
)
def test_commands_and_options_are_completed(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    found: list[str],
) -> None:
    assert kubectl_asks(monkeypatch, capsys, *words) == found


def test_jobs_are_those_of_the_namespace_that_was_named(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = resources.healthy("archive")
    elsewhere["metadata"]["namespace"] = "test"
    cluster.stores(resources.healthy("clicks"), resources.healthy("views"), elsewhere)
    assert kubectl_asks(monkeypatch, capsys, "status", "c") == ["clicks"]
    assert kubectl_asks(monkeypatch, capsys, "logs", "-n", "test", "") == ["archive"]
    assert kubectl_asks(monkeypatch, capsys, "status", "-n", "") == ["shop", "test"]


def test_decisions_are_those_that_are_kept_of_the_job(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    notebooks.keeps(cluster)
    found = kubectl_asks(monkeypatch, capsys, "explain", "clicks", "--decision", "")
    assert found == [notebooks.GREW, notebooks.STAYED]
    assert kubectl_asks(monkeypatch, capsys, "explain", "--decision", "") == []


def test_whoever_presses_tab_sees_no_error(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.answers["/apis/sluice.dev/v1alpha1/namespaces/shop/streamjobs"] = refusal(403, "no")
    assert kubectl_asks(monkeypatch, capsys, "status", "") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", shell]) == 0
    assert f"{cli.COMPLETE}={shell}_complete" in capsys.readouterr().out
