"""CustomResourceDefinitions from the pydantic models, and the reference page from the same source.

pydantic's JSON schema is not what Kubernetes calls structural, so it is rewritten: references are inlined,
"or null" becomes "not required", numeric exclusive bounds become boolean ones, titles go. What cannot be
expressed (discriminated unions, tuples) raises, so that a model that users could never fill in does not ship.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel

from sluice.api.base import Model, Rule
from sluice.api.v1alpha1 import streamjob, streamprofile
from sluice.api.v1alpha1.streamjob import StreamJob
from sluice.api.v1alpha1.streamprofile import StreamProfile
from sluice.core.conditions import LONGEST_TEXT

GROUP = "sluice.dev"
VERSION = "v1alpha1"

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of object: its model, its names, and what else its CRD says of it."""

    model: type[StreamJob | StreamProfile]
    short_name: str
    columns: tuple[Json, ...]
    scale: Mapping[str, str] | None = None

    @property
    def name(self) -> str:
        """As objects of it say."""
        return self.model.__name__

    @property
    def plural(self) -> str:
        """As paths and files have it."""
        return f"{self.name.lower()}s"

    @property
    def crd_name(self) -> str:
        """That of its CRD."""
        return f"{self.plural}.{GROUP}"


STREAM_JOB = Kind(
    model=StreamJob,
    short_name="sj",
    columns=streamjob.PRINTER_COLUMNS,
    scale={
        "specReplicasPath": ".spec.executors.initial",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    },
)
STREAM_PROFILE = Kind(model=StreamProfile, short_name="sp", columns=streamprofile.PRINTER_COLUMNS)
KINDS = (STREAM_JOB, STREAM_PROFILE)


def crd(kind: Kind) -> Json:
    """The CRD of a kind."""
    names = {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": kind.plural,
        "singular": kind.name.lower(),
        "shortNames": [kind.short_name],
        "categories": ["streaming"],
    }
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": object_schema(kind)},
        "subresources": {"status": {}, **({"scale": dict(kind.scale)} if kind.scale else {})},
        "additionalPrinterColumns": [dict(column) for column in kind.columns],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.crd_name},
        "spec": {"group": GROUP, "names": names, "scope": "Namespaced", "versions": [version]},
    }


def lacking(ours: Mapping[str, Any], served: Mapping[str, Any]) -> str | None:
    """The first field of spec and status that a served schema lacks of one of `object_schema`, as a path; None if
    it has all.

    A field of other bounds is there: who writes it is told when it does not fit.
    """
    parts = {name: ours["properties"][name] for name in ("spec", "status")}
    return next(_lacking({"properties": parts}, served, ""), None)


def _lacking(ours: Mapping[str, Any], theirs: Mapping[str, Any], place: str) -> Iterator[str]:
    known = theirs.get("properties", {})
    for name, schema in ours.get("properties", {}).items():
        if name in known:
            yield from _lacking(schema, known[name], f"{place}.{name}")
        else:
            yield f"{place}.{name}"
    if "items" in ours:
        yield from _lacking(ours["items"], theirs.get("items", {}), f"{place}[]")


def object_schema(kind: Kind) -> Json:
    """The structural schema of a whole object."""
    schema = structural_schema(kind.model)
    schema["properties"] |= {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        # A bound that every name keeps, so that the API server can tell what a rule over it costs.
        "metadata": {
            "type": "object",
            "properties": {"name": {"type": "string", "maxLength": 253}},
        },
    }
    schema["properties"]["status"] = _without_defaults(schema["properties"]["status"])
    if kind.model.object_rules:
        schema["x-kubernetes-validations"] = _validations(kind.model.object_rules)
    return schema


def structural_schema(model: type[BaseModel]) -> Json:
    """The schema of a model in the form that Kubernetes accepts.

    Raises TypeError for what a structural schema cannot express.
    """
    raw = model.model_json_schema(by_alias=True)
    definitions = raw.pop("$defs", {})
    rules = dict(_rules_by_title(model))
    return _rewrite(raw, definitions, rules)


