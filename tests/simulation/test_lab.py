"""The lab from its command line: what it writes, and what it says to those who ask for something odd."""

import gzip
import json
import math
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from click.testing import CliRunner
from rich.console import Console

from sluice.core.deciding.policies.hpa import Hpa
from sluice.core.deciding.policies.keda_lag import KedaLag
from sluice.core.deciding.policies.sluice import Sluice
from sluice.core.simulation.plant import PLANTS
from sluice.core.simulation.suites import named_trace
from sluice.errors import InvalidSpec
from sluice.lab import loads, results, running
from sluice.lab.cases import Case, carry_out, schedule
from sluice.lab.commands import lab
from sluice.lab.contenders import SETS, contender, contenders
from sluice.lab.plants import plant
from sluice.lab.results import Row
from sluice.lab.verdicts import beaten, changes, gaps
from tests.support.labrows import row
from tests.support.texts import TOO_DEEP

SHORT = ["--hours", "0.5", "--seeds", "1", "--processes", "1", "--plant", "spark-stateless"]
NAMES = ["hpa:target=0.35", "static:executors=8", "oracle"]
POLICIES = [word for name in NAMES for word in ("--policy", name)]

OUTCOME = {
    **dict.fromkeys(("plant", "trace", "suite", "policy", "failures", "job", "load"), "one"),
    **dict.fromkeys(("late", "seen_late", "attainment", "p95_latency", "mean_executors"), 0.5),
    **dict.fromkeys(("executor_hours", "profiling_hours", "bound", "target", "turns"), 0.5),
    **dict.fromkeys(("live_rescales", "restart_rescales", "cpu_p99", "cpu_forecast"), 0),
    "seed": 1,
    "seconds": 3600,
    "profile": True,
    "recoveries": [],
}


def compared(out: Path, *more: str) -> str:
    command = ["compare", *POLICIES, *SHORT, "--out", str(out), *more]
    done = CliRunner().invoke(lab, command, catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


def test_a_comparison_writes_a_table_a_report_and_numbers(tmp_path: Path) -> None:
    told = compared(tmp_path)
    content = json.loads((tmp_path / "results.json").read_text())
    assert [outcome["policy"] for outcome in content["outcomes"]] == NAMES
    for name in NAMES:
        assert name in told
        assert f"| {name} |" in (tmp_path / "results.md").read_text()


def test_a_report_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    compared(tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert not re.search(r"https?:|src=|@import|url\(|<script|<link", page)
    assert page.count("<svg") == 3 * len(NAMES)
    assert "failure at 1200 s" in page


def test_the_same_comparison_has_the_same_result(tmp_path: Path) -> None:
    for name in ("one", "two"):
        compared(tmp_path / name)
    first, second = (
        json.loads((tmp_path / name / "results.json").read_text()) for name in ("one", "two")
    )
    for outcome in (*first["outcomes"], *second["outcomes"]):
        for name in [name for name in outcome if name.startswith("cpu")]:
            del outcome[name]
    assert first == second


@pytest.mark.parametrize("period", [0, 10])
def test_a_job_whose_tasks_take_longer_than_its_rows_gets_executors_that_share_them(
    period: int,
) -> None:
    """As with the 200 partitions of Spark's default: a batch takes one executor 20 s, at 2 % of what it can do."""
    many = f"spark-stateless:tasks=200,task_cost=0.1,latency=15,peak=1000,period={period}"
    (load,) = loads.sources(["constant"])
    found = carry_out(Case(contender=contender("sluice"), plant=plant(many), source=load, seed=1))
    assert found["late"] < 0.1
    assert found["mean_executors"] < 12


@pytest.mark.parametrize(
    "small",
    [
        "spark-stateless:task_rate=2000,overhead=1.2,noise=0.15,latency=20,period=3",
        "spark-stateful:task_rate=500,overhead=1.5,noise=0.1,latency=20,tasks=8,smallest=1",
    ],
)
def test_a_job_of_few_rows_keeps_one_executor_though_its_batches_do_not_tell_what_it_could_do(
    small: str, tmp_path: Path
) -> None:
    """40 to 160 rows/s, far less than one executor can do: a batch is overhead, and some are short by chance."""
    waves = tmp_path / "waves.csv"
    waves.write_text(
        "".join(f"{at},{100 - 60 * math.cos(at / 191)}\n" for at in range(0, 7200, 15))
    )
    (load,) = loads.sources([str(waves)])
    case = Case(
        contender=contender("sluice"), plant=plant(small), source=load, seed=1, profile=False
    )
    found = carry_out(case)
    assert found["mean_executors"] < 1.1
    assert found["late"] < 0.06


def test_against_a_former_result_it_says_what_has_changed(tmp_path: Path) -> None:
    compared(tmp_path)
    told = compared(tmp_path / "again", "--vs", str(tmp_path / "results.json"))
    lines = [line for line in told.splitlines() if "->" in line]
    assert len(lines) == len(NAMES)
    assert all(line.split()[-1] == "same" for line in lines)


def test_what_has_no_former_result_under_the_same_terms_is_told(tmp_path: Path) -> None:
    compared(tmp_path)
    told = compared(
        tmp_path / "again", "--vs", str(tmp_path / "results.json"), "--failures", "none"
    )
    assert "->" not in told
    assert f"{len(NAMES)} of {len(NAMES)} have no former result" in told


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bound", [1]),
        ("target", "180"),
        ("plant", ["a"]),
        ("load", {}),
        ("seconds", 0),
        ("late", math.inf),
        ("executor_hours", None),
        ("profile", "yes"),
        ("cpu_p99", 10**400),
        ("recoveries", [{"feasible": True, "within": True, "seconds": "1", "predicted": 2}]),
    ],
)
def test_a_former_result_that_cannot_be_compared_is_refused_before_the_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: object
) -> None:
    former = tmp_path / "results.json"
    results.write(former, [OUTCOME])
    assert len(results.read(former)) == 1
    monkeypatch.setattr(running, "carry_out", Mock(side_effect=AssertionError))
    results.write(former, [OUTCOME | {name: value}])
    with pytest.raises(InvalidSpec) as refused:
        compared(tmp_path / "out", "--vs", str(former))
    assert "give a result of `sluice lab compare`" in str(refused.value)


