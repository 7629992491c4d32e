"""What a pod of the API server tells."""

from datetime import UTC, datetime
from typing import Any

import pytest

from sluice.api import convert
from sluice.core.observations import DriverPod, PodPhase, Termination
from sluice.manifests import reading
from sluice.manifests.pods import driver_pod
from tests.support.jobs import job
from tests.support.pods import executor
from tests.support.texts import TOO_DEEP

STARTED = "2026-03-01T11:59:00Z"
ENDED = "2026-03-01T12:00:00Z"


def pod(*, annotations: dict[str, str] | None = None, **status: Any) -> dict[str, Any]:
    """The driver pod of a job, as it is stored."""
    made = driver_pod(job(), 3)
    if annotations is not None:
        made["metadata"]["annotations"] = annotations
    made["metadata"] |= {"uid": "pod-3", "creationTimestamp": STARTED}
    return {**made, "status": {"phase": "Pending", **status}}


def read(stored: dict[str, Any]) -> DriverPod:
    return reading.driver_pod(stored, reading.document_of(stored, convert.spec_document))


def state(**state: Any) -> list[dict[str, Any]]:
    """The state of the driver's container, behind that of another one."""
    other = {"name": "proxy", "state": {"running": {"startedAt": "2020-01-01T00:00:00Z"}}}
    return [other, {"name": "driver", "state": state}]


def test_a_running_pod_tells_where_and_since_when() -> None:
    seen = read(
        pod(
            phase="Running",
            podIP="198.18.1.2",
            containerStatuses=state(running={"startedAt": STARTED}),
        )
    )
    assert seen.phase is PodPhase.RUNNING
    assert seen.started == datetime(2026, 3, 1, 11, 59, tzinfo=UTC)
    assert (seen.address, seen.incarnation, seen.owner_uid) == ("198.18.1.2", 3, job().uid)
    assert seen.ended is None
    assert seen.obstacle is None


def test_the_driver_tells_the_digest_of_the_image_that_it_runs() -> None:
    digest = f"sha256:{'1' * 64}"
    statuses = state(running={"startedAt": STARTED})
    assert read(pod(phase="Running", containerStatuses=statuses)).digest is None
    statuses[0]["imageID"] = f"sha256:{'2' * 64}"
    assert read(pod(phase="Running", containerStatuses=statuses)).digest is None
    statuses[1]["imageID"] = f"registry.example.com/clicks@{digest}"
    assert read(pod(phase="Running", containerStatuses=statuses)).digest == digest
    statuses[1]["imageID"] = ""
    assert read(pod(phase="Pending", containerStatuses=statuses)).digest is None


@pytest.mark.parametrize(
    ("status", "obstacle"),
    [
        (
            {
                "containerStatuses": state(
                    waiting={"reason": "ErrImagePull", "message": "not found"}
                )
            },
            ("ErrImagePull", "not found"),
        ),
        (
            {"containerStatuses": state(waiting={"reason": "CreateContainerConfigError"})},
            ("CreateContainerConfigError", "CreateContainerConfigError"),
        ),
        (
            {
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": "0/3 nodes are available",
                    }
                ]
            },
            ("Unschedulable", "0/3 nodes are available"),
        ),
        (
            {
                "initContainerStatuses": [
                    {"name": "fetch", "state": {"terminated": {"exitCode": 0}}},
                    {"name": "unpack", "state": {"waiting": {"reason": "ImagePullBackOff"}}},
                ],
                "containerStatuses": state(waiting={"reason": "PodInitializing"}),
            },
            ("ImagePullBackOff", "the init container unpack"),
        ),
        (
            {
                "initContainerStatuses": [
                    {"name": "beside", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
                ],
                "containerStatuses": state(running={"startedAt": STARTED}),
            },
            None,
        ),
        ({"containerStatuses": state(waiting={"reason": "ContainerCreating"})}, None),
        ({"conditions": [{"type": "PodScheduled", "status": "True"}]}, None),
        ({}, None),
    ],
)
def test_what_keeps_a_pod_from_starting_is_told(
    status: dict[str, Any], obstacle: tuple[str, str] | None
) -> None:
    assert read(pod(**status)).obstacle == obstacle


