"""The command line: what is generated, what is stale, and how wrong settings are told."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from sluice import __version__, cli

ROOT = Path(__file__).parents[2]
CRDS = ("crds/streamjobs.yaml", "crds/streamprofiles.yaml")
PAGES = ("docs/reference/streamjob.md", "docs/reference/streamprofile.md")
MADE = (*CRDS, *(f"charts/sluice/{crd}" for crd in CRDS), *PAGES)


@pytest.fixture
def generated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout in which everything that is generated was written."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["crds", "--write"]) == 0
    return tmp_path


def test_what_is_written_is_what_is_checked(generated: Path) -> None:
    assert cli.main(["crds", "--check"]) == 0


@pytest.mark.parametrize("name", MADE)
def test_a_stale_file_fails_the_check_and_is_named_with_the_remedy(
    generated: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    file = generated / name
    text = file.read_text()
    file.write_text(f"{text.rstrip()} by hand\n")
    assert cli.main(["crds", "--check"]) == 1
    told = capsys.readouterr().err
    assert name in told
    assert "make generate" in told


def test_the_crds_are_printed_as_they_are_written(
    generated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["crds"]) == 0
    printed = capsys.readouterr().out
    assert printed == "---\n".join((generated / crd).read_text() for crd in CRDS)
    assert {one["kind"] for one in yaml.safe_load_all(printed)} == {"CustomResourceDefinition"}


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("WORKERS", "0", "greater than or equal to 1"),
        ("WORKERS", "many", "valid integer"),
        ("POLL_INTERVAL", "0.1", "greater than or equal to 0.5"),
        ("POLLS_PER_SECOND", "0", "greater than 0"),
        ("HEALTH_PORT", "70000", "less than or equal to 65535"),
        ("LOG_LEVEL", "LOUD", "'DEBUG', 'INFO', 'WARNING' or 'ERROR'"),
    ],
)
def test_a_wrong_setting_ends_the_process_with_its_name_and_bounds(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    variable: str,
    value: str,
    says: str,
) -> None:
    monkeypatch.setenv(f"SLUICE_OPERATOR_{variable}", value)
    assert cli.main(["run"]) == 2
    told = capsys.readouterr().err
    assert variable.lower() in told
    assert says in told
    assert value in told


def test_a_setting_that_is_no_json_ends_the_process_with_its_name_and_the_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLUICE_OPERATOR_PROMETHEUS_HEADERS", "X-Scope-OrgID: a")
    assert cli.main(["run"]) == 2
    told = capsys.readouterr().err
    assert "prometheus_headers" in told
    assert "write it as JSON" in told


def test_without_a_cluster_it_is_said_how_to_name_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))
    assert cli.main(["run"]) == 2
    assert "set KUBECONFIG to a kubeconfig file" in capsys.readouterr().err


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out.strip() == __version__


@pytest.mark.parametrize("words", [[], ["crds", "--write", "--check"], ["fly"]])
def test_a_command_that_makes_no_sense_is_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(words)
    assert caught.value.code == 2


def test_what_a_policy_is_tried_in_needs_no_other_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["lab", "traces"]) == 0
    assert "yahoo-sine (reporting): 6.0 h" in capsys.readouterr().out


def test_a_wrong_word_for_the_lab_is_wrong_use_and_told_in_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["lab", "run", "sluices"]) == 2
    told = capsys.readouterr().err
    assert "policy: 'sluices': choose one of sluice, phoebe" in told
    assert len(told.splitlines()) == 1


@pytest.mark.parametrize("number", ["nan", "inf"])
@pytest.mark.parametrize(
    "words",
    [["lab", "compare", "--hours"], ["backtest", "--hours"], ["profile", "a", "--core-hours"]],
)
def test_what_is_no_finite_number_is_refused_by_its_option(
    capsys: pytest.CaptureFixture[str], words: list[str], number: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main([*words, number])
    assert caught.value.code == 2
    assert re.search(
        f"'{words[-1]}': {number} is (no finite number|not in the range)", capsys.readouterr().err
    )


def test_an_output_that_is_full_is_told_in_a_line() -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "sluice", "lab", "traces"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 1
    assert ended.stderr == "sluice: the output is cut off: No space left on device; make room\n"