@pytest.mark.parametrize("command", [["run"], ["compare"]])
def test_no_more_than_a_year_is_run(command: list[str]) -> None:
    done = CliRunner().invoke(lab, [*command, "--hours", "1e306"])
    assert done.exit_code == 2
    assert "0.1<=x<=8784" in done.output


def test_a_folder_that_cannot_be_written_is_refused_before_the_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "carry_out", Mock(side_effect=AssertionError))
    (tmp_path / "file").touch()
    with pytest.raises(InvalidSpec) as refused:
        compared(tmp_path / "file" / "folder")
    assert "give a folder that can be written with --out" in str(refused.value)


def test_a_file_that_is_no_load_is_refused_before_all_runs(tmp_path: Path) -> None:
    (tmp_path / "load.csv").write_text("0,5\n1,-5\n")
    with pytest.raises(InvalidSpec, match="-5 rows/s at 1 s"):
        loads.sources(["cars", str(tmp_path / "load.csv")])


def test_a_mistake_in_another_process_is_told_in_its_own_words(tmp_path: Path) -> None:
    gone = loads.Source(name="gone", path=tmp_path / "gone.csv")
    case = Case(contender=contender("static"), plant=PLANTS["phoebe"], source=gone, seed=1)
    with pytest.raises(InvalidSpec, match=r"gone.csv: 'No such file or directory': give a file"):
        running.carried_out([case], 2, Console(quiet=True))


COMPARE = [sys.executable, "-m", "sluice", "lab", "compare", "--processes", "2"]


