"""What the archive of classes in the Spark image saves when a driver starts.

    .venv/bin/python -m bench.startup [--repeats 5]

It needs the local cluster.
"""

import argparse
import json
import secrets
import sys
from pathlib import Path

from bench import report
from bench.closed_loop.stage import local_cluster
from bench.progress import INTERRUPTED, BenchmarkFailed, Progress, interruptible
from bench.report import Figure, Result
from e2e.support import installing
from e2e.support.api import Cluster, wait_for
from e2e.support.jobs import IMAGE

_JOB = Path(__file__).with_name("startup_job.py")
_KINDS: dict[str, dict[str, str]] = {"archive": {}, "none": {"JAVA_HOME": ""}}
"""How the image is used, by name: its `java`, which maps the archive, is found by that variable."""

_METHOD = (
    "A pod of the Spark image with one driver that works by itself: a query with state, from the rate source. "
    "It is started in turn with the archive of classes that the image has, and without. Processor time is that of all "
    "processes of the pod until the second batch is committed, and the time to the session and to that batch is told, "
    "too. Each ratio is of two neighbours."
)

Told = dict[str, float]


def main() -> int:
    """Measure and write the result."""
    options, progress = _options(), Progress()
    try:
        with interruptible():
            runs = _measured(local_cluster(), options.repeats, progress)
    except (BenchmarkFailed, AssertionError) as failure:
        print(f"The benchmark failed: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    result = Result(
        name="startup",
        title="The start of a driver",
        method=_METHOD,
        settings={"repeats": options.repeats},
        versions=report.versions(),
        runs=runs,
    )
    progress.say(f"written: {report.write(result)}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=".venv/bin/python -m bench.startup")
    parser.add_argument("--repeats", type=int, default=5, help="how often (5)")
    return parser.parse_args()


def _measured(cluster: Cluster, repeats: int, progress: Progress) -> dict[str, list[Figure]]:
    runs = {}
    with installing.namespace(cluster, f"startup-{secrets.token_hex(3)}") as namespace:
        for turn in range(1, repeats + 1):
            told = {}
            for kind, environment in _KINDS.items():
                told[kind] = _started(cluster, namespace, f"{kind}-{turn}", environment)
                progress.say(f"{turn} of {repeats}, {kind}: {told[kind]}")
            runs[f"run {turn}"] = _figures(told["archive"], told["none"])
    return runs


def _started(cluster: Cluster, namespace: str, name: str, environment: dict[str, str]) -> Told:
    """What the program in a pod of this name tells."""
    security = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    container = {
        "name": "driver",
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "args": ["python3", "-c", _JOB.read_text()],
        "env": [{"name": key, "value": value} for key, value in environment.items()],
        "securityContext": security,
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "automountServiceAccountToken": False,
            "restartPolicy": "Never",
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 185,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [container],
        },
    }
    cluster.create(pod)
    ended = wait_for(f"the end of {name}", lambda: _ended(cluster, namespace, name), seconds=300)
    log = cluster.kubectl("logs", name, "-n", namespace)
    assert ended == "Succeeded", log
    told: Told = json.loads(next(line for line in log.splitlines() if line.startswith("{")))
    return told


def _ended(cluster: Cluster, namespace: str, name: str) -> str | None:
    pod = cluster.get("Pod", namespace, name)
    phase = pod["status"].get("phase") if pod else None
    return phase if phase in ("Succeeded", "Failed") else None


def _figures(archive: Told, none: Told) -> list[Figure]:
    def ratio(of: str) -> float:
        return archive[of] / none[of]

    return [
        Figure(name="processor time", value=archive["processor"], unit="s"),
        Figure(name="processor time, without", value=none["processor"], unit="s"),
        Figure(name="processor time, ratio", value=ratio("processor"), unit="x", goal="<= 0.75"),
        Figure(name="session", value=archive["session"], unit="s"),
        Figure(name="session, without", value=none["session"], unit="s"),
        Figure(name="second batch", value=archive["batches"], unit="s"),
        Figure(name="second batch, without", value=none["batches"], unit="s"),
        Figure(name="second batch, ratio", value=ratio("batches"), unit="x"),
    ]


if __name__ == "__main__":
    sys.exit(main())
