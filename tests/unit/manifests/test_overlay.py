"""A user's template laid over ours, like a strategic patch."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.manifests.overlay import overlay

OURS: dict[str, Any] = {
    "metadata": {"labels": {"job": "clicks"}},
    "spec": {
        "containers": [{"name": "driver", "env": [{"name": "A", "value": "1"}], "args": ["x"]}],
        "tolerations": [{"key": "spot"}],
        "volumes": [{"name": "tmp", "emptyDir": {}}],
    },
}


@pytest.mark.parametrize(
    ("theirs", "path", "expected"),
    [
        ({"metadata": {"labels": {"team": "web"}}}, "metadata.labels", {"job": "clicks", "team": "web"}),
        ({"spec": {"nodeSelector": {"a": "b"}}}, "spec.nodeSelector", {"a": "b"}),
        ({"spec": {"tolerations": [{"key": "arm"}]}}, "spec.tolerations", [{"key": "spot"}, {"key": "arm"}]),
        (
            {"spec": {"volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}}]}},
            "spec.volumes",
            [{"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}}],
        ),
        (
            {"spec": {"containers": [{"name": "driver", "env": [{"name": "A", "value": "2"}, {"name": "B"}]}]}},
            "spec.containers.0.env",
            [{"name": "A", "value": "2"}, {"name": "B"}],
        ),
        ({"spec": {"containers": [{"name": "b"}]}}, "spec.containers.1", {"name": "b"}),
        (
            {"spec": {"volumes": [{"name": "tmp", "ephemeral": {"volumeClaimTemplate": {}}}]}},
            "spec.volumes",
            [{"name": "tmp", "ephemeral": {"volumeClaimTemplate": {}}}],
        ),
        (
            {"spec": {"containers": [{"name": "driver", "env": [{"name": "A", "valueFrom": {"fieldRef": {}}}]}]}},
            "spec.containers.0.env",
            [{"name": "A", "valueFrom": {"fieldRef": {}}}],
        ),
        (
            {"spec": {"volumes": [{"name": "tmp", "emptyDir": None}]}},
            "spec.volumes",
            [{"name": "tmp", "emptyDir": {}}],
        ),
        ({"metadata": None}, "metadata.labels", {"job": "clicks"}),
    ],
    ids=[
        "objects are merged",
        "new fields are added",
        "plain lists are appended",
        "named things are merged by name",
        "lists inside named things are merged, too",
        "unknown names are added behind ours",
        "a volume of another kind takes the place of ours",
        "a variable from elsewhere takes the place of ours",
        "null says nothing of a source, too",
        "null says nothing",
    ],
)  # fmt: skip
def test_a_template_is_merged(theirs: dict[str, Any], path: str, expected: object) -> None:
    found: Any = overlay(OURS, theirs)
    for part in path.split("."):
        found = found[int(part)] if part.isdigit() else found[part]
    assert found == expected


def test_ours_comes_first() -> None:
    merged = overlay(OURS, {"spec": {"containers": [{"name": "a"}, {"name": "driver"}]}})
    assert [one["name"] for one in merged["spec"]["containers"]] == ["driver", "a"]


plain = st.recursive(
    st.text(max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner) | st.lists(inner, max_size=2),
    max_leaves=6,
)


@given(ours=st.dictionaries(st.sampled_from("abc"), plain))
def test_an_empty_template_changes_nothing(ours: dict[str, Any]) -> None:
    assert overlay(ours, {}) == ours


@given(theirs=st.dictionaries(st.sampled_from("abc"), plain))
def test_over_nothing_a_template_stays_as_it_is(theirs: dict[str, Any]) -> None:
    assert overlay({}, theirs) == theirs
