"""The kind StreamJob: spec, status, and what `kubectl get` shows of it."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from sluice.api.base import Duration, Model, Rule, positive_duration
from sluice.api.v1alpha1.application import Application
from sluice.api.v1alpha1.objectives import (
    Alternate,
    Recovery,
    Scaling,
    Slo,
    Utility,
)
from sluice.api.v1alpha1.profiling import Profiling
from sluice.api.v1alpha1.running import Checkpoint, Executors, Restart, Source

MAXIMUM_NAME = 40
"""Spark appends "-INCARNATION-exec-NUMBER" to name executors; a pod's host name ends at 63 characters."""


class StreamJobSpec(Model):
    """What the owner of a job declares."""

    application: Application = Field(description="The program and how it is started.")
    executors: Executors = Field(
        default=Executors(), description="How many executors, and how large."
    )
    checkpoint: Checkpoint = Field(description="Where offsets and state are kept.")
    sources: list[Source] = Field(default=[], max_length=16, description="What the job reads.")
    slo: Slo | None = Field(None, description="What the job promises. Default: nothing.")
    recovery: Recovery | None = Field(
        None, description="How fast it must be back. Default: no target."
    )
    scaling: Scaling = Field(
        default=Scaling(), description="Whether and how the operator scales it."
    )
    alternates: list[Alternate] = Field(
        default=[], max_length=16, description="Cheaper ways to do the job."
    )
    profiling: Profiling = Field(default=Profiling(), description="Measuring it at other sizes.")
    utility: Utility | None = Field(None, description="Its worth, for sharing a cluster.")
    restart: Restart = Field(default=Restart(), description="How a failed driver is started again.")
    progress_deadline: Duration = Field(
        "5m",
        description="A batch that runs longer, or rows that wait longer for one, make Progressing false.",
    )
    suspend: bool = Field(
        False,
        description="Whether the job is stopped, with its checkpoint kept. `false` resumes it there.",
    )

    rules = (positive_duration("progress_deadline"),)


class DriverStatus(Model):
    """The present driver."""

    pod: str = Field(description="Name of its pod.")
    uid: str = Field(description="The uid of its pod.")
    node: str | None = Field(None, description="Node that it runs on.")
    started_at: str | None = Field(None, description="When its container started.")


class ExecutorStatus(Model):
    """Executors as they are."""

    wanted: int = Field(0, description="How many there should be.")
    running: int = Field(0, description="How many pods run.")
    fault: str = Field(
        "",
        description="What keeps others from running, or has ended one in the last minutes, and what to do about it.",
    )


class FailureStatus(Model):
    """Failures of the driver."""

    in_a_row: int = Field(0, description="Drivers in a row that ended unasked.")
    reason: str | None = Field(
        None,
        description="Why the last of them ended, in a word. StartBackOff: none did, but the next could not be made.",
    )
    message: str | None = Field(
        None, description="Why the last of them ended, or what the cluster answered."
    )
    exit_code: int | None = Field(None, description="Exit code of the last of them.")
    incarnation: int | None = Field(None, description="Its incarnation.")
    generation: int | None = Field(None, description="Generation of the spec that it ran.")
    fingerprint: str = Field("", description="Of what that spec says that needs a new driver.")
    at: str | None = Field(
        None, description="When it ended, or since when the next could not be made."
    )
    next_start: str | None = Field(None, description="No start before this time.")
    gave_up: bool = Field(False, description="The limit of spec.restart was reached.")


class RecoveryStatus(Model):
    """One time that the stream was away; all stages in seconds since it began."""

    cause: str = Field(
        description="DriverLoss, NodeLoss, SpecChange, Rescale or PlannedMove; ExecutorLoss only of drills."
    )
    incarnation: int = Field(description="The first driver that could end it.")
    drilled: int | None = Field(
        None, description="The incarnation that a drill has hit; absent if it was no drill."
    )
    usual_lag: float | None = Field(
        None,
        description="The most rows that waited before, in seconds of arrivals; of the one that goes on.",
    )
    began: str = Field(description="When the driver ended, or was asked to stop.")
    detection: float | None = Field(None, description="Until the operator saw it.")
    container: float | None = Field(None, description="Until the next driver's container ran.")
    session: float | None = Field(None, description="Until its Spark application was there.")
    first_batch: float | None = Field(
        None, description="Until its first batch was committed: the downtime."
    )
    calm: float | None = Field(
        None,
        description="Until no more rows waited than usual, if that lasts; of the one that goes on.",
    )
    caught_up: float | None = Field(
        None,
        description="Until no more rows waited than usual: the recovery. Of a past one, absent if that never came.",
    )


