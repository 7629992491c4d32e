"""Ask Kafka which offsets a streaming source had at an instant, with the connector that is there already.

The answer comes from an admin client of our own, made by Spark's reader of offsets with the options of the
user's source, so that SASL, SSL and delegation tokens are honoured. It joins no consumer group, reads no
record, and shares nothing with the query but the process. The names are internal to Spark's connector and
were tried with 4.2, 4.1 and 3.5; with one that lacks them, opening fails and the caller goes without.
"""

from __future__ import annotations

from typing import Any

from sluice.agent import offsets
from sluice.agent.bulk import Functions

_PACKAGE = "org.apache.spark.sql.kafka010"
_READER, _OFFSETS = f"{_PACKAGE}.KafkaOffsetReaderAdmin", f"{_PACKAGE}.KafkaSourceOffset"

_DEADLINE_MILLISECONDS = 5000
_NEVER = 253_402_300_799.0
"""The last second of the year 9999, than which no record is younger."""

_OUR_PARAMETERS = {
    "client.id": "sluice-agent",
    "default.api.timeout.ms": str(_DEADLINE_MILLISECONDS),
    "request.timeout.ms": str(_DEADLINE_MILLISECONDS),
    "reconnect.backoff.max.ms": "10000",
}

_SERVERS = "bootstrap.servers"
_LONGEST_WAIT = "fetch.max.wait.ms"
_DEFAULT_MILLISECONDS = 500

_OF_CONSUMERS = ("group.id", "group.instance.id")
"""An admin client has no use for them, and each query may have its own."""


class OffsetsByTime:
    """The partitions of one Kafka source, asked by time; equal to another if its answers would be the same.

    It connects with its first question.
    """

    def __init__(self, jvm: Any, query: Any, source: str) -> None:
        users = users_reader(query, source)
        self._reader = jvm.org.apache.spark.sql.kafka010.KafkaOffsetReaderAdmin(
            _strategy(users), parameters(jvm, users), _one_attempt(jvm), "sluice-agent"
        )
        functions = Functions(jvm)
        self._answer = _answering(functions, self._reader)
        self._beginnings = _beginnings(functions)
        self._source = source

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetsByTime) or self._source != other._source:
            return False
        return is_same(self._reader, other._reader)

    def __hash__(self) -> int:
        return hash(self._source)

    def at(self, instant: float) -> dict[str, int]:
        """Return each partition's first offset that is not older; its end if there is none."""
        return offsets.by_partition(self._source, self._answer.call(int(instant * 1000)))

    def ends(self) -> dict[str, int]:
        """Return where each partition ends now."""
        return self.at(_NEVER)

    def begins(self) -> dict[str, int]:
        """Return where each partition begins now: what was before is deleted."""
        return offsets.by_partition(self._source, self._beginnings.call(self._reader))

    def close(self) -> None:
        """Close the client."""
        self._reader.close()


def users_reader(query: Any, source: str) -> Any:
    """Return the reader of offsets of a query's source.

    Raises LookupError where there is none, and where several clusters have a topic of that name, as while a job moves
    from one to the other: the answers of one would be taken for those of both.
    """
    streams = _streams(query)
    found = [stream.kafkaOffsetReader() for stream in streams if stream.toString() == source]
    if not found:
        raise LookupError(f"the query has no source {source!r}")
    if len({reader.driverKafkaParams().get(_SERVERS) for reader in found}) > 1:
        raise LookupError(f"the query reads {source} from several clusters")
    return found[0]


def longest_wait(query: Any) -> float | None:
    """Return the most seconds for which a consumer waits for the next row; None without Kafka, and where it is untold.

    Of several sources the longest counts.
    """
    try:
        streams = [stream for stream in _streams(query) if offsets.is_kafka(stream.toString())]
        told = [
            stream.kafkaOffsetReader().driverKafkaParams().get(_LONGEST_WAIT) for stream in streams
        ]
        waits = [_DEFAULT_MILLISECONDS if wait is None else int(str(wait)) for wait in told]
    except Exception:  # noqa: BLE001  # py4j raises errors of many kinds for a name that is not there
        return None
    return max(waits) / 1000 if waits else None


def _streams(query: Any) -> list[Any]:
    sources = query.streamingQuery().sources()
    return [sources.apply(index) for index in range(sources.size())]


def parameters(jvm: Any, users: Any) -> Any:
    """Return what the user's reader of offsets tells its client, as ours is told it; some of it are passwords."""
    told = jvm.java.util.HashMap(users.driverKafkaParams())
    for name in _OF_CONSUMERS:
        told.remove(name)
    for name, value in _OUR_PARAMETERS.items():
        told.put(name, value)
    return told


def is_same(one: Any, other: Any) -> bool:
    """Tell whether two readers of offsets have the same subscription and the same parameters.

    They are compared in Java, so that no password comes to Python. A strategy without an equality of its own, such as
    that of assigned partitions, is like no other.
    """
    is_same_strategy = _strategy(one).equals(_strategy(other))
    return bool(is_same_strategy and one.driverKafkaParams().equals(other.driverKafkaParams()))


def _answering(functions: Functions, reader: Any) -> Any:
    """Make a function from milliseconds to the JSON of offsets: one call, which leaves no object to be released."""
    name, strategy = "fetchGlobalTimestampBasedOffsets", "scala.Enumeration$Value"
    ask = functions.method(_READER, name, _OFFSETS, "long", "boolean", strategy).bindTo(reader)
    # Neither a start nor a strategy: a partition without such a record gives its end.
    end_if_none = functions.with_arguments(ask, 1, False, None)
    return functions.failing(functions.chain(end_if_none, _text(functions)))


def _beginnings(functions: Functions) -> Any:
    """Make a function from a reader to the JSON of the offsets that its partitions begin at.

    The first record since 1970 is another: it lies behind what compaction has removed, and nowhere without timestamps.
    """
    found = "scala.collection.immutable.Map"
    ask = functions.method(_READER, "fetchEarliestOffsets", found)
    told = functions.static(_OFFSETS, "apply", _OFFSETS, found)
    return functions.failing(functions.chain(ask, told, _text(functions)))


def _text(functions: Functions) -> Any:
    return functions.method(_OFFSETS, "json", "java.lang.String")


def _strategy(reader: Any) -> Any:
    field = reader.getClass().getDeclaredField("consumerStrategy")
    field.setAccessible(True)
    return field.get(reader)


def _one_attempt(jvm: Any) -> Any:
    """Return options for a single try; the caller has a better time to try again."""
    empty = jvm.java.lang.Class.forName("scala.collection.immutable.Map$EmptyMap$")
    options = empty.getField("MODULE$").get(None).updated("fetchoffset.numretries", "1")
    return jvm.org.apache.spark.sql.catalyst.util.CaseInsensitiveMap(options)
