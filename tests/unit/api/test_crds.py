"""The CRD is one that Kubernetes takes, and every field says what it means."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from sluice.api import crds
from sluice.cli import main

ROOT = Path(__file__).parents[3]
VERSIONS = {kind.name: crds.crd(kind)["spec"]["versions"][0] for kind in crds.KINDS}
SCHEMAS = {name: version["schema"]["openAPIV3Schema"] for name, version in VERSIONS.items()}
of_each_kind = pytest.mark.parametrize("kind", crds.KINDS, ids=lambda kind: kind.name)


def fields(node: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """All parts of a schema with their paths."""
    yield path, node
    for name, child in node.get("properties", {}).items():
        yield from fields(child, f"{path}.{name}")
    for inner in ("items", "additionalProperties"):
        if inner in node:
            yield from fields(node[inner], f"{path}[]")


PARTS = [
    (f"{name}{path}", node) for name, schema in SCHEMAS.items() for path, node in fields(schema)
]
DESCRIBED = [
    (f"{name}{path}", node)
    for name, schema in SCHEMAS.items()
    for path, node in fields(schema)
    if path.startswith((".spec", ".status")) and not path.endswith("[]")
]


@pytest.mark.parametrize(("path", "node"), PARTS, ids=[path for path, _ in PARTS])
def test_the_schema_is_structural(path: str, node: dict[str, Any]) -> None:
    forbidden = {"$ref", "$defs", "anyOf", "oneOf", "allOf", "title", "const", "nullable"}
    assert not node.keys() & forbidden
    assert "type" in node
    assert not ("properties" in node and "additionalProperties" in node)
    assert not isinstance(node.get("exclusiveMinimum", True), float | int) or isinstance(
        node.get("exclusiveMinimum", True), bool
    )


@pytest.mark.parametrize(("path", "node"), DESCRIBED, ids=[path for path, _ in DESCRIBED])
def test_every_field_is_described_by_a_sentence(path: str, node: dict[str, Any]) -> None:
    text = node.get("description", "")
    assert text[:1].isupper()
    assert text.endswith(".")


@of_each_kind
def test_every_text_and_list_that_rules_look_at_has_a_limit(kind: crds.Kind) -> None:
    for path, node in fields(SCHEMAS[kind.name]["properties"]["spec"]):
        if node["type"] == "string" and "enum" not in node:
            assert "maxLength" in node, path
        if node["type"] == "array" and path != ".status.conditions":
            assert "maxItems" in node, path


@of_each_kind
def test_every_rule_has_a_message_and_points_at_a_field(kind: crds.Kind) -> None:
    for path, node in fields(SCHEMAS[kind.name]):
        for rule in node.get("x-kubernetes-validations", []):
            assert rule["messageExpression"], path
            if "properties" in node:
                assert rule["fieldPath"].startswith("."), path


def test_the_spec_of_a_profile_that_has_ended_stays_as_it_was_measured() -> None:
    (rule,) = SCHEMAS["StreamProfile"]["x-kubernetes-validations"]
    is_open = "!has(oldSelf.status) || !has(oldSelf.status.endedAt)"
    assert rule["rule"] == f"{is_open} || self.spec == oldSelf.spec"
    assert "this profile has ended" in rule["messageExpression"]
    assert "make another one" in rule["messageExpression"]
    assert rule["fieldPath"] == ".spec"
    assert "endedAt" in SCHEMAS["StreamProfile"]["properties"]["status"]["properties"]


@of_each_kind
def test_a_status_has_no_defaults(kind: crds.Kind) -> None:
    status = SCHEMAS[kind.name]["properties"]["status"]
    assert not [path for path, node in fields(status) if "default" in node]


def test_the_scale_subresource_names_fields_that_exist() -> None:
    scale = VERSIONS["StreamJob"]["subresources"]["scale"]
    known = dict(fields(SCHEMAS["StreamJob"]))
    assert {path for path in scale.values() if path not in known} == set()


@of_each_kind
def test_every_column_of_kubectl_get_shows_a_field_that_exists(kind: crds.Kind) -> None:
    known = dict(fields(SCHEMAS[kind.name]))
    for column in VERSIONS[kind.name]["additionalPrinterColumns"]:
        path = column["jsonPath"].partition("[?")[0]
        assert path in known or path.startswith(".metadata"), path


class Choice(BaseModel):
    """A model that Kubernetes cannot express."""

    value: int | str


class Pair(BaseModel):
    """Another one."""

    value: tuple[int, str]


class One(BaseModel):
    """A constant is an enumeration of one."""

    value: Literal["a"]


@pytest.mark.parametrize("model", [Choice, Pair])
def test_what_kubernetes_cannot_express_is_refused_when_it_is_written(
    model: type[BaseModel],
) -> None:
    with pytest.raises(TypeError, match="a structural schema cannot express"):
        crds.structural_schema(model)


def test_a_constant_becomes_an_enumeration() -> None:
    node = crds.structural_schema(One)["properties"]["value"]
    assert node["enum"] == ["a"]
    assert "const" not in node


def test_the_generated_files_are_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["crds", "--check"]) == 0


@of_each_kind
def test_the_reference_names_every_field_of_the_spec(kind: crds.Kind) -> None:
    page = crds.reference_page(kind)
    for path, _ in fields(SCHEMAS[kind.name]["properties"]["spec"], "spec"):
        if path != "spec" and not path.endswith("[]"):
            assert f"`{path}`" in page


@of_each_kind
def test_a_schema_that_lacks_any_field_is_found_out_by_its_path(kind: crds.Kind) -> None:
    ours = SCHEMAS[kind.name]
    assert crds.lacking(ours, ours) is None
    found = 0
    for path, node in fields(served := copy.deepcopy(ours)):
        for name in list(node.get("properties", {})):
            if not f"{path}.{name}".startswith((".spec", ".status")):
                continue
            taken = node["properties"].pop(name)
            assert crds.lacking(ours, served) == f"{path}.{name}"
            node["properties"] = {**node["properties"], name: taken}
            found += 1
    assert found == len([one for one in DESCRIBED if one[0].startswith(f"{kind.name}.")])


@of_each_kind
def test_a_newer_schema_lacks_nothing_nor_does_one_of_other_bounds(kind: crds.Kind) -> None:
    served = copy.deepcopy(SCHEMAS[kind.name])
    status = served["properties"]["status"]["properties"]
    status["news"] = {"type": "string"}
    status["phase"]["maxLength"] = 7
    assert crds.lacking(SCHEMAS[kind.name], served) is None
    assert crds.lacking(SCHEMAS[kind.name], {}) == ".spec"
