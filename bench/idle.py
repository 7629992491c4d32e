"""What the operator needs while thousands of StreamJobs just run.

    .venv/bin/python -m bench.idle [--jobs 5000] [--seconds 120] [--suspended] [--save-as NAME]

The driver pods are on simulated nodes, so no agent answers: the operator asks each again and again, and backs off. With
--suspended the jobs have no drivers, and there is nobody to ask.
"""

import argparse
import asyncio
import sys
import time

from bench import report
from bench.api import Api
from bench.installation import Installation, operator_of_simulated_jobs, versions
from bench.population import Population, wait_until
from bench.progress import Progress, run
from bench.report import Figure, Result

_METHOD = (
    "Jobs are created in portions, until all have settled: a driver pod that is Running, or the phase Suspended. Then "
    "nothing is changed. Processor time is that of the operator's processes over the measured time, memory the most "
    "that was resident in it."
)
_PORTION = 250
_SETTLING = 60.0
"""Seconds between the last change and the measurement, in which the queues empty."""


def main() -> int:
    """Measure, write the result, clean up."""
    return run(_measure(_options()))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=".venv/bin/python -m bench.idle")
    parser.add_argument("--jobs", type=int, default=5000, help="jobs (5000)")
    parser.add_argument("--seconds", type=float, default=120, help="measured time (120)")
    parser.add_argument("--suspended", action="store_true", help="jobs without drivers")
    parser.add_argument("--save-as", default="", help="name of the result, if not idle")
    return parser.parse_args()


async def _measure(options: argparse.Namespace) -> None:
    progress = Progress()
    async with operator_of_simulated_jobs(options.jobs, progress) as (api, operator):
        await _settle(api, operator, options, progress)
        figures = await _watch(operator, options.seconds, progress)
        kind = "suspended" if options.suspended else "running"
        result = Result(
            name="idle-suspended" if options.suspended else "idle",
            title=f"{options.jobs} {kind} jobs at rest",
            method=_METHOD,
            settings={"jobs": options.jobs, "seconds": options.seconds, "kind": kind},
            versions=await versions(api),
            runs={"run 1": figures},
        )
        progress.say(f"written: {report.write(result, save_as=options.save_as)}")


async def _settle(
    api: Api, operator: Installation, options: argparse.Namespace, progress: Progress
) -> None:
    population = Population(api, operator.jobs_namespace)
    watching = asyncio.create_task(population.watch())
    for begin in range(0, options.jobs, _PORTION):
        end = min(begin + _PORTION, options.jobs)
        await population.create(end, first=begin, suspend=options.suspended)
        if not options.suspended:
            await _wait_until_running(population, end)
        progress.say(f"{end} jobs")
    watching.cancel()
    await asyncio.sleep(_SETTLING)


async def _wait_until_running(population: Population, count: int) -> None:
    await wait_until(
        f"{count} drivers Running", lambda: len(population.running) >= count, seconds=300
    )


async def _watch(operator: Installation, seconds: float, progress: Progress) -> list[Figure]:
    progress.say(f"watching for {seconds:g} s")
    own = operator.processes
    own.forget_peak()
    before, began = own.cpu_seconds(), time.monotonic()
    await asyncio.sleep(seconds)
    share = (own.cpu_seconds() - before) / (time.monotonic() - began)
    figures = [
        Figure(
            name="operator, peak memory", value=own.peak_bytes() / 2**20, unit="MiB", goal="<= 250"
        ),
        Figure(name="operator, share of a core", value=100 * share, unit="%", goal="<= 5"),
    ]
    operator.require_alive()
    progress.say(", ".join(f"{one.name} {one.value:.3g} {one.unit}" for one in figures))
    return figures


if __name__ == "__main__":
    sys.exit(main())