class RecoveriesStatus(Model):
    """How long the stream was away, measured."""

    count: int = Field(0, description="Recoveries that have ended.")
    usual_lag: float = Field(
        0.0,
        description="The most rows that wait of late, in seconds of arrivals: what a recovery goes back to.",
    )
    present: RecoveryStatus | None = Field(None, description="The one that goes on.")
    past: list[RecoveryStatus] = Field(default=[], description="The last ones, the newest last.")


class DrillStatus(Model):
    """The answer to the annotation sluice.dev/drill."""

    asked: str = Field(description="What it asks for.")
    accepted: bool = Field(description="Whether the loss that follows counts as a drill.")
    message: str | None = Field(None, description="Why not.")
    done: bool = Field(False, description="The loss was seen.")


class ResizeStatus(Model):
    """A change of the executors' CPU without a restart."""

    incarnation: int = Field(description="The driver whose executors are resized.")
    cpu_request: str = Field(description="What each of them is to have reserved.")
    cpu_limit: str | None = Field(None, description="The most that each may use.")
    refusal: str | None = Field(None, description="Why it takes a restart after all.")


class GoodStatus(Model):
    """The last spec that worked: every query was under way, and a batch was committed."""

    generation: int = Field(description="Its generation.")
    fingerprint: str = Field(description="Tells apart what of it needs a new driver.")
    checkpoint: str = Field(description="The normalised place of its checkpoint.")


class TrialStatus(Model):
    """A spec that has been started and has not worked yet."""

    generation: int = Field(description="Its generation.")
    since: str = Field(description="When its first driver was started.")
    failures: int = Field(0, description="Drivers of it that ended unasked, in a row.")
    staffed: bool | None = Field(None, description="Whether one of them has had an executor.")
    fingerprint: str = Field("", description="Of what it says that needs a new driver.")


class RollbackStatus(Model):
    """A spec that was given up for the last good one."""

    generation: int = Field(description="Its generation.")
    reason: str = Field("", description="Why it was given up.")
    incarnation: int = Field(
        0,
        description="Of its last driver: the value of the annotation sluice.dev/retry that asks for another try.",
    )
    fingerprint: str = Field("", description="Of what it says that needs a new driver.")


class ProvingStatus(Model):
    """Which spec is known to work."""

    good: GoodStatus | None = Field(None, description="The last one that worked.")
    trial: TrialStatus | None = Field(None, description="One that has not worked yet.")
    rollback: RollbackStatus | None = Field(None, description="The last one that was given up.")


class ChangeStatus(Model):
    """A change of the spec that the running driver was not started with."""

    kind: str = Field("None", description="None, Live, Restart or Migration.")
    fields: list[str] = Field(default=[], description="The changed fields, below spec.")


class CheckpointStatus(Model):
    """The checkpoint that the job holds."""

    location: str | None = Field(None, description="The normalised place.")
    last_batch: int | None = Field(None, description="The newest committed batch that is known.")
    committed_at: str | None = Field(None, description="When it was committed.")
    format_version: str | None = Field(None, description="Version of its offset log, as v1.")
    settings: dict[str, str] = Field(
        default={},
        description="Settings that it fixes: Spark takes them from here, whatever spec.application.sparkConf says.",
    )


class StreamStatus(Model):
    """How the stream flows. A number that is not known is absent."""

    arrival_rate: float | None = Field(
        None, description="Rows per second that arrive at the sources."
    )
    processing_rate: float | None = Field(
        None,
        description="Rows of the last batch per second of its duration, as Spark tells them: more than `arrivalRate` "
        "where the job keeps up.",
    )
    lag_rows: int | None = Field(
        None, description="Rows at the sources that no committed batch has processed."
    )
    lag_seconds: float | None = Field(None, description="Age of the oldest of them.")
    latency_p50: float | None = Field(None, description="Median latency of a record, in seconds.")
    latency_p95: float | None = Field(
        None, description="The 95th percentile of the latency, in seconds."
    )
    latency_p99: float | None = Field(
        None, description="The 99th percentile of the latency, in seconds."
    )
    state_rows: int | None = Field(None, description="Rows of state.")
    state_bytes: int | None = Field(None, description="Memory of the state, in bytes.")
    state_partitions: int | None = Field(
        None, description="Partitions of the state, as the checkpoint has them."
    )
    state_store: str | None = Field(
        None, description="Class of the state store, as the checkpoint has it."
    )


class SloStatus(Model):
    """The objective over its rolling window. What is not known is absent."""

    objective: float | None = Field(None, description="The declared share of good minutes.")
    window: str | None = Field(None, description="The declared window.")
    attainment: float | None = Field(None, description="The share of good minutes so far.")
    budget_left: float | None = Field(
        None, description="The share of the error budget that is left; negative if it is overspent."
    )
    unknown: float | None = Field(
        None, description="The share of the minutes of which nothing is known."
    )