def interrupted(answer: signal.Handlers, out: Path, *words: str) -> int:
    """The exit code of a comparison whose processes are interrupted together, begun with such an answer to that."""
    with subprocess.Popen(
        [*COMPARE, *words, "--out", str(out)],
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, answer),
    ) as lab_itself:
        assert lab_itself.stderr
        assert b"1 of " in lab_itself.stderr.readline()
        os.killpg(lab_itself.pid, signal.SIGINT)
        try:
            return lab_itself.wait(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(lab_itself.pid, signal.SIGKILL)
            raise


def test_an_interrupt_ends_all_processes(tmp_path: Path) -> None:
    words = ["--hours", "0.5", "--seeds", "100", "--plant", "all"]
    assert interrupted(signal.SIG_DFL, tmp_path, *words) == 130
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_a_comparison_that_is_ended(
    number: signal.Signals, tmp_path: Path
) -> None:
    words = ["--hours", "0.5", "--seeds", "100", "--plant", "all"]
    with subprocess.Popen(
        [*COMPARE, *words, "--out", str(tmp_path)], stderr=subprocess.PIPE, start_new_session=True
    ) as lab_itself:
        assert lab_itself.stderr
        assert b"1 of " in lab_itself.stderr.readline()
        lab_itself.send_signal(number)
        try:
            lab_itself.communicate(timeout=60)  # until the last process has closed the pipe
        except subprocess.TimeoutExpired:
            os.killpg(lab_itself.pid, signal.SIGKILL)
            raise
    assert lab_itself.returncode == -number


def test_in_the_background_of_a_script_a_comparison_goes_on_after_an_interrupt(
    tmp_path: Path,
) -> None:
    words = ["--hours", "0.1", "--seeds", "2", "--trace", "constant", "--policy", "static"]
    assert interrupted(signal.SIG_IGN, tmp_path, *words) == 0
    assert (tmp_path / "results.json").exists()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["run", "best"], "policy: 'best': choose one of sluice, phoebe"),
        (["run", "hpa:aim=1"], "parameter of policy hpa: 'aim': choose one of target"),
        (["run", "hpa:target=much"], "hpa:target: 'much': write a number"),
        (["run", "hpa:target=-1"], "hpa:target: '-1': write a number"),
        (["run", "hpa:target=0"], "hpa:target: '0': write a number that is positive"),
        (["run", "keda-lag:seconds=0"], "keda-lag:seconds: '0': write a number that is positive"),
        (["run", "flink-autoscaler:catch_up=0"], "'0': write a number that is positive"),
        (["run", "phoebe:bins=0"], "phoebe:bins: '0': write a whole number that is positive"),
        (["run", "phoebe:bins=1e9"], "'1e9': write a whole number that is positive, up to 10000"),
        (["run", "static:executors=2.7"], "'2.7': write a whole number that is not negative"),
        (["run", "sluice:downtime_share=1"], "that is positive, and less than 1"),
        (["run", "oracle:target=1"], "this policy has no parameters"),
        (["run", "--plant", "factory"], "plant: 'factory': choose one of spark-stateless"),
        (["run", "--plant", "phoebe:speed=1"], "number of plant phoebe: 'speed': choose one of"),
        (["run", "--plant", "phoebe:peak=0"], "phoebe:peak: '0': write a number that is positive"),
        (["run", "--plant", "phoebe:tasks=2.5"], "phoebe:tasks: '2.5': write a whole number"),
        (["run", "--plant", "phoebe:skew=0"], "phoebe:skew: '0': write a number from 1 on"),
        (["run", "--plant", "phoebe:restart=soon"], "'soon': write a number that is not negative"),
        (
            ["run", "--plant", "phoebe:slowness=1"],
            "'1': write a number that is not negative, and less than 1",
        ),
        (["run", "--plant", "phoebe:warming=0"], "'0': write a number that is positive"),
        (
            ["run", "--plant", "phoebe:smallest=30"],
            "bounds of plant phoebe: 'smallest=30': it has 2 to 24: change both",
        ),
        (["run", "--plant", "phoebe:latency=3,latency=4"], "phoebe:latency: 'latency=4': write it"),
        (["run", "hpa:target=0.3,target=0.4"], "hpa:target: 'target=0.4': write it once"),
        (["run", "sluice:foresight=0"], "sluice:foresight: '0': write a number that is positive"),
        (["run", "static:executors=30"], "static:executors: 30: write a number from 2 to 24"),
        (["run", "static:executors=0"], "static:executors: 0: write a number from 2 to 24"),
        (["run", "--plant", "phoebe:live=1"], "phoebe:live: '1': write yes or no"),
        (["run", "--trace", "nowhere.csv"], "trace: 'nowhere.csv': choose reporting, tuning"),
        (["compare", "--vs", "nowhere.json"], "former result nowhere.json"),
    ],
)
def test_what_is_not_there_is_named_with_the_remedy(words: list[str], problem: str) -> None:
    with pytest.raises(InvalidSpec) as refused:
        CliRunner().invoke(lab, words, catch_exceptions=False)
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("load.csv", "0,1\n1,many\n", "each line has a time"),
        ("load.csv", "0\n1\n", "each line has a time"),
        ("load.csv", "2026-01-31 20:00,1\n31 Jan 2026,2\n", "each line has a time"),
        ("load.csv", "", "0 samples"),
        ("load.csv", "0,1,000\n15,2,000\n", "3 columns"),
        ("load.csv", "time,orders,clicks\n0,1,2\n15,2,3\n", "3 columns"),
        ("load.csv", "0,999\n15,1,000\n", "a comma, and rows per second without one"),
        ("load.csv", "time;rate\n0;1,5\n15;2,5\n", "a comma"),
        ("load.csv", "0,5\n1,-5\n", "-5 rows/s at 1 s"),
        ("load.csv", "0,5\n,6\n2,7\n", "each line has a time"),
        ("load.csv", "0,5\n1,\n2,\n", "1 samples"),
        ("load.json", "nonsense", "/api/v1/query_range"),
        ("load.json", '{"data": {"result": [{"values": []}]}}', "a series without samples"),
        ("load.json", '{"data": {"result": [{"values": [[0, null], [1, null]]}]}}', "0 samples"),
        ("load.json", '{"data": {"result": []}}', "'0 series': nothing matched the query"),
        ("load.json", '{"data": {"result": [{"values": []}, {}]}}', "KeyError('values')"),
        (
            "load.json",
            '{"data": {"result": [{"values": []}, {"values": []}]}}',
            "'2 series': sum the query over its labels",
        ),
        (
            "load.json",
            '{"status": "error", "errorType": "bad_data", "error": "exceeded maximum resolution"}',
            "'exceeded maximum resolution': so Prometheus says: mend the query, or take a longer step",
        ),
        (
            "load.json",
            '{"status": "success", "data": {"resultType": "vector", "result": [{"value": [1, "5"]}]}}',
            "'a vector': export it from /api/v1/query_range",
        ),
        ("load.json", "null", "/api/v1/query_range"),
        ("load.json", TOO_DEEP, "/api/v1/query_range"),
        ("load.csv", "time,rate\n\n# of orders\n0,1\n15,many\n", "\"line 5 is '15,many'\""),
        ("load.csv", "0,1\n15,2\n30,3,4\n", "'line 3 has 3 columns'"),
        ("load.csv", "2026-01-31 20:00,1\n31 Jan 2026,2\n", "\"line 2 is '31 Jan 2026,2'\""),
        ("load.csv", "time;rate\n0;1\n15;2\n", "line 2 is separated by ';'"),
        ("load.csv", "0\t1\n15\t2\n", "is separated by tabs"),
        ("load.parquet", "nonsense", "Parquet"),
        ("load.txt", "0,1", "give a .csv, .parquet or .json file"),
        ("load.csv", "x,5\n1,6\n2,7\n", "\"line 1 is 'x,5'\""),
        ("load.csv", "0,x\n1,6\n2,7\n", "\"line 1 is '0,x'\""),
        ("load.csv", '{"data": {"result": []}}', "'JSON': name it load.json"),
        ("load.csv", '\n[\n{"values": [[0, 1], [1, 2]]}]', "'JSON': name it load.json"),
        ("load.csv", f"0,1\n1,{'9x' * 100_000}\n", "line 2 is '1,9x9x"),
    ],
)
def test_a_file_that_is_no_load_is_refused(
    tmp_path: Path, name: str, content: str, problem: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InvalidSpec) as refused:
        loads.read(tmp_path / name)
    assert problem in str(refused.value)
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("load.csv", "second,rate\n0,10\n2,30\n"),
        ("load.csv", "0,10\n2,30\n"),
        ("load.csv", "# of orders\ntime,rate\n0,10\n2,30\n"),
        ("load.csv", "\n\ntime,rate\n0,10\n2,30\n"),
        ("load.csv", "time,rate\n# of orders\n\n2026-01-31 20:00:00,10\n2026-01-31 20:00:02,30\n"),
        ("load.csv", "# of orders\n0,10\n2,30\n"),
        ("load.csv", "1e3,10\n1002,30\n"),
        ("load.csv", "\ufeff0,10\n2,30\n"),
        ("load.csv", '"Time","orders"\n"2026-01-31 20:00:00","10"\n"2026-01-31 20:00:02","30"\n'),
        ("load.csv", "2026-01-31T20:00:00Z,10\n2026-01-31T21:00:02+01:00,30\n"),
        ("load.json", '{"data": {"result": [{"values": [[0, "10"], [2, "30"]]}]}}'),
    ],
)
def test_a_load_is_read_from_a_file(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    trace, told = loads.read(tmp_path / name)
    assert trace.rates.tolist() == [10, 20, 30]
    assert all("second 0 of the run" in line for line in told)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("load.csv", "0,10\n1,\n2,30\n"),
        ("load.csv", "0,10\n1,null\n2,30\n"),
        ("load.csv", "0,10\n1,NaN\n2,30\n"),
        ("load.csv", '"Time","rate"\n"2026-01-31 20:00:00","10"\n"2026-01-31 20:00:01",""\n'
         '"2026-01-31 20:00:02","30"\n'),
        ("load.json", '{"data": {"result": [{"values": [[0, "10"], [1, "NaN"], [2, "30"]]}]}}'),
        ("load.json", '{"data": {"result": [{"values": [[0, 10], [1, null], [2, 30]]}]}}'),
    ],
)  # fmt: skip
def test_a_number_that_a_file_lacks_is_left_out_and_told(
    tmp_path: Path, name: str, content: str
) -> None:
    (tmp_path / name).write_text(content)
    trace, told = loads.read(tmp_path / name)
    assert trace.rates.tolist() == [10, 20, 30]
    assert "1 samples without a number were left out" in told


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("0,1\n15,2\n".encode("utf-16"), "'UTF-16': write it as UTF-8: iconv -f UTF-16 -t UTF-8"),
        ("Zeit,für\n0,1\n".encode("latin-1"), "'text that is not UTF-8': write it as UTF-8: iconv"),
        ("0,1\n" * 9999 + "ü", "'text that is not UTF-8': write it as UTF-8: iconv"),
        (gzip.compress(b"0,1\n15,2\n"), "'compressed by gzip': unpack it: gunzip"),
    ],
    ids=["UTF-16", "ISO-8859-1", "far below", "gzip"],
)
def test_a_csv_in_another_encoding_is_refused_with_its_name(
    tmp_path: Path, content: bytes | str, problem: str
) -> None:
    data = content.encode("latin-1") if isinstance(content, str) else content
    (tmp_path / "load.csv").write_bytes(data)
    with pytest.raises(InvalidSpec) as refused:
        loads.read(tmp_path / "load.csv")
    assert problem in str(refused.value)