@pytest.mark.parametrize(
    ("status", "ended"),
    [
        (
            state(terminated={"exitCode": 3, "message": "  boom\n", "finishedAt": ENDED}),
            Termination(exit_code=3, message="boom", at=datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ),
        (
            state(terminated={"exitCode": 137, "reason": "OOMKilled"}),
            Termination(exit_code=137, reason="OOMKilled"),
        ),
        (
            state(terminated={"exitCode": 1, "message": '{"class": "KeyError", "message": "k"}'}),
            Termination(exit_code=1, message="KeyError: k"),
        ),
    ],
)
def test_an_ended_container_tells_how(status: list[dict[str, Any]], ended: Termination) -> None:
    assert read(pod(phase="Failed", containerStatuses=status)).ended == ended


def test_of_a_long_message_the_end_is_kept() -> None:
    ended = read(
        pod(
            phase="Failed",
            containerStatuses=state(terminated={"exitCode": 1, "message": "x" * 4000 + "cause"}),
        )
    ).ended
    assert ended is not None
    assert ended.message.endswith("cause")
    assert len(ended.message) == 1000


def test_of_a_long_log_no_line_is_told_in_part() -> None:
    log = "\n".join(f"line {number} of the log" for number in range(200))
    ended = read(
        pod(
            phase="Failed",
            containerStatuses=state(terminated={"exitCode": 137, "message": log}),
        )
    ).ended
    assert ended is not None
    first, *_, last = ended.message.splitlines()
    assert first.startswith("line ")
    assert last == "line 199 of the log"


def test_an_evicted_pod_tells_why_although_no_container_does() -> None:
    ended = read(pod(phase="Failed", reason="Evicted", message="node is low on memory")).ended
    assert ended == Termination(
        exit_code=-1, reason="Evicted", message="Evicted: node is low on memory"
    )


SHUTDOWN = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "TerminationByKubelet",
    "message": "Pod was terminated in response to imminent node shutdown.",
}


@pytest.mark.parametrize(
    ("status", "outside"),
    [
        (
            {
                "reason": "Terminated",
                "message": "imminent node shutdown.",
                "conditions": [SHUTDOWN],
            },
            "Terminated: imminent node shutdown.",
        ),
        (
            {"conditions": [SHUTDOWN]},
            "TerminationByKubelet: Pod was terminated in response to imminent node shutdown.",
        ),
        ({"reason": "Evicted", "message": "low on storage"}, "Evicted: low on storage"),
        ({}, ""),
    ],
)
@pytest.mark.parametrize("code", [0, 143])
def test_of_a_pod_that_the_kubelet_has_ended_it_is_told_why_whatever_its_program_made_of_that(
    status: dict[str, Any], outside: str, code: int
) -> None:
    containers = state(terminated={"exitCode": code, "reason": "Error"})
    found = read(pod(phase="Failed", containerStatuses=containers, **status))
    assert found.ended == Termination(exit_code=code, reason="Error", outside=outside)
    assert found.is_proven_dead


def test_a_pod_whose_init_container_is_hindered_is_not_being_made() -> None:
    """Else its newest Event, which mostly is that it goes on trying, would take the place of the reason."""
    stored = pod(
        initContainerStatuses=[{"name": "a", "state": {"running": {}}}],
        containerStatuses=state(waiting={"reason": "PodInitializing"}),
    )
    stored["spec"]["nodeName"] = "node-1"
    assert read(stored).is_being_made
    hindered = {"name": "b", "state": {"waiting": {"reason": "ImagePullBackOff"}}}
    stored["status"]["initContainerStatuses"].append(hindered)
    assert not read(stored).is_being_made


def test_an_init_container_that_failed_tells_why_the_driver_never_began() -> None:
    fetch = {"exitCode": 2, "reason": "Error", "message": "no such host", "finishedAt": ENDED}
    status: dict[str, Any] = {
        "phase": "Failed",
        "initContainerStatuses": [
            {"name": "check", "state": {"terminated": {"exitCode": 0}}},
            {"name": "fetch", "state": {"terminated": fetch}},
        ],
        "containerStatuses": state(waiting={"reason": "PodInitializing"}),
    }
    failed = read(pod(**status))
    assert failed.ended == Termination(
        exit_code=2,
        message="no such host; the init container fetch failed: Error",
        at=datetime(2026, 3, 1, 12, tzinfo=UTC),
    )
    # Else its node would be taken for lost, and its Lease waited out.
    assert failed.is_proven_dead
    evicted = read(pod(**status, reason="Evicted", message="node is low on memory"))
    assert evicted.ended is not None
    assert evicted.ended.reason == "Evicted"


