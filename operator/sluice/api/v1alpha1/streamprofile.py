"""The kind StreamProfile: one run of measuring copies of a job, and what `kubectl get` shows of it."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from sluice.api.base import Duration, Memory, Model, Rule, positive_duration
from sluice.api.v1alpha1.objectives import PlainName
from sluice.api.v1alpha1.streamjob import MAXIMUM_NAME, ConditionStatus

ScaleOut = Annotated[int, Field(ge=1, le=10000)]


def _without_repetition(field: str) -> Rule:
    remedy = "names the same twice; remove one"
    return Rule(
        field=field,
        cel=f"!has(self.{field}) || self.{field}.all(x, self.{field}.exists_one(y, x == y))",
        message=f"'{remedy}'",
        check=lambda model: len(set(getattr(model, field))) == len(getattr(model, field)),
        told=lambda _: remedy,
    )


class ProfileBudget(Model):
    """What a profile may cost. When it is spent, copies end with what they have told so far."""

    core_hours: float = Field(
        2.0,
        gt=0,
        le=100000,
        description="CPU time of all copies together, in core-hours: cores of their executors and drivers, times the "
        "time from a copy's start to its end. Declared executors whose copies would take more are refused at once.",
    )
    wall_time: Duration = Field("30m", description="The longest time that the profile may take.")

    rules = (positive_duration("wall_time"),)


class ProfileStorage(Model):
    """The claim of each copy's checkpoint, which goes with the copy."""

    size: Memory = Field("1Gi", description="Its size.")
    class_name: str | None = Field(
        None,
        max_length=253,
        description="Its storage class. Default: that of the job's own claim, else the cluster's default.",
    )
    access_mode: Literal["ReadWriteMany", "ReadWriteOnce"] | None = Field(
        None,
        description="Its access mode. Default: that of the job's own claim, else ReadWriteMany.",
    )


class StreamProfileSpec(Model):
    """What is to be measured, and what it may cost."""

    job: PlainName = Field(
        description="Name of a StreamJob in the same namespace. It must declare its Kafka sources.",
        max_length=MAXIMUM_NAME,
    )
    executors: list[ScaleOut] = Field(
        default=[],
        max_length=16,
        description="Numbers of executors to measure. Default: the bounds of the job, and then up to two numbers "
        "between them about which least is known; what a former profile has measured is not measured again.",
    )
    budget: ProfileBudget = Field(default=ProfileBudget(), description="What it may cost.")
    parallel: int = Field(2, ge=1, le=16, description="Copies that run at a time.")
    namespaces: list[PlainName] = Field(
        default=[],
        max_length=16,
        description="Namespaces to use, one for each copy that runs at a time. They keep their own quotas and network "
        "policies, and must have the Secrets that the job uses. Default: the operator makes a namespace for each "
        "copy and removes it afterwards.",
    )
    start: Literal["Earliest"] = Field(
        "Earliest",
        alias="from",
        description="Where copies begin to read. Earliest: at the oldest row that the source has.",
    )
    sink: Literal["Drop"] = Field(
        "Drop",
        description="What becomes of the copies' output. Drop: it is computed and written nowhere.",
    )
    copy_deadline: Duration = Field(
        "10m",
        description="The longest time from a copy's start to its measurement. Then it gives what it has.",
    )
    storage: ProfileStorage = Field(
        default=ProfileStorage(), description="The claim of each copy's checkpoint."
    )

    rules = (
        positive_duration("copy_deadline"),
        _without_repetition("executors"),
        _without_repetition("namespaces"),
    )


class PlannedStatus(Model):
    """What the copies were expected to cost before the first was started."""

    copies: int = Field(0, description="How many.")
    core_seconds: float = Field(0.0, description="CPU time of all together, in core-seconds.")
    wall_seconds: float = Field(0.0, description="Time until the last ends, in seconds.")