def _rules_by_title(model: type[BaseModel]) -> Iterator[tuple[str, tuple[Rule, ...]]]:
    """All models that `model` is made of, by name, with their rules."""
    if issubclass(model, Model):
        yield model.__name__, model.rules
    for info in model.model_fields.values():
        for part in _models_in(info.annotation):
            yield from _rules_by_title(part)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def _rewrite(
    node: Json, definitions: Mapping[str, Json], rules: Mapping[str, tuple[Rule, ...]]
) -> Json:
    node = _inlined(node, definitions)
    for unsupported in ("oneOf", "allOf", "prefixItems", "discriminator"):
        if unsupported in node:
            raise TypeError(
                f"a structural schema cannot express {unsupported!r} of {node.get('title')}"
            )
    node = _without_null(node, definitions)
    title = node.pop("title", None)
    _bound(node)
    if "properties" in node:
        node["properties"] = {
            name: _rewrite(dict(child), definitions, rules)
            for name, child in node["properties"].items()
        }
        node.pop("additionalProperties", None)
        if isinstance(title, str) and rules.get(title):
            node["x-kubernetes-validations"] = _validations(rules[title])
    elif isinstance(node.get("additionalProperties"), dict):
        node["additionalProperties"] = _rewrite(
            dict(node["additionalProperties"]), definitions, rules
        )
    elif node.get("type") == "object":
        node.pop("additionalProperties", None)
        node["x-kubernetes-preserve-unknown-fields"] = True
    if "items" in node:
        node["items"] = _rewrite(dict(node["items"]), definitions, rules)
    _default(node)
    return node


def _default(node: Json) -> None:
    """Defaults of groups are given in full, because the API server checks them before it fills them in."""
    default = node.get("default", ...)
    if isinstance(default, dict) and "properties" in node:
        node["default"] = _known(default)
    elif default in ([], {}, ""):
        del node["default"]


def _known(default: Json) -> Json:
    return {
        name: _known(value) if isinstance(value, dict) else value
        for name, value in default.items()
        if value not in (None, [], {})
    }


def _without_defaults(node: Json) -> Json:
    """A status says what is known; the API server must not make anything up."""
    stripped = {name: part for name, part in node.items() if name != "default"}
    if "properties" in node:
        stripped["properties"] = {
            name: _without_defaults(child) for name, child in node["properties"].items()
        }
    if "items" in node:
        stripped["items"] = _without_defaults(node["items"])
    return stripped


def _inlined(node: Json, definitions: Mapping[str, Json]) -> Json:
    """The node with its reference replaced by what it refers to; what stands beside it wins."""
    node = dict(node)
    reference = node.pop("$ref", None)
    if reference is None:
        return node
    target = definitions[reference.removeprefix("#/$defs/")]
    return {**target, **node, "title": target.get("title")}


def _without_null(node: Json, definitions: Mapping[str, Json]) -> Json:
    if "anyOf" not in node:
        if node.get("default", ...) is None:
            del node["default"]
        return node
    options = [option for option in node.pop("anyOf") if option != {"type": "null"}]
    if len(options) != 1:
        raise TypeError(f"a structural schema cannot express the union {options}")
    option = _inlined(options[0], definitions)
    merged = {**option, **node, "title": option.get("title")}
    if merged.get("default", ...) is None:
        del merged["default"]
    return merged


def _bound(node: Json) -> None:
    for name, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if name in node:
            node[limit] = node.pop(name)
            node[name] = True
    if "const" in node:
        node["enum"] = [node.pop("const")]
    if node.get("type") == "string" and "enum" not in node:
        node.setdefault("maxLength", LONGEST_TEXT)


def _validations(rules: tuple[Rule, ...]) -> list[Json]:
    return [
        {"rule": rule.cel, "messageExpression": rule.message, "fieldPath": f".{rule.field}"}
        for rule in rules
    ]


def reference_page(kind: Kind) -> str:
    """The fields of a kind as a Markdown page."""
    schema = object_schema(kind)["properties"]
    lines = [
        f"# {kind.name} reference",
        "",
        f"`apiVersion: {GROUP}/{VERSION}`, `kind: {kind.name}`, short name `{kind.short_name}`. This page is made from "
        "the API's",
        "models by `sluice crds --write`.",
    ]
    for part in ("spec", "status"):
        lines += ["", f"## {part}", "", "| field | type | default | meaning |", "|---|---|---|---|"]
        lines += [_row(path, node) for path, node in _fields(schema[part], part)]
    return "\n".join(lines) + "\n"


def _fields(node: Json, path: str) -> Iterator[tuple[str, Json]]:
    for name, child in node.get("properties", {}).items():
        inner = f"{path}.{name}"
        required = name in node.get("required", [])
        yield inner, {**child, "required": required}
        yield from _fields(child, inner)
        if "items" in child:
            yield from _fields(child["items"], f"{inner}[]")


def _row(path: str, node: Json) -> str:
    kind = node.get("type", "")
    if "enum" in node:
        kind = " \\| ".join(f"`{value}`" for value in node["enum"])
    elif kind == "array":
        kind = f"list of {node['items'].get('type', 'object')}"
    default = node.get("default")
    shown = "**required**" if node["required"] else ""
    if default not in (None, {}, [], "") and not isinstance(default, dict):
        shown = f"`{str(default).lower() if isinstance(default, bool) else default}`"
    return f"| `{path}` | {kind} | {shown} | {node.get('description', '')} |"
