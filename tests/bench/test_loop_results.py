"""The table and its file: what is there, what lacks, what is refused, and what the command says to odd wishes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench import report
from bench.closed_loop import __main__ as command
from bench.closed_loop import keeping, page, simulating
from bench.closed_loop.contenders import CONTENDERS
from bench.closed_loop.figures import Figures, Recovery
from bench.closed_loop.keeping import Kept
from bench.closed_loop.page import Pair
from bench.closed_loop.scene import Scene
from bench.progress import BenchmarkFailed
from tests.bench.runs import SCENE, measurement, steady

FIGURES = Figures(
    late=0.1,
    recoveries=tuple(
        Recovery(fault=one.fault, at=one.at, seconds=100.0, predicted=90.0) for one in SCENE.strikes
    ),
    executor_hours=4.0,
    profile_hours=0.0,
    live=3,
    restarts=0,
)


def pair(lab: Figures | None, found: Figures = FIGURES) -> Pair:
    return Pair(measured=measurement(), found=found, lab=lab)


def cells(text: str, row: str) -> list[str]:
    (line,) = (line for line in text.splitlines() if line.startswith(f"| {row} |"))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_each_figure_stands_beside_that_of_the_lab_and_its_difference() -> None:
    near = replace(FIGURES, late=0.11, executor_hours=5.0)
    told = page.table(SCENE, {"static": pair(near)})
    assert cells(told, "time above 15 s, %")[0] == "10 (11, +10 %)"
    assert cells(told, "executor-hours")[0] == "4 (5, **+25 %**)"
    assert cells(told, "rescales, live")[0] == "3 (3)"
    assert cells(told, "recoveries within 240 s")[0] == "3 (3)"


def test_who_has_not_run_has_no_numbers_and_is_named_with_the_command() -> None:
    pairs = {"static": pair(FIGURES)}
    told = page.table(SCENE, pairs)
    assert cells(told, "executor-hours")[1:] == ["-", "-", "-"]
    assert "--only hpa --only phoebe --only sluice" in page.notes(SCENE, pairs, None, "too little")


def test_an_unknown_figure_is_a_dash_and_not_a_zero() -> None:
    endless = replace(FIGURES, recoveries=(replace(FIGURES.recoveries[0], seconds=None),))
    told = page.table(SCENE, {"static": pair(FIGURES, endless)})
    assert cells(told, "recovery, executor killed, s")[0] == "- (100)"
    assert cells(told, "recovery, driver killed, s")[0] == "- (100)"
    assert cells(told, "recoveries within 240 s")[0] == "0 (3)"


def test_nothing_by_which_to_divide_makes_no_difference_in_percent() -> None:
    assert page.difference(0.0, 0.0) == 0
    assert page.difference(0.0, 0.1) is None
    assert page.difference(None, 0.1) is None
    assert page.difference(0.2, 0.1) == -0.5


def test_agreement_counts_what_can_be_compared() -> None:
    off = replace(FIGURES, executor_hours=8.0)
    assert page.agreement(SCENE, {"static": pair(FIGURES), "hpa": pair(off)}) == (9, 10)
    assert page.agreement(SCENE, {"static": pair(None)}) == (0, 0)


def test_every_contender_has_a_column() -> None:
    head = page.table(SCENE, {}).splitlines()[0]
    assert all(f"| {name} " in head for name in CONTENDERS)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "closed-loop.json"


TINY = Scene(minutes=4, history=3000)


def kept(*names: str) -> Kept:
    runs = {name: measurement(name, steady(TINY)) for name in names}
    return Kept(scene=TINY, runs=runs, machine=report.machine())


def test_a_run_is_kept_with_its_samples_and_found_again(file: Path) -> None:
    written = kept("static")
    page_of_it = keeping.write(written, file)
    found = keeping.read(file, TINY)
    assert found.runs == written.runs
    assert "## " not in page_of_it.read_text()
    assert "Not run yet: hpa, phoebe, sluice" in page_of_it.read_text()
    figures = json.loads(file.read_text())["figures"]["static"]
    assert figures["measured"]["executor_hours"] == pytest.approx(0.4)
    assert figures["lab"]["executor_hours"] == pytest.approx(0.4, rel=0.05)


def test_another_run_of_a_contender_takes_the_place_of_the_former() -> None:
    former = kept("static", "hpa")
    again = replace(former.runs["static"], taken="2026-11-23T10:00:00+00:00")
    assert former.with_run(again).runs == {"static": again, "hpa": former.runs["hpa"]}


def test_a_run_is_kept_even_if_the_lab_fails(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Figures:
        raise ZeroDivisionError

    monkeypatch.setattr(simulating, "predicted", broken)
    with pytest.raises(ZeroDivisionError):
        keeping.write(kept("static"), file)
    assert set(keeping.read(file, TINY).runs) == {"static"}


def test_runs_of_another_scene_are_refused_with_what_differs(file: Path) -> None:
    keeping.write(kept("static"), file)
    with pytest.raises(BenchmarkFailed, match=r"minutes is 4 there and 6 here.*--save-as"):
        keeping.read(file, Scene(minutes=6, history=3000))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"scene": {}}', '{"scene": 1, "runs": 2}'])
def test_a_file_of_something_else_is_refused_and_left_as_it_is(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(BenchmarkFailed, match="cannot be read as closed-loop runs"):
        keeping.read(file, SCENE)
    assert file.read_text() == text


def test_runs_of_another_machine_are_not_added_to(file: Path) -> None:
    elsewhere = replace(kept("static"), machine={"cpu": "abacus", "cores": 1000})
    with pytest.raises(BenchmarkFailed, match="1000 there"):
        keeping.refuse_another_machine(elsewhere, file)
    keeping.refuse_another_machine(kept("static"), file)


def refused(*words: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What the command says to words that it refuses."""
    try:
        status = command.main(words)
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 0
    assert status > 0
    return capsys.readouterr().err


def test_an_unknown_contender_is_refused_with_those_that_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = refused("--only", "keda", capsys=capsys)
    assert "--only" in told
    assert all(word in told for word in ("keda", *CONTENDERS))


@pytest.mark.parametrize("minutes", ["3", "nan", "soon", "-40", "1e9"])
def test_a_load_that_is_too_short_or_no_number_is_refused(
    minutes: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused(f"--minutes={minutes}", capsys=capsys)
    assert "--minutes" in told
    assert "from 4 to 1440" in told


def test_a_trial_needs_a_name_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--save-as closed-loop-trial" in refused("--minutes", "6", capsys=capsys)


def test_no_cluster_is_said_with_how_to_get_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    monkeypatch.setenv("SLUICE_CLUSTER_STATE", str(tmp_path / "none"))
    assert "e2e.cluster up" in refused("--only", "static", capsys=capsys)
    assert not list(tmp_path.iterdir())


def test_the_table_is_made_again_without_a_cluster(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    assert command.main(["--table"]) == 0
    assert "Not run yet: static, hpa, phoebe, sluice" in (tmp_path / "closed-loop.md").read_text()
