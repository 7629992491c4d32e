"""The base of all API models: immutable, camelCase, with rules that hold for the API server and for us.

A rule is written once, as CEL for the CRD beside the same rule in Python. One table of cases goes through both
(`e2e/bad_input.py`). The forms of texts are such rules, too: Kubernetes' own check of a pattern would show the
user a regular expression where ours says what to write.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from sluice.core import quantities


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule of a model: `cel` for the API server, `check` for Python; both are true when all is well.

    `field` is the part of the model that the user is pointed to. `message` is a CEL expression that gives
    the text; `told` gives the same text in Python.
    """

    field: str
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
                raise PydanticCustomError(
                    "rule", "{told}", {"told": rule.told(self), "field": rule.field}
                )
        return self


def text_of_form(pattern: str, remedy: str, *, limit: int) -> Any:
    """The annotations of a text that matches a pattern and is at most `limit` characters long."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise PydanticCustomError("form", "{remedy}", {"remedy": remedy})
        return value

    # JSON's escapes are CEL's, too.
    rule: JsonDict = {
        "rule": f"self.matches({json.dumps(pattern)})",
        "messageExpression": f"'\\'' + self + '\\': ' + {json.dumps(remedy, ensure_ascii=False)}",
    }
    extra: JsonDict = {"x-kubernetes-validations": [rule]}
    return AfterValidator(check), Field(max_length=limit, json_schema_extra=extra)


Duration = Annotated[
    str,
    *text_of_form(
        quantities.DURATION_PATTERN,
        "not a duration; write for example 500ms, 90s, 5m or 1h30m",
        limit=20,
    ),
]
Memory = Annotated[
    str,
    *text_of_form(
        quantities.MEMORY_PATTERN,
        "not an amount of memory in binary units; write for example 512Mi or 2Gi",
        limit=12,
    ),
]
Cpu = Annotated[
    str,
    *text_of_form(
        quantities.CPU_PATTERN,
        "not an amount of CPU; write for example 500m, 1 or 1.5",
        limit=12,
    ),
]
"""Text in the forms of `core.quantities`; each use describes its meaning."""

FreeForm = Annotated[
    dict[str, Any], Field(json_schema_extra={"x-kubernetes-preserve-unknown-fields": True})
]
"""Kubernetes' own types (pod templates, environment sources), which we embed and do not model again."""


def positive_duration(field: str) -> Rule:
    """The duration in `field` is longer than zero."""
    value = f"self.{to_camel(field)}"
    remedy = "must be longer than zero, for example 30s"
    return rule_of_text(field, f"{value}.matches('[1-9]')", _is_positive, remedy)


def least_duration(field: str, least: str) -> Rule:
    """The duration in `field` is not shorter than `least`.

    To us it only has to be longer than zero: a job that was stored before there was this rule must go on.
    """
    value = f"self.{to_camel(field)}"
    # CEL knows no days; what has some is long enough for the API server.
    readable = f"{value}.matches('^([0-9]{{1,6}}(ms|s|m|h))+$')"
    enough = f"duration({value}) >= duration('{least}')"
    cel = f"({readable} ? {enough} : {value}.matches('[1-9]'))"
    return rule_of_text(field, cel, _is_positive, f"must be {least} or longer")


def rule_of_text(field: str, cel: str, check: Callable[[str], bool], remedy: str) -> Rule:
    """A rule for the text in `field`, where there is one: by a CEL expression of it, and by our own check."""
    camel = to_camel(field)

    def checked(model: Any) -> bool:
        value = getattr(model, field)
        return value is None or check(value)

    return Rule(
        field=camel,
        cel=f"!has(self.{camel}) || {cel}",
        message=f"'\\'' + self.{camel} + '\\' {remedy}'",
        check=checked,
        told=lambda model: f"'{getattr(model, field)}' {remedy}",
    )


def _is_positive(duration: str) -> bool:
    return quantities.duration(duration).total_seconds() > 0


def enough_memory(minimum: str) -> Rule:
    """The amount in `memory` is not less than `minimum`."""
    least = quantities.memory(minimum)
    remedy = f"less than Spark needs; use at least {minimum}"
    return Rule(
        field="memory",
        cel=f"!isQuantity(self.memory) || quantity(self.memory).compareTo(quantity('{minimum}')) >= 0",
        message=f"'\\'' + self.memory + '\\': {remedy}'",
        check=lambda model: quantities.memory(model.memory) >= least,
        told=lambda model: f"'{model.memory}': {remedy}",
    )
