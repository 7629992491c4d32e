"""A streaming job as its owner declared it, checked and in the core's own types.

`api` makes these records from what is stored in Kubernetes; everything behind it works with them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sluice.core.deciding.situation import Mode
from sluice.core.drilling.records import Drills
from sluice.core.forecasting.calendar import Event
from sluice.core.objectives.budget import Objective
from sluice.core.quantities import MEBIBYTE, Bytes, Millicores, mebibytes, spark_bytes
from sluice.core.windows import Window

CHECKPOINT_MOUNT = "/checkpoint"

TASK_CPUS = "spark.task.cpus"
"""Spark's setting for the cores of a task; it decides how many slots an executor has."""


@dataclass(frozen=True, slots=True, order=True)
class JobKey:
    """What names a job in a cluster."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def fields(self) -> dict[str, str]:
        """The fields that name the job in logs, as labels name it in metrics."""
        return {"namespace": self.namespace, "job": self.name}


@dataclass(frozen=True, slots=True, kw_only=True)
class PodShape:
    """Resources and template of one kind of pod.

    `memory` is the JVM's heap; the container gets `memory + overhead` as request and limit.
    `template` is a partial Kubernetes pod template that is laid over ours.
    """

    memory: Bytes
    overhead: Bytes
    cpu_request: Millicores
    cpu_limit: Millicores | None = None
    template: Mapping[str, object] = field(default_factory=dict)

    @property
    def container_mebibytes(self) -> int:
        """What the container requests, and may use at most: Spark adds the two in whole MiB."""
        return mebibytes(self.memory) + mebibytes(self.overhead)


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """The program: where its image is and how it is started."""

    image: str
    main_file: str
    image_pull_policy: str = "IfNotPresent"
    image_pull_secrets: tuple[str, ...] = ()
    service_account: str | None = None
    arguments: tuple[str, ...] = ()
    spark_conf: Mapping[str, str] = field(default_factory=dict)
    environment: tuple[Mapping[str, object], ...] = ()
    python_path: tuple[str, ...] = ()
    stop_deadline: timedelta = timedelta(seconds=30)
    driver: PodShape
    executor: PodShape

    @property
    def executor_mebibytes(self) -> int:
        """What the container of an executor requests, and may use at most: its heap, its overhead, and memory that
        Spark's own settings ask for beside them.
        """
        conf = self.spark_conf
        is_asked = conf.get("spark.memory.offHeap.enabled", "").strip().lower() == "true"
        beside = spark_bytes(conf.get("spark.memory.offHeap.size", "0")) if is_asked else Bytes(0)
        return self.executor.container_mebibytes + beside // MEBIBYTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Executors:
    """How many executors the job may have, the cores of each, and its slots: how many tasks it runs at once."""

    minimum: int
    maximum: int
    initial: int
    cores: int
    slots: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Where the job keeps its offsets and state: on a claim, or behind a URI.

    `lease` is how long a driver may write it without having heard of the API server.
    """

    claim: str | None = None
    path: str = ""
    uri: str | None = None
    lease: timedelta = timedelta(seconds=60)

    def location(self, namespace: str) -> str:
        """The normalised place, comparable across the cluster (claims belong to a namespace)."""
        if self.uri is not None:
            return self.uri.rstrip("/")
        return f"claim://{namespace}/{self.claim}/{self._folder}".rstrip("/")

    @property
    def url(self) -> str:
        """The place as Spark sees it from inside a pod."""
        if self.uri is not None:
            return self.uri.rstrip("/")
        return f"file://{CHECKPOINT_MOUNT}/{self._folder}".rstrip("/")

    @property
    def _folder(self) -> str:
        """The path without empty parts, which name no other place."""
        return "/".join(part for part in self.path.split("/") if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSource:
    """Topics that the job reads."""

    bootstrap_servers: tuple[str, ...]
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPolicy:
    """How a failed driver is started again.

    The n-th failure in a row is followed by a pause of `initial * factor**(n-1)`, at most `maximum`,
    give or take a quarter. After `failures` of them in a row the job stays down until its spec changes.
    A driver that has run for `reset_after` clears the count. With `fences_lost_nodes`, a driver whose node is lost is
    given up when its Lease must have run out. A changed spec whose driver cannot start for `rollback_after` is given up
    for the last one that worked; zero never goes back.
    """

    initial: timedelta = timedelta(seconds=10)
    maximum: timedelta = timedelta(minutes=5)
    factor: float = 2.0
    failures: int = 0
    reset_after: timedelta = timedelta(minutes=10)
    fences_lost_nodes: bool = False
    rollback_after: timedelta = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """Who chooses the number of executors, by which rule, and how often.

    `calendar` has the events that change the load.
    """

    mode: Mode = Mode.OFF
    policy: str = "sluice"
    interval: timedelta = timedelta(seconds=60)
    horizon: timedelta = timedelta(minutes=15)
    stabilisation: timedelta = timedelta(minutes=5)
    blackouts: tuple[Window, ...] = ()
    calendar: tuple[Event, ...] = ()

    @property
    def chooses(self) -> bool:
        """Whether the operator may choose the number; else `executors.initial` holds."""
        return self.mode in (Mode.AUTO, Mode.APPROVE)

    def is_blacked_out(self, now: datetime) -> bool:
        """Whether nothing may be rescaled now."""
        return any(window.covers(now.timestamp()) for window in self.blackouts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiling:
    """Whether the operator measures copies of the job by itself, which ones, and what they may cost.

    No `executors` means that they are chosen by need. One profile may cost `core_seconds`; all of a day together
    `max_share` of what the job takes itself. Measurements older than `max_age` are made anew.
    """

    enabled: bool = False
    executors: tuple[int, ...] = ()
    core_seconds: float = 7200.0
    max_share: float = 0.05
    max_age: timedelta = timedelta(days=30)
    parallel: int = 2
    namespaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyBound:
    """The longest time that a share of the records may take."""

    percentile: float
    bound: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamJob:
    """One declared job.

    `document` is the whole spec with all defaults filled in, as plain data: what changes are found in; `fingerprint`
    tells apart what of it needs a new driver.
    `paused_by` names what keeps the operator from acting on the job.
    `objective` is None without spec.slo. `approved` is the decision that a person has approved, `drill` what the
    annotation of a drill asks for, `retry` what that of another try does, and `restart_asked` that of another driver.
    `not_in_force` names the declared fields that this version stores but does not act upon.
    """

    key: JobKey
    uid: str
    generation: int
    created: datetime
    application: Application
    executors: Executors
    checkpoint: Checkpoint
    sources: tuple[KafkaSource, ...] = ()
    restart: RestartPolicy = field(default_factory=RestartPolicy)
    suspend: bool = False
    paused_by: str | None = None
    allowed_migration: str | None = None
    objective: Objective | None = None
    progress_deadline: timedelta = timedelta(minutes=5)
    recovery_target: timedelta | None = None
    drills: Drills = field(default_factory=Drills)
    drill: str | None = None
    latency: LatencyBound | None = None
    throughput: float | None = None
    scaling: Scaling = field(default_factory=Scaling)
    profiling: Profiling = field(default_factory=Profiling)
    approved: str | None = None
    retry: str | None = None
    restart_asked: str | None = None
    not_in_force: tuple[str, ...] = ()
    document: Mapping[str, object] = field(default_factory=dict)
    fingerprint: str = ""

    @property
    def checkpoint_location(self) -> str:
        """The normalised checkpoint location of this job."""
        return self.checkpoint.location(self.key.namespace)
