"""What is seen of a job in the cluster: its driver pod, its executors, and what the agent tells.

These are facts of one moment. What must survive a restart of the operator is in `record`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from sluice.core.checkpoints import CheckpointReport
from sluice.core.chosen import Decided
from sluice.core.learning.batches import BatchReport
from sluice.core.measurement import NOT_CONFIGURED, Measurement, Unmeasured
from sluice.core.modelling.fetching import Fetching
from sluice.core.quantities import CpuShare

_LONG_AGO = datetime.min.replace(tzinfo=UTC)

LOST_AFTER = timedelta(seconds=30)
"""A pod that is not gone so long after its grace period has no kubelet that would end it."""

HELD_AFTER = timedelta(minutes=5)
"""One of which a kubelet knows has to let go of its volumes first: after that time something is in the way."""

LOST_IN_A_ROW = timedelta(minutes=30)
"""Executors that end so long after each other have reasons of their own."""

NODE_DEADLINE = timedelta(minutes=15)
"""A node that is added is there by then, as cluster-autoscaler's `max-node-provision-time` has it by default."""


class PodPhase(StrEnum):
    """The phase of a pod, as Kubernetes names it."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Termination:
    """How a container ended; `outside` is why the kubelet has ended its pod, in its words: a node that shuts down,
    an eviction. The program may have ended as if it had wanted to.
    """

    exit_code: int
    reason: str = ""
    message: str = ""
    at: datetime | None = None
    outside: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverPod:
    """The driver pod of a job as the API server shows it.

    `obstacle` is a (reason, message) pair if the pod cannot start: image, scheduling, mounts. `is_being_made` says that
    the kubelet has it and has not made its container yet: its status tells no more, only Events do. `lacks_node` says
    that no node has taken it, and `ordered_node` what the cluster's autoscaler tells of one that it adds for it.
    `restart_asked` is the value of the annotation that asked for another driver when this one was made.
    `document` is the spec that the pod was made from; None if it is not readable. `digest` is that of the image that
    its container runs, or has run last; None while the kubelet has not told. `gone_by` is when a pod that is being
    deleted should have ended, and `disruption` what Kubernetes says if it was Kubernetes that has chosen it: to make
    room for another, or to empty its node.
    """

    name: str
    uid: str
    owner_uid: str
    incarnation: int
    phase: PodPhase
    created: datetime
    deleting: bool = False
    gone_by: datetime | None = None
    disruption: str = ""
    started: datetime | None = None
    address: str | None = None
    node: str | None = None
    ended: Termination | None = None
    obstacle: tuple[str, str] | None = None
    is_being_made: bool = False
    lacks_node: bool = False
    ordered_node: str = ""
    restart_asked: str | None = None
    document: Mapping[str, object] | None = None
    digest: str | None = None

    @property
    def is_proven_dead(self) -> bool:
        """Whether the kubelet has told how the process ended. A pod that failed without was lost with its node."""
        return self.ended is not None and self.ended.exit_code >= 0

    @property
    def overdue_from(self) -> datetime | None:
        """From when on something keeps its pod from going: its node is lost, or what it mounts does not let go."""
        if self.gone_by is None:
            return None
        return self.gone_by + (HELD_AFTER if self.is_proven_dead else LOST_AFTER)

    def is_overdue(self, now: datetime) -> bool:
        """Whether its pod should have gone long ago."""
        return self.overdue_from is not None and now >= self.overdue_from

    @property
    def is_over(self) -> bool:
        """Whether the driver's process has ended for good: it is not restarted, and others may go on beside it."""
        return self.ended is not None or self.phase in (PodPhase.SUCCEEDED, PodPhase.FAILED)

    @property
    def is_up(self) -> bool:
        """Whether it runs and is to go on, so that its agent can be asked."""
        return self.started is not None and not (self.deleting or self.is_over)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorPod:
    """A running executor pod: Spark's id of it, where it is, and its CPU as it was last asked for.

    `obstacle` is the reason, the message and the time of what keeps the kubelet from giving it that CPU.
    """

    name: str
    id: str = ""
    node: str = ""
    created: datetime
    share: CpuShare | None = None
    obstacle: tuple[str, str, datetime] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingExecutor:
    """An executor pod that does not run yet; what is told of it is as of a driver."""

    name: str
    uid: str
    created: datetime
    obstacle: tuple[str, str] | None = None
    is_being_made: bool = False
    lacks_node: bool = False
    ordered_node: str = ""


