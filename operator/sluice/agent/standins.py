"""What takes the place of an object of Java in a profile: what reads is passed on, what writes is not done.

A method of which nothing is known ends the program: another release may have given it any meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from sluice.agent.profiling import NotProfilable, refuse


@dataclass(frozen=True)
class Methods:
    """What is known of the methods of a class of Java: a setting gives the object itself again."""

    reads: frozenset[str] = frozenset()
    settings: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


BATCH_WRITER = Methods(
    settings=_names(
        """mode format using option options tableProperty partitionBy partitionedBy bucketBy sortBy clusterBy"""
    ),
    writes=_names(
        """save insertInto saveAsTable json parquet text csv xml orc jdbc
        create replace createOrReplace append overwrite overwritePartitions"""
    ),
)

CATALOG = Methods(
    reads=_names(
        """currentCatalog setCurrentCatalog listCatalogs currentDatabase setCurrentDatabase listDatabases getDatabase
        databaseExists listTables getTable tableExists getTableProperties getCreateTableString listColumns
        listPartitions listViews dropTempView dropGlobalTempView listFunctions functionExists getFunction
        isCached cacheTable uncacheTable clearCache refreshTable refreshByPath"""
    ),
    writes=_names(
        """createTable dropTable truncateTable analyzeTable recoverPartitions dropView createDatabase dropDatabase"""
    ),
)

DELTA = {
    "DeltaTable": Methods(
        # What is built is nothing yet: what ends the building writes.
        reads=_names("toDF alias history detail merge optimize"),
        writes=_names(
            """delete update vacuum generate upgradeTableProtocol addFeatureSupport dropFeatureSupport
            restoreToVersion restoreToTimestamp clone cloneAtVersion cloneAtTimestamp"""
        ),
    ),
    "DeltaMergeBuilder": Methods(
        reads=_names("whenMatched whenNotMatched whenNotMatchedBySource withSchemaEvolution"),
        writes=_names("execute"),
    ),
    "DeltaOptimizeBuilder": Methods(
        settings=_names("where"), writes=_names("executeCompaction executeZOrderBy")
    ),
    "DeltaTableBuilder": Methods(
        settings=_names(
            "tableName location comment addColumn addColumns partitionedBy clusterBy property"
        ),
        writes=_names("execute"),
    ),
}
"""The classes of Python's `delta.tables`."""


class StandIn:
    """Stands in for an object of Java whose methods the program calls by way of a class of Python."""

    def __init__(
        self, owner: str, java: Any, methods: Methods, write: Callable[[str], Any]
    ) -> None:
        """`owner` is the class of Python. What writes is told to `write` as OWNER.METHOD, and answered by it."""
        self._owner = owner
        self._java = java
        self._methods = methods
        self._write = write

    def __getattr__(self, name: str) -> Any:
        if name in self._methods.reads:
            return getattr(self._java, name)
        if name in self._methods.settings:
            return lambda *_: self
        if name in self._methods.writes:
            return lambda *_: self._write(f"{self._owner}.{name}")
        return unknown(self._owner, name)


def unknown(owner: str, name: str) -> NoReturn:
    """End a program that calls a method of Java of which nobody knows what it does."""
    if name.startswith("__"):
        raise AttributeError(name)
    refuse(NotProfilable(f"{owner} calls {name!r} of Java, of which nothing is known"))
