"""Copies write to no sink, whatever the program's is: what production wrote is counted row by row.

Part of `make profile-drill`. `make test` shows the same of the Kafka sink.
"""

import json

import pytest

from e2e.support.api import Cluster, Json, to_yaml
from e2e.support.jobs import Job, enrichment
from e2e.support.load import Load
from e2e.support.profiles import Profile

WAIT = 8
"""Milliseconds for each record: a core does 125 records per second at most."""
RECORDS = 30_000

COUNT = """
import glob, json, os
folder = os.environ["SLUICE_CHECKPOINT_LOCATION"].removeprefix("file://") + "-out"
lines = (line for file in glob.glob(f"{folder}/*.json") for line in open(file))
numbers = [json.loads(json.loads(line)["value"])["sequence"] for line in lines]
print(json.dumps({"rows": len(numbers), "records": len(set(numbers))}))
"""


@pytest.mark.parametrize("sink", ["foreach-batch", "files", "table"])
def test_copies_write_to_no_sink_also_when_the_operator_is_killed(
    cluster: Cluster,
    namespace: str,
    places: tuple[str, ...],
    operator: str,
    load: Load,
    sink: str,
) -> None:
    name = f"sink-{sink}"
    load.create_topic(f"{name}-in", partitions=12)
    load.create_topic(f"{name}-out", partitions=4)
    body = enrichment(name, WAIT)
    body["spec"]["application"]["arguments"] += [
        f"--sink={sink}",
        "--output-directory=$(SLUICE_CHECKPOINT_LOCATION)-out",
    ]
    body["spec"]["scaling"] = {"mode": "Off"}
    body["spec"]["executors"]["initial"] = 2
    cluster.apply(to_yaml(body), namespace)
    job, profile = Job(cluster, namespace, name), Profile(cluster, namespace, name, places)
    try:
        job.wait_until_ready()
        load.send(f"{name}-in", rate=4000, records=RECORDS, schema="enrichment")
        profile.start(name, executors=[1])
        profile.wait_until_measuring()
        cluster.kubectl("delete", "pod", "-n", operator, "--all", "--grace-period=0", "--force")
        status = profile.wait_until_ended()
        print(f"{sink}: {status['points']}", flush=True)
        (point,) = status["points"]
        assert 0.3 * 1000 / WAIT < point["rowsPerSecond"] < 1.1 * 1000 / WAIT
        _wait_for_all(job, load, sink)
        assert job.read()["status"]["incarnation"] == 1
    finally:
        profile.delete()
        cluster.delete("StreamJob", namespace, name)
        job.wait_until_gone(seconds=180)


def _wait_for_all(job: Job, load: Load, sink: str) -> None:
    """Production wrote each record, and nobody wrote one again."""
    if sink == "foreach-batch":
        account = load.check(job, kind="enrichment")
        assert (account["missing"], account["duplicates"]) == (0, 0), account
        return
    job.wait("all rows", lambda _: _count(job)["records"] == RECORDS)
    assert _count(job)["rows"] == RECORDS


def _count(job: Job) -> Json:
    words = ("exec", f"{job.name}-driver", "-n", job.namespace, "--", "python3", "-c", COUNT)
    counted: Json = json.loads(job.cluster.kubectl(*words).splitlines()[-1])
    return counted
