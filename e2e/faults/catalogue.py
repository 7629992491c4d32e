"""What is done to a job, its operator and its cluster. Each fault does its harm, and cures it where the world would."""

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from e2e.faults.field import Field
from e2e.support.api import wait_for

LEASE_SECONDS = 20
"""What the Lease of the campaign's job lasts; the outages below are shorter or longer on purpose."""

UNTIL_NODE_IS_LOST = 40.0
"""Seconds after which the local cluster has long given up a silent kubelet."""

CLOCK_JUMP = 60
"""Seconds; longer than the Lease lasts."""

KAFKA, API_SERVER = (9092,), (443, 6443)
"""Ports."""

Harm = Callable[[Field, random.Random], None]


@dataclass(frozen=True, slots=True)
class Fault:
    """A harm, and whether the job may need a new driver for it."""

    harm: Harm
    restarts: bool


def _kill_driver(field: Field, _: random.Random) -> None:
    field.kill(field.driver_pods())


def _kill_jvm(field: Field, _: random.Random) -> None:
    field.kill(field.driver_pods(), program="java")


def _delete_driver_by_force(field: Field, _: random.Random) -> None:
    field.cluster.delete("Pod", field.job.namespace, f"{field.job.name}-driver", grace=0)


def _freeze_driver_shortly(field: Field, _: random.Random) -> None:
    with field.frozen(field.driver_pods()):
        time.sleep(LEASE_SECONDS / 2)


def _freeze_driver_for_long(field: Field, _: random.Random) -> None:
    with field.frozen(field.driver_pods()):
        time.sleep(LEASE_SECONDS * 1.5)


def _give_up_frozen_driver(field: Field, chance: random.Random) -> None:
    """The machine stands still, its pod is deleted by force, and it wakes up when the next driver works."""
    before = field.job.read()["status"]["incarnation"]
    # Else the scheduler would send the next driver there for as long as nobody notices.
    field.cluster.kubectl("cordon", field.away)
    try:
        with field.machine("freeze", "thaw"):
            _delete_driver_by_force(field, chance)
            field.job.wait_until_ready(incarnation=before + 1)
    finally:
        field.cluster.kubectl("uncordon", field.away)


def _kill_executor(field: Field, chance: random.Random) -> None:
    field.kill([chance.choice(field.executor_pods())])


def _kill_all_executors(field: Field, _: random.Random) -> None:
    field.kill(field.executor_pods())


def _kill_operator(field: Field, _: random.Random) -> None:
    field.kill(field.operator_pods())


def _freeze_operator(field: Field, _: random.Random) -> None:
    with field.frozen(field.operator_pods()):
        time.sleep(30)


def _stop_api_server_shortly(field: Field, _: random.Random) -> None:
    with field.without("apiserver"):
        time.sleep(LEASE_SECONDS / 3)


def _stop_api_server_for_long(field: Field, _: random.Random) -> None:
    with field.without("apiserver"):
        time.sleep(LEASE_SECONDS * 2)


def _stop_api_server_for_minutes(field: Field, _: random.Random) -> None:
    with field.without("apiserver"):
        time.sleep(180)


def _stop_etcd(field: Field, _: random.Random) -> None:
    with field.without("etcd"):
        time.sleep(LEASE_SECONDS / 3)


def _freeze_kafka(field: Field, _: random.Random) -> None:
    with field.frozen(field.kafka_pods()):
        time.sleep(20)


def _cut_machine(field: Field, _: random.Random) -> None:
    with field.machine("cut", "join"):
        time.sleep(LEASE_SECONDS / 2)


def _freeze_kubelet(field: Field, _: random.Random) -> None:
    with field.kubelet_frozen():
        time.sleep(UNTIL_NODE_IS_LOST)


def _freeze_kubelet_and_kill_driver(field: Field, chance: random.Random) -> None:
    """Nobody tells the API server of the driver's end, nor may start another there."""
    with field.kubelet_frozen():
        _kill_driver(field, chance)
        time.sleep(UNTIL_NODE_IS_LOST)


def _cut_driver_from(*ports: int) -> Harm:
    def harm(field: Field, _: random.Random) -> None:
        with field.driver_cut_off(*ports):
            time.sleep(LEASE_SECONDS / 2)

    return harm


def _break_checkpoint(field: Field, _: random.Random) -> None:
    field.make_checkpoint_read_only()


def _fill_disk(field: Field, _: random.Random) -> None:
    """Until a driver has failed by it, and while the next one starts."""
    before = field.job.read()["status"]["incarnation"]
    with field.disk_full():
        wait_for(
            "a driver that finds no space",
            lambda: field.job.read()["status"]["incarnation"] > before,
            seconds=60,
        )
        time.sleep(20)


