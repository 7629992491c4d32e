"""Put the stand-ins of a profile between the program and pyspark, before the program can have a session.

Other than the hooks of `hooks`, none of these may be missing: a PySpark without one of the names ends the program. They
were tried with 3.5 and 4.1 to 4.3; in 4.0 a statement within EXECUTE IMMEDIATE gets past them. What goes past pyspark's
classes and Delta Lake's is out of reach: RDDs, objects of Java, clients of the program.
"""

from __future__ import annotations

import functools
import importlib
import re
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from sluice.agent import sinks, statements
from sluice.agent.importing import Patch
from sluice.agent.profiling import NotProfilable, Profile, refuse
from sluice.agent.records import Replaced
from sluice.agent.sinks import Dropped, Folders, StreamWriter
from sluice.agent.sources import StreamReader
from sluice.agent.standins import BATCH_WRITER, CATALOG, DELTA, Methods, StandIn

_PYSPARK = "pyspark"
_OLDEST, _LEAKY = (3, 5), (4, 0)
_SINCE_4 = frozenset({"pyspark.sql.merge", "pyspark.sql.classic.dataframe"})
_DEFAULT_FORMAT = "spark.sql.sources.default"


def prepare(folder: str) -> None:
    """Import pyspark, and so patch it, if it is where the program's first line would find it.

    A program that extends `sys.path` itself, or needs no pyspark, meets the patches at its own import or never.
    """
    first, sys.path[0] = sys.path[0], folder
    try:
        importlib.import_module(_PYSPARK)
    except ImportError:
        return
    finally:
        sys.path[0] = first


def patches(
    profile: Profile, dropped: Dropped, on_start: Callable[[Any, Replaced], None]
) -> dict[str, Patch]:
    """Return the patches of a profile; `on_start` is told each query of Java and what was replaced."""
    needed: Mapping[str, Patch] = {
        "pyspark.sql.streaming.readwriter": _Streams(profile, on_start),
        "pyspark.sql.readwriter": functools.partial(_patch_batches, dropped),
        "pyspark.sql.merge": functools.partial(_patch_merge, dropped),
        # In Spark 3 this one is the class of all rows, later the parent of those that are none of Connect's.
        "pyspark.sql.dataframe": functools.partial(_patch_rows, dropped),
        "pyspark.sql.classic.dataframe": functools.partial(_patch_rows, dropped),
        "pyspark.sql.session": functools.partial(_patch_session, dropped),
        "pyspark.sql.catalog": functools.partial(_patch_catalog, dropped),
    }
    patched: set[str] = set()
    return {
        **{name: functools.partial(_noted, patched, patch) for name, patch in needed.items()},
        "pyspark.sql.connect.session": _patch_connect,
        "delta.tables": functools.partial(_patch_delta, dropped),
        _PYSPARK: functools.partial(_import_all, tuple(needed), patched),
    }


def _noted(patched: set[str], patch: Patch, module: types.ModuleType) -> None:
    patch(module)
    patched.add(module.__name__)


def _import_all(names: tuple[str, ...], patched: set[str], _: types.ModuleType) -> None:
    """Let all patches be made with pyspark's first import, and none be missing afterwards."""
    numbers = tuple(int(number) for number in re.findall(r"\d+", _version())[:2])
    if numbers < _OLDEST:
        _miss("is older than those that were tried")
    if numbers == _LEAKY:
        _miss("lets statements within statements past the stand-ins")
    names = tuple(name for name in names if numbers >= (4,) or name not in _SINCE_4)
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError as error:
            _miss(f"has no module {name} ({error})")
    if not patched.issuperset(names):
        _miss(f"comes in a form that cannot be patched: {sorted(set(names) - patched)}")


class _Streams:
    """Patches readers and writers of streams."""

    def __init__(self, profile: Profile, on_start: Callable[[Any, Replaced], None]) -> None:
        self._profile = profile
        self._on_start = on_start
        self._folders = Folders(profile.checkpoint)

    def __call__(self, module: types.ModuleType) -> None:
        reader = _class(module, "DataStreamReader")
        _replace_after_init(reader, "_jreader", self._reader)
        writer = _class(module, "DataStreamWriter", "foreachBatch", "foreach", "start", "toTable")
        _replace_after_init(writer, "_jwrite", self._writer)
        set_function = writer.foreachBatch

        @functools.wraps(set_function)
        def foreach_batch(self: Any, func: Any) -> Any:  # noqa: ARG001  # the program may name it
            ours = self._jwrite

            def set_ours(java: Any) -> None:
                self._jwrite = java
                try:
                    set_function(self, sinks.drop_batch)
                finally:
                    self._jwrite = ours

            ours.in_batches(set_ours)
            return self

        writer.foreachBatch = foreach_batch

    def _reader(self, reader: Any, java: Any) -> StreamReader:
        return StreamReader(java, _default_format(reader), self._profile)

    def _writer(self, writer: Any, java: Any) -> StreamWriter:
        return StreamWriter(
            java,
            _default_format(writer),
            self._folders,
            self._on_start,
            is_steered=self._profile.most_rows is not None,
        )


def _patch_batches(dropped: Dropped, module: types.ModuleType) -> None:
    def stand_in(writer: Any, java: Any) -> StandIn:
        def write(what: str) -> None:
            dropped.note(what)
            sinks.drop(writer._df._jdf)

        return StandIn(type(writer).__name__, java, BATCH_WRITER, write)

    _replace_after_init(_class(module, "DataFrameWriter"), "_jwrite", stand_in)
    _replace_after_init(_class(module, "DataFrameWriterV2"), "_jwriter", stand_in)


