"""A job's own history: its load, its capacity, and policies that would have had it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sluice import cli
from sluice.core.deciding.situation import Bounds
from sluice.core.simulation.plant import PLANTS, Plant
from sluice.errors import InvalidSpec
from sluice.lab.fitting import capacities, fitted, missed
from tests.simulation.plants import plant


@pytest.fixture
def load(tmp_path: Path) -> Path:
    """Half an hour with a rise in it, a sample each 15 s."""
    lines = [f"{at},{2_000 if at < 900 else 9_000}" for at in range(0, 1801, 15)]
    path = tmp_path / "orders.csv"
    path.write_text("seconds,rows\n" + "\n".join(lines))
    return path


def backtest(load: Path, *words: str) -> int:
    out = str(load.parent / "out")
    return cli.main(["backtest", str(load), "--out", out, *words])


def test_policies_are_tried_under_the_load_of_a_file(
    load: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--capacity", "4=8000", "--capacity", "8=15000", "--policy", "static")
    assert backtest(load, *words, "--policy", "hpa:target=0.5") == 0
    told = capsys.readouterr().out
    assert "own job under orders (own, 0.5 h, 1 seed)" in told
    found = json.loads((load.parent / "out" / "results.json").read_text())["outcomes"]
    hours = {outcome["policy"]: outcome["executor_hours"] for outcome in found}
    assert hours["static"] == pytest.approx(12.0, rel=0.01)
    assert hours["hpa:target=0.5"] < 12


@pytest.mark.parametrize(
    "other",
    [
        ("--capacity", "4=9000"),
        ("--capacity", "4=8000", "--plant", "spark-stateful:restart=5"),
        ("--capacity", "4=8000", "--plant", "spark-stateful:latency=60"),
    ],
)
def test_another_job_is_not_compared_with_a_former_one(
    load: Path, capsys: pytest.CaptureFixture[str], other: tuple[str, ...]
) -> None:
    policy = ("--policy", "static", "--hours", "0.1")
    former = ("--vs", str(load.parent / "former.json"))
    assert backtest(load, "--capacity", "4=8000", *policy) == 0
    (load.parent / "out" / "results.json").rename(load.parent / "former.json")
    assert backtest(load, "--capacity", "4=8000", *policy, *former) == 0
    assert "no former result" not in capsys.readouterr().out
    assert backtest(load, *other, *policy, *former) == 0
    assert "1 of 1 have no former result with the same job" in capsys.readouterr().out


def test_a_prometheus_export_is_a_history_too(load: Path) -> None:
    values = [[1767225600 + at, "3000"] for at in range(0, 1200, 15)]
    path = load.with_suffix(".json")
    path.write_text(json.dumps({"data": {"result": [{"metric": {}, "values": values}]}}))
    assert backtest(path, "--capacity", "4=8000", "--policy", "static") == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--capacity", "many"), "write executors=rows per second, such as 8=120000"),
        (("--capacity", "0=100"), "capacity: '0=100'"),
        (("--capacity", "4=-1"), "capacity: '4=-1'"),
        (("--capacity", "4=100", "--capacity", "8=10"), "capacity: '4=100, 8=10'"),
        (("--capacity", "4=100", "--capacity", "16=1600"), "capacity: '4=100, 16=1600': leave out"),
        (("--capacity", "4=100", "--capacity", "4=300"), "'4=300': give one number for each size"),
        (("--capacity", "4=100", "--plant", "flink"), "plant: 'flink': choose one of"),
        (("--capacity", "4=100", "--policy", "magic"), "policy: 'magic': choose one of"),
    ],
)
def test_wrong_words_are_wrong_use_and_told_with_a_remedy(
    load: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str
) -> None:
    assert backtest(load, *words) == 2
    assert says in capsys.readouterr().err


def test_no_more_than_a_year_is_tried(load: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        backtest(load, "--capacity", "4=100", "--hours", "1e306")
    assert "0.1<=x<=8784" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("load.csv", "0,5\n15,minus\n", "each line has a time"),
        ("load.txt", "0,5\n", "give a .csv, .parquet or .json file"),
        ("load.json", '{"data": 3}', "/api/v1/query_range"),
        ("absent.csv", None, "No such file or directory"),
    ],
)
def test_a_history_that_cannot_be_read_is_refused_with_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str | None, says: str
) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    assert backtest(path, "--capacity", "4=100") == 2
    told = capsys.readouterr().err
    assert name in told
    assert says in told


@pytest.mark.parametrize("name", PLANTS)
def test_a_plant_is_found_again_from_its_capacity_at_a_few_sizes(name: str) -> None:
    true = PLANTS[name]
    sizes = (true.bounds.smallest, 7, true.bounds.largest)
    measured = {executors: true.capacity(executors) for executors in sizes}
    other = replace(true, task_rate=1.0, contention=0.5)
    found = fitted(other, measured, true.peak)
    for executors in range(true.bounds.smallest, true.bounds.largest + 1):
        assert found.capacity(executors) == pytest.approx(true.capacity(executors), rel=1e-6)


def test_one_measurement_grows_in_proportion() -> None:
    found = fitted(plant(), {4: 10_000.0}, 20_000.0)
    assert found.capacity(8) == pytest.approx(20_000)


def test_more_than_in_proportion_is_taken_for_noise() -> None:
    found = fitted(plant(), {1: 1_000.0, 4: 4_400.0}, 20_000.0)
    assert found.contention == 0
    assert found.capacity(2) == pytest.approx(2 * found.capacity(1))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["4=31000"], []),
        (["4=31000", "16=98000"], []),
        (["1=1000", "4=4400"], []),
        (["1=1000", "4=5000"], ["1000 rows/s were measured on 1 executor,", "5000 rows/s"]),
    ],
)
def test_what_is_simulated_with_another_capacity_than_was_given_is_told(
    words: list[str], told: list[str]
) -> None:
    found = missed(fitted(plant(), capacities(words), 20_000.0), capacities(words))
    assert len(found) == len(told)
    assert all(part in line for part, line in zip(told, found, strict=True))


@pytest.mark.parametrize(
    "words",
    [
        ["4=10000", "16=160000"],
        ["1=1000", "2=100", "4=100000"],
        ["4=30000", "8=20000", "16=90000"],
    ],
)
def test_sizes_that_contradict_each_other_are_refused(words: list[str]) -> None:
    found = fitted(plant(), capacities(words), 20_000.0)
    with pytest.raises(InvalidSpec, match="leave out the sizes that contradict the others"):
        missed(found, capacities(words))


def test_a_deviation_from_a_given_capacity_is_told_before_the_runs(
    load: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--capacity", "1=1000", "--capacity", "4=5000", "--policy", "static", "--hours", "0.1")
    assert backtest(load, *words) == 0
    assert "are simulated" in capsys.readouterr().err


def test_what_a_batch_may_take_stays_as_many_seconds_of_work() -> None:
    kind: Plant = plant(bounds=Bounds(smallest=1, largest=10), most_rows=100_000)
    found = fitted(kind, {10: 50_000.0}, 20_000.0)
    assert found.most_rows == pytest.approx(500_000)


def test_capacities_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(InvalidSpec, match="measure again"):
        fitted(plant(), capacities(["4=100", "8=10"]), 20_000.0)
