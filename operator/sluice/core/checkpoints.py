"""What a checkpoint fixes for the queries that go on from it, and what of a spec Spark would therefore ignore.

Spark writes some settings into the offset file of each batch, restores them when a query starts again, and tells
nobody but its log that the program asked for something else. The number of state partitions is one of them, and
it bounds how many executors can work on the state at once.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import unquote, urlsplit

PARTITIONS = "spark.sql.shuffle.partitions"

PINNED = frozenset(
    {
        PARTITIONS,
        "spark.sql.streaming.stateStore.providerClass",
        "spark.sql.streaming.stateStore.encodingFormat",
        "spark.sql.streaming.stateStore.compression.codec",
        "spark.sql.streaming.stateStore.rocksdb.formatVersion",
        "spark.sql.streaming.multipleWatermarkPolicy",
        "spark.sql.streaming.aggregation.stateFormatVersion",
        "spark.sql.streaming.join.stateFormatVersion",
        "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion",
    }
)
"""The settings that a user may give and Spark takes from the offset log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointReport:
    """The checkpoint of one query, as the agent found it when the query had started; the place is as Spark has it."""

    location: str = ""
    last_batch: int | None = None
    committed_at: datetime | None = None
    format_version: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ignored:
    """A setting of the spec that Spark ignores, because the checkpoint has it otherwise."""

    setting: str
    wanted: str
    kept: str

    def __str__(self) -> str:
        field = f"spec.application.sparkConf: {self.setting}"
        return f"{field}: {self.wanted!r} is ignored by Spark: the checkpoint has {self.kept!r}"


_OF_CHANCE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""What Spark calls the checkpoint of a query that has neither a name nor a place, another one at each start."""


def misplaced(location: str, declared: str) -> str | None:
    """Why the next driver would not find a query's checkpoint, or others may write it; None if it is where it belongs.

    Both are URLs: where the query has it, and the declared place, in which or below which it is to be.
    """
    at, place = urlsplit(unquote(location)), urlsplit(unquote(declared))
    folder = place.path.rstrip("/")
    is_there = at.scheme == place.scheme and place.netloc in ("", at.netloc)
    if not is_there or not f"{at.path}/".startswith(f"{folder}/"):
        told = f"keeps its checkpoint at {location}, which is not in {declared}"
        return f"{told}: nothing keeps a second writer from it, and a place in a pod goes with that"
    if _OF_CHANCE.fullmatch(at.path.removeprefix(f"{folder}/")):
        told = "has neither a name nor a place for its checkpoint"
        return f"{told}, so that each driver takes a new one and begins anew: {location}"
    return None


def pinned_by(reports: Iterable[CheckpointReport | None]) -> dict[str, str]:
    """The settings on which the checkpoints of all queries agree; the rest is no matter of the job as a whole."""
    known = [report.settings for report in reports if report is not None and report.settings]
    return {
        name: values.pop()
        for name in sorted(PINNED)
        if len(values := {settings.get(name, "") for settings in known}) == 1 and values != {""}
    }


def ignored(conf: Mapping[str, str], pinned: Mapping[str, str]) -> tuple[Ignored, ...]:
    """The settings of a spec that the checkpoint overrules, whatever the driver is started with."""
    return tuple(
        Ignored(name, conf[name], kept)
        for name, kept in pinned.items()
        if name in conf and conf[name] != kept
    )


def useful_executors(partitions: int, cores: int) -> int:
    """How many executors can work on so many partitions of state at once."""
    return -(-partitions // cores)
