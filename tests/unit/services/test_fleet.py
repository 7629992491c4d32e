"""What the operator has seen: the newest counts, and a checkpoint stays taken while a driver writes it."""

import copy
import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from sluice.api import convert
from sluice.core.application import JobKey, StreamJob
from sluice.core.record import Record
from sluice.errors import InvalidSpec
from sluice.manifests import pods as manifests
from sluice.services.fleet import Fleet
from tests.support import pods
from tests.support.jobs import NOW, job, resource

KEY = JobKey("shop", "clicks")
SHARED = {"claim": "checkpoints", "path": "shared"}


def version(body: dict[str, Any], number: int) -> dict[str, Any]:
    """The object at so high a resourceVersion."""
    return {**body, "metadata": {**body["metadata"], "resourceVersion": str(number)}}


def driver_pod(name: str = "clicks", *, uid: str = "pod-1", **changes: Any) -> dict[str, Any]:
    """A running driver pod of a job."""
    body = copy.deepcopy(manifests.driver_pod(job(name, **changes), 1))
    body["metadata"] |= {"uid": uid, "creationTimestamp": NOW.isoformat()}
    return pods.running(body)


def executor(number: int, **changes: Any) -> dict[str, Any]:
    """A running executor pod."""
    body = copy.deepcopy(manifests.executor_template(job(), 1))
    body["metadata"] |= {"name": f"exec-{number}", "namespace": "shop", "uid": f"exec-{number}"}
    return {**body, "status": {"phase": "Running"}, **changes}


def holder(fleet: Fleet, name: str) -> JobKey | None:
    """Who else has the checkpoint of a job that has not started."""
    return fleet.claim(job(name, checkpoint=SHARED), Record())


