"""The sessions and queries of a program, with a session of Java's shape."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from sluice.agent import spark
from sluice.agent.spark import Spark

CONTEXT = SimpleNamespace(_jsc=object(), _jvm=object(), _gateway=None)
"""The SparkContext that runs."""


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
    settings: dict[str, str] = field(default_factory=dict)
    is_stopped: bool = False

    def conf(self) -> Any:
        assert not self.is_stopped, "LiveListenerBus is stopped"
        return SimpleNamespace(get=self.settings.get, set=self.settings.__setitem__)

    def streams(self) -> Any:
        assert not self.is_stopped, "LiveListenerBus is stopped"
        return SimpleNamespace(active=lambda: [one for one in self.started if one.isActive()])


class Counter:
    """Counts as `bulk.Counter` does, without Java."""

    def __init__(self, _jvm: Any) -> None:
        pass

    def count(self, session: JavaSession) -> int:
        return len(session.streams().active())


class Session:
    """A session of Python's, of the context that runs unless another is said."""

    def __init__(self, java: JavaSession, context: object = CONTEXT) -> None:
        self._jsparkSession = java
        self.sparkContext = context


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Spark:
    monkeypatch.setattr(spark, "Counter", Counter)
    monkeypatch.setattr(spark, "_active_context", lambda: CONTEXT)
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


def test_a_session_that_the_program_has_stopped_is_not_asked_when_it_goes_on_with_another(
    known: Spark,
) -> None:
    stopped = Session(JavaSession(is_stopped=True), context=SimpleNamespace(_jsc=None))
    present = Session(JavaSession([JavaQuery("one")]))
    for session in (stopped, present):
        known.add_session(session)

    known.limit_stopping(5)

    assert present._jsparkSession.settings == {"spark.sql.streaming.stopTimeout": "5s"}
    assert known.active_queries() == present._jsparkSession.started
