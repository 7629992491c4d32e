"""Kafka and the load generator inside the cluster, used through one pod that stays."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from e2e.support.api import Cluster, Json, wait_for
from e2e.support.jobs import IMAGE, Job

SERVERS = "kafka:9092"

_TOOLS: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "tools"},
    "spec": {
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 1,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 185,
            "runAsGroup": 185,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": "tools",
                "image": IMAGE,
                "imagePullPolicy": "IfNotPresent",
                "args": ["sleep", "infinity"],
                "workingDir": "/opt",
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                },
            }
        ],
    },
}


_DELETE = """
import json, sys
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
servers, topic, newest = sys.argv[1], sys.argv[2], int(sys.argv[3])
consumer = Consumer({"bootstrap.servers": servers, "group.id": "deleting"})
admin = AdminClient({"bootstrap.servers": servers})
names = [TopicPartition(topic, number) for number in consumer.list_topics(topic).topics[topic].partitions]
ends = {one.partition: consumer.get_watermark_offsets(one)[1] for one in names}
before = [TopicPartition(topic, number, max(0, end - newest)) for number, end in ends.items()]
for deleted in admin.delete_records(before).values():
    deleted.result(60)
kept = [consumer.get_watermark_offsets(one) for one in names]
consumer.close()
print(json.dumps({"left": sum(end - begin for begin, end in kept)}))
"""


@dataclass(frozen=True, slots=True)
class Load:
    """The load generator, the checker and topics of a namespace."""

    cluster: Cluster
    namespace: str
    _begun: "list[subprocess.Popen[str]]" = field(default_factory=list)

    def set_up(self) -> None:
        """Start Kafka and the pod for the tools, and wait until both answer."""
        with open("e2e/images/kafka/kafka.yaml") as manifest:
            self.cluster.apply(manifest.read(), self.namespace)
        self.cluster.create({**_TOOLS, "metadata": {"name": "tools", "namespace": self.namespace}})
        wait_for("Kafka", self._kafka_answers, seconds=180)

    def close(self) -> None:
        """End what a test that failed has left at work."""
        for process in self._begun:
            if process.poll() is None:
                process.kill()
                process.communicate()

    def _kafka_answers(self) -> bool:
        kafka = self.cluster.get("Deployment", self.namespace, "kafka") or {}
        if not (kafka.get("status") or {}).get("readyReplicas"):
            return False
        probe = self._exec("python3", "-c", "import jobs.load.topics")
        probe.communicate()
        return probe.returncode == 0

    def create_topic(self, topic: str, partitions: int = 4) -> None:
        """Create a topic."""
        code = "import sys; from jobs.load import topics; topics.ensure_topic(*sys.argv[1:3], int(sys.argv[3]))"
        process = self._exec("python3", "-c", code, SERVERS, topic, str(partitions))
        output = process.communicate()[0]
        assert process.returncode == 0, output

    def delete_all_but(self, topic: str, newest: int) -> int:
        """Let Kafka delete all records but so many of each partition, as retention would; how many are left."""
        process = self._exec("python3", "-c", _DELETE, SERVERS, topic, str(newest))
        return int(result_of(process)["left"])

    def send(self, topic: str, *, rate: int, records: int, schema: str = "ads") -> Json:
        """Send so many numbered records at a steady rate; the generator's account."""
        return result_of(self.start_sending(topic, rate=rate, records=records, schema=schema))

    def start_sending(
        self, topic: str, *, rate: int, records: int, schema: str = "ads"
    ) -> "subprocess.Popen[str]":
        """Begin to send; `result_of` waits for the end."""
        return self._generate(topic, schema, f"constant:{rate}", "--records", str(records))

    def start_replaying(
        self, topic: str, trace: str, *, seconds: int, schema: str
    ) -> "subprocess.Popen[str]":
        """Begin to replay a trace; `result_of` waits for the end."""
        return self._generate(topic, schema, trace, "--duration", str(seconds))

    def _generate(
        self, topic: str, schema: str, trace: str, *until: str
    ) -> "subprocess.Popen[str]":
        return self._exec(
            *("python3", "-m", "jobs.load.generate", "--bootstrap-servers", SERVERS),
            *("--topic", topic, "--schema", schema, "--trace", trace, *until),
        )

    @contextmanager
    def kafka_down(self) -> Iterator[None]:
        """No broker for a while; its topics are lost with it."""
        self._scale_kafka(0)
        try:
            yield
        finally:
            self._scale_kafka(1)
            wait_for("Kafka", self._kafka_answers, seconds=180)

    def _scale_kafka(self, replicas: int) -> None:
        words = ("scale", "deployment", "kafka", "-n", self.namespace, f"--replicas={replicas}")
        self.cluster.kubectl(*words)
        wait_for(
            f"{replicas} brokers",
            lambda: len(self.cluster.list("Pod", self.namespace, "app=kafka")) == replicas,
            seconds=120,
        )

    def check(
        self, job: Job, *, seconds: int = 120, kind: str = "advertisement-passthrough"
    ) -> Json:
        """Compare a job's output with its input, record by record, waiting for what is missing."""
        return result_of(
            self._exec(
                *("python3", "-m", "jobs.load.check", "--bootstrap-servers", SERVERS),
                *("--job", kind, "--input-topic", f"{job.name}-in"),
                *("--output-topic", f"{job.name}-out", "--wait", str(seconds)),
            ),
            may_fail=True,
        )

    def _exec(self, *words: str) -> "subprocess.Popen[str]":
        command = [
            "python3",
            "-m",
            "e2e.cluster",
            "kubectl",
            "exec",
            "-n",
            self.namespace,
            "tools",
            "--",
        ]
        process = subprocess.Popen(
            [*command, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self._begun.append(process)
        return process


def result_of(process: "subprocess.Popen[str]", *, may_fail: bool = False) -> Json:
    """The JSON on the last line of a tool's output."""
    output = process.communicate()[0].strip()
    assert may_fail or process.returncode == 0, output
    lines = [line for line in output.splitlines() if line.startswith("{")]
    assert lines, output
    result: dict[str, Any] = json.loads(lines[-1])
    return result
