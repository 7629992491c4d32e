"""Which SQL writes something that outlives the session; in a profile it is not run.

Spark's own parser tells, so that extensions of its language are judged as well. What is no query is taken for a write
unless it is known to concern the session only, and so is all that an extension adds to the language and that does not
say that it tells something: a statement too many that is left out ends in an error of the program, one too few in a
table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_COMMAND = "org.apache.spark.sql.catalyst.plans.logical.Command"
_OF_SPARK = (_COMMAND, "org.apache.spark.sql.execution.SparkSqlParser")
"""Where these classes are, there are those of all statements of Spark. Delta Lake's have the same package."""

# Statements that write although their class is none of Spark's commands. The last one is known when it runs only.
_WRITES = frozenset("InsertIntoStatement InsertIntoDir Call UnresolvedExecuteImmediate".split())
_UNNAMED = "PlanWithUnresolvedIdentifier"

_OF_THE_SESSION = frozenset(
    """SetCommand ResetCommand SetCatalogAndNamespace SetNamespaceCommand SetCatalogCommand
    CreateViewCommand CreateTempViewUsing CreateFunctionCommand CreateSQLFunctionCommand DropFunctionCommand
    CreateVariable SetVariable DropVariable ExplainCommand
    CacheTable CacheTableAsSelect UncacheTable ClearCacheCommand RefreshTable RefreshResource RefreshFunction
    AddJarsCommand AddFilesCommand AddArchivesCommand""".split()
)
_TELLING = ("Show", "Describe", "List")


def writing(session: Any, text: str) -> str | None:
    """Return the name of the statement if it writes, None if it does not; raises what Spark's parser raises."""
    plan = session._jsparkSession.sessionState().sqlParser().parsePlan(text)
    kind = _kind(plan)
    if kind in _OF_THE_SESSION or kind.startswith(_TELLING):
        return None
    classes = session._jvm.java.lang.Class
    if kind == _UNNAMED or classes.forName(_COMMAND).isInstance(plan):
        return kind
    homes = {_home(classes.forName(name)) for name in _OF_SPARK}
    return next((_kind(part) for part in _parts(plan) if _writes(part, homes)), None)


def _writes(plan: Any, homes: set[str]) -> bool:
    return _kind(plan) in _WRITES or _home(plan.getClass()) not in homes


def _parts(plan: Any) -> Iterator[Any]:
    """Walk a plan from its root: an insert may stand below the queries that it is given by name."""
    yield plan
    children = plan.children()
    for index in range(children.size()):
        yield from _parts(children.apply(index))


def _kind(plan: Any) -> str:
    return str(plan.getClass().getSimpleName()).rstrip("$")


def _home(of: Any) -> str:
    """The file that a class of Java is from."""
    return str(of.getProtectionDomain().getCodeSource().getLocation())
