"""What a change of the spec means for a running job.

Spark takes most changes only with a new driver, keeps a few from the checkpoint whatever the user
says, and some need no driver at all. The classes, cheapest first:

    none       nothing that runs is touched
    live       what runs takes it (the number of executors, their CPU)
    restart    a new driver on the same checkpoint
    migration  the state in the checkpoint would have to be moved or rewritten; never done unasked
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from sluice.core import checkpoints


class ChangeClass(StrEnum):
    """What it takes to carry out a change."""

    NONE = "None"
    LIVE = "Live"
    RESTART = "Restart"
    MIGRATION = "Migration"


_CHEAPEST_FIRST = tuple(ChangeClass)

_CONF = "application.sparkConf."
_UNKNOWN: Mapping[str, str] = {}

CPU_FIELDS = frozenset({"application.executor.cpuRequest", "application.executor.cpuLimit"})
"""What the executors that run can be given without a restart, where the cluster allows it."""

_LIVE_EXECUTORS = ("min", "max", "initial")

# The first prefix that fits decides; a path is written as the user knows it, without "spec.".
_RULES: tuple[tuple[str, ChangeClass], ...] = (
    ("checkpoint.leaseDurationSeconds", ChangeClass.RESTART),
    ("checkpoint", ChangeClass.MIGRATION),
    ("executors.initial", ChangeClass.LIVE),
    ("executors.min", ChangeClass.LIVE),
    ("executors.max", ChangeClass.LIVE),
    ("executors", ChangeClass.RESTART),
    *((path, ChangeClass.LIVE) for path in sorted(CPU_FIELDS)),
    ("application", ChangeClass.RESTART),
    ("sources", ChangeClass.RESTART),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The difference between what runs and what is wanted."""

    kind: ChangeClass
    fields: tuple[str, ...] = ()

    def __str__(self) -> str:
        shown = ", ".join(f"spec.{path}" for path in self.fields[:5])
        more = len(self.fields) - 5
        return f"{shown} and {more} more" if more > 0 else shown


NO_CHANGE = Change(kind=ChangeClass.NONE)


def classify(
    before: Mapping[str, object], after: Mapping[str, object], pinned: Mapping[str, str] = _UNKNOWN
) -> Change:
    """Compare two whole spec documents; the costliest changed field decides the class.

    `pinned` has the settings that the checkpoint is known to hold.
    """
    if before == after:
        # Almost always, at each look at each job: going through all fields takes a third of the whole look.
        return NO_CHANGE
    old, new = dict(_leaves(before)), dict(_leaves(after))
    changed = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
    classes = {path: _class_of_change(path, new.get(path), pinned) for path in changed}
    kind = max(classes.values(), key=_CHEAPEST_FIRST.index, default=ChangeClass.NONE)
    if kind is ChangeClass.NONE:
        return NO_CHANGE
    return Change(kind=kind, fields=tuple(path for path in changed if classes[path] is kind))


def fingerprint(document: Mapping[str, object]) -> str:
    """A short name for all of a spec document that needs a new driver: two that differ in nothing of it have one."""
    costly = (ChangeClass.RESTART, ChangeClass.MIGRATION)
    leaves = sorted((path, value) for path, value in _leaves(document) if _class_of(path) in costly)
    return hashlib.sha256(json.dumps(leaves, default=str).encode()).hexdigest()[:16]


def restored(declared: Mapping[str, object], good: Mapping[str, object]) -> dict[str, object]:
    """The declared spec document with all that needs a new driver taken from a good one."""
    parts = ("application", "sources", "checkpoint")
    whole = {name: part for name, part in declared.items() if name not in parts}
    whole |= {name: good[name] for name in parts if name in good}
    whole["application"] = _with_live_cpu(good.get("application"), declared.get("application"))
    before, wanted = good.get("executors"), declared.get("executors")
    if isinstance(before, Mapping) and isinstance(wanted, Mapping):
        kept = {name: value for name, value in before.items() if name not in _LIVE_EXECUTORS}
        live = {name: wanted[name] for name in _LIVE_EXECUTORS if name in wanted}
        whole["executors"] = {**kept, **live}
    return whole


def _with_live_cpu(good: object, declared: object) -> object:
    """A good application with the executors' CPU as it is declared."""
    if not isinstance(good, Mapping) or not isinstance(declared, Mapping):
        return good
    names = {path.rpartition(".")[2] for path in CPU_FIELDS}
    kept, wanted = good.get("executor") or {}, declared.get("executor") or {}
    executor = {name: value for name, value in kept.items() if name not in names}
    executor |= {name: value for name, value in wanted.items() if name in names}
    return {**good, "executor": executor} if executor else good


def _class_of_change(path: str, wanted: object, pinned: Mapping[str, str]) -> ChangeClass:
    setting = path.removeprefix(_CONF)
    if setting in pinned and wanted in (None, pinned[setting]):
        return ChangeClass.RESTART  # what the checkpoint has anyway may be said, and left unsaid
    return _class_of(path)


def _class_of(path: str) -> ChangeClass:
    if path.removeprefix(_CONF) in checkpoints.PINNED:
        return ChangeClass.MIGRATION
    for prefix, kind in _RULES:
        if path == prefix or path.startswith((f"{prefix}.", f"{prefix}[")):
            return kind
    return ChangeClass.NONE


def _leaves(node: object, path: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(node, Mapping) and node:
        for key, value in node.items():
            yield from _leaves(value, f"{path}.{key}" if path else str(key))
    elif isinstance(node, list | tuple) and node:
        for index, value in enumerate(node):
            yield from _leaves(value, f"{path}[{index}]")
    elif node not in (None, {}, [], ()):
        yield path, node