def is_on_its_way(pod: DriverPod | WaitingExecutor, now: datetime) -> bool:
    """Whether a pod that does not run yet is likely to soon: its container is made, or a node for it."""
    return awaits_node(pod, now) or (pod.is_being_made and pod.obstacle is None)


def awaits_node(pod: DriverPod | WaitingExecutor, now: datetime) -> bool:
    """Whether the cluster's autoscaler adds a node for a pod. It may promise one for ever, and be wrong."""
    return bool(pod.ordered_node) and now - pod.created < NODE_DEADLINE


@dataclass(frozen=True, slots=True, kw_only=True)
class LostExecutor:
    """An executor pod that has ended although nobody had asked it to, and the driver that it worked for.

    `so_far` of that driver's have ended like this in a row, with this one: as many as this operator has seen.
    """

    name: str
    driver_uid: str
    ended: Termination
    so_far: int = 1

    def follows(self, other: "LostExecutor") -> bool:
        """Whether both were lost of one driver, soon after each other."""
        one, two = self.ended.at, other.ended.at
        is_soon = one is None or two is None or one - two < LOST_IN_A_ROW
        return self.driver_uid == other.driver_uid and is_soon


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why the API server makes no more executor pods, in its words, and since when that is known."""

    message: str
    since: datetime


@dataclass(frozen=True, slots=True)
class QueryFailure:
    """Why a streaming query ended: Spark's error class and a message."""

    error_class: str
    message: str


class Processing(StrEnum):
    """How a query processes, which its trigger decides."""

    BATCHES = "batches"
    REAL_TIME = "realTime"
    """In batches that last as long as the trigger says, whatever there is to do; rows are written at once."""
    CONTINUOUS = "continuous"
    """Without batches that Spark tells of."""