class ProfilingStatus(Model):
    """How the job is profiled by itself, where spec.profiling is enabled."""

    profile: str | None = Field(
        None, description="The newest StreamProfile that the operator made."
    )
    phase: str | None = Field(None, description="Its phase.")
    points: str | None = Field(
        None, description="What is known of the job as it is: rows per second by executors."
    )
    reason: str = Field("", description="Why no other profile begins, in a word.")
    message: str = Field("", description="Why no other profile begins.")
    next_look: str | None = Field(None, description="No other profile begins before this time.")


class Summary(Model):
    """Short texts for the columns of `kubectl get`."""

    executors: str = Field("", description="Those that run and those that are wanted: 2/3.")
    latency: str = Field("", description="The 95th percentile of the latency.")
    slo: str = Field("", description="What is attained of the objective: 99.95%/99%.")
    lag: str = Field("", description="Rows that wait, and for how long.")


class ConditionStatus(Model):
    """A condition in the form of metav1.Condition."""

    type: str = Field(description="What it is about.")
    status: Literal["True", "False", "Unknown"] = Field(description="Whether it holds.")
    reason: str = Field(min_length=1, max_length=1024, description="Why, in a CamelCase word.")
    message: str = Field("", max_length=32768, description="Why, in a sentence.")
    observed_generation: int = Field(0, description="Generation of the spec that it is about.")
    last_transition_time: str = Field(
        description="When `status` changed last.", json_schema_extra={"format": "date-time"}
    )


class ChosenStatus(Model):
    """The last decision that changed the number of executors."""

    executors: int = Field(description="How many the job is to have.")
    decision: str = Field("", description="Id of the decision.")
    at: str = Field(description="When.", json_schema_extra={"format": "date-time"})
    reason: str = Field("", description="Why.")
    path: str = Field("Live", description="The way: Live or Restart.")
    incarnation: int = Field(0, description="The driver that ran then.")
    undoes: str | None = Field(None, description="Id of the decision whose harm is undone so.")
    approval: str | None = Field(
        None, description="In mode Approve: the value of the annotation that has approved it."
    )


class FallbackStatus(Model):
    """A restart for the sake of executors that did not come, or were not used."""

    reason: str = Field(description="Why, in a CamelCase word.")
    message: str = Field("", description="Why, in a sentence.")


class RoomStatus(Model):
    """A number of executors beyond which no more came."""

    executors: int = Field(description="The most that were there.")
    until: str = Field(
        description="Before that, no more are chosen.", json_schema_extra={"format": "date-time"}
    )


class StaffingStatus(Model):
    """Whether the executors of the last rescale came and are used."""

    executors: int = Field(description="How many were asked for.")
    former: int = Field(description="How many there were to be before.")
    incarnation: int = Field(0, description="The driver that was asked, or replaced.")
    since: str = Field(
        description="When they were asked for.", json_schema_extra={"format": "date-time"}
    )
    came_at: str | None = Field(
        None, description="When all were registered.", json_schema_extra={"format": "date-time"}
    )
    used_at: str | None = Field(
        None,
        description="When each had completed a task: the rescale is verified.",
        json_schema_extra={"format": "date-time"},
    )
    fallback: FallbackStatus | None = Field(
        None, description="The restart that was made because they did not come or were not used."
    )
    futile: FallbackStatus | None = Field(
        None,
        description="An earlier restart that did not help executors to be used; for that, no other is made until a "
        "rescale to more has been verified.",
    )


class DecisionStatus(Model):
    """A decision in short; `kubectl sluice explain` tells all of it."""

    id: str = Field(description="Its id.")
    at: str = Field(description="When.", json_schema_extra={"format": "date-time"})
    wanted: int = Field(description="The executors that the policy wants.")
    executors: int = Field(description="The executors that the job is to have.")
    reason: str = Field(description="Why.")
    kept_by: str | None = Field(None, description="The guard that keeps the wish from being done.")
    pending: str | None = Field(
        None,
        description="In mode Approve: the value of the annotation that approves what is wanted.",
    )
    expected_latency: float | None = Field(None, description="In seconds.")
    likely_recovery: float | None = Field(
        None,
        description="From a driver that is lost now, in seconds, as likely more as less: to compare with "
        "status.recoveries.",
    )
    expected_recovery: float | None = Field(
        None,
        description="From a lost driver, in seconds, as the policy plans with it to keep spec.recovery.target: at the "
        "worst moment of its horizon, under the upper forecast.",
    )
    smallest_recovery: float | None = Field(
        None, description="The shortest target that could be kept, where the declared one cannot."
    )


