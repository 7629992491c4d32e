"""How benchmarks end."""

import signal
import subprocess
import sys

import pytest

from bench.progress import BenchmarkFailed, run

_WAITING = """
import asyncio, sys
from bench.progress import run

async def benchmark():
    try:
        print("made", flush=True)
        await asyncio.sleep(3600)
    finally:
        await asyncio.sleep(0.05)
        print("removed", flush=True)

sys.exit(run(benchmark()))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_benchmark_that_is_interrupted_removes_what_it_has_made(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _WAITING], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "made\n"
        process.send_signal(number)
        assert process.stdout.read().endswith("removed\n")
    assert process.returncode == 130


def test_what_keeps_a_benchmark_from_its_figures_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def failing() -> None:
        raise BenchmarkFailed("no local cluster: run `make cluster`")

    assert run(failing()) == 1
    assert "no local cluster: run `make cluster`" in capsys.readouterr().err
