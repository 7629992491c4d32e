"""What a driver needs around it."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.core.podsecurity import template_problems
from sluice.manifests import children, names
from sluice.manifests.children import agent_token
from tests.support.jobs import NOW, job, resource
from tests.support.properties import read_properties

KEY = b"k" * 32


APPLICATION = resource()["spec"]["application"]


def by_kind(**changes: Any) -> dict[str, dict[str, Any]]:
    stages = children.children(job(**changes), 3, agent=b"PK", key=KEY)
    return {body["kind"]: body for stage in stages for body in stage}


def test_a_driver_may_do_to_pods_and_its_configuration_what_spark_does_and_no_more() -> None:
    rules = by_kind()["Role"]["rules"]
    verbs = {resource: set(rule["verbs"]) for rule in rules for resource in rule["resources"]}
    assert set(verbs) == {"pods", "configmaps", "leases"}
    assert not (verbs["configmaps"] | verbs["pods"]) & {"*", "patch", "update"}


def test_a_driver_may_hold_the_lease_of_its_own_checkpoint_and_no_other() -> None:
    rule = by_kind()["Role"]["rules"][-1]
    assert rule["resourceNames"] == [names.lease(job().checkpoint_location)]
    assert set(rule["verbs"]) == {"get", "update"}


NEVER = children.lease(job(), 1, NOW)["spec"]["renewTime"]
RENEWED = "2026-03-01T12:00:00.000000Z"


def held(holder: str, renewed: str) -> dict[str, Any]:
    spec = {"holderIdentity": holder, "renewTime": renewed, "leaseTransitions": 5}
    return {"metadata": {"resourceVersion": "7"}, "spec": spec}


@pytest.mark.parametrize(
    ("holder", "renewed", "is_dead", "is_granted"),
    [
        ("uid-of-clicks/2", RENEWED, False, False),
        ("uid-of-clicks/2", RENEWED, True, True),
        ("uid-of-clicks/2", NEVER, False, True),
        ("uid-of-clicks/4", NEVER, False, False),
        ("uid-of-another/2", NEVER, False, False),
        ("", RENEWED, False, False),
        ("", RENEWED, True, True),
        ("somebody", RENEWED, False, False),
    ],
)
def test_a_lease_passes_on_from_a_driver_that_is_dead_or_never_began(
    holder: str, renewed: str, is_dead: bool, is_granted: bool
) -> None:
    lease = children.lease(job(), 3, NOW)
    granted = children.passed_on(held(holder, renewed), lease, is_dead=is_dead)
    assert (granted is not None) == is_granted
    if granted is not None:
        assert granted["spec"] == {**lease["spec"], "leaseTransitions": 5}
        assert granted["metadata"] == {"resourceVersion": "7"}


def test_a_lease_that_was_taken_from_a_later_driver_is_not_taken_for_one_that_nobody_held() -> None:
    late = children.lease(job(), 3, NOW)
    taken = children.passed_on(held("uid-of-clicks/4", RENEWED), late, is_dead=True)
    assert taken is not None
    assert children.passed_on(taken, children.lease(job(), 5, NOW), is_dead=False) is None


def test_nobody_is_bound_to_a_role_before_it_is_there() -> None:
    stages = [
        {body["kind"] for body in stage}
        for stage in children.children(job(), 3, agent=b"", key=KEY)
    ]
    binding = next(number for number, kinds in enumerate(stages) if "RoleBinding" in kinds)
    role = next(number for number, kinds in enumerate(stages) if "Role" in kinds)
    assert role < binding


def test_a_driver_has_its_rights_as_an_account_of_the_owners_which_is_not_touched() -> None:
    own = by_kind(application={**APPLICATION, "serviceAccount": "s3"})
    ours = by_kind()
    assert own["RoleBinding"]["subjects"] == [
        {"kind": "ServiceAccount", "name": "s3", "namespace": "shop"}
    ]
    assert own["RoleBinding"]["metadata"]["name"] == "clicks-driver"
    assert ours["RoleBinding"]["subjects"][0]["name"] == "clicks-driver"
    assert ours["ServiceAccount"]["metadata"]["name"] == "clicks-driver"
    assert "ServiceAccount" not in own


def test_all_children_go_with_their_job() -> None:
    for body in by_kind().values():
        assert body["metadata"]["ownerReferences"][0]["uid"] == job().uid
        assert body["metadata"]["labels"]["sluice.dev/job"] == "clicks"


def test_the_settings_carry_the_incarnation_and_no_secret() -> None:
    data = by_kind()["ConfigMap"]["data"]
    settings = read_properties(data["spark-defaults.conf"])
    assert settings["spark.kubernetes.executor.podNamePrefix"] == "clicks-3"
    secret = base64.b64decode(by_kind()["Secret"]["data"]["secret"]).decode()
    assert secret not in json.dumps(data)


def test_executors_get_a_template_that_keeps_the_restricted_standard() -> None:
    template = json.loads(by_kind()["ConfigMap"]["data"]["executor.yaml"])
    assert template["spec"]["securityContext"]["runAsNonRoot"] is True
    named = {
        "spec": {"containers": [{"name": "a", "image": "a", **template["spec"]["containers"][0]}]}
    }
    assert list(template_problems(named, "pod", "none")) == []


def test_executors_read_the_secret_that_the_driver_reads() -> None:
    data = by_kind()["Secret"]["data"]
    once = base64.b64decode(data["env"])
    assert base64.b64decode(once) == base64.b64decode(data["secret"])


@given(one=st.text(), other=st.text())
def test_each_job_has_a_token_of_its_own(one: str, other: str) -> None:
    assert (agent_token(one, KEY) == agent_token(other, KEY)) == (one == other)


def test_a_token_cannot_be_told_without_the_operators_key() -> None:
    assert agent_token("uid", KEY) != agent_token("uid", b"another")
    assert agent_token("uid", KEY) == agent_token("uid", KEY)
