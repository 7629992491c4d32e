"""Whose jobs may be copied into a namespace of somebody's: its annotation says so.

Whoever writes a StreamProfile names namespaces in which he may have no rights, and what runs there may use the Secrets
of it. So the word of those who may change that namespace is asked for.
"""

from collections.abc import Mapping
from typing import Any

from sluice.core.profiling.records import Problem, Reason

COPIES_FROM = "sluice.dev/copies-from"
"""Names of the namespaces whose jobs may be copied here, with commas between; * for all."""

ALL = "*"


def refusal(namespace: Mapping[str, Any], source: str) -> Problem | None:
    """Why no copies of jobs from the namespace `source` may be made in this one."""
    metadata = namespace["metadata"]
    text = (metadata.get("annotations") or {}).get(COPIES_FROM, "")
    allowed = tuple(filter(None, (name.strip() for name in text.split(","))))
    if source in allowed or ALL in allowed:
        return None
    wanted = ",".join((*allowed, source))
    told = (
        f"namespace {metadata['name']} is open to copies from {' and '.join(allowed) or 'nowhere'}; to have some from "
        f"{source}, let its owner: kubectl annotate --overwrite namespace {metadata['name']} {COPIES_FROM}={wanted}"
    )
    return Problem(Reason.REFUSED, told)
