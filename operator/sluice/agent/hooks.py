"""Tell the agent about Spark sessions and queries as the user's program makes them.

The patched names are private to pyspark but for `SparkContext.stop`; where one is missing, the agent sees less
and the program runs on.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from sluice.agent import logs
from sluice.agent.importing import Patch


def patches(
    on_session: Callable[[Any], None], on_query: Callable[[Any], None], on_stop: Callable[[], None]
) -> dict[str, Patch]:
    """Return patches of modules that call back after a session was made, after a query was started, and before a
    context stops.
    """

    def patch_session(module: types.ModuleType) -> None:
        _wrap(module, "SparkSession", "__init__", after=lambda session, _: on_session(session))

    def patch_writer(module: types.ModuleType) -> None:
        _wrap(module, "DataStreamWriter", "_sq", after=lambda _, query: on_query(query))

    def patch_context(module: types.ModuleType) -> None:
        _wrap(module, "SparkContext", "stop", before=on_stop)

    return {
        "pyspark.sql.session": functools.partial(_guarded, patch_session),
        "pyspark.sql.streaming.readwriter": functools.partial(_guarded, patch_writer),
        "pyspark.context": functools.partial(_guarded, patch_context),  # Spark 3
        "pyspark.core.context": functools.partial(_guarded, patch_context),  # Spark 4
    }


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