def test_a_mark_of_the_byte_order_is_no_part_of_a_file(tmp_path: Path) -> None:
    samples = '{"data": {"result": [{"values": [[0, "10"], [2, "30"]]}]}}'
    for name, content in (("load.csv", "0,10\n2,30\n"), ("load.json", samples)):
        (tmp_path / name).write_text(content, encoding="utf-8-sig")
        trace, _ = loads.read(tmp_path / name)
        assert trace.rates.tolist() == [10, 20, 30]


def test_a_file_is_no_load_of_a_suite_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "cars.csv").write_text("0,10\n2,30\n")
    (source,) = loads.sources([str(tmp_path / "cars.csv")])
    assert source.suite == "own"


def test_what_is_repaired_of_a_file_is_told_before_it_is_tried(
    tmp_path: Path,
) -> None:
    file = tmp_path / "load.csv"
    file.write_text("".join(f"{at},10\n" for at in (*range(60), *range(1000, 1060))))
    words = ["run", "static:executors=2", "--trace", str(file), "--out", str(tmp_path)]
    done = CliRunner().invoke(lab, words, catch_exceptions=False)
    assert done.stderr.startswith(f"{file}: a gap of 941 s was bridged\n")


@pytest.mark.parametrize("other", ["cars", "cars.json"])
def test_two_loads_have_two_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cars.csv").write_text("0,10\n2,30\n")
    (tmp_path / "cars.json").write_text('[{"values": [[0, 10], [2, 30]]}]')
    with pytest.raises(InvalidSpec) as refused:
        loads.sources([other, "cars.csv"])
    assert "trace: 'cars.csv': rename the file" in str(refused.value)


