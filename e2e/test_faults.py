"""No fault costs a record, starts a second writer, or needs a person.

SLUICE_FAULTS=N makes a campaign of N faults of it, whose table goes to bench/results; SLUICE_SEED repeats one.
"""

import os
import random
from collections.abc import Iterator

import pytest

from bench import report
from bench.report import Figure, Result
from e2e.faults import campaign, field
from e2e.faults.catalogue import FAULTS, LEASE_SECONDS
from e2e.faults.field import Field
from e2e.support.api import Cluster, to_yaml
from e2e.support.jobs import CLAIM, Job, passthrough
from e2e.support.load import Load

NAME = "faults"
RATE = 100
IN_FLIGHT = RATE * 10
"""Rows that a driver may leave to be written again: half a minute of them, as a third of the records are views."""

SHORT = (
    "driver killed",
    "executor killed",
    "operator killed",
    "driver frozen for less than its Lease",
    "API server away for less than the Lease",
    "driver deleted by force",
    "Kafka frozen",
    "etcd away",
    "driver frozen for longer than its Lease",
    "all executors killed",
    "driver given up while its machine is frozen",
    "operator and driver killed",
)


@pytest.fixture
def battlefield(cluster: Cluster, namespace: str, operator: str, load: Load) -> Iterator[Field]:
    """A job on a machine of its own."""
    for end in ("in", "out"):
        load.create_topic(f"{NAME}-{end}")
    kafka = cluster.list("Pod", namespace, "app=kafka")[0]
    home = kafka["spec"]["nodeName"]
    away = field.clear_machine(cluster, [namespace, operator], home)
    body = passthrough(
        NAME, checkpoint={"claim": CLAIM, "path": NAME, "leaseDurationSeconds": LEASE_SECONDS}
    )
    prefers = {"weight": 100, "preference": {"matchExpressions": [_on(away)]}}
    place = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [prefers]}}
    for role in ("driver", "executor"):
        body["spec"]["application"][role]["template"] = {"spec": {"affinity": place}}
    cluster.apply(to_yaml(body), namespace)
    job = Job(cluster, namespace, NAME)
    yield Field(cluster, job, operator, home, away)
    cluster.delete("StreamJob", namespace, NAME)
    job.wait_until_gone(seconds=180)


def _on(node: str) -> dict[str, object]:
    return {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}


@pytest.mark.timeout(6 * 3600)
def test_no_fault_costs_a_record_or_needs_a_person(battlefield: Field, load: Load) -> None:
    seed = int(os.environ.get("SLUICE_SEED") or random.randrange(10**6))
    count = int(os.environ.get("SLUICE_FAULTS") or 0)
    names = random.Random(seed).choices([*FAULTS], k=count) if count else list(SHORT)
    print(f"seed {seed}")
    outcomes = []
    there = battlefield
    with field.sender(there.cluster, there.job.namespace, f"{NAME}-in", rate=RATE, node=there.home):
        for outcome in campaign.run(battlefield, names, seed):
            outcomes.append(outcome)
            assert outcome.drivers == 0 or FAULTS[outcome.fault].restarts, outcome
    account = load.check(battlefield.job, seconds=240)
    if count:
        _write(outcomes, account["duplicates"], account["expected"], seed)
    assert account["right"], account
    drivers = sum(outcome.drivers for outcome in outcomes)
    assert account["duplicates"] <= drivers * IN_FLIGHT, "more than the batches in flight"
    assert battlefield.job.read()["status"]["failures"].get("reason") != "AnotherWriter"


def _write(outcomes: list[campaign.Outcome], repeated: int, expected: int, seed: int) -> None:
    runs = {
        f"{number} {outcome.fault}": [
            Figure(name="until cured", value=outcome.harmed, unit="s"),
            Figure(name="from cured to healthy", value=outcome.recovered, unit="s"),
            Figure(name="new drivers", value=outcome.drivers, unit=""),
        ]
        for number, outcome in enumerate(outcomes, 1)
    }
    result = Result(
        name="faults",
        title="Faults, and how the job came back",
        method=f"One job with numbered records ({expected} in all, {repeated} twice in the output of Spark's Kafka "
        "sink, which repeats the batch in flight when a driver dies) on the local cluster. Healthy is: Ready, and a "
        "batch committed since the cure.",
        settings={"seed": seed, "rate": RATE, "lease seconds": LEASE_SECONDS},
        versions=report.versions("kopf", "httpx"),
        runs=runs,
        are_repeats=False,
    )
    print(f"written: {report.write(result)}")
