"""Which SQL writes something that outlives the session; in a profile it is not run.

Spark's own parser tells, so that extensions of its language are judged as well. What is no query is taken for a write
unless it is known to concern the session only, and so is all that an extension adds to the language and that does not
say that it tells something: a statement too many that is left out ends in an error of the program, one too few in a
table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sluice.agent.profiling import NotProfilable, refuse

_COMMAND = "org.apache.spark.sql.catalyst.plans.logical.Command"
_OF_SPARK = (_COMMAND, "org.apache.spark.sql.execution.SparkSqlParser")
"""Where these classes are, there are those of all statements of Spark. Delta Lake's have the same package."""

# Statements that write although their class is none of Spark's commands. The last one is known when it runs only.
_WRITES = frozenset("InsertIntoStatement InsertIntoDir Call UnresolvedExecuteImmediate".split())
# Any statement on what an IDENTIFIER names; as a part of a query, without a plan below, it is a table to read.
_UNNAMED = "PlanWithUnresolvedIdentifier"
# What may be around a statement: queries that it is given by name, and other inserts of the same rows.
_AROUND = frozenset("UnresolvedWith Union".split())

_OF_THE_SESSION = frozenset(
    """SetCommand ResetCommand SetCatalogAndNamespace SetNamespaceCommand SetCatalogCommand
    CreateViewCommand CreateTempViewUsing CreateFunctionCommand CreateSQLFunctionCommand DropFunctionCommand
    CreateVariable SetVariable DropVariable ExplainCommand
    CacheTable CacheTableAsSelect UncacheTable ClearCacheCommand RefreshTable RefreshResource RefreshFunction
    AddJarsCommand AddFilesCommand AddArchivesCommand""".split()
)
_TELLING = ("Show", "Describe", "List")

# A script of Spark 4, and what a plain statement is in one.
_SCRIPT, _IN_SCRIPT = "CompoundBody", "SingleStatement"


def writing(session: Any, text: str) -> str | None:
    """Return the name of the statement if it writes, None if it does not; raises what Spark's parser raises."""
    plan = session._jsparkSession.sessionState().sqlParser().parsePlan(text)
    if _kind(plan) == _SCRIPT:
        return _writing_script(session, plan, text)
    return _writing_plan(session, plan)


def _writing_script(session: Any, script: Any, text: str) -> str | None:
    """Judge a script by its statements. Its rows are those of the last one: where that may be a query and something
    before it writes, neither to run it nor to leave it out is right.
    """
    statements = _elements(script.collection())
    is_plain = script.handlers().isEmpty() and all(_kind(one) == _IN_SCRIPT for one in statements)
    if is_plain:
        kinds = [_writing_plan(session, one.parsedPlan()) for one in statements]
        if not any(kinds):
            return None
        if kinds[-1] is not None:
            return kinds[-1]
    return refuse(
        NotProfilable(
            f"the SQL script {text[:200]!r} may both write and give rows; run its statements one by one"
        )
    )


def _writing_plan(session: Any, plan: Any) -> str | None:
    kind = _kind(plan)
    if kind in _OF_THE_SESSION or kind.startswith(_TELLING):
        return None
    if any(_kind(one) == _UNNAMED for one in _statements(plan)):
        return _UNNAMED
    classes = session._jvm.java.lang.Class
    command = classes.forName(_COMMAND)
    homes = {_home(classes.forName(name)) for name in _OF_SPARK}
    return next((_kind(part) for part in _parts(plan) if _writes(part, command, homes)), None)


def _writes(plan: Any, command: Any, homes: set[str]) -> bool:
    kind = _kind(plan)
    return (
        kind in _WRITES
        or (kind == _UNNAMED and not plan.children().isEmpty())
        or command.isInstance(plan)
        or _home(plan.getClass()) not in homes
    )


def _statements(plan: Any) -> Iterator[Any]:
    """Walk what is around statements, to each of them."""
    if _kind(plan) not in _AROUND:
        yield plan
        return
    for child in _elements(plan.children()):
        yield from _statements(child)


def _parts(plan: Any) -> Iterator[Any]:
    """Walk a plan from its root: what writes may stand below the queries that it is given by name."""
    yield plan
    for child in _elements(plan.children()):
        yield from _parts(child)


def _elements(sequence: Any) -> list[Any]:
    return [sequence.apply(index) for index in range(sequence.size())]


def _kind(plan: Any) -> str:
    return str(plan.getClass().getSimpleName()).rstrip("$")


def _home(of: Any) -> str:
    """The file that a class of Java is from."""
    return str(of.getProtectionDomain().getCodeSource().getLocation())