def _patch_merge(dropped: Dropped, module: types.ModuleType) -> None:
    owner = _class(module, "MergeIntoWriter", "merge")
    original = owner.__init__

    @functools.wraps(original)
    def init(self: Any, df: Any, *args: Any, **kwargs: Any) -> None:
        original(self, df, *args, **kwargs)
        self._merged = df

    def merge(self: Any) -> None:
        dropped.note("MergeIntoWriter.merge")
        sinks.drop(self._merged._jdf)

    owner.__init__, owner.merge = init, merge


def _patch_rows(dropped: Dropped, module: types.ModuleType) -> None:
    """The program's code for each row of a batch is a sink, too, as it is in a stream."""
    owner = _class(module, "DataFrame", "foreach", "foreachPartition")

    def dropping(name: str) -> Callable[[Any, Any], None]:
        def drop(self: Any, f: Any) -> None:  # noqa: ARG001  # the program may name it
            dropped.note(f"DataFrame.{name}")
            sinks.drop(self._jdf)

        return drop

    owner.foreach, owner.foreachPartition = dropping("foreach"), dropping("foreachPartition")


def _patch_session(dropped: Dropped, module: types.ModuleType) -> None:
    owner = _class(module, "SparkSession", "sql", "Builder")
    rows, formatter_class = _class(module, "DataFrame"), _class(module, "SQLStringFormatter")
    run = owner.sql

    @functools.wraps(run)
    def sql(self: Any, sqlQuery: str, args: Any = None, **kwargs: Any) -> Any:  # noqa: N803
        formatter = formatter_class(self)
        try:
            text = formatter.format(sqlQuery, **kwargs) if kwargs else sqlQuery
            kind = _writing(self, text, args)
            if kind is None:
                return run(self, text, args)
            dropped.note(f"SQL: {kind}")
            return rows(self._jsparkSession.emptyDataFrame(), self)
        finally:
            formatter.clear()

    owner.sql = sql
    _class(module, "SparkSession", "Builder").Builder.remote = _refuse_connect


def _patch_catalog(dropped: Dropped, module: types.ModuleType) -> None:
    def stand_in(catalog: Any, java: Any) -> StandIn:
        return _answered_by_no_rows("Catalog", java, CATALOG, catalog._sparkSession, dropped)

    _replace_after_init(_class(module, "Catalog"), "_jcatalog", stand_in)


def _patch_delta(dropped: Dropped, module: types.ModuleType) -> None:
    """Delta Lake's own interface writes past PySpark's writers."""
    for name, methods in DELTA.items():

        def stand_in(of: Any, java: Any, name: str = name, methods: Methods = methods) -> StandIn:
            return _answered_by_no_rows(name, java, methods, of._spark, dropped)

        attribute = "_jdt" if name == "DeltaTable" else "_jbuilder"
        _replace_after_init(_class(module, name), attribute, stand_in)
    table = _class(module, "DeltaTable", "convertToDelta")

    def convert(cls: Any, sparkSession: Any, *_: Any, **__: Any) -> Any:  # noqa: N803  # Delta's name
        dropped.note("DeltaTable.convertToDelta")
        return cls(sparkSession, sparkSession._jsparkSession.emptyDataFrame())

    table.convertToDelta = classmethod(convert)


def _answered_by_no_rows(
    owner: str, java: Any, methods: Methods, session: Any, dropped: Dropped
) -> StandIn:
    def write(what: str) -> Any:
        dropped.note(what)
        return session._jsparkSession.emptyDataFrame()

    return StandIn(owner, java, methods, write)


def _writing(session: Any, text: str, args: Any) -> str | None:
    try:
        return statements.writing(session, text)
    except Exception as error:  # noqa: BLE001  # py4j raises errors of many kinds
        if type(error).__name__ == "ParseException" and not args:
            return None  # nothing can run of it, and the program gets the same error
        told = f"{type(error).__name__}: {error}"[:300]
        return refuse(NotProfilable(f"nobody can tell whether {text[:200]!r} writes: {told}"))


def _patch_connect(module: types.ModuleType) -> None:
    _class(module, "SparkSession").__init__ = _refuse_connect


def _refuse_connect(*_: Any, **__: Any) -> NoReturn:
    refuse(
        NotProfilable(
            "the program uses Spark Connect, whose plans are made elsewhere; profile it with a session of its own"
        )
    )


def _replace_after_init(
    owner: type[Any], attribute: str, stand_in: Callable[[Any, Any], Any]
) -> None:
    """Put a stand-in, made of the object and of what is there, into the objects of a class."""
    original = owner.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if attribute not in vars(self):
            refuse(NotProfilable(f"{owner.__name__} of this PySpark keeps no {attribute}"))
        setattr(self, attribute, stand_in(self, vars(self)[attribute]))

    owner.__init__ = init


def _default_format(of: Any) -> Callable[[], str]:
    return lambda: str(of._spark.conf.get(_DEFAULT_FORMAT))


def _class(module: types.ModuleType, name: str, *members: str) -> Any:
    owner = getattr(module, name, None)
    if owner is None:
        _miss(f"has no class {name} in {module.__name__}")
    for member in members:
        if not hasattr(owner, member):
            _miss(f"has no {name}.{member} in {module.__name__}")
    return owner


def _miss(what: str) -> NoReturn:
    refuse(
        NotProfilable(
            f"this PySpark (version {_version()}) {what}: use PySpark 4.2 in the image of what is profiled"
        )
    )


def _version() -> str:
    try:
        return str(importlib.import_module(f"{_PYSPARK}.version").__version__)
    except (ImportError, AttributeError):
        return "unknown"
