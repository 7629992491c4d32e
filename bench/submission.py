"""How fast StreamJobs that are created all at once get their drivers, and what the operator needs for it.

    .venv/bin/python -m bench.submission [--jobs 300] [--repeats 3] [--save-as NAME]

The operator is the pod that users run, the API server is real, and driver pods go to simulated nodes, so
what is measured is the operator and Kubernetes, not Spark. All of them share this machine's processors.
"""

import argparse
import asyncio
import sys
import time

from bench import processes, report
from bench.api import Api
from bench.installation import Installation, operator_of_simulated_jobs, remove_jobs, versions
from bench.population import Population, wait_until
from bench.progress import Progress, run
from bench.report import Figure, Result, percentile

_METHOD = (
    "StreamJobs are created at once through the API server. Times run from just before a job's own "
    "request to the moment when a watch shows its driver pod, created or Running, by one clock. "
    "Processor time is that of whole processes from the first request to the last Running pod; the "
    "operator, the control plane, the simulated kubelets and this benchmark share the machine."
)
_PROGRAMS = ("kube-apiserver", "etcd", "kube-scheduler", "kube-controller-manager", "kwok")
_DEADLINE = 300.0


def main() -> int:
    """Measure, write the result, clean up."""
    return run(_measure(_options()))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=".venv/bin/python -m bench.submission")
    parser.add_argument("--jobs", type=int, default=300, help="jobs created at once (300)")
    parser.add_argument("--repeats", type=int, default=3, help="how often (3)")
    parser.add_argument("--save-as", default="", help="name of the result, if not submission")
    return parser.parse_args()


async def _measure(options: argparse.Namespace) -> None:
    progress = Progress()
    async with operator_of_simulated_jobs(options.jobs, progress) as (api, operator):
        runs = {}
        for number in range(1, options.repeats + 1):
            runs[f"run {number}"] = await _run(api, operator, options.jobs, progress)
            await remove_jobs(api, operator.jobs_namespace, progress)
        result = Result(
            name="submission",
            title=f"Starting {options.jobs} jobs at once",
            method=_METHOD,
            settings={"jobs": options.jobs, "repeats": options.repeats, "workers": 16},
            versions=await versions(api),
            runs=runs,
        )
        progress.say(f"written: {report.write(result, save_as=options.save_as)}")


async def _run(api: Api, operator: Installation, count: int, progress: Progress) -> list[Figure]:
    population = Population(api, operator.jobs_namespace)
    watching = asyncio.create_task(population.watch())
    await asyncio.sleep(2)
    accounts = {program: processes.running(program) for program in _PROGRAMS}
    before = {program: one.cpu_seconds() for program, one in accounts.items()}
    operator.processes.forget_peak()
    own, own_before = operator.processes, operator.processes.cpu_seconds()
    client_before = time.process_time()
    progress.say(f"creating {count} jobs")
    await population.create(count)
    await wait_until(
        f"{count} drivers Running", lambda: len(population.running) >= count, seconds=_DEADLINE
    )
    cpu = own.cpu_seconds() - own_before
    spent = {program: one.cpu_seconds() - before[program] for program, one in accounts.items()}
    spent["benchmark"] = time.process_time() - client_before
    watching.cancel()
    figures = _figures(population, cpu, own.peak_bytes(), spent)
    operator.require_alive()
    progress.say(", ".join(f"{one.name} {one.value:.3g} {one.unit}" for one in figures[:4]))
    return figures


def _figures(
    population: Population, cpu: float, peak: int, others: dict[str, float]
) -> list[Figure]:
    count, first = len(population.created), min(population.requested.values())
    starting = max(population.created.values()) - first
    elapsed = max(population.running.values()) - first
    created = population.waits_for(population.created)
    running = population.waits_for(population.running)
    return [
        Figure(name="drivers a minute", value=60 * count / starting, unit="1/min", goal=">= 1000"),
        Figure(name="operator, processors", value=cpu / elapsed, unit="cores", goal="<= 1"),
        Figure(name="operator, peak memory", value=peak / 2**20, unit="MiB", goal="<= 200"),
        Figure(name="job to driver created, p50", value=percentile(created, 0.50), unit="s"),
        Figure(name="job to driver created, p99", value=percentile(created, 0.99), unit="s"),
        Figure(name="job to driver Running, p50", value=percentile(running, 0.50), unit="s"),
        Figure(name="job to driver Running, p99", value=percentile(running, 0.99), unit="s"),
        Figure(name="operator, processor time", value=cpu, unit="s"),
        Figure(name="operator, processor time a job", value=1000 * cpu / count, unit="ms"),
        Figure(name="until all run", value=elapsed, unit="s"),
        *(
            Figure(name=f"{name}, processor time", value=seconds, unit="s")
            for name, seconds in others.items()
        ),
    ]


if __name__ == "__main__":
    sys.exit(main())
