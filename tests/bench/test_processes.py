"""What is told of an operator that ends while it is measured."""

import asyncio
import subprocess
from collections.abc import Iterator

import pytest

from bench import idle
from bench.installation import Installation
from bench.processes import Processes
from bench.progress import BenchmarkFailed, Progress

Process = subprocess.Popen[bytes]


@pytest.fixture
def process() -> Iterator[Process]:
    with subprocess.Popen(["sleep", "60"]) as found:
        yield found
        found.kill()


@pytest.fixture
def operator(process: Process) -> Installation:
    """One that is this process."""
    return Installation(jobs_namespace="jobs", home="home", processes=Processes((process.pid,)))


async def test_an_operator_that_ends_while_it_is_measured_has_no_figures(
    operator: Installation, process: Process
) -> None:
    asyncio.get_running_loop().call_later(0.1, process.kill)
    with pytest.raises(BenchmarkFailed, match="the operator in home has ended"):
        await idle._watch(operator, 0.3, Progress())


async def test_an_operator_that_lives_on_has_figures(operator: Installation) -> None:
    memory, _ = await idle._watch(operator, 0.1, Progress())
    assert memory.value > 0
