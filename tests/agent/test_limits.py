"""Which limits a query takes, and that a refusal changes nothing; `test_streaming` changes real queries."""

from typing import Any
from unittest.mock import Mock

import pytest

from sluice.agent.limits import CannotLimitError, Limiter
from sluice.agent.reading import Query
from sluice.agent.records import Pace


class Java:
    """An object of a class of Java."""

    def __init__(self, kind: str, text: str = "") -> None:
        self._kind = kind
        self._text = text or kind
        self.fields: dict[str, int] = {}

    def getClass(self) -> "Java":  # noqa: N802  # Java's names
        return self

    def getSimpleName(self) -> str:  # noqa: N802
        return self._kind

    def toString(self) -> str:  # noqa: N802
        return self._text

    def getDeclaredField(self, _: str) -> "Java":  # noqa: N802
        return self

    def setAccessible(self, _: bool) -> None:  # noqa: N802
        """Nothing is hidden here."""

    def set(self, owner: "Java", milliseconds: int) -> None:
        owner.fields["intervalMs"] = milliseconds


class Sources(dict[Java, Java]):
    """Scala's map from sources to their limits."""

    def isEmpty(self) -> bool:  # noqa: N802
        return not self

    def size(self) -> int:
        return len(self)

    def head(self) -> Any:
        source, limit = next(iter(self.items()))
        return type("Pair", (), {"_1": lambda _: source, "_2": lambda _: limit})()

    def updated(self, source: Java, limit: Java) -> "Sources":
        return Sources({**self, source: limit})


class Running:
    """A running query."""

    def __init__(self, sources: Sources, executor: str = "ProcessingTimeExecutor") -> None:
        self.sources = sources
        self.executor = Java(executor)
        vars(self)["uniqueSources_$eq"] = self._take
        self.query = Query(self, "orders", "q", "run-1")

    def _take(self, sources: Sources) -> None:
        self.sources = sources

    def streamingQuery(self) -> "Running":  # noqa: N802
        return self

    def uniqueSources(self) -> Sources:  # noqa: N802
        return self.sources

    def triggerExecutor(self) -> Java:  # noqa: N802
        return self.executor

    def limit(self, rows: float | None, seconds: float | None = None) -> Pace:
        """Ask for limits."""
        jvm = Mock()
        streaming = jvm.org.apache.spark.sql.connector.read.streaming
        streaming.ReadLimit.maxRows = lambda most: Java("ReadMaxRows", str(most))
        return Limiter().limit(jvm, self.query, Pace(trigger_seconds=seconds, most_rows=rows))

    def told(self) -> list[str]:
        """The limits that Spark looks at."""
        return [limit.toString() for limit in self.sources.values()]


KAFKA = Java("KafkaMicroBatchStream")


@pytest.mark.parametrize("own", [Java("ReadMaxRows", "500"), Java("ReadAllAvailable")])
def test_kafka_takes_a_limit_and_gives_it_back(own: Java) -> None:
    running = Running(Sources({KAFKA: own}))

    running.limit(40.0)
    assert running.told() == ["40"]
    running.limit(7.0)
    assert running.told() == ["7"]
    running.limit(None)
    assert running.told() == [own.toString()]


def test_a_period_is_set_in_milliseconds_and_the_rows_stay() -> None:
    running = Running(Sources({KAFKA: Java("ReadMaxRows", "500")}))

    assert running.limit(None, 2.5).trigger_seconds == 2.5
    assert (running.executor.fields, running.told()) == ({"intervalMs": 2500}, ["500"])


@pytest.mark.parametrize(
    ("running", "says"),
    [
        (Running(Sources()), "has not planned"),
        (Running(Sources({Java("FileStreamSource"): Java("ReadMaxFiles")})), "no limit of rows"),
        (Running(Sources({KAFKA: Java("CompositeReadLimit")})), "no limit of rows"),
        (Running(Sources({KAFKA: Java("ReadMaxRows"), Java("x"): KAFKA})), "2 sources"),
        (Running(Sources({KAFKA: Java("ReadAllAvailable")}), "MultiBatchExecutor"), "no period"),
    ],
    ids=["too early", "files", "least rows", "two sources", "another trigger"],
)
def test_a_refusal_says_why_and_changes_nothing(running: Running, says: str) -> None:
    before = running.told()

    with pytest.raises(CannotLimitError, match=says):
        running.limit(40.0, 5.0)
    assert (running.told(), running.executor.fields, running.query.pace) == (before, {}, None)
