"""Leave out of a status what is not known."""

from typing import Any

Json = dict[str, Any]


def without_empty(told: Json) -> Json:
    """Without parts that are None or empty.

    The API server merges an applied `{}` or `[]` with what it must take away from it into a null, which the
    schema then refuses; a part that is not mentioned is taken away as a whole.
    """
    parts = {
        name: without_empty(part) if isinstance(part, dict) else part for name, part in told.items()
    }
    return {name: part for name, part in parts.items() if part not in (None, {}, [])}
