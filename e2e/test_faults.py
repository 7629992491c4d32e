"""No fault costs a record, starts a second writer, or needs a person.

SLUICE_FAULTS=N makes a campaign of N faults of it, whose table goes to bench/results, and SLUICE_FAULTS='NAME, NAME'
one of these; SLUICE_SEED repeats one.
"""

import os
import random
import secrets
from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from bench import report
from bench.report import Result
from e2e.cluster import layout, records
from e2e.faults import campaign, clock, disk, field, result
from e2e.faults.catalogue import FAULTS, LEASE_SECONDS
from e2e.faults.field import Field
from e2e.support.api import Cluster, Json, to_yaml
from e2e.support.jobs import CLAIM, Job, passthrough
from e2e.support.load import Load
from sluice.core.application import CHECKPOINT_MOUNT

NAME = "faults"
RATE = 100
IN_FLIGHT = RATE * 10
"""Rows that a driver may leave to be written again: half a minute of them, as a third of the records are views."""

ASKED = os.environ.get("SLUICE_FAULTS", "")
"""How many faults, or which; with a disk and a clock of the job's own, which the short campaigns do not need."""

HARDEST = (
    "driver frozen for longer than its Lease",
    "operator and driver killed",
)
OTHERS = (
    "API server away for less than the Lease",
    "driver deleted by force",
    "driver frozen for less than its Lease",
    "Kafka frozen",
    "etcd away",
    "all executors killed",
    "driver given up while its machine is frozen",
)
"""What no other test does: those of survival and drills kill drivers, operators and executors one at a time."""

CAMPAIGNS = [
    pytest.param(HARDEST, id="the hardest"),
    pytest.param(OTHERS, id="others", marks=pytest.mark.thorough),
]


@pytest.fixture
def battlefield(cluster: Cluster, namespace: str, operator: str, load: Load) -> Iterator[Field]:
    """A job on a machine of its own."""
    paths = layout.paths_from(os.environ, is_root=os.geteuid() == 0)
    if records.require(paths).provider == records.KIND:
        pytest.skip(
            "faults are done to the host's processes and programs, and kind has its own in containers"
        )
    # Each campaign has topics and a checkpoint of its own: its account is of all their records.
    name = f"{NAME}-{secrets.token_hex(2)}"
    for end in ("in", "out"):
        load.create_topic(f"{name}-{end}")
    kafka = cluster.list("Pod", namespace, "app=kafka")[0]
    home = kafka["spec"]["nodeName"]
    away = field.clear_machine(cluster, [namespace, operator], home)
    body = passthrough(
        name, checkpoint={"claim": CLAIM, "path": name, "leaseDurationSeconds": LEASE_SECONDS}
    )
    prefers = {"weight": 100, "preference": {"matchExpressions": [_on(away)]}}
    place = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [prefers]}}
    application = body["spec"]["application"]
    for role in ("driver", "executor"):
        application[role]["template"] = {"spec": {"affinity": place}}
    with disk.small_disk(cluster, namespace) if ASKED else nullcontext() as own:
        if own:
            application["environment"] = clock.settable(own, CHECKPOINT_MOUNT)
        cluster.apply(to_yaml(body), namespace)
        job = Job(cluster, namespace, name)
        yield Field(cluster, job, operator, home, away, own)
        cluster.delete("StreamJob", namespace, name)
        job.wait_until_gone(seconds=180)


def _on(node: str) -> dict[str, object]:
    return {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}


@pytest.mark.alone
@pytest.mark.timeout(6 * 3600)
@pytest.mark.parametrize("faults", [ASKED] if ASKED else CAMPAIGNS)
def test_no_fault_costs_a_record_or_needs_a_person(
    battlefield: Field, load: Load, faults: str | tuple[str, ...]
) -> None:
    seed = int(os.environ.get("SLUICE_SEED") or random.randrange(10**6))
    names = campaign.chosen(faults, seed) if isinstance(faults, str) else list(faults)
    print(f"seed {seed}")
    outcomes = []
    there = battlefield
    try:
        with field.sender(
            there.cluster, there.job.namespace, f"{there.job.name}-in", rate=RATE, node=there.home
        ):
            for outcome in campaign.run(battlefield, names, seed):
                outcomes.append(outcome)
                assert outcome.drivers == 0 or FAULTS[outcome.fault].restarts, outcome
    finally:
        # Also a campaign that had to stop tells of its records.
        account = load.check(battlefield.job, seconds=240)
        if ASKED.isdecimal() and outcomes:
            _write(outcomes, account, seed, asked=len(names))
    assert account["right"], account
    drivers = sum(outcome.drivers for outcome in outcomes)
    assert account["duplicates"] <= drivers * IN_FLIGHT, "more than the batches in flight"
    assert battlefield.job.read()["status"]["failures"].get("reason") != "AnotherWriter"


def _write(outcomes: list[campaign.Outcome], account: Json, seed: int, *, asked: int) -> None:
    written = Result(
        name=NAME,
        title="Faults, and how the job came back",
        method="One job with numbered records on the local cluster, and one fault after the other at random moments, "
        "each kind once before any comes again. A job is healthy when it is Ready and has committed a batch since the "
        "cure; the recovery on record is the operator's own: from the driver's end until no more rows wait than usual. "
        "Records that are there twice are those of batches in flight, which Spark's Kafka sink writes again when a "
        "driver dies.",
        settings={"seed": seed, "rate": RATE, "lease seconds": LEASE_SECONDS},
        versions=report.versions("kopf", "aiohttp"),
        runs={"campaign": result.figures(outcomes, account, asked=asked)},
        notes=result.table(outcomes),
    )
    print(f"written: {report.write(written)}")
