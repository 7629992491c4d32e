"""The base of all API models: immutable, camelCase, with rules that hold for the API server and for us.

A rule that spans several fields is written once, as CEL for the CRD beside the same rule in Python. One
table of cases goes through both (`tests/api`, `e2e`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from sluice.core import quantities


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule of a model: `cel` for the API server, `check` for Python; both are true when all is well.

    `message` is a CEL expression that gives the text; `told` gives the same text in Python.
    """

    cel: str
    message: str
    check: Callable[[Any], bool]
    told: Callable[[Any], str]


class Model(BaseModel):
    """A part of a resource. Unknown fields are ignored: an older operator must survive a newer CRD."""

    model_config = ConfigDict(
        frozen=True, alias_generator=to_camel, populate_by_name=True, extra="ignore"
    )

    rules: ClassVar[tuple[Rule, ...]] = ()

    @model_validator(mode="after")
    def _keeps_its_rules(self) -> Self:
        for rule in self.rules:
            if not rule.check(self):
                raise ValueError(rule.told(self))
        return self


Duration = Annotated[str, Field(pattern=quantities.DURATION_PATTERN, max_length=20)]
Memory = Annotated[str, Field(pattern=quantities.MEMORY_PATTERN, max_length=12)]
Cpu = Annotated[str, Field(pattern=quantities.CPU_PATTERN, max_length=12)]
"""Text in the forms of `core.quantities`; each use describes its meaning."""

FreeForm = Annotated[
    dict[str, Any], Field(json_schema_extra={"x-kubernetes-preserve-unknown-fields": True})
]
"""Kubernetes' own types (pod templates, environment sources), which we embed and do not model again."""


def positive_duration(field: str) -> Rule:
    """The duration in `field` is longer than zero."""
    camel = to_camel(field)

    def check(model: Any) -> bool:
        value = getattr(model, field)
        return value is None or quantities.duration(value).total_seconds() > 0

    return Rule(
        cel=f"!has(self.{camel}) || self.{camel}.matches('[1-9]')",
        message=f"'{camel}: \"' + self.{camel} + '\" must be longer than zero, for example 30s'",
        check=check,
        told=lambda model: (
            f'{camel}: "{getattr(model, field)}" must be longer than zero, for example 30s'
        ),
    )
