"""Lay a user's partial template over ours, the way `kubectl` lays a strategic patch over an object.

Objects are merged key by key. Lists of named things (containers, volumes, environment, mounts) are merged by
the key that tells them apart; other lists are appended. Ours comes first; a plain value of the user's wins.
"""

from collections.abc import Mapping
from typing import Any

_MERGE_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "env": "name",
    "imagePullSecrets": "name",
    "volumeMounts": "mountPath",
    "ports": "containerPort",
}


def overlay(base: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """A new object: `base` with `patch` laid over it."""
    merged = dict(base)
    for key, value in patch.items():
        merged[key] = _merged(key, merged[key], value) if key in merged else value
    return merged


def _merged(key: str, ours: Any, theirs: Any) -> Any:
    if theirs is None:
        # YAML's way to say nothing; it must not take our labels or our security context away.
        return ours
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        return overlay(ours, theirs)
    if isinstance(ours, list) and isinstance(theirs, list):
        name = _MERGE_KEYS.get(key)
        return _merged_by(name, ours, theirs) if name else [*ours, *theirs]
    return theirs


def _merged_by(name: str, ours: list[Any], theirs: list[Any]) -> list[Any]:
    patches = {item.get(name): item for item in theirs}
    known = {item.get(name) for item in ours}
    kept = [overlay(item, patches.get(item.get(name), {})) for item in ours]
    return kept + [item for item in theirs if item.get(name) not in known]