def test_brackets_in_names_of_files_and_folders_are_told_as_they_are(tmp_path: Path) -> None:
    out, load = tmp_path / "[/old]", tmp_path / "week[red].csv"
    load.write_text("time,rows\n0,100\n600,100\n")
    told = compared(out, "--trace", str(load))
    assert "under week[red]" in told
    assert "[/old]/report.html" in told.replace("\n", "")


def test_a_run_can_have_the_load_of_a_file(tmp_path: Path) -> None:
    lines = "".join(f"{second},2000\n" for second in range(0, 1800, 15))
    (tmp_path / "mine.csv").write_text(lines)
    (source,) = loads.sources([str(tmp_path / "mine.csv")])
    case = Case(
        contender=contender("static"),
        plant=PLANTS["spark-stateless"],
        source=source,
        seed=1,
        profile=False,
    )
    outcome = carry_out(case)
    assert (outcome["trace"], outcome["suite"], outcome["seconds"]) == ("mine", "own", 1786)


def test_loads_of_a_suite_are_scaled_to_the_plant() -> None:
    (source,) = loads.sources(["cars"])
    of = PLANTS["spark-stateless"]
    own, nominal = source.trace(1, of.peak).rates, named_trace("cars", 1).rates
    assert own.max() == pytest.approx(nominal.max() * of.peak / 200_000)


