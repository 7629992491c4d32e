"""What a template may ask for; what it may not is in the table of bad input."""

from typing import Any

import pytest

from sluice.core.podsecurity import template_problems
from sluice.manifests.pods import driver_pod
from tests.support.jobs import job


def problems(template: dict[str, Any], container: str = "driver") -> list[str]:
    return [str(problem) for problem in template_problems(template, "template", container)]


@pytest.mark.parametrize(
    "template",
    [
        {},
        {"metadata": {"labels": {"team": "web"}, "annotations": {"a": "b"}}},
        {"spec": {"nodeSelector": {"disk": "fast"}, "tolerations": [{"operator": "Exists"}]}},
        {"spec": {"securityContext": {"runAsUser": 1000, "fsGroup": 0}}},
        {"spec": {"securityContext": {"seccompProfile": {"type": "Localhost"}}}},
        {"spec": {"volumes": [{"name": "cache", "emptyDir": {"sizeLimit": "1Gi"}}]}},
        {"spec": {"volumes": [{"name": "lake", "persistentVolumeClaim": {"claimName": "lake"}}]}},
        {"spec": {"containers": [{"name": "driver", "env": [{"name": "A", "value": "1"}]}]}},
        {"spec": {"containers": [{"name": "sidecar", "image": "a", "args": ["b"]}]}},
        {
            "spec": {
                "containers": [
                    {
                        "name": "driver",
                        "securityContext": {"capabilities": {"add": ["NET_BIND_SERVICE"]}},
                    }
                ]
            }
        },
    ],
)
def test_what_the_restricted_standard_allows_is_allowed(template: dict[str, Any]) -> None:
    assert problems(template) == []


def test_only_our_own_container_has_its_program_decided() -> None:
    template = {"spec": {"containers": [{"name": "driver", "image": "a"}]}}
    assert len(problems(template, "driver")) == 1
    assert problems(template, "executor") == []


def test_our_own_container_is_changed_in_one_place() -> None:
    """Of two, the first would be left out without a word."""
    twice = [{"name": "driver", "env": [{"name": "A", "value": "1"}]}, {"name": "driver"}]
    (told,) = problems({"spec": {"containers": twice}})
    assert told.startswith("template.spec.containers[1].name: 'driver': it is there twice")


def test_no_mount_of_ours_but_the_scratch_space_is_replaced() -> None:
    (ours,) = driver_pod(job(), 1)["spec"]["containers"]
    places = {mount["mountPath"] for mount in ours["volumeMounts"]}
    replaced = {
        place
        for place in places
        if not list(template_problems(mounting(place), "template", "driver", "checkpoints"))
    }
    assert replaced == {"/tmp"}


def test_a_part_of_the_checkpoints_volume_may_be_mounted_in_its_place() -> None:
    part = mounting("/checkpoint", name="checkpoint", subPath="shop")
    assert list(template_problems(part, "template", "driver", "checkpoints")) == []


def test_where_no_claim_is_mounted_something_else_may_be() -> None:
    assert problems(mounting("/checkpoint")) == []


def mounting(place: str, **mount: str) -> dict[str, Any]:
    mounts = [{"name": "scratch", "mountPath": place, **mount}]
    return {"spec": {"containers": [{"name": "driver", "volumeMounts": mounts}]}}


def test_each_problem_names_its_place() -> None:
    template = {
        "spec": {
            "hostPID": True,
            "initContainers": [
                {"name": "a", "image": "a"},
                {"name": "b", "image": "b", "ports": [{"hostPort": 1}]},
            ],
            "volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "hostPath": {}, "nfs": {}}],
        }
    }
    assert [text.partition(": ")[0] for text in problems(template)] == [
        "template.spec.hostPID",
        "template.spec.volumes[1].hostPath",
        "template.spec.volumes[1].nfs",
        "template.spec.initContainers[1].ports[0].hostPort",
    ]