def test_a_sidecar_that_failed_does_not_prove_that_a_driver_is_dead_whose_node_is_lost() -> None:
    ended = {"name": "proxy", "state": {"terminated": {"exitCode": 1, "finishedAt": ENDED}}}
    running = state(running={"startedAt": STARTED})
    lost = read(pod(phase="Failed", initContainerStatuses=[ended], containerStatuses=running))
    assert lost.is_over
    assert not lost.is_proven_dead


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        (
            {"reason": "PreemptionByScheduler", "message": "no room"},
            "PreemptionByScheduler: no room",
        ),
        ({"reason": "DeletionByTaintManager"}, "DeletionByTaintManager"),
        ({"status": "False", "reason": "PreemptionByScheduler"}, ""),
        ({"type": "Ready", "reason": "PodCompleted"}, ""),
    ],
)
def test_why_kubernetes_itself_removes_a_driver_is_read(
    condition: dict[str, str], told: str
) -> None:
    made = {"type": "DisruptionTarget", "status": "True", **condition}
    assert read(pod(conditions=[made])).disruption == told


def test_a_driver_that_ended_tells_when_it_had_started() -> None:
    terminated = {"exitCode": 1, "startedAt": STARTED, "finishedAt": ENDED}
    seen = read(pod(phase="Failed", containerStatuses=state(terminated=terminated)))
    assert seen.is_over
    assert seen.started == datetime(2026, 3, 1, 11, 59, tzinfo=UTC)


def test_a_driver_is_over_when_its_own_container_is_whatever_goes_on_beside_it() -> None:
    terminated = {"exitCode": 1, "startedAt": STARTED, "finishedAt": ENDED}
    seen = read(pod(phase="Running", containerStatuses=state(terminated=terminated)))
    assert seen.is_over
    assert not seen.is_up
    # What ended beside it is not the driver.
    others = [{"name": "proxy", "state": {"terminated": terminated}}]
    running = [*others, {"name": "driver", "state": {"running": {"startedAt": STARTED}}}]
    assert read(pod(phase="Running", containerStatuses=running)).is_up


def test_an_executor_runs_as_long_as_its_own_container_does() -> None:
    stored = executor("clicks", "exec-1")
    assert reading.is_running(stored)
    ended = {"terminated": {"exitCode": 0}}
    beside = {"name": "beside", "state": {"running": {"startedAt": STARTED}}}
    stored["status"]["containerStatuses"] = [beside, {"name": "executor", "state": ended}]
    assert not reading.is_running(stored)


def test_a_pod_that_was_told_to_go_is_leaving() -> None:
    stored = pod(phase="Running")
    stored["metadata"]["deletionTimestamp"] = ENDED
    assert read(stored).deleting
    assert not reading.is_running(stored)


def test_the_document_of_a_pod_has_the_defaults_of_today() -> None:
    sparse = (
        '{"application": {"image": "a", "mainFile": "/a.py"}, "checkpoint": {"claim": "c"},'
        ' "fieldOfAnotherVersion": 1}'
    )
    document = read(pod(annotations={"sluice.dev/spec": sparse})).document
    assert document is not None
    assert document["restart"] == job().document["restart"]
    assert "fieldOfAnotherVersion" not in document


@pytest.mark.parametrize(
    "annotations",
    [{}, {"sluice.dev/spec": "{not JSON"}, {"sluice.dev/spec": TOO_DEEP}],
    ids=["none", "no JSON", "too deep"],
)
def test_a_document_that_cannot_be_read_is_none(annotations: dict[str, str]) -> None:
    assert read(pod(annotations=annotations)).document is None


def test_the_document_of_a_pod_equals_that_of_its_job() -> None:
    assert read(pod()).document == job().document


@pytest.mark.parametrize("label", ["", "third", "-1"])
def test_a_number_that_somebody_else_wrote_there_is_none_of_ours(label: str) -> None:
    stored = pod()
    stored["metadata"]["labels"]["sluice.dev/incarnation"] = label
    assert read(stored).incarnation == 0


def last_words(log: str) -> str:
    statuses = state(terminated={"exitCode": 1, "message": log})
    ended = read(pod(phase="Failed", containerStatuses=statuses)).ended
    assert ended is not None
    return ended.message


def test_words_that_are_nested_too_deeply_are_taken_for_a_log() -> None:
    assert set(last_words(TOO_DEEP)) == {"["}


def test_of_a_log_only_what_tells_something_is_kept() -> None:
    log = (
        "12:00:01Z ERROR Executor: Exception in task 0.0\njava.io.EOFException: the file ended\n"
        "\tat java.base/java.lang.Thread.run(Thread.java:840)\n\n12:00:02Z INFO BlockManager: BlockManager stopped\n"
    )
    whole = "12:00:01Z ERROR Executor: Exception in task 0.0\njava.io.EOFException: the file ended"
    assert last_words(log) == whole
    assert last_words("cut off\n" + log + 2048 * "\n") == whole
