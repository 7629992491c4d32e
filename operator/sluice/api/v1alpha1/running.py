"""How much a job may use and how it is kept alive: executors, checkpoint, sources, restarts."""

import re
from typing import Annotated, Any, Literal

from pydantic import Field

from sluice.api.base import (
    Duration,
    Memory,
    Model,
    Rule,
    enough_memory,
    positive_duration,
    rule_of_text,
    text_of_form,
)
from sluice.api.v1alpha1.application import SPARK_MINIMUM_MEMORY

HostPort = Annotated[
    str,
    *text_of_form(
        r"^[A-Za-z0-9.\-\[\]:_]+:[0-9]{1,5}$",
        "not a server; write host:port, for example kafka:9092",
        limit=255,
    ),
]
Topic = Annotated[
    str,
    *text_of_form(
        r"^[A-Za-z0-9._-]+$", "not a topic; use letters, digits, dot, _ and - only", limit=249
    ),
]
ClaimName = Annotated[
    str,
    *text_of_form(
        r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$",
        "not the name of a claim; use small letters, digits, dots and dashes",
        limit=253,
    ),
]
Directory = Annotated[
    str,
    *text_of_form(
        r"^[A-Za-z0-9._/=-]*$",
        "not a directory in the claim; use letters, digits and . _ / = - only",
        limit=512,
    ),
]
StoreUri = Annotated[
    str,
    *text_of_form(
        # Without a bucket, all of a store would be one job's.
        r"^((s3a|gs|abfss|wasbs|oss)://[^/\s]|(hdfs|file)://[^\s]*[^/\s])[^\s]*$",
        "not a place in a shared store; write for example s3a://bucket/directory, or with one of "
        "gs, abfss, hdfs, wasbs, oss, file",
        limit=1024,
    ),
]


def _initial_fits(model: Any) -> bool:
    return model.initial is None or model.min <= model.initial <= model.max


class Executors(Model):
    """How many executors, and how large."""

    min: int = Field(1, ge=1, le=10000, description="The fewest executors that the job ever has.")
    max: int = Field(10, ge=1, le=10000, description="The most executors that the job ever has.")
    initial: int | None = Field(
        None,
        ge=1,
        le=10000,
        description="Executors at the start, and as long as nothing scales the job. Default: min. "
        "`kubectl scale` writes this field, and a HorizontalPodAutoscaler needs it to be there; a running driver takes "
        "a change live.",
    )
    cores: int = Field(
        1,
        ge=1,
        le=256,
        description="Cores of each executor, each of them a task slot, unless spark.task.cpus gives a task several.",
    )
    memory: Memory = Field(
        "1Gi", description="Heap of each executor's JVM. Spark refuses less than 450Mi."
    )

    rules = (
        Rule(
            field="min",
            cel="self.min <= self.max",
            message="'%d is more than max: %d; raise max or lower min'.format([self.min, self.max])",
            check=lambda self: self.min <= self.max,
            told=lambda self: f"{self.min} is more than max: {self.max}; raise max or lower min",
        ),
        Rule(
            field="initial",
            cel="!has(self.initial) || (self.min <= self.initial && self.initial <= self.max)",
            message="'%d is not between min: %d and max: %d; change one of them'"
            ".format([self.initial, self.min, self.max])",
            check=_initial_fits,
            told=lambda self: (
                f"{self.initial} is not between min: {self.min} and max: {self.max}; "
                "change one of them"
            ),
        ),
        enough_memory(SPARK_MINIMUM_MEMORY),
    )


def _without_dots(field: str) -> Rule:
    """No part of a place is `.` or `..`, so that one place has one name."""
    remedy = "must not contain . or .. as a part; write the directory itself"
    cel = f"!self.{field}.split('/').exists(part, part == '..' || part == '.')"
    return rule_of_text(field, cel, lambda place: not {".", ".."} & set(place.split("/")), remedy)


_EMPTY_PART = "[^:/]/{2,}[^/]"


def _without_empty_parts(field: str) -> Rule:
    """No `//` within a place: Hadoop reads it as `/`, and to us it would be another place."""
    remedy = "must not contain // within its path; write one /"
    cel = f"!self.{field}.matches('{_EMPTY_PART}')"
    return rule_of_text(field, cel, lambda place: not re.search(_EMPTY_PART, place), remedy)


