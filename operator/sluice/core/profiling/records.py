"""A profile of a job: what is declared, what must be remembered of its run, and what is seen of its copies."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from sluice.core.application import JobKey, StreamJob
from sluice.core.quantities import Bytes
from sluice.errors import InvalidSpec


class Phase(StrEnum):
    """The state of a profile in a word."""

    PENDING = "Pending"
    PROFILING = "Profiling"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class CopyPhase(StrEnum):
    """The state of a copy in a word."""

    STARTING = "Starting"
    MEASURING = "Measuring"
    MEASURED = "Measured"
    FAILED = "Failed"


class Start(StrEnum):
    """Where copies begin to read, and so what is measured: their capacity, or the latency of the live rows."""

    EARLIEST = "Earliest"
    LATEST = "Latest"


class Reason(StrEnum):
    """Why a profile waits, or has failed."""

    JOB_NOT_FOUND = "JobNotFound"
    JOB_INVALID = "JobInvalid"
    ANOTHER_PROFILE = "AnotherProfile"
    """Another, older profile of the same job is under way: this one waits."""
    NOT_REPLAYABLE = "NotReplayable"
    """The job declares no Kafka source, or its program reads one that cannot be read again."""
    NOT_PROFILABLE = "NotProfilable"
    """The copy's agent cannot keep the program from writing, or no batch of it can be measured."""
    NEEDS_SECRET = "NeedsSecret"
    """The job uses Secrets or claims, which the operator may not copy."""
    NO_CAPACITY = "NoCapacity"
    QUOTA_EXCEEDED = "QuotaExceeded"
    REFUSED = "Refused"
    """The cluster did not take what a copy needs."""
    COPY_FAILED = "CopyFailed"
    BUDGET_SPENT = "BudgetSpent"
    HISTORY_TOO_SHORT = "HistoryTooShort"
    NO_LOAD = "NoLoad"
    """Nothing arrived at the sources while copies read them live."""
    SUPERSEDED = "Superseded"
    """What of the job decides about its speed has changed meanwhile."""
    OTHER_IMAGE = "OtherImage"
    """A copy runs something else under the image's name than production, or than another copy."""
    YIELDED = "Yielded"
    """Production needs the room that copies take."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why something cannot go on: a word for machines, and a sentence with the remedy."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What a profile may cost: core-seconds of all copies' pods together, and wall time."""

    core_seconds: float
    wall: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """The claim of a copy's checkpoint. None of a class or an access mode is that of the job's own claim."""

    size: Bytes
    storage_class: str | None = None
    access_mode: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a StreamProfile declares. No `executors` means that they are chosen by need.

    `is_automatic`: the operator made it by itself, after so many `former_failures` in a row.
    """

    key: JobKey
    uid: str
    generation: int
    created: datetime
    job: JobKey
    start: Start = Start.EARLIEST
    executors: tuple[int, ...] = ()
    allowance: Allowance
    parallel: int = 2
    namespaces: tuple[str, ...] = ()
    copy_deadline: timedelta = timedelta(minutes=10)
    storage: Storage
    is_automatic: bool = False
    former_failures: int = 0


@dataclass(frozen=True, slots=True)
class Key:
    """What a measurement belongs to: an image, a hash of what else decides about the speed, and what was measured.

    `digest` is that of what is behind the image's name; None where it is not known.
    """

    image: str
    configuration: str
    start: Start = Start.EARLIEST
    digest: str | None = None

    def agrees_with(self, other: "Key | None") -> bool:
        """Whether both are of the same program, by the digests where both are known, else by the images' names.

        This is no equality: a key without a digest may agree with two that do not agree with each other.
        """
        if other is None or (self.configuration, self.start) != (other.configuration, other.start):
            return False
        if self.digest is None or other.digest is None:
            return self.image == other.image
        return self.digest == other.digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The rows per second that a number of executors processes beyond the overhead of a batch.

    `error` is the standard error in rows/s, `overhead` is in seconds. `is_lower_bound`: there was too little to read
    to saturate the copy, or its batches could not tell the overhead. `is_upper_bound`: a part of the program's own
    work was left out, that of foreachBatch.
    """

    executors: int
    rate: float
    error: float
    batches: int
    overhead: float
    at: datetime
    is_lower_bound: bool = False
    is_upper_bound: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether models may learn from it."""
        return not (self.is_lower_bound or self.is_upper_bound)


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentiles:
    """Latencies of rows in seconds, by the share of the rows that were faster."""

    p50: float
    p95: float
    p99: float

    def at(self, percentile: float) -> float:
        """The nearest one that is not below a share, as far as there is one."""
        if percentile <= 0.5:
            return self.p50
        return self.p95 if percentile <= 0.95 else self.p99


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePoint:
    """The latency of live rows with a number of executors, while `arriving` rows/s arrived.

    `keeps_up`: no more and more rows were left lying. `is_lower_bound`: a part of the program's own work was left out,
    that of foreachBatch.
    """

    executors: int
    latency: Percentiles
    arriving: float
    batches: int
    keeps_up: bool
    at: datetime
    is_lower_bound: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether models may learn from it: the latency of a copy that falls behind is that of a moment."""
        return self.keeps_up and not self.is_lower_bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A copy that was decided upon: it is written down before it is made, and so is its end."""

    executors: int
    namespace: str
    began: datetime
    phase: CopyPhase = CopyPhase.STARTING
    ended: datetime | None = None
    problem: Problem | None = None

    @property
    def is_open(self) -> bool:
        """Whether it still costs anything."""
        return self.ended is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the copies of a profile will cost, as far as it can be told before."""

    copies: int
    core_seconds: float
    wall_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The memory of a profile, kept in its status. `points` may begin with those of a former profile."""

    key: Key | None = None
    plan: Plan | None = None
    began: datetime | None = None
    ended: datetime | None = None
    copies: tuple[Copy, ...] = ()
    points: tuple[Point | LivePoint, ...] = ()
    problem: Problem | None = None
    """Why it failed, once it has ended; before that, what it waits for."""

    @property
    def capacities(self) -> tuple[Point, ...]:
        """The points that tell rows per second."""
        return tuple(point for point in self.points if isinstance(point, Point))

    def with_digest(self, digest: str | None) -> "Run":
        """With the digest that was seen, if none was known.

        Points of former profiles go: they were taken over by the image's name, and may be of another digest.
        """
        if digest is None or self.key is None or self.key.digest is not None:
            return self
        own = tuple(point for point in self.points if self.began and point.at >= self.began)
        return replace(self, key=replace(self.key, digest=digest), points=own)

    @property
    def open(self) -> tuple[Copy, ...]:
        """The copies that run."""
        return tuple(copy for copy in self.copies if copy.is_open)

    def with_copy(self, copy: Copy) -> "Run":
        """With another state of the copy in that namespace, which began then; or with one more copy."""
        known = [(one.namespace, one.began) for one in self.copies]
        if (copy.namespace, copy.began) not in known:
            return replace(self, copies=(*self.copies, copy))
        index = known.index((copy.namespace, copy.began))
        return replace(self, copies=(*self.copies[:index], copy, *self.copies[index + 1 :]))

    def with_point(self, point: Point | LivePoint) -> "Run":
        """With a measurement; a newer one at the same scale-out takes the place of the older."""
        others = tuple(one for one in self.points if one.executors != point.executors)
        points = sorted((*others, point), key=lambda one: one.executors)
        return replace(self, points=tuple(points))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a copy's batches tell so far; see `Point`. They took `seconds` together.

    `is_dry` says that no more rows waited at the end.
    """

    rate: float
    error: float
    batches: int
    seconds: float
    overhead: float
    is_dry: bool = False
    is_lower_bound: bool = False
    is_upper_bound: bool = False

    @property
    def relative_error(self) -> float:
        """The standard error as a share of the rate."""
        return self.error / self.rate

    def point(self, executors: int, at: datetime) -> Point:
        """What is kept of it."""
        return Point(
            executors=executors,
            rate=self.rate,
            error=self.error,
            batches=self.batches,
            overhead=self.overhead,
            at=at,
            is_lower_bound=self.is_lower_bound,
            is_upper_bound=self.is_upper_bound,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveReading:
    """What a copy tells of live rows so far; see `LivePoint`.

    The batches that count lasted `seconds` from the first to the last. The latencies are those of the rows that were
    committed in the last `window` seconds.
    """

    latency: Percentiles
    window: float
    arriving: float
    batches: int
    seconds: float
    keeps_up: bool
    is_lower_bound: bool = False

    def point(self, executors: int, at: datetime) -> LivePoint:
        """What is kept of it."""
        return LivePoint(
            executors=executors,
            latency=self.latency,
            arriving=self.arriving,
            batches=self.batches,
            keeps_up=self.keeps_up,
            at=at,
            is_lower_bound=self.is_lower_bound,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CopySeen:
    """What is seen of a copy.

    `has_place`: its namespace, or in a namespace of the user's its StreamJob, is there; `has_job`: its StreamJob is.
    `driver_made` is when its driver's pod was made, `driver_since` when that began to run. `registered` counts its
    executors; None while its agent has not told. `is_unheard`: its agent may answer yet, and has not for this operator.
    `digest` is that of the image which its driver runs, if it is known.
    `problem` is what certainly keeps it from working, `obstacle` what keeps it waiting. `is_on_its_way`: the pods that
    do not run yet likely will soon, because their images are pulled, or nodes for them are added.
    `is_dry`: no more rows wait at its sources, or, of live ones, none has arrived.
    """

    has_place: bool = False
    has_job: bool = False
    driver_made: datetime | None = None
    driver_since: datetime | None = None
    registered: int | None = None
    is_unheard: bool = False
    digest: str | None = None
    problem: Problem | None = None
    obstacle: Problem | None = None
    is_on_its_way: bool = False
    reading: Reading | LiveReading | None = None
    is_dry: bool = False


NOT_THERE = CopySeen()


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is seen around a profile, by an operator that has looked after it `since` then.

    `obstacle` is why this job cannot be copied, `rival` an older open profile of it. `yields` is why copies must give
    their room to production. `known` are the points of former profiles with the present key. `copies` are by their
    namespaces.
    """

    job: StreamJob | InvalidSpec | None
    since: datetime
    key: Key | None = None
    tasks: int | None = None
    obstacle: Problem | None = None
    rival: str | None = None
    yields: Problem | None = None
    known: tuple[Point, ...] = ()
    copies: Mapping[str, CopySeen] = field(default_factory=dict)

    def of(self, copy: Copy) -> CopySeen:
        """What is seen of a copy."""
        return self.copies.get(copy.namespace, NOT_THERE)


@dataclass(frozen=True, slots=True)
class MakeCopy:
    """Make what a copy needs, the guards first and the StreamJob last."""

    copy: Copy


@dataclass(frozen=True, slots=True)
class EndCopy:
    """Remove a copy with all that was made for it."""

    copy: Copy


Step = MakeCopy | EndCopy


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The next steps, what to remember before they are taken, and when to look again, in seconds.

    That a profile finishes or fails is a part of what is remembered: the run's end and its problem.
    """

    phase: Phase
    run: Run
    steps: tuple[Step, ...] = ()
    again: float | None = None
