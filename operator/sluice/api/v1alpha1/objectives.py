"""What a job promises, and how it may be scaled to keep it: SLO, recovery, scaling, alternates, utility.

This version checks and stores these fields; the condition SpecInForce names those it does not act upon.
"""

from typing import Annotated, Literal

from pydantic import Field

from sluice.api.base import (
    Duration,
    FreeForm,
    Model,
    Rule,
    least_duration,
    positive_duration,
    text_of_form,
)
from sluice.core import quantities

Share = Annotated[float, Field(gt=0, lt=1)]
TimeOfDay = Annotated[
    str,
    *text_of_form(
        r"^([01][0-9]|2[0-3]):[0-5][0-9]$",
        "not a time of day; write HH:MM, for example 08:30",
        limit=5,
    ),
]
Moment = Annotated[
    str,
    *text_of_form(
        r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?(Z|[+-][0-9]{2}:[0-9]{2})$",
        "not a moment with a time zone; write for example 2026-11-27T20:00:00+01:00",
        limit=32,
    ),
]
Day = Literal["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
PlainName = Annotated[
    str,
    *text_of_form(
        r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$",
        "not a name; use small letters, digits and dashes",
        limit=63,
    ),
]


class Latency(Model):
    """A bound on the time from a record's timestamp at the source to its commit."""

    percentile: Share = Field(
        0.95, description="Share of the records that must be within the bound: 0.95 is p95."
    )
    bound: Duration = Field(description="The longest time that these records may take.")

    rules = (positive_duration("bound"),)


class Throughput(Model):
    """A floor under the rate of processed records."""

    minimum: int = Field(
        ge=1, description="Records per second that must be processed while so many arrive."
    )


class Freshness(Model):
    """A bound on the age of the last committed batch while records wait."""

    bound: Duration = Field(
        description="The longest time that a query may commit nothing while it has records to process."
    )

    rules = (positive_duration("bound"),)


class Slo(Model):
    """The service level objective."""

    latency: Latency | None = Field(None, description="Bound on the record latency. Default: none.")
    throughput: Throughput | None = Field(
        None, description="Floor of the throughput. Default: none."
    )
    freshness: Freshness | None = Field(
        None, description="Bound on the age of the last committed batch. Default: none."
    )
    objective: Share = Field(
        0.99,
        description="Share of the time in which the bounds hold: 0.99 leaves 1 % as error budget. The smaller that is, "
        "the dearer is a rescale that makes records late.",
    )
    window: Duration = Field(
        "28d", description="The rolling window over which the objective is taken."
    )
    gaps: Literal["Unknown", "Good", "Bad"] = Field(
        "Unknown",
        description="How minutes without metrics count. Unknown: left out, and their share is told.",
    )

    rules = (positive_duration("window"),)


class Window(Model):
    """A daily window."""

    start: TimeOfDay = Field(description="First minute of the window, HH:MM.")
    end: TimeOfDay = Field(
        description="End of the window, HH:MM; earlier than start means the next day."
    )
    days: list[Day] = Field(
        default=[], max_length=7, description="Days on which it starts. Default: every day."
    )
    time_zone: str = Field(
        "UTC", max_length=64, description="Time zone of the window, as Europe/Berlin."
    )

    rules = (
        Rule(
            field="end",
            cel="self.start != self.end",
            message="'\\'' + self.end + '\\' is start, too; a window needs a length'",
            check=lambda self: self.start != self.end,
            told=lambda self: f"'{self.end}' is start, too; a window needs a length",
        ),
    )


class Drills(Model):
    """Failures on purpose, by which the recovery is measured: `kubectl sluice drill`."""

    allowed: list[Literal["Executor", "Driver"]] = Field(
        default=[],
        max_length=2,
        description="What may be killed: Executor, Driver. Default: nothing.",
        json_schema_extra={"x-kubernetes-list-type": "set"},
    )
    windows: list[Window] = Field(
        default=[], max_length=32, description="When it may be killed. Default: at any time."
    )


class Recovery(Model):
    """How fast the job is back after a failure."""

    target: Duration = Field(
        description="The longest time from a failure until the job has caught up. Shorter needs more executors."
    )
    drills: Drills = Field(
        default=Drills(), description="Failures on purpose: `kubectl sluice drill`."
    )

    rules = (positive_duration("target"),)


class CalendarEvent(Model):
    """A time that the owner knows to have another load than the past tells."""

    name: PlainName = Field(description="Name of the event.")
    start: Moment = Field(description="When it begins, with its time zone.")
    duration: Duration = Field(description="How long it lasts.")
    factor: float = Field(
        1.0, gt=0, le=10000, description="So many times the ordinary load arrives during it."
    )
    added: float = Field(
        0.0, ge=0, le=1e12, description="So many records per second arrive in addition."
    )
    every: Duration | None = Field(
        None,
        description="It comes again after so long, for ever: 24h, 168h. Not shorter than its duration. Default: once.",
    )
    time_zone: str = Field(
        "UTC",
        max_length=64,
        description="Time zone in which an event of whole days comes again at the same time of the day, as "
        "Europe/Berlin.",
    )

    rules = (
        positive_duration("duration"),
        positive_duration("every"),
        Rule(
            field="every",
            # CEL knows no days; those are compared by the operator.
            cel="!has(self.every) || self.every.contains('d') || self.duration.contains('d') "
            "|| duration(self.every) >= duration(self.duration)",
            message="'\\'' + self.every + '\\' is shorter than duration: \\'' + self.duration + '\\'; "
            "it would overlap with itself'",
            check=lambda self: (
                self.every is None
                or quantities.duration(self.every) >= quantities.duration(self.duration)
            ),
            told=lambda self: (
                f"'{self.every}' is shorter than duration: '{self.duration}'; it would overlap with itself"
            ),
        ),
    )


class Scaling(Model):
    """Whether and how the operator chooses the number of executors."""

    mode: Literal["Off", "Observe", "Approve", "Auto"] = Field(
        "Off",
        description="Off: executors.initial holds (in quotes, or YAML reads false). Observe: decide and report. "
        "Approve: apply when approved. Auto: apply.",
    )
    policy: Literal[
        "sluice",
        "phoebe",
        "static",
        "hpa",
        "keda-lag",
        "flink-autoscaler",
        "ds2",
        "twres",
        "daedalus",
    ] = Field("sluice", description="The rule that decides.")
    interval: Duration = Field("60s", description="Time between two decisions: 5s or longer.")
    horizon: Duration = Field(
        "15m",
        description="How far ahead the load is forecast: 1m, which is a step of it, or longer.",
    )
    stabilisation: Duration = Field(
        "5m",
        description="A smaller size must be wanted for so long, and the last live rescale be so long ago, before "
        "the job shrinks; up to 1d, 0s shrinks at once.",
    )
    blackouts: list[Window] = Field(
        default=[], max_length=32, description="Windows without rescaling."
    )
    calendar: list[CalendarEvent] = Field(
        default=[], max_length=32, description="Known events that change the load, such as a sale."
    )

    rules = (least_duration("interval", "5s"), least_duration("horizon", "1m"))


class Alternate(Model):
    """A cheaper way to do the job, taken when its value is worth it."""

    name: PlainName = Field(description="Name of the alternate.")
    value: float = Field(gt=0, le=1, description="Worth of its results; 1 is the full worth.")
    overrides: FreeForm = Field(description="Fields of spec.application that it replaces.")


class Utility(Model):
    """What the job is worth to its owner, for sharing a cluster between jobs."""

    maximum: float = Field(
        1.0, gt=0, description="Utility when all objectives are met; sets the priority."
    )
    latency_knee: Duration | None = Field(
        None,
        description="The latency beyond which utility falls. Default: the bound of slo.latency.",
    )