class Checkpoint(Model):
    """Where offsets and state are kept. Each job needs a place of its own; moving it is a migration."""

    claim: ClaimName | None = Field(
        None,
        description="Name of a PersistentVolumeClaim in the job's namespace that all its pods can share "
        "(ReadWriteMany). It is mounted at /checkpoint.",
    )
    path: Directory = Field("", description="Directory inside the claim. Default: the whole claim.")
    uri: StoreUri | None = Field(
        None,
        description="A directory in a shared store: s3a://, gs://, abfss://, hdfs://. The image must bring the "
        "store's connector.",
    )
    lease_duration_seconds: int = Field(
        60,
        ge=5,
        le=3600,
        description="The driver holds a Lease on the checkpoint and ends itself when it could not renew it for so "
        "many seconds, because the API server was away or the machine stood still. A driver that cannot be proven "
        "dead is waited for as long. Longer bears longer outages of the API server; shorter takes over earlier.",
    )

    rules = (
        Rule(
            field="claim",
            cel="has(self.claim) || has(self.uri)",
            message="'missing, and so is uri; give one of the two'",
            check=lambda self: self.claim is not None or self.uri is not None,
            told=lambda _: "missing, and so is uri; give one of the two",
        ),
        Rule(
            field="uri",
            cel="!has(self.claim) || !has(self.uri)",
            message="'\\'' + self.uri + '\\' stands beside claim: \\'' + self.claim + '\\'; remove one of them'",
            check=lambda self: self.claim is None or self.uri is None,
            told=lambda self: (
                f"'{self.uri}' stands beside claim: '{self.claim}'; remove one of them"
            ),
        ),
        Rule(
            field="path",
            cel="!has(self.uri) || !has(self.path) || self.path == ''",
            message="'\\'' + self.path + '\\' is a directory of a claim; make it a part of uri'",
            check=lambda self: self.uri is None or not self.path,
            told=lambda self: f"'{self.path}' is a directory of a claim; make it a part of uri",
        ),
        _without_dots("path"),
        _without_dots("uri"),
        _without_empty_parts("uri"),
    )


class Kafka(Model):
    """Topics of one Kafka cluster."""

    bootstrap_servers: list[HostPort] = Field(
        min_length=1, max_length=32, description="Servers as host:port."
    )
    topics: list[Topic] = Field(
        min_length=1, max_length=256, description="Topics that the job reads."
    )


class Source(Model):
    """Something that the job reads."""

    kafka: Kafka = Field(
        description="A Kafka source. The program finds it in SLUICE_KAFKA_BOOTSTRAP_SERVERS and SLUICE_KAFKA_TOPICS."
    )


class Restart(Model):
    """How a failed driver is started again. A streaming job has no end: returning is a failure, too."""

    initial_backoff: Duration = Field("10s", description="Pause after the first failure.")
    maximum_backoff: Duration = Field("5m", description="The longest pause between two starts.")
    factor: float = Field(
        2.0,
        ge=1,
        le=10,
        description="By how much each failure in a row lengthens the pause; 1 keeps it.",
    )
    maximum_failures: int = Field(
        0,
        ge=0,
        le=10000,
        description="After so many failures in a row the job stays down until its spec changes. 0: try for ever.",
    )
    reset_after: Duration = Field(
        "10m", description="A driver that has run for so long clears the count of failures."
    )
    rollback_after: Duration = Field(
        "5m",
        description="When drivers of a changed spec failed twice in a row before they committed a batch, or when "
        "their pod was refused or could not start for so long, or none of its executors stays, the job goes back to "
        "the last spec that worked, until the spec changes again. 0s: never.",
    )
    lost_node: Literal["Wait", "Fence"] = Field(
        "Wait",
        description="What happens when the driver's pod is being deleted and its node does not answer. Wait: for the "
        "node, or for a person who deletes the pod by force. Fence: the pod is deleted by force when its Lease must "
        "have run out; a driver that still lives there has ended itself by then.",
    )

    rules = (
        positive_duration("initial_backoff"),
        positive_duration("maximum_backoff"),
        positive_duration("reset_after"),
    )
