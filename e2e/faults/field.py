"""Whom faults are done to: processes of pods by signals from the host, machines and programs of the local cluster."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from bench import processes
from e2e.support.api import Cluster, Json, wait_for
from e2e.support.jobs import IMAGE, Job
from e2e.support.load import SERVERS

_OPERATOR = "app.kubernetes.io/component=operator"


@dataclass(frozen=True, slots=True)
class Field:
    """A job, the operator's namespace, and two machines: `away` is the job's, `home` that of all others."""

    cluster: Cluster
    job: Job
    operator: str
    home: str
    away: str

    def driver_pods(self) -> list[Json]:
        """The driver's pod, if there is one."""
        return [pod for pod in [self.job.driver()] if pod is not None]

    def executor_pods(self) -> list[Json]:
        """The executors' pods that run."""
        selector = f"sluice.dev/job={self.job.name},sluice.dev/role=executor"
        found = self.cluster.list("Pod", self.job.namespace, selector)
        return [pod for pod in found if pod["status"]["phase"] == "Running"]

    def operator_pods(self) -> list[Json]:
        """The operator's pods."""
        return self.cluster.list("Pod", self.operator, _OPERATOR)

    def kafka_pods(self) -> list[Json]:
        """The broker's pod."""
        return self.cluster.list("Pod", self.job.namespace, "app=kafka")

    def kill(self, pods: list[Json], *, program: str = "") -> None:
        """SIGKILL the processes of pods, or those of one program in them."""
        _signal(signal.SIGKILL, pods, program)

    @contextmanager
    def frozen(self, pods: list[Json]) -> Iterator[None]:
        """Let all processes of pods stand still, as on a suspended machine."""
        _signal(signal.SIGSTOP, pods)
        try:
            yield
        finally:
            _signal(signal.SIGCONT, pods)

    @contextmanager
    def without(self, program: str) -> Iterator[None]:
        """No such program of the control plane for a while."""
        _cluster("program", "stop", program)
        try:
            yield
        finally:
            _cluster("program", "start", program)

    @contextmanager
    def machine(self, fault: str, cure: str) -> Iterator[None]:
        """Break the job's machine for a while."""
        _cluster("node", fault, self.away)
        try:
            yield
        finally:
            _cluster("node", cure, self.away)


def _signal(number: signal.Signals, pods: list[Json], program: str = "") -> None:
    for pod in pods:
        for process in processes.of_pod(pod["metadata"]["uid"]).ids:
            if program and program != processes.name_of(process):
                continue
            with suppress(ProcessLookupError):
                os.kill(process, number)


def _cluster(*words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "e2e.cluster", *words],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout


def clear_machine(cluster: Cluster, namespaces: list[str], home: str) -> str:
    """Move all Deployments' pods to the machine `home`; the name of the other one, which is free then."""
    names = [str(node["metadata"]["name"]) for node in cluster.list("Node", "")]
    away = next(name for name in names if name != home)
    cluster.kubectl("cordon", away)
    try:
        for namespace in namespaces:
            for pod in _that_come_again(cluster, namespace):
                if pod["spec"].get("nodeName") == away:
                    cluster.delete("Pod", namespace, pod["metadata"]["name"], grace=0)
        wait_for(
            "all pods at home",
            lambda: all(
                pod["spec"].get("nodeName") == home and pod["status"]["phase"] == "Running"
                for namespace in namespaces
                for pod in _that_come_again(cluster, namespace)
            ),
            seconds=120,
        )
    finally:
        cluster.kubectl("uncordon", away)
    return away


def _that_come_again(cluster: Cluster, namespace: str) -> list[Json]:
    return [pod for pod in cluster.list("Pod", namespace) if pod["metadata"].get("ownerReferences")]


@contextmanager
def sender(
    cluster: Cluster, namespace: str, topic: str, *, rate: int, node: str = ""
) -> Iterator[None]:
    """A pod that sends numbered records; it needs no API server, as `kubectl exec` would."""
    name = f"sender-{topic}"
    security = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    words = (
        *("python3", "-m", "jobs.load.generate", "--bootstrap-servers", SERVERS),
        *("--topic", topic, "--schema", "ads", "--trace", f"constant:{rate}"),
        *("--records", str(rate * 86_400)),
    )
    cluster.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "automountServiceAccountToken": False,
                "terminationGracePeriodSeconds": 5,
                "restartPolicy": "Never",
                "nodeSelector": {"kubernetes.io/hostname": node} if node else {},
                "securityContext": {
                    "runAsNonRoot": True,
                    "runAsUser": 185,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "containers": [
                    {
                        "name": "sender",
                        "image": IMAGE,
                        "args": list(words),
                        "workingDir": "/opt",
                        "securityContext": security,
                    }
                ],
            },
        }
    )
    try:
        yield
    finally:
        cluster.delete("Pod", namespace, name)
        wait_for(
            "the sender's end", lambda: cluster.get("Pod", namespace, name) is None, seconds=60
        )
        time.sleep(1)
