"""What the programs of the image are told on the command line."""

import importlib
import sys

import pytest

REQUIRED = ("--bootstrap-servers=kafka:9092", "--input-topic=in", "--checkpoint=/data")


@pytest.mark.parametrize(
    ("sink", "missing"),
    [
        ("kafka", "--output-topic"),
        ("foreach-batch", "--output-topic"),
        ("files", "--output-directory"),
        ("table", "--output-directory"),
    ],
)
def test_a_sink_without_its_place_is_refused_before_spark_starts(
    sink: str,
    missing: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from jobs import enrichment

    monkeypatch.setattr(sys, "argv", ["enrichment.py", *REQUIRED, f"--sink={sink}"])
    with pytest.raises(SystemExit):
        enrichment.main()
    assert f"--sink={sink} needs {missing}" in capsys.readouterr().err


class Reader:
    """Spark's reader, as far as programs use it."""

    def __init__(self) -> None:
        self.options: dict[str, object] = {}
        self.readStream = self

    def format(self, _: str) -> "Reader":
        return self

    def option(self, name: str, value: object) -> "Reader":
        self.options[name] = value
        return self

    def load(self) -> "Reader":
        return self


@pytest.mark.parametrize("job", ["advertisement", "enrichment", "top_speed"])
def test_tasks_do_not_wait_for_rows_of_quiet_partitions(
    job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = importlib.import_module(f"jobs.{job}")
    monkeypatch.setattr(sys, "argv", [f"{job}.py", *REQUIRED, "--output-topic=out"])
    reader = Reader()
    program._read(reader, program._options())
    assert reader.options["kafka.fetch.max.wait.ms"] == 10


@pytest.mark.parametrize(
    ("trace", "told"),
    [
        ("square:1", "no kind 'square'; write one of constant, sine"),
        ("sine:1,2", "sine takes 3 numbers with commas between, as in sine:1000,400,600"),
        ("file:/nowhere.csv", "No such file or directory: '/nowhere.csv'"),
    ],
)
def test_a_trace_that_is_none_is_refused_with_what_would_be_one(
    trace: str, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from jobs.load import generate

    words = ["--bootstrap-servers=kafka:9092", "--topic=in", "--schema=ads", "--duration=1"]
    monkeypatch.setattr(sys, "argv", ["generate.py", *words, f"--trace={trace}"])
    with pytest.raises(SystemExit):
        generate.main()
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("job", ["advertisement", "top-speed"])
def test_exactly_once_is_refused_of_windows_whose_rows_cannot_come_twice(
    job: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from jobs.load import check

    words = ["--bootstrap-servers=kafka:9092", "--input-topic=in", "--output-topic=out"]
    monkeypatch.setattr(sys, "argv", ["check.py", *words, f"--job={job}", "--exactly-once"])
    monkeypatch.setattr(check, "Check", lambda _: pytest.fail("it was not refused"))
    with pytest.raises(SystemExit):
        check.main()
    assert f"--exactly-once: rows of --job={job} replace each other" in capsys.readouterr().err
