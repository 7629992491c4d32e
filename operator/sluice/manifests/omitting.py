"""Leave out of a status what is not known, and what of a text is too long."""

from typing import Any

from sluice.core.conditions import LONGEST_TEXT

Json = dict[str, Any]


def acceptable(told: Json) -> Json:
    """A status as the API server takes it: without parts that are None or empty, and with texts that fit its schema.

    It merges an applied `{}` or `[]` with what it must take away from it into a null, which the schema then refuses; a
    part that is not mentioned is taken away as a whole. Texts of others, such as a registry's page of HTML that a
    kubelet passes on, would keep all else from being told.
    """
    parts = {name: _acceptable(part) for name, part in told.items()}
    return {name: part for name, part in parts.items() if part not in (None, {}, [])}


def _acceptable(part: Any) -> Any:
    match part:
        case dict():
            return acceptable(part)
        case list():
            return [_acceptable(one) for one in part]
        case str() if len(part) > LONGEST_TEXT:
            return f"{part[: LONGEST_TEXT - 3]}..."
        case _:
            return part
