"""What one reader of offsets has in common with another; Java compares, so a JVM without Spark's context is there."""

from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.java_gateway import launch_gateway

from sluice.agent import kafka

SOURCE = "KafkaV2[Subscribe[orders]]"
ORDERS = {"bootstrap.servers": "kafka:9092", "sasl.jaas.config": "password='secret'"}


@pytest.fixture(scope="module")
def jvm() -> Iterator[Any]:
    gateway = launch_gateway()
    yield gateway.jvm
    gateway.shutdown()
    gateway.proc.stdin.close()  # which ends it
    gateway.proc.wait()


@dataclass
class Reader:
    """A reader of offsets, and what Java's reflection tells of it."""

    strategy: Any
    told: Any

    def driverKafkaParams(self) -> Any:  # noqa: N802  # Java's names
        return self.told

    def getClass(self) -> "Reader":  # noqa: N802
        return self

    def getDeclaredField(self, name: str) -> "Reader":  # noqa: N802
        assert name == "consumerStrategy"
        return self

    def setAccessible(self, _: bool) -> None:  # noqa: N802
        """Nothing is hidden here."""

    def get(self, _: "Reader") -> Any:
        return self.strategy


def reader(jvm: Any, strategy: Any, told: dict[str, str]) -> Reader:
    """A reader of our own beside a user's one."""
    users = Reader(strategy, jvm.java.util.HashMap(told))
    return Reader(strategy, kafka.parameters(jvm, users))


def query_of(*readers: Reader) -> Any:
    """A query whose sources have all one name, and these readers."""
    streams = [
        SimpleNamespace(toString=lambda: SOURCE, kafkaOffsetReader=lambda reader=reader: reader)
        for reader in readers
    ]
    sources = SimpleNamespace(size=lambda: len(streams), apply=streams.__getitem__)
    return SimpleNamespace(streamingQuery=lambda: SimpleNamespace(sources=lambda: sources))


def subscribe(jvm: Any, topic: str) -> Any:
    """Any object of Java that equals those with the same topic."""
    return jvm.java.util.Optional.of(topic)


@pytest.mark.parametrize(
    ("topic", "told", "is_same"),
    [
        ("orders", {}, True),
        ("orders", {"group.id": "mine", "client.id": "mine"}, True),
        ("payments", {}, False),
        ("orders", {"bootstrap.servers": "other:9092"}, False),
        ("orders", {"sasl.jaas.config": "password='other'"}, False),
        ("orders", {"isolation.level": "read_committed"}, False),
    ],
)
def test_readers_are_the_same_if_brokers_answer_both_alike(
    jvm: Any, topic: str, told: dict[str, str], is_same: bool
) -> None:
    one = reader(jvm, subscribe(jvm, "orders"), ORDERS)
    other = reader(jvm, subscribe(jvm, topic), {**ORDERS, **told})

    assert kafka.is_same(one, other) == is_same


def test_a_strategy_without_an_equality_is_like_no_other(jvm: Any) -> None:
    one, other = (reader(jvm, jvm.java.lang.Object(), ORDERS) for _ in range(2))

    assert not kafka.is_same(one, other)
    assert kafka.is_same(one, one)


def test_a_query_that_reads_a_topic_twice_asks_for_it_once() -> None:
    one, other = (Reader(None, {**ORDERS, "group.id": group}) for group in "ab")

    assert kafka.users_reader(query_of(one, other), SOURCE) is one


def test_a_query_that_reads_topics_of_one_name_from_two_clusters_asks_neither_for_both() -> None:
    one, other = (Reader(None, {**ORDERS, "bootstrap.servers": at}) for at in ("old:1", "new:1"))

    with pytest.raises(LookupError, match="from several clusters"):
        kafka.users_reader(query_of(one, other), SOURCE)


@pytest.mark.parametrize(
    ("waits", "longest"),
    [
        ([None], 0.5),  # Kafka's own
        (["10"], 0.01),
        ([10], 0.01),
        (["10", "250"], 0.25),
        (["soon"], None),
        ([], None),
    ],
)
def test_the_longest_wait_for_rows_is_that_of_the_users_consumers(
    waits: list[object], longest: float | None
) -> None:
    readers = [Reader(None, {**ORDERS, "fetch.max.wait.ms": wait}) for wait in waits]

    assert kafka.longest_wait(query_of(*readers)) == longest


def test_a_spark_that_does_not_tell_its_sources_tells_no_wait() -> None:
    assert kafka.longest_wait(SimpleNamespace()) is None


def test_a_source_that_is_not_kafka_has_no_wait() -> None:
    files = SimpleNamespace(toString=lambda: "FileStreamSource[file:/in]")
    sources = SimpleNamespace(size=lambda: 1, apply=lambda _: files)

    assert (
        kafka.longest_wait(
            SimpleNamespace(streamingQuery=lambda: SimpleNamespace(sources=lambda: sources))
        )
        is None
    )
