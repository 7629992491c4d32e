"""What a restart by the operator takes, beside what Spark itself needs for the same program on the same checkpoint.

`make restart-drill`: five of each in turn, ten minutes. It writes bench/results/restart.
"""

import os
import statistics
import time
from datetime import datetime

import pytest

from bench import report
from bench.report import Figure, Result
from e2e.faults.field import sender
from e2e.support.api import Cluster, Json, to_yaml, wait_for
from e2e.support.jobs import Job, passthrough
from e2e.support.load import Load

NAME = "restarted"
TIMES = int(os.environ.get("SLUICE_RESTARTS", "5"))
RATE = 100
WARM = 10.0
"""Seconds that a driver works before it is restarted."""

_PAUSE = "sluice.dev/paused"


@pytest.mark.timeout(3600)
def test_a_restart_takes_little_longer_than_spark_itself_needs(
    cluster: Cluster, namespace: str, operator: str, load: Load
) -> None:
    for end in ("in", "out"):
        load.create_topic(f"{NAME}-{end}")
    cluster.apply(to_yaml(passthrough(NAME)), namespace)
    job = Job(cluster, namespace, NAME)
    try:
        with sender(cluster, namespace, f"{NAME}-in", rate=RATE):
            job.wait_until_ready()
            ours, sparks = [], []
            for turn in range(TIMES):
                time.sleep(WARM)
                ours.append(_restarted_by_the_operator(job, turn))
                time.sleep(WARM)
                sparks.append(_restarted_by_hand(job))
                print(f"{turn + 1} of {TIMES}: {ours[-1]:.1f} s, Spark {sparks[-1]:.1f} s")
                _give_back(job)
        compared = load.check(job)
        assert compared["missing"] == 0
        _write(ours, sparks)
    finally:
        cluster.delete("StreamJob", namespace, NAME)
        job.wait_until_gone(seconds=180)


def _restarted_by_the_operator(job: Job, turn: int) -> float:
    """Seconds from a changed spec to the first batch of the driver that has it."""
    before = job.read()["status"]["incarnation"]
    began = time.time()
    job.patch(application={"environment": [{"name": "TURN", "value": str(turn)}]})
    job.wait("the next driver", lambda it: it["status"]["incarnation"] == before + 1, seconds=60)
    return _first_commit(job, _started(job)) - began


def _restarted_by_hand(job: Job) -> float:
    """Seconds from the end of the driver's pod to the first batch of one like it, but without operator and agent."""
    _annotate(job, f"{_PAUSE}=true")
    pod = job.driver()
    assert pod is not None
    began = time.time()
    job.cluster.delete("Pod", job.namespace, pod["metadata"]["name"])
    wait_for("the driver's end", lambda: job.driver() is None, seconds=60, every=0.1)
    job.cluster.create(_without_agent(pod))
    return _first_commit(job, _started(job)) - began


def _started(job: Job) -> float:
    """When the present driver's pod was created: a whole second, and no commit of the former one is later."""

    def created() -> str | None:
        pod = job.driver() or {"metadata": {}}
        is_leaving = "deletionTimestamp" in pod["metadata"]
        return None if is_leaving else pod["metadata"].get("creationTimestamp")

    return datetime.fromisoformat(wait_for("its pod", created, seconds=60)).timestamp()


def _without_agent(pod: Json) -> Json:
    """The driver's pod with the program as its process; the operator takes it for none of its own."""
    container = pod["spec"]["containers"][0]
    program = {**container, "args": ["python3", *container["args"][2:]]}
    fields = ("terminationGracePeriodSeconds", "serviceAccountName", "securityContext", "volumes")
    kept = {name: value for name, value in pod["spec"].items() if name in fields}
    own = [one for one in kept["volumes"] if not one["name"].startswith("kube-api-access")]
    mounts = [one for one in program["volumeMounts"] if "serviceaccount" not in one["mountPath"]]
    metadata = {name: pod["metadata"][name] for name in ("name", "namespace")}
    spec = {
        **kept,
        "volumes": own,
        "restartPolicy": "Never",
        "containers": [{**program, "volumeMounts": mounts}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _first_commit(job: Job, began: float) -> float:
    """When the checkpoint got its first commit since a moment of which there was a driver, in seconds since 1970."""

    def told() -> float | None:
        words = ("exec", f"{job.name}-driver", "-n", job.namespace, "-c", "driver", "--", "find")
        where = (f"/checkpoint/{job.name}", "-path", "*/commits/[0-9]*", "-printf", "%T@\\n")
        found = job.cluster.kubectl_process(*words, *where)
        moments = [] if found.returncode else [float(line) for line in found.stdout.split()]
        return min((at for at in moments if at > began), default=None)

    return wait_for("a first batch", told, seconds=180)


def _give_back(job: Job) -> None:
    """Let the operator have the job again."""
    before = job.read()["status"]["incarnation"]
    job.cluster.delete("Pod", job.namespace, f"{job.name}-driver")
    wait_for("the driver's end", lambda: job.driver() is None, seconds=60)
    _annotate(job, f"{_PAUSE}-")
    job.wait_until_ready(incarnation=before + 1)


def _annotate(job: Job, change: str) -> None:
    job.cluster.kubectl("annotate", "sj", job.name, "-n", job.namespace, change)


def _write(ours: list[float], sparks: list[float]) -> None:
    ratio = statistics.median(ours) / statistics.median(sparks)
    figures = [
        Figure(name="operator, median", value=statistics.median(ours), unit="s"),
        Figure(name="operator, longest", value=max(ours), unit="s"),
        Figure(name="Spark itself, median", value=statistics.median(sparks), unit="s"),
        Figure(name="Spark itself, longest", value=max(sparks), unit="s"),
        Figure(name="operator by Spark itself", value=ratio, unit="x", goal="<= 1.5"),
    ]
    result = Result(
        name="restart",
        title="A restart on the same checkpoint",
        method="One job with one executor under load on the local cluster, restarted in turn by the operator and by "
        "hand. The operator's time runs from the change of the spec to the first commit of the next driver "
        "in the checkpoint. By hand the pod is deleted, and the same pod with the program alone in it is created when "
        "it is gone: no operator, no agent, no Lease; time runs from the deletion. Both stop the driver by SIGTERM.",
        settings={"times": TIMES, "rate": RATE},
        versions=report.versions("kopf"),
        runs={"run 1": figures},
    )
    print(f"written: {report.write(result)}")
