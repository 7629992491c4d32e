"""The sessions and queries of a program, with a session of Java's shape."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from sluice.agent import spark
from sluice.agent.spark import Spark


@dataclass(eq=False)
class JavaQuery:
    """A run that may be over."""

    run: str
    is_over: bool = False

    def runId(self) -> Any:  # noqa: N802  # Java's name
        return SimpleNamespace(toString=lambda: self.run)

    id = runId

    def name(self) -> None:
        return None

    def isActive(self) -> bool:  # noqa: N802
        return not self.is_over


@dataclass(eq=False)
class JavaSession:
    """A session, and all queries that were started in it."""

    started: list[JavaQuery] = field(default_factory=list)

    def streams(self) -> Any:
        return SimpleNamespace(active=lambda: [one for one in self.started if one.isActive()])


class Counter:
    """Counts as `bulk.Counter` does, without Java."""

    def __init__(self, _jvm: Any) -> None:
        pass

    def count(self, session: JavaSession) -> int:
        return len(session.streams().active())


class Session:
    """A session of Python's."""

    def __init__(self, java: JavaSession) -> None:
        self._jsparkSession = java


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Spark:
    context = SimpleNamespace(_jsc=object(), _jvm=object(), _gateway=None)
    monkeypatch.setattr(spark, "Counter", Counter)
    monkeypatch.setattr(spark, "_active_context", lambda: context)
    return Spark()


def test_a_query_that_has_ended_is_noticed_however_many_objects_stand_for_its_session(
    known: Spark,
) -> None:
    java = JavaSession([JavaQuery("one"), JavaQuery("two")])
    sessions = [Session(java), Session(java)]
    for session in sessions:
        known.add_session(session)
    known.learn_queries()
    assert known.learn_queries(), "both run"

    java.started[1].is_over = True

    assert not known.learn_queries()


def test_the_queries_of_all_sessions_are_counted(known: Spark) -> None:
    sessions = [Session(JavaSession([JavaQuery("one")])), Session(JavaSession([JavaQuery("two")]))]
    for session in sessions:
        known.add_session(session)
    assert not known.learn_queries(), "none was known"
    assert known.learn_queries()
    assert {query.run_id for query in known.queries()} == {"one", "two"}
