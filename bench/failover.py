"""How soon a killed operator knows its jobs again, and that their drivers do not notice.

    .venv/bin/python -m bench.failover [--jobs 50] [--kills 100] [--save-as NAME]

The operator is killed without notice, again and again. Each time the spec of every job is changed at once, so that
only an operator that knows them all, and leads, can have answered.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Mapping

from bench import processes, report
from bench.api import JOBS, PODS, Api
from bench.installation import Installation, operator_of_simulated_jobs, versions
from bench.population import Json, Population, wait_until
from bench.progress import Progress, run
from bench.report import Figure, Result, percentile

_METHOD = (
    "The operator's process is killed, and its pod deleted so that its Deployment makes another at once. Then the "
    "number of executors is changed in the spec of every job. The time runs from the kill until the status of each "
    "job has answered its change. Driver pods are on simulated nodes; a driver counts as changed if its pod's uid is "
    "another at the end."
)
_DEADLINE = 300.0


def main() -> int:
    """Measure, write the result, clean up."""
    return run(_measure(_options()))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=".venv/bin/python -m bench.failover")
    parser.add_argument("--jobs", type=int, default=50, help="jobs that run (50)")
    parser.add_argument("--kills", type=int, default=100, help="how often it is killed (100)")
    parser.add_argument("--save-as", default="", help="name of the result, if not failover")
    return parser.parse_args()


async def _measure(options: argparse.Namespace) -> None:
    progress = Progress()
    async with operator_of_simulated_jobs(options.jobs, progress) as (api, operator):
        figures = await _kill_again_and_again(api, operator, options, progress)
        result = Result(
            name="failover",
            title=f"{options.jobs} jobs whose operator is killed {options.kills} times",
            method=_METHOD,
            settings={"jobs": options.jobs, "kills": options.kills},
            versions=await versions(api),
            runs={"run 1": figures},
        )
        progress.say(f"written: {report.write(result, save_as=options.save_as)}")


async def _kill_again_and_again(
    api: Api, operator: Installation, options: argparse.Namespace, progress: Progress
) -> list[Figure]:
    population = Population(api, operator.jobs_namespace)
    watching = asyncio.create_task(population.watch())
    await population.create(options.jobs)
    await wait_until(
        f"{options.jobs} drivers Running",
        lambda: len(population.running) >= options.jobs,
        seconds=_DEADLINE,
    )
    watching.cancel()
    before = await _drivers(api, operator)
    answers = Answers()
    listening = asyncio.create_task(answers.listen(api, operator.jobs_namespace))
    await wait_until(
        "a first look at all jobs",
        lambda: len(answers.generations) == options.jobs,
        seconds=_DEADLINE,
    )
    times = []
    for number in range(1, options.kills + 1):
        executors = 1 + (number + 1) % 4
        times.append(await _kill(api, operator, answers, executors=executors))
        progress.say(f"kill {number} of {options.kills}: all known again after {times[-1]:.1f} s")
    listening.cancel()
    after = await _drivers(api, operator)
    changed = sum(after.get(job) != uid for job, uid in before.items())
    return [
        Figure(name="drivers changed", value=changed, unit="", goal="<= 0"),
        Figure(name="all jobs known again, p50", value=percentile(times, 0.5), unit="s"),
        Figure(name="all jobs known again, p90", value=percentile(times, 0.9), unit="s"),
        Figure(name="all jobs known again, longest", value=max(times), unit="s", goal="<= 20"),
    ]


async def _kill(api: Api, operator: Installation, answers: "Answers", *, executors: int) -> float:
    """Kill the operator and change every job; the seconds until all changes are answered."""
    (pod,) = await _operators(api, operator)
    began = time.monotonic()
    # Else it could still answer while Kubernetes takes its pod away.
    processes.of_pod(pod["metadata"]["uid"]).kill()
    path = f"{PODS.format(operator.home)}/{pod['metadata']['name']}"
    await api.delete(path, gracePeriodSeconds="0")
    change = {"spec": {"executors": {"initial": executors}}}
    wanted = {}
    for job in answers.generations:
        changed = await api.merge(f"{JOBS.format(operator.jobs_namespace)}/{job}", change)
        wanted[job] = changed["metadata"]["generation"]
    await wait_until(
        "all changed jobs answered",
        lambda: all(answers.generations[job] >= number for job, number in wanted.items()),
        seconds=_DEADLINE,
    )
    return time.monotonic() - began


async def _operators(api: Api, operator: Installation) -> list[Json]:
    found = await api.list(
        PODS.format(operator.home), labelSelector="app.kubernetes.io/name=sluice"
    )
    return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]


async def _drivers(api: Api, operator: Installation) -> Mapping[str, str]:
    """The uid of each job's driver pod."""
    found = await api.list(PODS.format(operator.jobs_namespace), labelSelector="sluice.dev/job")
    return {
        pod["metadata"]["labels"]["sluice.dev/job"]: pod["metadata"]["uid"]
        for pod in found
        if "deletionTimestamp" not in pod["metadata"]
    }


class Answers:
    """The newest generation of each job that its status has answered."""

    def __init__(self) -> None:
        self.generations: dict[str, int] = {}

    async def listen(self, api: Api, namespace: str) -> None:
        """Follow the jobs until cancelled."""
        async for event in api.watch(JOBS.format(namespace)):
            job = event["object"]
            answered = job.get("status", {}).get("observedGeneration", 0)
            self.generations[job["metadata"]["name"]] = answered


if __name__ == "__main__":
    sys.exit(main())