def test_parameters_are_those_of_the_policy() -> None:
    of, trace = PLANTS["phoebe"], named_trace("ramp", 1)
    found = contender("hpa:target=0.35,tolerance=0.2").policy(of, trace)
    assert found == Hpa(target=0.35, tolerance=0.2)
    rows = of.capacity(of.bounds.largest) / of.bounds.largest
    assert contender("keda-lag:seconds=2").policy(of, trace) == KedaLag(threshold=2 * rows)
    assert contender("sluice").policy(replace(of, objective=0.99), trace) == Sluice(objective=0.99)


def test_both_bounds_of_a_plant_are_changed_together_in_either_order() -> None:
    for text in ("largest=1,smallest=1", "smallest=1,largest=1", "smallest=40,largest=50"):
        bounds = plant(f"spark-stateful:{text}").bounds
        assert f"smallest={bounds.smallest}" in text
        assert f"largest={bounds.largest}" in text


def test_a_plant_can_be_changed_by_its_numbers() -> None:
    found = plant("spark-stateful:restart=20,tasks=48,largest=40,live=no")
    assert (found.restart, found.tasks, found.bounds.largest, found.live) == (20, 48, 40, False)
    assert found.name == "spark-stateful:restart=20,tasks=48,largest=40,live=no"
    assert found.skew == PLANTS["spark-stateful"].skew


def test_each_contender_of_the_sets_is_a_policy() -> None:
    found = contenders(SETS)
    assert len(found) == len({*SETS["rivals"], *SETS["sweep"]})
    for one in found:
        one.policy(PLANTS["phoebe"], named_trace("ramp", 1))


def test_failures_strike_when_those_of_the_paper_did() -> None:
    moments = [failure.at for failure in schedule("drivers", 21_600)]
    assert moments == [1200 + 2743 * number for number in range(8)]
    assert not schedule("none", 21_600)


def test_only_a_rival_that_is_better_in_both_respects_beats_ours() -> None:
    ours = row("sluice", late=0.05, hours=50)
    better, dearer, later = (
        row("a", late=0.04, hours=45),
        row("b", late=0.04, hours=55),
        row("c", late=0.06, hours=45),
    )
    elsewhere, oracle = row("d", 0.0, 1, trace="cars"), row("oracle", 0.0, 1)
    found = beaten([ours, better, dearer, later, elsewhere, oracle])
    assert [one.rival for one in found] == [better]