def _set_clock_by(seconds: int) -> Harm:
    def harm(field: Field, _: random.Random) -> None:
        with field.clock_set_by(seconds):
            time.sleep(20)

    return harm


def _use_up_memory(field: Field, _: random.Random) -> None:
    field.use_up_memory()


def _use_up_quota_and_kill_driver(field: Field, chance: random.Random) -> None:
    with field.no_more_pods():
        _kill_driver(field, chance)
        time.sleep(20)


def _remove_image_and_kill_driver(field: Field, chance: random.Random) -> None:
    with field.no_image():
        _kill_driver(field, chance)
        time.sleep(20)


def _delete_secret_and_kill_driver(field: Field, chance: random.Random) -> None:
    field.cluster.delete("Secret", field.job.namespace, f"{field.job.name}-auth")
    _kill_driver(field, chance)


def _edit_lease(field: Field, _: random.Random) -> None:
    """Somebody takes the Lease by hand."""
    selector = f"sluice.dev/job={field.job.name}"
    for lease in field.cluster.list("Lease", field.job.namespace, selector):
        change = {"spec": {"holderIdentity": "somebody"}}
        field.cluster.patch("Lease", field.job.namespace, lease["metadata"]["name"], change)


def _ending_the_driver(harm: Harm) -> Harm:
    """The harm takes some seconds to tell: until then the job looks healthy."""

    def done(field: Field, chance: random.Random) -> None:
        before = field.job.read()["status"]["incarnation"]
        harm(field, chance)
        wait_for(
            "another driver",
            lambda: field.job.read()["status"]["incarnation"] > before,
            seconds=60,
        )

    return done


def _both(*harms: Harm) -> Harm:
    def harm(field: Field, chance: random.Random) -> None:
        for one in chance.sample(harms, len(harms)):
            one(field, chance)

    return harm


FAULTS: Mapping[str, Fault] = {
    "driver killed": Fault(_kill_driver, restarts=True),
    "JVM killed": Fault(_kill_jvm, restarts=True),
    "driver deleted by force": Fault(_delete_driver_by_force, restarts=True),
    "driver frozen for less than its Lease": Fault(_freeze_driver_shortly, restarts=False),
    "driver frozen for longer than its Lease": Fault(
        _ending_the_driver(_freeze_driver_for_long), restarts=True
    ),
    "driver given up while its machine is frozen": Fault(_give_up_frozen_driver, restarts=True),
    "executor killed": Fault(_kill_executor, restarts=False),
    "all executors killed": Fault(_kill_all_executors, restarts=False),
    "operator killed": Fault(_kill_operator, restarts=False),
    "operator frozen": Fault(_freeze_operator, restarts=False),
    "API server away for less than the Lease": Fault(_stop_api_server_shortly, restarts=False),
    "API server away for longer than the Lease": Fault(_stop_api_server_for_long, restarts=True),
    "API server away for three minutes": Fault(_stop_api_server_for_minutes, restarts=True),
    "etcd away": Fault(_stop_etcd, restarts=False),
    "Kafka frozen": Fault(_freeze_kafka, restarts=False),
    "machine cut off": Fault(_cut_machine, restarts=False),
    "kubelet frozen": Fault(_freeze_kubelet, restarts=False),
    "kubelet frozen and driver killed": Fault(_freeze_kubelet_and_kill_driver, restarts=True),
    "driver cut off from Kafka": Fault(_cut_driver_from(*KAFKA), restarts=False),
    "driver cut off from the API server": Fault(_cut_driver_from(*API_SERVER), restarts=False),
    "driver cut off from both": Fault(_cut_driver_from(*KAFKA, *API_SERVER), restarts=False),
    "checkpoint read-only": Fault(_ending_the_driver(_break_checkpoint), restarts=True),
    "disk of the checkpoint full": Fault(_fill_disk, restarts=True),
    "clock set forward and right again": Fault(_set_clock_by(CLOCK_JUMP), restarts=False),
    "clock set back and right again": Fault(_set_clock_by(-CLOCK_JUMP), restarts=False),
    "memory used up": Fault(_use_up_memory, restarts=True),
    "quota used up and driver killed": Fault(_use_up_quota_and_kill_driver, restarts=True),
    "image removed and driver killed": Fault(_remove_image_and_kill_driver, restarts=True),
    "Secret deleted and driver killed": Fault(_delete_secret_and_kill_driver, restarts=True),
    "Lease taken by hand": Fault(_ending_the_driver(_edit_lease), restarts=True),
    "operator and driver killed": Fault(_both(_kill_operator, _kill_driver), restarts=True),
    "executor and driver killed": Fault(_both(_kill_executor, _kill_driver), restarts=True),
}
