"""Lay a user's partial template over ours, the way `kubectl` lays a strategic patch over an object.

Objects are merged key by key. Lists of named things (containers, volumes, environment, mounts) are merged by
the key that tells them apart; other lists are appended. Ours comes first; a plain value of the user's wins. What a
thing is filled from wins as a whole: Kubernetes refuses a volume of two kinds, and a variable with two values.
"""

from collections.abc import Callable, Mapping
from typing import Any

_Merge = Callable[[Mapping[str, Any], Mapping[str, Any]], dict[str, Any]]

_MERGE_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "env": "name",
    "imagePullSecrets": "name",
    "volumeMounts": "mountPath",
    "ports": "containerPort",
}

_OF_ONE_SOURCE = frozenset(("volumes", "env"))
"""Lists of things that have a name and one source."""


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
        merge = _filled if key in _OF_ONE_SOURCE else overlay
        return _merged_by(name, ours, theirs, merge) if name else [*ours, *theirs]
    return theirs


def _merged_by(name: str, ours: list[Any], theirs: list[Any], merge: _Merge) -> list[Any]:
    patches = {item.get(name): item for item in theirs}
    known = {item.get(name) for item in ours}
    kept = [merge(item, patches.get(item.get(name), {})) for item in ours]
    return kept + [item for item in theirs if item.get(name) not in known]


def _filled(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    sources = {key for key, value in theirs.items() if value is not None} - {"name"}
    kept = {key: value for key, value in ours.items() if key == "name" or key in sources}
    return overlay(kept if sources else ours, theirs)
