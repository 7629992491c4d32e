"""Who reaches whom: small pods that serve or ask, and what each of them gets through to."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from e2e.support.api import Cluster, Json, condition, wait_for
from e2e.support.jobs import IMAGE

PORT = 8000
# With room for many that wait: a refused connection must mean a policy, not a busy host.
_SERVER = """
import socket, sys
server = socket.create_server(("", int(sys.argv[1])), backlog=128)
while True:
    server.accept()[0].close()
"""
SERVE = ("python3", "-c", _SERVER, str(PORT))
WAIT = ("sleep", "infinity")

# For each line of its input, tries all NAME=HOST:PORT at once, and prints a JSON list of the names that answered.
_PROBE = """
import json, socket, sys
from concurrent.futures import ThreadPoolExecutor

def reaches(target):
    host, port = target.partition("=")[2].split(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
    except OSError:
        return False
    return True

pool = ThreadPoolExecutor(len(sys.argv))
for line in sys.stdin:
    answers = list(pool.map(reaches, sys.argv[1:]))
    names = [target.partition("=")[0] for target, yes in zip(sys.argv[1:], answers) if yes]
    print(json.dumps(names), flush=True)
"""

# Connects again and again until its standard input ends, and prints how often, and how often in vain.
_LOOP = """
import json, socket, sys, threading

ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
host, port = sys.argv[1].split(":")
told = {"tries": 0, "failures": 0}
while not ended.wait(0.05):
    told["tries"] += 1
    try:
        socket.create_connection((host, int(port)), timeout=2).close()
    except OSError:
        told["failures"] += 1
print(json.dumps(told))
"""


def pod(name: str, namespace: str, node: str, command: tuple[str, ...], **labels: str) -> Json:
    """A pod on a node; DNS that does not answer costs it a second."""
    probe = {"tcpSocket": {"port": "http"}, "periodSeconds": 1}
    server = {"ports": [{"name": "http", "containerPort": PORT}], "readinessProbe": probe}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"name": name, **labels}},
        "spec": {
            "nodeName": node,
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
            "dnsConfig": {
                "options": [{"name": "timeout", "value": "1"}, {"name": "attempts", "value": "1"}]
            },
            "containers": [
                {
                    "name": "main",
                    "image": IMAGE,
                    "imagePullPolicy": "IfNotPresent",
                    "args": list(command),
                    **(server if command == SERVE else {}),
                }
            ],
        },
    }


def service(name: str, namespace: str) -> Json:
    """A Service in front of the pod of the same name."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"name": name}, "ports": [{"port": PORT}]},
    }


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The pods of a namespace, and what they may try to reach, by name as HOST:PORT."""

    cluster: Cluster
    namespace: str
    targets: Mapping[str, str]

    def wait_until_reached(self, by: Mapping[str, set[str]], *, seconds: float = 60) -> None:
        """Each of these pods reaches its targets, and nothing else."""
        words = [f"{target}={where}" for target, where in self.targets.items()]
        seen: dict[str, set[str]] = {}
        with ExitStack() as stack:
            probes = {name: stack.enter_context(self._python(name, _PROBE, *words)) for name in by}

            def as_wanted() -> bool:
                for probe in probes.values():
                    _tell(probe, "again\n")
                seen.update({name: set(_answer(probe)) for name, probe in probes.items()})
                return seen == by

            try:
                wait_for("such isolation", as_wanted, seconds=seconds, every=0.1)
            except AssertionError as error:
                raise AssertionError(f"{error}; wanted {dict(by)}, reached {seen}") from None

    @contextmanager
    def connecting(self, name: str, target: str) -> Iterator[dict[str, int]]:
        """Have a pod connect all the time; what it counted is in the result afterwards."""
        counted: dict[str, int] = {}
        with self._python(name, _LOOP, self.targets[target]) as process:
            yield counted
            assert process.stdin is not None
            process.stdin.close()
            counted.update(_answer(process))

    @contextmanager
    def _python(self, pod: str, code: str, *words: str) -> "Iterator[subprocess.Popen[str]]":
        """Run Python in a pod until its input ends."""
        command = ("exec", "-i", "-n", self.namespace, pod, "--", "python3", "-c", code)
        with subprocess.Popen(
            [sys.executable, "-m", "e2e.cluster", "kubectl", *command, *words],
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process:
            yield process

    def start(self, body: Json) -> None:
        """Start a pod, and wait until it is ready."""
        self.cluster.create(body)
        self.wait_until_ready(body["metadata"]["name"])

    def wait_until_ready(self, *names: str) -> None:
        """All these pods are ready."""

        def ready() -> bool:
            pods = (self.cluster.get("Pod", self.namespace, name) or {} for name in names)
            return all(condition(each, "Ready").get("status") == "True" for each in pods)

        wait_for(f"readiness of {', '.join(names)}", ready, seconds=120)


def _tell(process: "subprocess.Popen[str]", words: str) -> None:
    assert process.stdin is not None
    process.stdin.write(words)
    process.stdin.flush()


def _answer(process: "subprocess.Popen[str]") -> Any:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, f"no answer of {process.args!r}"
    return json.loads(line)
