"""Patch modules right after the program imports them, never before, whatever its `sys.path` is by then.

What the program sets in the environment or in `sys.path` before an import keeps its meaning. An error of a patch
comes out of the import: whoever gives a patch decides whether there is to be one.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Patch = Callable[[types.ModuleType], None]


def patch_when_imported(*all_patches: Mapping[str, Patch]) -> None:
    """Patch the modules of these names: those that are there now, the others behind their import."""
    names = {name for patches in all_patches for name in patches}
    patches = {name: [those[name] for those in all_patches if name in those] for name in names}
    for name, those in patches.items():
        if name in sys.modules:
            _apply(those, sys.modules[name])
    sys.meta_path.insert(0, _Finder(patches))


def _apply(patches: Sequence[Patch], module: types.ModuleType) -> None:
    for patch in patches:
        patch(module)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds nothing of its own; puts patches behind the loading of the modules that it knows.

    A module may be looked for and not loaded, or fail to load and be loaded again: no patch is ever used up.
    """

    def __init__(self, patches: Mapping[str, Sequence[Patch]]) -> None:
        self._patches = patches

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        patches = self._patches.get(fullname)
        if patches is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and hasattr(spec.loader, "get_code"):
            spec.loader = _Loader(spec.loader, patches)
        return spec


class _Loader(importlib.abc.Loader):
    """Loads as the real loader does, hands the module back to it, then patches."""

    def __init__(self, loader: Any, patches: Sequence[Patch]) -> None:
        self._loader = loader
        self._patches = patches

    def create_module(self, _: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        return None  # an ordinary module

    def exec_module(self, module: types.ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        # Not loader.exec_module: Python 3.9 has none for zip files, and Spark ships pyspark.zip.
        exec(self._loader.get_code(module.__name__), vars(module))
        _apply(self._patches, module)
