"""What the agent in the driver costs: batch times with and without it, and its processor time.

    .venv/bin/python -m bench.agent [--repeats 5] [--seconds 120] [--kafka SERVERS/TOPIC --jars DIRECTORY]

Each repeat runs a small job in which the agent looks and looks away in turn, and then one with twenty
queries. The agent is asked as often as the operator and Prometheus ask it. With --kafka both read a topic
that something else fills, so that timestamps of records are looked up.
"""

import argparse
import asyncio
import json
import os
import socket
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import aiohttp

from bench import report
from bench.progress import BenchmarkFailed, Progress, run
from bench.report import Figure, Result, percentile
from sluice.agent import pack

_METHOD = (
    "A driver with local[2] has a trigger of 1 s and a sink that drops the rows; two queries count rows "
    "by key, twenty only pass them on, for two cores cannot count for twenty in a second. Checkpoints "
    "are in memory, so that a disk does not blur the comparison. Batch times are compared between "
    "slices of 10 s, in turn with the agent looking and not, within one driver; a ratio of 1 is no "
    "change. Processor time is that of the whole Python process while the program itself only sleeps, "
    "so it is the agent's; Java's is that of its threads that answer the agent and its Kafka clients. "
    "The agent's `/metrics` is read each 15 s and `/v1/state` each 5 s."
)
_JOB = Path(__file__).with_name("agent_job.py")
_MEMORY = "/dev/shm"
_TOKEN = "bench"
_FEW, _MANY = 2, 20
_SLICE_SECONDS = 10

Json = dict[str, Any]


def main() -> int:
    """Measure and write the result."""
    return run(_measure(_options()))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=".venv/bin/python -m bench.agent")
    parser.add_argument("--repeats", type=int, default=5, help="how often (5)")
    parser.add_argument("--seconds", type=int, default=120, help="of measuring in each run (120)")
    parser.add_argument("--warm-up", type=int, default=30, help="seconds before it (30)")
    parser.add_argument(
        "--kafka", default="", help="SERVERS/TOPIC to read; without, the rate source"
    )
    parser.add_argument("--jars", default="", help="directory of Spark's Kafka connector")
    parser.add_argument("--save-as", default="", help="name of the result, if not agent")
    return parser.parse_args()


async def _measure(options: argparse.Namespace) -> None:
    progress = Progress()
    with tempfile.TemporaryDirectory(prefix="sluice-bench-", dir=_MEMORY) as folder:
        drivers = _Drivers(Path(folder), options)
        runs = {}
        for number in range(1, options.repeats + 1):
            few = await drivers.run("--queries", str(_FEW), "--slice", str(_SLICE_SECONDS))
            many = await drivers.run("--queries", str(_MANY), "--stateless")
            runs[f"run {number}"] = figures = _figures(few, many)
            progress.say(", ".join(f"{one.name} {one.value:.3g} {one.unit}" for one in figures))
    result = Result(
        name="agent",
        title="The cost of the agent in the driver",
        method=_METHOD,
        settings={
            "source": "kafka" if options.kafka else "rate",
            "repeats": options.repeats,
            "seconds": options.seconds,
            "warm-up": options.warm_up,
        },
        versions=report.versions("pyspark"),
        runs=runs,
    )
    progress.say(f"written: {report.write(result, save_as=options.save_as)}")


def _figures(few: Json, many: Json) -> list[Figure]:
    def ratio(share: float) -> float:
        return percentile(few["watched"], share) / percentile(few["unwatched"], share)

    rate = len(many["watched"]) / many["elapsed"]
    return [
        Figure(name="batch time with / without, p50", value=ratio(0.5), unit="", goal="<= 1.05"),
        Figure(name="batch time with / without, p95", value=ratio(0.95), unit=""),
        Figure(name=f"agent, {_MANY} queries", value=_share(many, "python"), unit="%", goal="<= 1"),
        Figure(name=f"Java for the agent, {_MANY} queries", value=_share(many, "java"), unit="%"),
        Figure(name=f"batches, {_MANY} queries", value=rate, unit="1/s"),
        Figure(name=f"batch time, {_MANY} queries, p50", value=_p50(many["watched"]), unit="s"),
        Figure(name=f"batch time, {_FEW} queries, p50", value=_p50(few["unwatched"]), unit="s"),
        Figure(name=f"batches compared, {_FEW} queries", value=_count(few), unit=""),
    ]


def _p50(seconds: list[float]) -> float:
    return float(statistics.median(seconds))


def _count(driver: Json) -> int:
    return len(driver["watched"]) + len(driver["unwatched"])


def _share(driver: Json, language: str) -> float:
    """Return processor time in percent of one core."""
    return float(100 * driver[language] / driver["elapsed"])


class _Drivers:
    """Starts drivers and asks their agents."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self._folder = folder
        self._common = [
            *("--warm-up", str(options.warm_up), "--seconds", str(options.seconds)),
            *("--checkpoints", str(folder), "--kafka", options.kafka, "--jars", options.jars),
        ]
        (folder / "agent.pyz").write_bytes(pack.packed())
        (folder / "token").write_text(_TOKEN)

    async def run(self, *arguments: str) -> Json:
        """Run one driver under the agent to its end, and return what it told."""
        port = _free_port()
        environment = {
            "SLUICE_AGENT_PORT": str(port),
            "SLUICE_AGENT_TOKEN_FILE": str(self._folder / "token"),
        }
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, str(self._folder / "agent.pyz"), str(_JOB)),
            *arguments,
            *self._common,
            env={**os.environ, **environment},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        asking = asyncio.create_task(_ask(port))
        stdout, stderr = await process.communicate()
        asking.cancel()
        if process.returncode != 0 or not stdout:
            raise BenchmarkFailed(f"a driver ended with {process.returncode}: {stderr[-2000:]!r}")
        told: Json = json.loads(stdout.splitlines()[-1])
        return told


async def _ask(port: int) -> None:
    headers = {"Authorization": f"Bearer {_TOKEN}"}
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}", headers=headers) as client:
        for second in range(0, 1_000_000, 5):
            try:
                await _read(client, "/v1/state")
                if second % 15 == 0:
                    await _read(client, "/metrics")
            except aiohttp.ClientError:
                pass  # the driver is still starting
            await asyncio.sleep(5)


async def _read(client: aiohttp.ClientSession, path: str) -> None:
    async with client.get(path) as answer:
        await answer.read()


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
