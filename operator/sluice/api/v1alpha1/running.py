"""How much a job may use and how it is kept alive: executors, checkpoint, sources, restarts."""

from typing import Annotated, Any

from pydantic import Field

from sluice.api.base import Duration, Memory, Model, Rule, positive_duration
from sluice.api.v1alpha1.application import SPARK_MINIMUM_MEMORY
from sluice.core import quantities

HostPort = Annotated[str, Field(pattern=r"^[A-Za-z0-9.\-\[\]:_]+:[0-9]{1,5}$", max_length=255)]
Topic = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$", min_length=1, max_length=249)]


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
        "`kubectl scale` writes this field; a running driver takes a change live.",
    )
    cores: int = Field(1, ge=1, le=256, description="Task slots of each executor.")
    memory: Memory = Field(
        "1Gi", description="Heap of each executor's JVM. Spark refuses less than 450Mi."
    )

    rules = (
        Rule(
            cel="self.min <= self.max",
            message="'min: %d is more than max: %d; raise max or lower min'.format([self.min, self.max])",
            check=lambda self: self.min <= self.max,
            told=lambda self: (
                f"min: {self.min} is more than max: {self.max}; raise max or lower min"
            ),
        ),
        Rule(
            cel="!has(self.initial) || (self.min <= self.initial && self.initial <= self.max)",
            message="'initial: %d is not between min: %d and max: %d'"
            ".format([self.initial, self.min, self.max])",
            check=_initial_fits,
            told=lambda self: (
                f"initial: {self.initial} is not between min: {self.min} and max: {self.max}"
            ),
        ),
        Rule(
            cel=f"quantity(self.memory).compareTo(quantity('{SPARK_MINIMUM_MEMORY}')) >= 0",
            message="'memory: \"' + self.memory + '\" is less than Spark needs; use at least 450Mi'",
            check=lambda self: (
                quantities.memory(self.memory) >= quantities.memory(SPARK_MINIMUM_MEMORY)
            ),
            told=lambda self: (
                f'memory: "{self.memory}" is less than Spark needs; use at least 450Mi'
            ),
        ),
    )


class Checkpoint(Model):
    """Where offsets and state are kept. Each job needs a place of its own; moving it is a migration."""

    claim: str | None = Field(
        None,
        pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$",
        max_length=253,
        description="Name of a PersistentVolumeClaim in the job's namespace that all its pods can share "
        "(ReadWriteMany). It is mounted at /checkpoint.",
    )
    path: str = Field(
        "",
        pattern=r"^[A-Za-z0-9._/=-]*$",
        max_length=512,
        description="Directory inside the claim. Default: the whole claim.",
    )
    uri: str | None = Field(
        None,
        pattern=r"^(s3a|gs|abfss|hdfs|wasbs|oss|file)://[^\s]+$",
        max_length=1024,
        description="A directory in a shared store: s3a://, gs://, abfss://, hdfs://. The image must bring the "
        "store's connector.",
    )

    rules = (
        Rule(
            cel="has(self.claim) != has(self.uri)",
            message="'give either claim (with path) or uri'",
            check=lambda self: (self.claim is None) != (self.uri is None),
            told=lambda _: "give either claim (with path) or uri",
        ),
        Rule(
            cel="!has(self.path) || !self.path.split('/').exists(part, part == '..' || part == '.')",
            message="'path: \"' + self.path + '\" must not contain . or .. as a part'",
            check=lambda self: not {".", ".."} & set(self.path.split("/")),
            told=lambda self: f'path: "{self.path}" must not contain . or .. as a part',
        ),
        Rule(
            cel="!has(self.uri) || !self.uri.split('/').exists(part, part == '..' || part == '.')",
            message="'uri: \"' + self.uri + '\" must not contain . or .. as a part'",
            check=lambda self: not {".", ".."} & set((self.uri or "").split("/")),
            told=lambda self: f'uri: "{self.uri}" must not contain . or .. as a part',
        ),
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

    rules = (
        positive_duration("initial_backoff"),
        positive_duration("maximum_backoff"),
        positive_duration("reset_after"),
    )
