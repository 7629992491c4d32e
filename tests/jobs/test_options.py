"""What the programs of the image are told on the command line."""

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