@dataclass(frozen=True, slots=True)
class Asking:
    """A source that a query asks for its offsets, in Spark's words, and since when it was seen to."""

    source: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryReport:
    """One streaming query, as the agent sees it. Rates are rows per second.

    `backlog_rows` are at the sources by now and in no committed batch, the oldest of them for the time of `backlog`;
    `left_rows` of them had arrived when the last batch was planned, and did not fit into it. `batches` are the last
    ones, the oldest first. `trigger_seconds` is the period of the trigger, 0 where a batch follows the other at once;
    `most_rows` the limit of a batch, and `fetching` what its tasks wait for. Each is None where it is not known.
    `latency` is in seconds by percentile, of the rows that were committed in the last `latency_window` seconds. It
    `is_idle` while it does nothing, for it has found nothing at its sources. `ended_at` is when the driver saw that it
    had ended; an older agent does not tell. `profile` is what a copy's agent has made of the query's sink ("dropped";
    "lowerBound" if a part of the program's work went with it).
    """

    name: str
    active: bool
    processing: Processing = Processing.BATCHES
    failure: QueryFailure | None = None
    ended_at: datetime | None = None
    batch_id: int | None = None
    committed_at: datetime | None = None
    arrival_rate: float | None = None
    processing_rate: float | None = None
    backlog_rows: float | None = None
    backlog: timedelta | None = None
    left_rows: float | None = None
    latency: Mapping[str, float] = field(default_factory=dict)
    latency_window: float | None = None
    state_rows: int | None = None
    state_bytes: int | None = None
    state_partitions: int | None = None
    state_store: str | None = None
    in_batch_since: datetime | None = None
    is_idle: bool = False
    asking: Asking | None = None
    batches: tuple[BatchReport, ...] = ()
    trigger_seconds: float | None = None
    most_rows: float | None = None
    fetching: Fetching | None = None
    checkpoint: CheckpointReport | None = None
    profile: str | None = None

    @property
    def has_nothing_to_do(self) -> bool:
        """Whether nothing waits for it, or it has looked at sources that do not tell and found nothing. Of a continuous
        query no more is known than that it has not ended.
        """
        if self.processing is Processing.CONTINUOUS:
            return True
        return self.is_idle if self.backlog_rows is None else self.backlog_rows == 0

    @property
    def is_under_way(self) -> bool:
        """Whether it has committed a batch, or has nothing to do: a query that resumes with no new rows commits no
        batch until some arrive.
        """
        return self.committed_at is not None or (self.active and self.has_nothing_to_do)

    @property
    def last_commit(self) -> tuple[datetime, int] | None:
        """When the newest batch that is known was committed, and its number. A run that has committed none goes on
        from what its checkpoint had, which the driver before may have committed when nobody asked it any more.
        """
        if self.committed_at is not None and self.batch_id is not None:
            return self.committed_at, self.batch_id
        found = self.checkpoint
        if found is None or found.committed_at is None or found.last_batch is None:
            return None
        return found.committed_at, found.last_batch

    @property
    def arrivals_untold(self) -> str | None:
        """Why nobody can know what arrives for it and waits, in words that follow its name."""
        if self.processing is Processing.CONTINUOUS:
            return "has a continuous trigger: Spark tells neither its batches nor its rates"
        has_looked = self.is_idle or self.committed_at is not None
        if has_looked and self.backlog_rows is None:
            return "reads a source that does not tell how many rows have arrived (Kafka and Spark's rate sources do)"
        return None

    @property
    def longest_wait(self) -> timedelta:
        """How long its trigger keeps it from committing what has arrived."""
        return timedelta(seconds=self.trigger_seconds or 0.0)

    @property
    def shortest_batch(self) -> timedelta:
        """How long a batch lasts, whatever there is to do."""
        return self.longest_wait if self.processing is Processing.REAL_TIME else timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorWork:
    """For how long an executor is there, by the driver's clock, and the tasks that it has completed.

    Since it joined, so many batches with rows have begun and been committed, and all executors have completed
    `tasks_of_all`.
    """

    id: str
    there: timedelta
    tasks: int
    batches: int
    tasks_of_all: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingTasks:
    """Of the stages that run: tasks that have failed and are done again, and those that were completed.

    `error` is what the last of the failed ones raised; empty where Spark does not tell.
    """

    failed: int
    completed: int
    error: str = ""

    @property
    def is_by_the_work(self) -> bool:
        """Whether it is the work that fails, not an executor that was lost: more tasks have failed than were done."""
        return self.failed > self.completed and not self.error.startswith("ExecutorLostFailure")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentReport:
    """What the agent in the driver told, and when.

    `executor_seconds` is for how long all tasks so far had a core, waiting for the network included. `work` has the
    executors that can be given tasks; None where the agent, or its Spark, does not tell. `start` is the seconds from
    the driver's hold of the Lease to its program's first query, which was at `running_at`, by its own clock; None
    before, and where an older agent does not tell. `waiting_tasks` would run if there were more cores; None as above.
    `failing` is None where no task of the stages that run has failed. `spark` is its version, once there is a session.
    `overridden` has the settings that the operator decides and the program has otherwise.
    """

    at: datetime
    phase: str
    incarnation: int
    start: float | None = None
    running_at: datetime | None = None
    spark: str | None = None
    application_id: str | None = None
    overridden: Mapping[str, str] = field(default_factory=dict)
    target: int | None = None
    registered: int | None = None
    executor_seconds: float | None = None
    work: tuple[ExecutorWork, ...] | None = None
    waiting_tasks: int | None = None
    failing: FailingTasks | None = None
    queries: tuple[QueryReport, ...] = ()

    @property
    def running(self) -> tuple[QueryReport, ...]:
        """The queries that run, which are what executors work for."""
        return tuple(query for query in self.queries if query.active)

    @property
    def counting(self) -> tuple[QueryReport, ...]:
        """The queries by which the driver is judged: those that run, and those that have failed, for they should.

        Another one that has ended beside them was stopped, or had nothing more to do. Where none runs, all count.
        """
        if not self.running:
            return self.queries
        return tuple(query for query in self.queries if query.active or query.failure is not None)

    @property
    def arrivals_untold(self) -> str | None:
        """Why nobody can know what arrives for any of the queries that run; None if one tells, or none runs."""
        found = [
            f"query {query.name!r} {query.arrivals_untold}"
            for query in self.running
            if query.arrivals_untold
        ]
        return found[0] if found and len(found) == len(self.running) else None

    @property
    def fetching(self) -> Fetching | None:
        """The partitions of all queries that run, and the longest that a task of any of them waits for a row."""
        told = [query.fetching for query in self.running if query.fetching is not None]
        if not told:
            return None
        return Fetching(
            partitions=sum(one.partitions for one in told), longest=max(one.longest for one in told)
        )

    @property
    def state_tasks(self) -> int | None:
        """The tasks that work on the state of all queries at once, one for each partition: the checkpoints fix them.

        None where a query has no state, or tells of none yet: it has as many tasks as its sources allow.
        """
        known = [
            query.state_partitions for query in self.counting if query.state_partitions is not None
        ]
        return sum(known) or None if len(known) == len(self.counting) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilingOutlook:
    """How a job is profiled by itself: the newest profile, its phase, and why no other begins, until when at least.

    `points` are rows per second by executors, in words.
    """

    profile: str | None = None
    phase: str | None = None
    points: str = ""
    reason: str = ""
    message: str = ""
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """All that is seen of one job at one moment."""

    driver: DriverPod | None = None
    executors_running: int = 0
    executors: tuple[ExecutorPod, ...] = ()
    """Their pods."""
    waiting: tuple[WaitingExecutor, ...] = ()
    """Those that do not run yet."""
    lost: LostExecutor | None = None
    """The last of the present driver's that has ended unasked."""
    refused: Refusal | None = None
    """Of executors that Spark wants and that have no pod; None if they would be made, or nobody has asked."""
    report: AgentReport | None = None
    silence: str | None = None
    """Why the agent's report is missing or old, if a driver is running and could have answered by now."""
    ended: int = 0
    """The newest incarnation of this job whose driver was seen to have ended, also if its pod is gone by now."""
    measured: Measurement | Unmeasured = NOT_CONFIGURED
    crowd: int = 0
    """How many other jobs the operator restarts, if it may not restart this one as well just now."""
    why_leave: str = ""
    """What is wrong with the node that the driver is to leave; empty if it may stay."""
    leaving: tuple[str, ...] = ()
    """Spark's ids of the executors that are to leave theirs."""
    decided: Decided | None = None
    """The newest decision on its executors, if this operator has made one."""
    led_since: datetime = _LONG_AGO
    """Since when this operator looks after jobs, perhaps in place of another."""
    profiling: ProfilingOutlook | None = None
    """How it is profiled by itself, if that is enabled and this operator has looked."""

    @property
    def audible_since(self) -> datetime:
        """Since when this operator could have heard of the present driver."""
        started = self.driver.started if self.driver is not None else None
        return max(self.led_since, started or _LONG_AGO)

    @property
    def is_unheard(self) -> bool:
        """Whether a driver runs of whose agent this process knows nothing yet: no report, nor that it is silent."""
        is_up = self.driver is not None and self.driver.is_up
        return is_up and self.report is None and self.silence is None
