"""A stored decision, made again and told."""

import io
import json
from pathlib import Path

import pytest

from sluice import cli
from sluice.core.deciding.deciding import decide
from sluice.core.deciding.explain import explained
from sluice.core.deciding.guards import Settings
from sluice.core.deciding.policies.phoebe import Phoebe
from sluice.core.deciding.policies.sluice import Sluice
from sluice.core.deciding.storing import Record, to_data
from tests.unit.core.deciding.situations import steady

SITUATION = steady(100_000, executors=2)
RECORD = Record(situation=SITUATION, policy=Phoebe(downtime=60.0), settings=Settings(max_step=3))


def stored(folder: Path, data: object) -> str:
    path = folder / "decision.json"
    path.write_text(json.dumps(data))
    return str(path)


def test_a_stored_decision_is_made_again_and_told_with_its_candidates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["lab", "explain", stored(tmp_path, RECORD.to_data())]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told == list(explained(SITUATION, decide(SITUATION, RECORD.policy, RECORD.settings)))
    assert told[0].startswith("from 2 to 5 executors, live")
    assert any(line.startswith("->") for line in told)


def test_a_situation_alone_is_decided_by_ours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["lab", "explain", stored(tmp_path, to_data(SITUATION))]) == 0
    assert capsys.readouterr().out.splitlines() == list(
        explained(SITUATION, decide(SITUATION, Sluice()))
    )


def test_another_policy_can_be_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = stored(tmp_path, RECORD.to_data())
    assert cli.main(["lab", "explain", path, "--policy", "static:executors=4"]) == 0
    assert capsys.readouterr().out.startswith("from 2 to 4 executors")


def test_the_standard_input_is_read_for_a_dash(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(to_data(SITUATION))))
    assert cli.main(["lab", "explain", "-"]) == 0
    assert "executors" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("no", "no JSON"),
        ("[1]", "a list"),
        ("{}", "give the JSON of a stored decision, or of a situation"),
        ('{"kind": "Situation", "version": 1}', "give the JSON of a stored decision"),
        ('{"kind": "Decision", "version": 99}', "version 99"),
    ],
)
def test_what_is_no_decision_is_refused_with_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    assert cli.main(["lab", "explain", str(path)]) == 2
    told = capsys.readouterr().err
    assert "other.json" in told
    assert says in told


def test_a_wrong_field_is_named_with_what_is_expected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = json.loads(json.dumps(RECORD.to_data()))
    data["situation"]["targets"]["recovery"] = "180s"
    assert cli.main(["lab", "explain", stored(tmp_path, data)]) == 2
    assert "targets: recovery: '180s' where a number from 0" in capsys.readouterr().err


def test_a_file_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["lab", "explain", str(tmp_path / "absent.json")]) == 2
    assert "No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize("policy", ["oracle", "magic", "keda-lag:seconds=2", "hpa:goal=1"])
def test_a_policy_that_cannot_decide_here_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], policy: str
) -> None:
    path = stored(tmp_path, to_data(SITUATION))
    assert cli.main(["lab", "explain", path, "--policy", policy]) == 2
    assert "choose" in capsys.readouterr().err


def test_a_policy_of_a_release_that_had_others_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = dict(RECORD.to_data()) | {"policy": "older"}
    assert cli.main(["lab", "explain", stored(tmp_path, data)]) == 2
    assert "'older' is unknown" in capsys.readouterr().err
