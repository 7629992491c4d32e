"""Bringing the demo up: when a step is done, and when waiting is in vain; what is applied fits together."""

import pytest
import yaml

from demo import cluster, names
from demo.raising import has_ended, install_operator, see_job
from e2e.images.progress import Progress
from sluice.api import convert
from sluice.core.drilling.records import Victim
from tests.support import jobs


def status(phase: str, ready: str, running: int) -> dict[str, object]:
    return {
        "metadata": {"generation": 2},
        "status": {
            "observedGeneration": 2,
            "phase": phase,
            "executors": {"running": running, "wanted": 2},
            "conditions": [{"type": "Ready", "status": ready, "message": "so it is"}],
        },
    }


def test_the_job_is_up_when_it_is_ready_with_all_executors() -> None:
    assert see_job(status("Running", "True", running=2)).done
    assert not see_job(status("Running", "True", running=1)).done
    assert not see_job(status("Starting", "False", running=2)).done


def test_a_status_of_an_older_spec_is_not_believed() -> None:
    resource = {**status("Running", "True", running=2), "metadata": {"generation": 3}}
    assert not see_job(resource).done


@pytest.mark.parametrize("pending", ["", f"another\n{names.RELEASE}\n"])
def test_a_release_that_a_closed_terminal_has_left_half_done_is_begun_anew(
    monkeypatch: pytest.MonkeyPatch, pending: str
) -> None:
    asked: list[str] = []

    def helm(verb: str, *_: str) -> str:
        asked.append(verb)
        return pending if verb == "list" else ""

    monkeypatch.setattr(cluster, "kubectl", lambda *_, **__: "")
    monkeypatch.setattr(cluster, "helm", helm)
    install_operator(Progress())
    assert asked == ["list", *(["uninstall"] if pending else []), "upgrade"]


def test_waiting_for_a_suspended_job_is_in_vain_and_the_cure_is_named() -> None:
    assert "kubectl patch sj enrichment" in see_job(status("Suspended", "False", 0)).hopeless
    assert not see_job(status("BackingOff", "False", 0)).hopeless


def test_a_load_that_has_ended_is_told_from_one_that_runs() -> None:
    assert has_ended({"status": {"conditions": [{"type": "Complete", "status": "True"}]}})
    assert not has_ended({"status": {"conditions": [{"type": "Complete", "status": "False"}]}})
    assert not has_ended({})


def test_job_and_profile_are_those_that_the_demo_looks_at() -> None:
    _, job = yaml.safe_load_all(names.SAMPLE.read_text())
    profile = yaml.safe_load((names.MANIFESTS / "profile.yaml").read_text())
    assert job["metadata"]["name"] == profile["spec"]["job"] == names.JOB
    assert profile["metadata"] == {"name": names.PROFILE, "namespace": names.NAMESPACE}
    assert tuple(profile["spec"]["namespaces"]) == names.COPY_NAMESPACES


def test_the_namespaces_that_are_made_are_those_that_are_removed() -> None:
    made = list(yaml.safe_load_all((names.MANIFESTS / "namespaces.yaml").read_text()))
    assert [one["metadata"]["name"] for one in made] == [names.NAMESPACE, *names.COPY_NAMESPACES]


def test_what_the_last_steps_offer_to_kill_may_be_killed() -> None:
    _, job = yaml.safe_load_all(names.SAMPLE.read_text())
    declared = convert.streamjob(jobs.resource(names.JOB, **job["spec"]))
    assert Victim.DRIVER in declared.drills.allowed