def test_another_load_of_the_same_name_and_length_is_not_compared(
    tmp_path: Path,
) -> None:
    found = []
    for rate in (2000, 3000):
        (tmp_path / "mine.csv").write_text(f"0,{rate}\n600,{rate}\n")
        (load,) = loads.sources([str(tmp_path / "mine.csv")])
        one = Case(contender=contender("static"), plant=plant("phoebe"), source=load, seed=1)
        found.append(results.rows([carry_out(replace(one, profile=False))]))
    assert changes(found[0], found[0])
    assert not changes(found[0], found[1])


def test_the_gap_to_the_oracle_is_time_and_price() -> None:
    ours, oracle = row("sluice", late=0.05, hours=60), row("oracle", late=0.02, hours=40)
    (gap,) = gaps([ours, oracle]).values()
    assert gap.late == pytest.approx(0.03)
    assert gap.price == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("late", "hours", "verdict"),
    [
        (0.05, 50, "same"),
        (0.04, 40, "better"),
        (0.06, 60, "worse"),
        (0.04, 60, "traded"),
        (0.05, 40, "better"),
        (0.06, 50, "worse"),
    ],
)
def test_a_change_is_judged_by_both_measures(late: float, hours: float, verdict: str) -> None:
    (found,) = changes([row("sluice", 0.05, 50)], [row("sluice", late, hours)])
    assert found.verdict == verdict


@pytest.mark.parametrize(
    "other",
    [
        row("sluice", 0.05, 50, length=1.0),
        replace(row("sluice", 0.05, 50), failures="none"),
        replace(row("sluice", 0.05, 50), profile=False),
        replace(row("sluice", 0.05, 50), bound=20.0),
        replace(row("sluice", 0.05, 50), target=60.0),
        replace(row("sluice", 0.05, 50), job="another"),
        replace(row("sluice", 0.05, 50), load="another"),
        replace(row("sluice", 0.05, 50), seeds=(1, 2)),
        replace(row("sluice", 0.05, 50), seeds=(2,)),
    ],
)
def test_runs_under_other_terms_are_no_change(other: Row) -> None:
    assert not changes([row("sluice", 0.05, 50)], [other])


def test_averages_are_over_seeds_and_recoveries_are_pooled() -> None:
    case = Case(
        contender=contender("static"),
        plant=PLANTS["spark-stateless"],
        source=loads.Source(name="ramp"),
        seed=1,
        profile=False,
        seconds=3000,
    )
    one = carry_out(case)
    infeasible = {**one["recoveries"][0], "feasible": False}
    recoveries = [*one["recoveries"] * 2, infeasible]
    found = {**one, "late": one["late"] + 0.1, "recoveries": recoveries}
    (average,) = results.rows([one, found])
    assert average.late == pytest.approx(one["late"] + 0.05)
    assert (len(average.seeds), average.recoveries) == (2, 3)


def test_our_policy_grows_with_its_load_for_less_than_all_executors() -> None:
    (source,) = loads.sources(["stairs"])
    outcomes = {
        name: carry_out(
            Case(
                contender=contender(name),
                plant=PLANTS["spark-stateless"],
                source=source,
                seed=1,
                failures="none",
                seconds=4800,
                timeline=True,
            )
        )
        for name in ("sluice", "static", "static:executors=3")
    }
    ours, all_of_them, few = outcomes.values()
    asked = ours["timeline"]["executors"]
    assert asked[-1] > 2 * asked[0]
    assert ours["late"] < 0.05 < few["late"]
    assert ours["mean_executors"] < 0.75 * all_of_them["mean_executors"]


def test_a_single_run_tells_each_rescale_with_its_reason(tmp_path: Path) -> None:
    command = ["run", "ds2", "--plant", "spark-stateless", "--hours", "0.5", "--out", str(tmp_path)]
    done = CliRunner().invoke(lab, command, catch_exceptions=False)
    assert done.exit_code == 0
    rescales = [
        line for line in done.output.splitlines() if re.match(r" *0:\d\d +\d+ -> \d+ ", line)
    ]
    assert rescales
    assert all("rows/s" in line or "executors" in line for line in rescales)


def test_where_nobody_tells_which_processors_may_be_used_all_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on macOS."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 12)
    assert running.all_processors() == 12
