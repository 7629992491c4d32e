"""Rules of the command line."""

from pathlib import Path

import pytest

from e2e.cluster import layout, records
from e2e.cluster.__main__ import main, parser
from e2e.cluster.commands import COMMANDS
from e2e.cluster.records import Record


def test_every_command_that_is_parsed_is_done() -> None:
    described = parser().format_help()

    assert all(f"\n    {name}" in described for name in COMMANDS)


@pytest.mark.parametrize("words", [["-n", "kube-system", "get", "pods"], ["exec", "a", "--", "ls"]])
def test_everything_after_kubectl_is_kubectls(words: list[str]) -> None:
    assert parser().parse_args(["kubectl", *words]).arguments == words


def test_everything_after_the_machine_is_the_command_to_enter_with() -> None:
    arguments = parser().parse_args(["enter", "node-1", "ctr", "images", "ls", "-q"])

    assert (arguments.machine, arguments.arguments) == ("node-1", ["ctr", "images", "ls", "-q"])


@pytest.mark.parametrize("nodes", ["0", "4", "many"])
def test_a_cluster_has_one_to_three_nodes(nodes: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["up", "--nodes", nodes])

    assert "--nodes" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [["status"], ["kubeconfig"], ["env"], ["kubectl", "get"], ["node", "lose", "node-1"]],
)
def test_without_a_cluster_commands_say_how_to_get_one(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SLUICE_CLUSTER_STATE", str(tmp_path / "state"))

    assert main(words) == 1
    assert "e2e.cluster up" in capsys.readouterr().err


def test_the_status_of_a_cluster_of_which_nothing_runs_fails_and_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLUICE_CLUSTER_STATE", str(tmp_path / "state"))
    paths = layout.Paths(state=tmp_path / "state", cache=tmp_path / "cache")
    records.save(paths, Record(provider=records.NAMESPACES, nodes=2))

    assert main(["status"]) == 1

    told = capsys.readouterr()
    assert "LOST" in told.out
    assert "e2e.cluster up" in told.err