def test_a_spec_over_which_we_stumble_is_that_jobs_own_trouble(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stumble(_: object) -> StreamJob:
        raise KeyError("no such thing")

    monkeypatch.setattr(convert, "streamjob", stumble)
    fleet = Fleet()
    fleet.see_job(resource())
    declared = fleet.declared(KEY)
    assert isinstance(declared, InvalidSpec)
    assert "KeyError('no such thing'); please report this" in str(declared)


def test_an_older_version_of_a_job_changes_nothing() -> None:
    fleet = Fleet()
    fleet.see_job(version(resource(suspend=True), 20))
    fleet.see_job(version(resource(suspend=False), 9))
    known = fleet.job(KEY)
    assert known is not None
    assert known["spec"]["suspend"] is True


def test_a_job_that_was_made_anew_replaces_the_former_whatever_its_version() -> None:
    fleet = Fleet()
    fleet.see_job(version(resource(), 20))
    fleet.see_job(version(resource(uid="another"), 3))
    known = fleet.job(KEY)
    assert known is not None
    assert known["metadata"]["uid"] == "another"


def test_the_deletion_of_a_former_job_does_not_take_the_present_one_away() -> None:
    fleet = Fleet()
    fleet.see_job(resource(uid="present"))
    fleet.lose_job(resource(uid="former"))
    assert fleet.job(KEY) is not None
    fleet.lose_job(resource(uid="present"))
    assert list(fleet) == []


def test_the_deletion_of_a_former_driver_does_not_take_the_present_one_away() -> None:
    fleet = Fleet()
    fleet.see_pod(driver_pod(uid="pod-2"))
    fleet.lose_pod(driver_pod(uid="pod-1"))
    assert fleet.driver(KEY) is not None
    fleet.lose_pod(driver_pod(uid="pod-2"))
    assert fleet.driver(KEY) is None


def test_a_spec_is_in_memory_once_for_the_job_and_its_driver() -> None:
    fleet = Fleet()
    fleet.see_job(resource())
    fleet.see_pod(driver_pod())
    known, seen, declared = fleet.job(KEY), fleet.driver(KEY), fleet.declared(KEY)
    assert known is not None
    assert seen is not None
    assert isinstance(declared, StreamJob)
    assert known["spec"] is declared.document
    assert seen.document is declared.document


def test_a_driver_of_another_spec_keeps_that_one() -> None:
    fleet = Fleet()
    fleet.see_pod(driver_pod())
    fleet.see_job(resource(suspend=True))
    seen, declared = fleet.driver(KEY), fleet.declared(KEY)
    assert seen is not None
    assert isinstance(declared, StreamJob)
    assert seen.document == job().document != declared.document


def test_a_spec_is_understood_again_when_it_or_an_annotation_changes() -> None:
    fleet = Fleet()
    fleet.see_job(version(resource(), 1))
    first = fleet.declared(KEY)
    fleet.see_job(version({**resource(), "status": {"phase": "Running"}}, 2))
    assert fleet.declared(KEY) is first
    allowed = resource(annotations={"sluice.dev/allow-migration": "elsewhere"})
    fleet.see_job(version(allowed, 3))
    declared = fleet.declared(KEY)
    assert isinstance(declared, StreamJob)
    assert declared.allowed_migration == "elsewhere"
    fleet.see_job(version(resource(generation=2, executors={"min": 3, "max": 1}), 4))
    assert isinstance(fleet.declared(KEY), InvalidSpec)


def test_what_others_keep_in_the_metadata_is_not_kept() -> None:
    fleet = Fleet()
    body = resource(
        annotations={"kubectl.kubernetes.io/last-applied-configuration": "{}", "a": "b"}
    )
    body["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    fleet.see_job(body)
    known = fleet.job(KEY)
    assert known is not None
    assert "managedFields" not in known["metadata"]
    assert known["metadata"]["annotations"] == {"a": "b"}


def test_the_end_of_a_driver_is_remembered_when_its_pod_is_gone() -> None:
    fleet = Fleet()
    fleet.see_job(resource())
    assert fleet.ended(KEY) == 0
    fleet.see_pod(driver_pod())
    fleet.lose_pod(pods.failed(driver_pod(), exit_code=137))
    assert fleet.ended(KEY) == 1


def test_a_driver_that_went_without_a_word_is_not_known_to_have_ended() -> None:
    fleet = Fleet()
    fleet.see_job(resource())
    lost = {**driver_pod(), "status": {"phase": "Failed", "reason": "NodeLost"}}
    fleet.see_pod(driver_pod())
    fleet.see_pod(lost)
    fleet.lose_pod(lost)
    assert fleet.ended(KEY) == 0


def test_the_end_of_a_former_jobs_driver_says_nothing_of_the_present_ones() -> None:
    fleet = Fleet()
    fleet.see_job(resource(uid="another"))
    fleet.lose_pod(pods.failed(driver_pod()))
    assert fleet.ended(KEY) == 0


def test_executors_count_while_they_run_and_are_not_on_their_way_out() -> None:
    fleet = Fleet()
    for number in range(3):
        fleet.see_pod(executor(number))
        fleet.see_pod(executor(number))
    assert fleet.executors_running(KEY) == 3
    fleet.see_pod(executor(0, status={"phase": "Pending"}))
    leaving = executor(1)
    leaving["metadata"]["deletionTimestamp"] = NOW.isoformat()
    fleet.see_pod(leaving)
    assert fleet.executors_running(KEY) == 1
    fleet.lose_pod(executor(2))
    assert fleet.executors_running(KEY) == 0


def test_a_pod_without_our_label_is_none_of_ours() -> None:
    fleet = Fleet()
    stranger = driver_pod()
    stranger["metadata"]["labels"] = {"app": "something"}
    assert fleet.see_pod(stranger) is None
    assert fleet.lose_pod(stranger) is None


def test_of_two_that_want_a_checkpoint_the_older_has_it() -> None:
    fleet = Fleet()
    fleet.see_job(resource("first", checkpoint=SHARED))
    fleet.see_job(resource("second", checkpoint=SHARED))
    assert holder(fleet, "second") == JobKey("shop", "first")
    assert holder(fleet, "first") is None


def test_one_that_holds_a_checkpoint_keeps_it_though_its_spec_names_another_by_now() -> None:
    fleet = Fleet()
    status = {"incarnation": 1, "checkpoint": {"location": "claim://shop/checkpoints/shared"}}
    moved = resource("first", checkpoint={"claim": "checkpoints", "path": "elsewhere"})
    fleet.see_job({**moved, "status": status})
    assert holder(fleet, "second") == JobKey("shop", "first")


def test_one_that_holds_a_checkpoint_keeps_it_though_its_spec_means_nothing_to_a_successor() -> (
    None
):
    """Its driver goes on: nobody stops it for that."""
    fleet, place = Fleet(), job(checkpoint=SHARED).checkpoint_location
    invalid = resource(checkpoint=SHARED, annotations={"sluice.dev/paused": "yes"})
    fleet.see_job({**invalid, "status": {"incarnation": 1, "checkpoint": {"location": place}}})
    assert isinstance(fleet.declared(KEY), InvalidSpec)
    assert holder(fleet, "second") == KEY


@pytest.mark.parametrize("pod_is_seen_first", [True, False])
def test_a_deleted_jobs_driver_holds_the_checkpoint_until_it_is_gone(
    pod_is_seen_first: bool,
) -> None:
    fleet = Fleet()
    first, pod = resource("first", checkpoint=SHARED), driver_pod("first", checkpoint=SHARED)
    if pod_is_seen_first:
        fleet.see_job(first)
        fleet.see_pod(pod)
        fleet.lose_job(first)
    else:
        fleet.see_job(first)
        fleet.lose_job(first)
        fleet.see_pod(pod)
    assert holder(fleet, "second") == JobKey("shop", "first")
    fleet.lose_pod(pod)
    assert holder(fleet, "second") is None


@pytest.mark.parametrize("is_told", [True, False])
def test_a_deleted_jobs_driver_holds_nothing_once_another_one_has_its_name(is_told: bool) -> None:
    """An operator that only looks on hears of both pods in any order, or after an outage of the present one alone."""
    fleet = Fleet()
    fleet.see_job(resource("first", checkpoint=SHARED))
    former = driver_pod("first", checkpoint=SHARED)
    fleet.see_pod(former)
    fleet.see_job(resource("first", uid="another"))
    assert holder(fleet, "second") == JobKey("shop", "first")
    present = driver_pod("first", uid="pod-2")
    present["metadata"]["ownerReferences"][0]["uid"] = "another"
    fleet.see_pod(present)
    if is_told:
        fleet.lose_pod(former)
    assert holder(fleet, "second") is None


def test_drivers_of_which_somebody_took_the_owner_away_hold_each_its_own_checkpoint() -> None:
    """`kubectl delete --cascade=orphan`, of two jobs."""
    fleet, pods_of, places = Fleet(), {}, {"first": SHARED, "other": {"claim": "elsewhere"}}
    for name, place in places.items():
        pod = driver_pod(name, uid=f"pod-of-{name}", checkpoint=place)
        del pod["metadata"]["ownerReferences"]
        fleet.see_job(resource(name, checkpoint=place))
        fleet.see_pod(pod)
        fleet.lose_job(resource(name, checkpoint=place))
        pods_of[name] = pod
    assert holder(fleet, "second") == JobKey("shop", "first")
    fleet.lose_pod(pods_of["other"])
    assert holder(fleet, "second") == JobKey("shop", "first")
    fleet.lose_pod(pods_of["first"])
    assert holder(fleet, "second") is None


def test_of_jobs_that_are_gone_with_their_pods_nothing_is_kept() -> None:
    fleet = Fleet()
    empty = {name: copy.copy(part) for name, part in vars(fleet).items() if isinstance(part, dict)}
    fleet.see_job(resource())
    fleet.see_pod(driver_pod())
    fleet.see_pod(ended_executor(1))
    fleet.lose_job(resource())
    fleet.see_pod(pods.failed(driver_pod(), exit_code=143))
    fleet.lose_pod(pods.failed(driver_pod(), exit_code=143))
    fleet.lose_pod(ended_executor(1))
    assert {name: vars(fleet)[name] for name in empty} == empty


def test_a_job_that_goes_without_a_driver_leaves_its_checkpoint_at_once() -> None:
    fleet = Fleet()
    fleet.see_job(resource("first", checkpoint=SHARED))
    fleet.lose_job(resource("first", checkpoint=SHARED))
    assert holder(fleet, "second") is None


def test_a_driver_whose_spec_document_is_unreadable_is_seen_all_the_same() -> None:
    fleet = Fleet()
    pod = driver_pod()
    pod["metadata"]["annotations"]["sluice.dev/spec"] = "{"
    fleet.see_pod(pod)
    seen = fleet.driver(KEY)
    assert seen is not None
    assert seen.document is None


@pytest.mark.parametrize(
    "document",
    [{"rules": "of another version"}, {"checkpoint": {"uri": 7}}, {"checkpoint": 7}, [], 7, None],
)
def test_an_orphan_with_a_document_of_another_version_takes_nothing_down(document: object) -> None:
    fleet = Fleet()
    pod = driver_pod()
    pod["metadata"]["annotations"]["sluice.dev/spec"] = json.dumps(document)
    fleet.see_pod(pod)
    assert fleet.driver(KEY) is not None


def test_a_pod_that_only_wears_the_labels_of_a_driver_does_not_take_its_place() -> None:
    fleet = Fleet()
    fleet.see_pod(driver_pod(uid="real"))
    false = driver_pod(uid="false")
    false["metadata"]["name"] = "clicks-shell"
    assert fleet.see_pod(false) is None
    seen = fleet.driver(KEY)
    assert seen is not None
    assert seen.uid == "real"


def ended_executor(
    number: int, *, exit_code: int = 137, of: str = "pod-1", at: datetime = NOW
) -> dict[str, Any]:
    """An executor pod that has ended, as its kubelet tells."""
    finished = {"exitCode": exit_code, "reason": "Error", "finishedAt": at.isoformat()}
    state = [{"name": "executor", "state": {"terminated": finished}}]
    phase = "Failed" if exit_code else "Succeeded"
    body = executor(number, status={"phase": phase, "containerStatuses": state})
    body["metadata"]["ownerReferences"] = [{"kind": "Pod", "uid": of}]
    return body


def test_the_executor_of_the_present_driver_that_ended_last_is_known_when_its_pod_is_gone() -> None:
    fleet = Fleet()
    fleet.see_pod(driver_pod())
    assert fleet.lost(KEY) is None
    fleet.see_pod(ended_executor(1, exit_code=52))
    fleet.see_pod(ended_executor(2))
    fleet.lose_pod(ended_executor(2))
    lost = fleet.lost(KEY)
    assert lost is not None
    assert (lost.name, lost.ended.exit_code, lost.ended.at) == ("exec-2", 137, NOW)
    fleet.lose_pod(driver_pod())
    fleet.see_pod(driver_pod(uid="pod-2"))
    assert fleet.lost(KEY) is None


def leaving(number: int, *, exit_code: int, asked: timedelta) -> dict[str, Any]:
    """One whose pod was deleted so long after its end."""
    body = ended_executor(number, exit_code=exit_code)
    gone_by = NOW + asked + timedelta(seconds=30)
    body["metadata"] |= {
        "deletionTimestamp": gone_by.isoformat(),
        "deletionGracePeriodSeconds": 30,
    }
    return body


@pytest.mark.parametrize(("exit_code", "asked"), [(52, -1), (1, 0), (137, 0), (143, 1)])
def test_executors_that_break_down_are_lost_even_if_spark_is_quick_to_delete_them(
    exit_code: int, asked: int
) -> None:
    fleet = Fleet()
    fleet.see_pod(driver_pod())
    fleet.lose_pod(leaving(1, exit_code=exit_code, asked=timedelta(seconds=asked)))
    lost = fleet.lost(KEY)
    assert lost is not None
    assert lost.ended.exit_code == exit_code


def test_executors_that_return_or_were_told_to_go_are_not_lost() -> None:
    fleet = Fleet()
    fleet.see_pod(driver_pod())
    for pod in (
        ended_executor(1, exit_code=0),
        leaving(2, exit_code=137, asked=timedelta(seconds=-30)),
        leaving(2, exit_code=143, asked=timedelta(0)),
        leaving(2, exit_code=158, asked=timedelta(seconds=2)),
        ended_executor(3, of="pod-0"),
    ):
        fleet.see_pod(pod)
        assert fleet.lost(KEY) is None


def test_each_executor_that_is_lost_counts_once_and_those_of_each_driver_by_themselves() -> None:
    fleet = Fleet()
    fleet.see_pod(driver_pod())
    for number in (1, 2):
        fleet.see_pod(executor(number))
    for number in (1, 2, 1):
        fleet.see_pod(ended_executor(number))
    fleet.lose_pod(ended_executor(2))
    fleet.see_pod(executor(3))
    fleet.lose_pod(ended_executor(3))
    lost = fleet.lost(KEY)
    assert lost is not None
    assert lost.so_far == 3
    fleet.see_pod(driver_pod(uid="pod-2"))
    fleet.see_pod(executor(4))
    fleet.see_pod(ended_executor(4, of="pod-2"))
    lost = fleet.lost(KEY)
    assert lost is not None
    assert lost.so_far == 1


def test_executors_that_are_lost_days_apart_are_not_lost_one_after_the_other() -> None:
    fleet = Fleet()
    fleet.see_pod(driver_pod())
    for number, (minutes, so_far) in enumerate([(0, 1), (5, 2), (34, 3), (64, 1), (9000, 1)]):
        fleet.see_pod(executor(number))
        fleet.see_pod(ended_executor(number, at=NOW + timedelta(minutes=minutes)))
        lost = fleet.lost(KEY)
        assert lost is not None
        assert lost.so_far == so_far
