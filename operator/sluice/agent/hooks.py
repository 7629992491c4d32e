"""Tell the agent about Spark sessions and queries as the user's program makes them.

pyspark is patched right after the program imports it, never before: what the program sets in the
environment or in `sys.path` before that import keeps its meaning. The patched names are private to pyspark
but for `SparkContext.stop`; where one is missing, the agent sees less and the program runs on.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from sluice.agent import logs

Patch = Callable[[types.ModuleType], None]


def install(
    on_session: Callable[[Any], None], on_query: Callable[[Any], None], on_stop: Callable[[], None]
) -> None:
    """Call back after a session was made, after a query was started, and before a context stops."""

    def patch_session(module: types.ModuleType) -> None:
        _wrap(module, "SparkSession", "__init__", after=lambda session, _: on_session(session))

    def patch_writer(module: types.ModuleType) -> None:
        _wrap(module, "DataStreamWriter", "_sq", after=lambda _, query: on_query(query))

    def patch_context(module: types.ModuleType) -> None:
        _wrap(module, "SparkContext", "stop", before=on_stop)

    _patch_when_imported(
        {
            "pyspark.sql.session": patch_session,
            "pyspark.sql.streaming.readwriter": patch_writer,
            "pyspark.context": patch_context,  # Spark 3
            "pyspark.core.context": patch_context,  # Spark 4
        }
    )


def _wrap(
    module: types.ModuleType,
    owner_name: str,
    name: str,
    before: Callable[[], None] | None = None,
    after: Callable[[Any, Any], None] | None = None,
) -> None:
    owner = getattr(module, owner_name)
    if owner.__module__ != module.__name__:  # a module that only passes the name on
        return
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        if before:
            _guarded(before)
        result = original(self, *args, **kwargs)
        if after:
            _guarded(after, self, result)
        return result

    setattr(owner, name, wrapped)


def _guarded(function: Callable[..., None], *args: Any) -> None:
    try:
        function(*args)
    except Exception as error:  # noqa: BLE001  # the program must not notice a failure of the agent
        logs.write("error", "The agent failed in a hook of pyspark", error=repr(error))


def _patch_when_imported(patches: dict[str, Patch]) -> None:
    for name in [name for name in patches if name in sys.modules]:
        _guarded(patches.pop(name), sys.modules[name])
    sys.meta_path.insert(0, _Finder(patches))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds nothing of its own; puts a patch behind the loading of the modules that it knows."""

    def __init__(self, patches: dict[str, Patch]) -> None:
        self._patches = patches

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        patch = self._patches.pop(fullname, None)
        if patch is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and hasattr(spec.loader, "get_code"):
            spec.loader = _Loader(spec.loader, patch)
        return spec


class _Loader(importlib.abc.Loader):
    """Loads as the real loader does, hands the module back to it, then patches."""

    def __init__(self, loader: Any, patch: Patch) -> None:
        self._loader = loader
        self._patch = patch

    def create_module(self, _: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        return None  # an ordinary module

    def exec_module(self, module: types.ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        # Not loader.exec_module: Python 3.9 has none for zip files, and Spark ships pyspark.zip.
        exec(self._loader.get_code(module.__name__), vars(module))
        _guarded(self._patch, module)
