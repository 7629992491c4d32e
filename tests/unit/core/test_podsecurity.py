"""What a template may ask for; what it may not is in the table of bad input."""

from typing import Any

import pytest

from sluice.core.podsecurity import template_problems


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
