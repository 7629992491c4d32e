"""What becomes of a program's streaming sources in a profile: the same rows, read from one end, as nobody else.

pyspark's reader calls a reader of Java, `_jreader`, for whatever it does. The class here stands in its place and keeps
the options until the source is loaded, because Java's reader cannot be asked to forget one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sluice.agent.profiling import NotProfilable, NotReplayable, Profile, refuse

_EARLIEST = "earliest"

_KAFKA = frozenset({"kafka", "kafkasourceprovider"})
_GENERATED = frozenset(
    """rate ratestreamprovider ratev2 rate-micro-batch ratepermicrobatchprovider
    socket textsocket textsocketsourceprovider""".split()
)
_FILES = frozenset({"json", "orc", "parquet", "text", "textFile", "csv", "xml"})
_LAKES = frozenset({"delta", "iceberg", "hudi"})
_TABLES = frozenset({"table", "changes"})
_READ_AS_THEY_ARE = frozenset(
    {*(name.lower() for name in _FILES), "avro", "binaryfile", *_LAKES, *_TABLES}
)

# Files that were read are deleted or moved, and so would be those that the job has not read yet.
_TAKES_FILES_AWAY = "cleansource"

# Spark prefers the first two to startingOffsets, and the group id to the prefix. By the last one, listeners that commit
# the offsets of the job in Kafka know its group.
_TAKEN_AWAY = frozenset(
    """startingtimestamp startingoffsetsbytimestamp startingoffsetsbytimestampstrategy kafka.group.id
    kafka.consumer.commit.groupid""".split()
)


def replayed(source: str, options: Mapping[str, Any], profile: Profile) -> dict[str, Any]:
    """Return the options with which the source is read.

    Raises NotReplayable for one that gives no rows twice, or might not: a copy would take them away from the job.
    """
    kind = source.lower().rpartition(".")[2]
    if kind in _GENERATED:
        raise NotReplayable(
            f"the source {source!r} makes its rows as it is read, so that a copy cannot read those of the job; "
            "profile a job that reads Kafka or files"
        )
    if kind in _KAFKA:
        return _from_kafka(options, profile)
    if kind not in _READ_AS_THEY_ARE:
        raise NotReplayable(
            f"of the source {source!r} nobody knows whether a copy would take rows away from the job; "
            "profile a job that reads Kafka, files or tables"
        )
    return {name: value for name, value in options.items() if name.lower() != _TAKES_FILES_AWAY}


def _from_kafka(options: Mapping[str, Any], profile: Profile) -> dict[str, Any]:
    ours: dict[str, Any] = {
        "startingOffsets": profile.starting_offsets,
        "groupIdPrefix": profile.group_prefix,
    }
    if profile.starting_offsets == _EARLIEST:
        # Retention deletes rows at the very place where the copy reads; of a copy they are no loss.
        ours["failOnDataLoss"] = "false"
    taken_away = set(_TAKEN_AWAY)
    if profile.most_rows is not None:
        ours["maxOffsetsPerTrigger"] = str(profile.most_rows)
        taken_away.add("minoffsetspertrigger")  # Spark refuses a least that is above the most
    taken_away |= {name.lower() for name in ours}
    kept = {name: value for name, value in options.items() if name.lower() not in taken_away}
    return {**kept, **ours}


class StreamReader:
    """Stands in for Java's reader of a stream, of which it has a new one."""

    def __init__(self, java: Any, default_format: Callable[[], str], profile: Profile) -> None:
        self._java = java
        self._default_format = default_format
        self._profile = profile
        self._source: str | None = None
        self._options: dict[str, Any] = {}

    def format(self, source: str) -> StreamReader:
        """Note the source."""
        self._source = source
        return self

    def schema(self, schema: Any) -> StreamReader:
        """Keep the schema."""
        self._java.schema(schema)
        return self

    def name(self, name: str) -> StreamReader:
        """Keep the name of the source."""
        self._java.name(name)
        return self

    def option(self, key: str, value: Any) -> StreamReader:
        """Keep an option; Spark does not tell apart those that differ in case only."""
        same = [name for name in self._options if name.lower() == key.lower()]
        for name in same:
            del self._options[name]
        self._options[key] = value
        return self

    def load(self, *path: str) -> Any:
        """Load the source from where the profile says; return Java's rows."""
        source = self._source or self._default_format()
        self._java.format(source)
        return self._with_options(source).load(*path)

    def __getattr__(self, name: str) -> Any:
        if name in _FILES or name in _TABLES:
            return lambda place: getattr(self._with_options(name), name)(place)
        if name.startswith("__"):
            raise AttributeError(name)
        return refuse(
            NotProfilable(
                f"DataStreamReader of this PySpark calls {name!r} of Java, of which nothing is known"
            )
        )

    def _with_options(self, source: str) -> Any:
        try:
            options = replayed(source, self._options, self._profile)
        except NotProfilable as refusal:
            refuse(refusal)
        for key, value in options.items():
            self._java.option(key, value)
        return self._java