class SpentStatus(Model):
    """What the profile has cost so far."""

    core_seconds: float = Field(0.0, description="CPU time of all copies, in core-seconds.")


class CopyStatus(Model):
    """One copy of the job."""

    namespace: str = Field(description="Its namespace.")
    executors: int = Field(description="Its number of executors.")
    phase: str = Field(description="Starting, Measuring, Measured or Failed.")
    reason: str | None = Field(None, description="Why it waits or failed, in a word.")
    message: str | None = Field(None, description="Why it waits or failed.")
    started_at: str = Field(description="When it was decided to start it.")
    ended_at: str | None = Field(None, description="When it was decided to end it.")


class PointStatus(Model):
    """What was measured at one number of executors."""

    executors: int = Field(description="How many.")
    rows_per_second: float = Field(
        description="Rows per second that they process beyond the overhead of each batch."
    )
    error_rows_per_second: float = Field(description="The standard error of that.")
    batches: int = Field(0, description="Warm batches that it was measured by.")
    overhead_seconds: float = Field(0.0, description="Seconds of a batch without rows.")
    lower_bound: bool = Field(
        False,
        description="Whether the truth may be higher: too few rows waited at the source to keep the copy busy, or its "
        "batches were too much of one size to tell their overhead.",
    )
    upper_bound: bool = Field(
        False,
        description="Whether the truth may be lower: the program's own work in foreachBatch was left out.",
    )
    measured_at: str = Field(description="When.")


class KeyStatus(Model):
    """What the points belong to."""

    image: str = Field(description="The image of the job.")
    configuration: str = Field(
        description="A hash of what else of the job decides about its speed."
    )


class ProfileSummary(Model):
    """Short texts for the columns of `kubectl get`."""

    points: str = Field("", description="Rows per second by executors: 1: 12.3k, 4: 40.1k.")
    spent: str = Field("", description="Core-hours: spent/allowed.")


class StreamProfileStatus(Model):
    """What the operator knows and remembers of a profile. It alone writes it."""

    observed_generation: int = Field(
        0, description="Generation of the spec that this status is about."
    )
    phase: str = Field("", description="Pending, Profiling, Succeeded or Failed.")
    planned: PlannedStatus | None = Field(None, description="What it was expected to cost.")
    spent: SpentStatus = Field(default=SpentStatus(), description="What it has cost so far.")
    copies: list[CopyStatus] = Field(default=[], description="The copies, in the order of starts.")
    points: list[PointStatus] = Field(default=[], description="What was measured.")
    key: KeyStatus | None = Field(None, description="What the points belong to.")
    started_at: str | None = Field(None, description="When it began.")
    ended_at: str | None = Field(None, description="When it ended.")
    summary: ProfileSummary = Field(default=ProfileSummary(), description="Short texts for people.")
    conditions: list[ConditionStatus] = Field(
        default=[],
        description="SpecValid, and Complete: whether all that was wanted has been measured.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    )


class StreamProfile(Model):
    """One run of measuring copies of a StreamJob at several numbers of executors, beside production."""

    spec: StreamProfileSpec = Field(description="What is to be measured, and what it may cost.")
    status: StreamProfileStatus | None = Field(None, description="What the operator reports.")

    object_rules: ClassVar[tuple[Rule, ...]] = ()


PRINTER_COLUMNS: tuple[dict[str, Any], ...] = (
    {"name": "Job", "type": "string", "jsonPath": ".spec.job"},
    {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
    {
        "name": "Points",
        "type": "string",
        "jsonPath": ".status.summary.points",
        "description": "rows per second by executors",
    },
    {
        "name": "Spent",
        "type": "string",
        "jsonPath": ".status.summary.spent",
        "description": "core-hours: spent/allowed",
    },
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    {
        "name": "Reason",
        "type": "string",
        "jsonPath": '.status.conditions[?(@.type=="Complete")].message',
        "priority": 1,
    },
)