class StreamJobStatus(Model):
    """What the operator knows and remembers of a job. It alone writes it."""

    observed_generation: int = Field(
        0, description="Generation of the spec that this status is about."
    )
    phase: str = Field("", description="The state of the job in a word; the conditions say why.")
    incarnation: int = Field(0, description="How many drivers have been started for the job.")
    ended: int = Field(0, description="The newest incarnation whose driver is known to be dead.")
    stopping: str | None = Field(None, description="Why the present driver was asked to stop.")
    replicas: int = Field(0, description="Executors that run, for the scale subresource.")
    selector: str = Field(
        "", description="Label selector of the executors, for the scale subresource."
    )
    driver: DriverStatus | None = Field(None, description="The present driver.")
    executors: ExecutorStatus = Field(
        default=ExecutorStatus(), description="Executors as they are."
    )
    failures: FailureStatus = Field(default=FailureStatus(), description="Failures of the driver.")
    recoveries: RecoveriesStatus = Field(
        default=RecoveriesStatus(), description="Recoveries of the job, measured."
    )
    drill: DrillStatus | None = Field(
        None, description="The failure drill that is asked for, as long as its annotation is there."
    )
    resize: ResizeStatus | None = Field(
        None, description="The CPU that executors were given while they ran."
    )
    chosen: ChosenStatus | None = Field(
        None, description="The number of executors that was decided upon, where the mode allows it."
    )
    staffing: StaffingStatus | None = Field(
        None, description="Whether the executors of the last rescale came and are used."
    )
    room: RoomStatus | None = Field(
        None, description="How many executors there is room for, if more were chosen in vain."
    )
    decision: DecisionStatus | None = Field(
        None, description="The newest decision on the number of executors."
    )
    proving: ProvingStatus = Field(
        default=ProvingStatus(), description="Which spec is known to work."
    )
    change: ChangeStatus = Field(
        default=ChangeStatus(), description="A pending change of the spec."
    )
    checkpoint: CheckpointStatus = Field(default=CheckpointStatus(), description="The checkpoint.")
    stream: StreamStatus = Field(default=StreamStatus(), description="How the stream flows.")
    slo: SloStatus = Field(default=SloStatus(), description="What is attained of spec.slo.")
    profiling: ProfilingStatus | None = Field(
        None, description="How the job is profiled by itself."
    )
    summary: Summary = Field(default=Summary(), description="Short texts for people.")
    conditions: list[ConditionStatus] = Field(
        default=[],
        description="Conditions, as in every Kubernetes object.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    )


class StreamJob(Model):
    """A Spark Structured Streaming job that the operator keeps running."""

    spec: StreamJobSpec = Field(description="What the owner declares.")
    status: StreamJobStatus | None = Field(None, description="What the operator reports.")

    # Rules on the object itself see its metadata, which is no field of this model: `convert` has the same check.
    object_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            field="metadata.name",
            cel=f"self.metadata.name.size() <= {MAXIMUM_NAME}",
            message="'\\'' + self.metadata.name + '\\' is too long; the names of its pods leave room for "
            f"{MAXIMUM_NAME} characters'",
            check=lambda name: len(name) <= MAXIMUM_NAME,
            told=lambda name: (
                f"'{name}' is too long; "
                f"the names of its pods leave room for {MAXIMUM_NAME} characters"
            ),
        ),
        Rule(
            field="metadata.name",
            cel="!self.metadata.name.contains('.')",
            message="'\\'' + self.metadata.name + '\\' must not contain a dot; use a dash'",
            check=lambda name: "." not in name,
            told=lambda name: f"'{name}' must not contain a dot; use a dash",
        ),
    )


PRINTER_COLUMNS: tuple[dict[str, Any], ...] = (
    {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
    {
        "name": "Executors",
        "type": "string",
        "jsonPath": ".status.summary.executors",
        "description": "running/wanted",
    },
    {
        "name": "P95",
        "type": "string",
        "jsonPath": ".status.summary.latency",
        "description": "95th percentile of the record latency, over the last minute",
    },
    {
        "name": "SLO",
        "type": "string",
        "jsonPath": ".status.summary.slo",
        "description": "share of good minutes: attained/declared",
    },
    {
        "name": "Lag",
        "type": "string",
        "jsonPath": ".status.summary.lag",
        "description": "rows that wait, and for how long",
    },
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    {"name": "Incarnation", "type": "integer", "jsonPath": ".status.incarnation", "priority": 1},
    {
        "name": "Change",
        "type": "string",
        "jsonPath": ".status.change.kind",
        "priority": 1,
        "description": "class of a pending spec change",
    },
    {
        "name": "Reason",
        "type": "string",
        "jsonPath": '.status.conditions[?(@.type=="Ready")].message',
        "priority": 1,
    },
)
