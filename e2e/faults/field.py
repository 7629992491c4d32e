"""Whom faults are done to: processes of pods by signals from the host, machines and programs of the local cluster."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bench import processes
from e2e.faults import clock, commands, disk
from e2e.support.api import Cluster, Json, wait_for
from e2e.support.jobs import IMAGE, Job
from e2e.support.load import SERVERS
from sluice.core.application import CHECKPOINT_MOUNT

_TABLE = "inet campaign"
_HOOK = "{ type filter hook output priority 0; }"
_OPERATOR = "app.kubernetes.io/component=operator"


@dataclass(frozen=True, slots=True)
class Field:
    """A job, the operator's namespace, and two machines: `away` is the job's, `home` that of all others."""

    cluster: Cluster
    job: Job
    operator: str
    home: str
    away: str
    disk: Path | None = None
    """Where the disk of its checkpoint is on the host, if it has one of its own."""

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
        commands.cluster("program", "stop", program)
        try:
            yield
        finally:
            commands.cluster("program", "start", program)

    @contextmanager
    def kubelet_frozen(self) -> Iterator[None]:
        """Nobody on the job's machine follows the API server for a while; what runs there goes on."""
        (kubelet,) = self._of_kubelet("kubelet")
        os.kill(kubelet, signal.SIGSTOP)
        try:
            yield
        finally:
            # What has started it stops with it, and would never see its end.
            for one in (kubelet, *self._of_kubelet("nsenter")):
                os.kill(one, signal.SIGCONT)

    def _of_kubelet(self, program: str) -> list[int]:
        """The processes of a program whose command names the kubelet of the job's machine."""
        commands = {one: processes.command_of(one) for one in processes.running(program).ids}
        return [
            one
            for one, command in commands.items()
            if "kubelet" in command and f"/{self.away}/" in command
        ]

    @contextmanager
    def driver_cut_off(self, *ports: int) -> Iterator[None]:
        """The driver reaches none of these ports for a while, whoever listens there."""
        rule = f"tcp dport {{ {', '.join(map(str, ports))} }} drop"
        inside = ("nsenter", "--target", str(_first_process(self.driver_pods()[0])), "--net")
        commands.run(
            *(*inside, "nft", f"add table {_TABLE}; add chain {_TABLE} out {_HOOK};"),
            f"add rule {_TABLE} out {rule}",
        )
        try:
            yield
        finally:
            # The pod may be gone, and its network with it.
            subprocess.run(
                [*inside, "nft", "delete", "table", *_TABLE.split()], capture_output=True
            )

    @contextmanager
    def no_more_pods(self) -> Iterator[None]:
        """A quota that is used up."""
        quota = {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "used-up", "namespace": self.job.namespace},
            "spec": {"hard": {"pods": "0"}},
        }
        self.cluster.create(quota)
        try:
            yield
        finally:
            self.cluster.delete("ResourceQuota", self.job.namespace, "used-up")

    @contextmanager
    def no_image(self) -> Iterator[None]:
        """The job's machine has no image of it for a while, and can pull none."""
        images, hidden = ("enter", self.away, "ctr", "images"), f"{IMAGE}-hidden"
        commands.cluster(*images, "tag", "--force", IMAGE, hidden)
        commands.cluster(*images, "rm", IMAGE)
        try:
            yield
        finally:
            commands.cluster(*images, "tag", "--force", hidden, IMAGE)
            commands.cluster(*images, "rm", hidden)

    def make_checkpoint_read_only(self) -> None:
        """The disk under the checkpoint takes no more, as after an error; the next driver finds it mended."""
        process = str(_first_process(self.driver_pods()[0]))
        commands.run(sys.executable, "-m", "e2e.faults.remounting", process, CHECKPOINT_MOUNT)

    def disk_full(self) -> AbstractContextManager[None]:
        """The disk under the checkpoint has no byte left for a while, whoever writes to it."""
        return disk.filled(self._own_disk())

    def clock_set_by(self, seconds: int) -> AbstractContextManager[None]:
        """The clock of driver and executors is wrong for a while, and then right again."""
        return clock.set_by(self._own_disk(), seconds)

    def _own_disk(self) -> Path:
        assert self.disk is not None, "the job has no disk of its own"
        return self.disk

    def use_up_memory(self) -> None:
        """Fill the driver's memory until the kernel kills its JVM."""
        pod = self.driver_pods()[0]
        for one in processes.of_pod(pod["metadata"]["uid"]).ids:
            if processes.name_of(one) == "java":
                Path(f"/proc/{one}/oom_score_adj").write_text("1000")
        words = ("exec", pod["metadata"]["name"], "-n", self.job.namespace, "-c", "driver", "--")
        balloon = "held = []\nwhile True: held.append(bytearray(b'x' * (1 << 20)))"
        self.cluster.kubectl(*words, "timeout", "30", "python3", "-c", balloon, check=False)

    @contextmanager
    def machine(self, fault: str, cure: str) -> Iterator[None]:
        """Break the job's machine for a while."""
        commands.cluster("node", fault, self.away)
        try:
            yield
        finally:
            commands.cluster("node", cure, self.away)


def _signal(number: signal.Signals, pods: list[Json], program: str = "") -> None:
    for pod in pods:
        for process in processes.of_pod(pod["metadata"]["uid"]).ids:
            if program and program != processes.name_of(process):
                continue
            with suppress(ProcessLookupError):
                os.kill(process, number)


def _first_process(pod: Json) -> int:
    """One that has the pod's namespaces."""
    first, *_ = processes.of_pod(pod["metadata"]["uid"]).ids
    return first


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
    """A pod that sends numbered records for as long as the block runs."""
    what = ("--schema", "ads", "--trace", f"constant:{rate}", "--records", str(rate * 86_400))
    with sending(cluster, namespace, topic, *what, node=node):
        yield


@contextmanager
def sending(
    cluster: Cluster, namespace: str, topic: str, *what: str, node: str = ""
) -> Iterator[str]:
    """A pod with the load generator and these options; its name. It needs no API server, as `kubectl exec` would."""
    name = f"sender-{topic}"
    security = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    words = (
        *("python3", "-m", "jobs.load.generate", "--bootstrap-servers", SERVERS),
        *("--topic", topic, *what),
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
        yield name
    finally:
        cluster.delete("Pod", namespace, name)
        wait_for(
            "the sender's end", lambda: cluster.get("Pod", namespace, name) is None, seconds=60
        )
        time.sleep(1)
