"""Which statements of an extension write, told by where their classes are from. `test_lakes` has real extensions, where
they are to be had; that Spark's own statements are told apart, `test_profiled_programs` tests with the real Spark.
"""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from sluice.agent import statements
from sluice.agent.profiling import NotProfilable

CATALYST, CORE, EXTENSION = (
    "file:/jars/spark-catalyst.jar",
    "file:/jars/spark-sql.jar",
    "file:/lake.jar",
)
HOMES = {
    "org.apache.spark.sql.catalyst.plans.logical.Command": CATALYST,
    "org.apache.spark.sql.execution.SparkSqlParser": CORE,
}


@dataclass(frozen=True)
class Plan:
    """A plan as the parser of Java gives it, as far as it is asked."""

    kind: str
    home: str = CATALYST
    below: tuple["Plan", ...] = ()
    is_command: bool = False
    has_handlers: bool = False

    def getClass(self) -> Any:  # noqa: N802  # Java's name
        return java_class(self.kind, self.home)

    def children(self) -> Any:
        return sequence(self.below)

    def collection(self) -> Any:
        return sequence(self.below)

    def parsedPlan(self) -> Any:  # noqa: N802
        return self.below[0]

    def handlers(self) -> Any:
        return SimpleNamespace(isEmpty=lambda: not self.has_handlers)


def sequence(elements: tuple[Any, ...]) -> Any:
    return SimpleNamespace(
        size=lambda: len(elements), apply=elements.__getitem__, isEmpty=lambda: not elements
    )


def java_class(name: str, home: str) -> Any:
    source = SimpleNamespace(getLocation=lambda: home)
    domain = SimpleNamespace(getCodeSource=lambda: source)
    return SimpleNamespace(
        getSimpleName=lambda: name,
        getProtectionDomain=lambda: domain,
        isInstance=lambda plan: plan.is_command,
    )


def session(plan: Plan) -> Any:
    """A session whose parser gives that plan for any text."""
    parser = SimpleNamespace(parsePlan=lambda _: plan)
    state = SimpleNamespace(sqlParser=lambda: parser)
    lang = SimpleNamespace(
        Class=SimpleNamespace(forName=lambda name: java_class(name, HOMES[name]))
    )
    return SimpleNamespace(
        _jsparkSession=SimpleNamespace(sessionState=lambda: state),
        _jvm=SimpleNamespace(java=SimpleNamespace(lang=lang)),
    )


@pytest.mark.parametrize(
    ("plan", "writes"),
    [
        (Plan("Project", below=(Plan("UnresolvedRelation"),)), None),
        (Plan("Project", CORE), None),
        (Plan("RestoreTableStatement", EXTENSION), "RestoreTableStatement"),
        (Plan("Project", below=(Plan("Filter"), Plan("Upsert", EXTENSION))), "Upsert"),
        (Plan("DescribeDeltaHistory", EXTENSION), None),
        (Plan("ShowIcebergViews$", EXTENSION), None),
        (Plan("DropBranch", EXTENSION, is_command=True), "DropBranch"),
    ],
    ids=lambda value: value.kind if isinstance(value, Plan) else str(value),
)
def test_what_an_extension_adds_writes_unless_it_says_that_it_tells_something(
    plan: Plan, writes: str | None
) -> None:
    assert statements.writing(session(plan), "any text") == writes


UNNAMED = "PlanWithUnresolvedIdentifier"


@pytest.mark.parametrize(
    ("plan", "writes"),
    [
        (Plan("MergeIntoTable", is_command=True), "MergeIntoTable"),
        (Plan(UNNAMED), UNNAMED),
        (Plan(UNNAMED, below=(Plan("Project"),)), UNNAMED),
        (Plan("Project", below=(Plan(UNNAMED),)), None),
        (Plan("Union", below=(Plan("Project", below=(Plan(UNNAMED),)), Plan("Project"))), None),
        (Plan("Union", below=(Plan(UNNAMED), Plan(UNNAMED))), UNNAMED),
        (Plan("Project"), None),
    ],
    ids=lambda value: value.kind if isinstance(value, Plan) else str(value),
)
def test_a_statement_that_is_given_queries_by_name_writes_as_it_does_without(
    plan: Plan, writes: str | None
) -> None:
    assert statements.writing(session(plan), "any text") == writes
    named = Plan("UnresolvedWith", below=(plan,))
    assert statements.writing(session(named), "WITH q AS ...") == writes


READS, SETS = Plan("Project"), Plan("SetVariable", is_command=True)
WRITES = Plan("InsertIntoStatement")


def script(*plans: Plan, has_handlers: bool = False) -> Plan:
    """A script of plain statements."""
    statements = tuple(Plan("SingleStatement", below=(plan,)) for plan in plans)
    return Plan("CompoundBody", below=statements, is_command=True, has_handlers=has_handlers)


@pytest.mark.parametrize(
    ("plan", "writes"),
    [
        (script(), None),
        (script(SETS, READS), None),
        (script(READS, WRITES), "InsertIntoStatement"),
    ],
)
def test_a_script_writes_if_its_last_statement_does_and_reads_if_all_do(
    plan: Plan, writes: str | None
) -> None:
    assert statements.writing(session(plan), "BEGIN ... END") == writes


@pytest.mark.parametrize(
    "plan",
    [
        script(WRITES, READS),
        script(READS, has_handlers=True),
        Plan("CompoundBody", below=(Plan("IfElseStatement", below=(READS,)),)),
    ],
)
def test_a_script_that_may_write_and_give_rows_ends_the_program(plan: Plan) -> None:
    with pytest.raises(NotProfilable) as refused:
        statements.writing(session(plan), "BEGIN ... END")
    assert "'BEGIN ... END' may both write and give rows" in refused.value.told
