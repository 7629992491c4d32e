"""The kind StreamProfile: one run of measuring copies of a job, and what `kubectl get` shows of it."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from sluice.api.base import Model, Rule
from sluice.api.v1alpha1.objectives import PlainName
from sluice.api.v1alpha1.profiling import Copying
from sluice.api.v1alpha1.streamjob import MAXIMUM_NAME, ConditionStatus

_ENDED = "this profile has ended, and what it has measured stays; make another one"


class StreamProfileSpec(Copying):
    """What is to be measured, and what it may cost."""

    job: PlainName = Field(
        description="Name of a StreamJob in the same namespace. It must declare its Kafka sources.",
        max_length=MAXIMUM_NAME,
    )
    start: Literal["Earliest", "Latest"] = Field(
        "Earliest",
        alias="from",
        description="Where copies begin to read, and so what is measured. Earliest: at the oldest row that the source "
        "has, for the rows per second of a copy that is always busy. Latest: at the newest, for the latency of the "
        "rows that arrive meanwhile; then `executors` are by default up to four between the bounds, evenly spaced.",
    )
    sink: Literal["Drop"] = Field(
        "Drop",
        description="What becomes of the copies' output. Drop: it is computed and written nowhere.",
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


class PointLatencyStatus(Model):
    """How long rows took from their source to the commit of their batch, in the last minute of a copy."""

    p50_seconds: float = Field(description="That of half of the rows, at most, in seconds.")
    p95_seconds: float = Field(description="That of 95 % of the rows, at most, in seconds.")
    p99_seconds: float = Field(description="That of 99 % of the rows, at most, in seconds.")
    arriving_rows_per_second: float = Field(
        description="Rows per second that arrived meanwhile. This is the load, and no capacity."
    )
    keeps_up: bool = Field(
        description="Whether all of them were processed. Else more and more were left lying, and the latency grew for "
        "as long as the copy ran."
    )


class PointStatus(Model):
    """What was measured at one number of executors: rows per second, or of live rows the latency."""

    executors: int = Field(description="How many.")
    rows_per_second: float | None = Field(
        None, description="Rows per second that they process beyond the overhead of each batch."
    )
    error_rows_per_second: float | None = Field(None, description="The standard error of that.")
    latency: PointLatencyStatus | None = Field(
        None, description="How long rows took that arrived meanwhile."
    )
    batches: int = Field(0, description="Warm batches that it was measured by.")
    overhead_seconds: float = Field(0.0, description="Seconds of a batch without rows.")
    lower_bound: bool = Field(
        False,
        description="Whether the truth may be higher. Of rows per second: too few rows waited at the source to keep "
        "the copy busy, or its batches were too much of one size to tell their overhead. Of a latency: the program's "
        "own work in foreachBatch was left out.",
    )
    upper_bound: bool = Field(
        False,
        description="Whether the truth may be lower: the program's own work in foreachBatch was left out.",
    )
    measured_at: str = Field(description="When.")


class KeyStatus(Model):
    """What the points belong to."""

    image: str = Field(description="The image of the job, as it is declared.")
    digest: str | None = Field(
        None,
        description="The digest of what the copies ran under that name, and so did the job, as far as it was running. "
        "None: no kubelet has told one, and the name is taken for it.",
    )
    configuration: str = Field(
        description="A hash of what else of the job decides about its speed."
    )
    start: str = Field(
        "Earliest", alias="from", description="Where the copies began to read: Earliest or Latest."
    )


class ProfileSummary(Model):
    """Short texts for the columns of `kubectl get`."""

    points: str = Field(
        "",
        description="What was measured by executors. Rows per second: 1: 12.3k, 4: 40.1k. The latency of 95 % of the "
        "rows: 1: falls behind, 4: p95 1.4s.",
    )
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

    # Only the API server sees what was before. One that is not valid has not ended: to correct it begins it.
    object_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            field="spec",
            cel="!has(oldSelf.status) || !has(oldSelf.status.endedAt) || self.spec == oldSelf.spec",
            message=f"'{_ENDED}'",
            check=lambda _: True,
            told=lambda _: _ENDED,
        ),
    )


PRINTER_COLUMNS: tuple[dict[str, Any], ...] = (
    {"name": "Job", "type": "string", "jsonPath": ".spec.job"},
    {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
    {
        "name": "Points",
        "type": "string",
        "jsonPath": ".status.summary.points",
        "description": "rows per second, or latency, by executors",
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
