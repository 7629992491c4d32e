"""What a StreamJob and a StreamProfile say of profiling in the same words: sizes, budget, places, claims."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from sluice.api.base import Duration, Memory, Model, Rule, positive_duration
from sluice.api.v1alpha1.objectives import PlainName

ScaleOut = Annotated[int, Field(ge=1, le=10000)]


def _without_repetition(field: str) -> Rule:
    """The list in `field` names nothing twice."""
    remedy = "names the same twice; remove one"
    return Rule(
        field=field,
        cel=f"!has(self.{field}) || self.{field}.all(x, self.{field}.exists_one(y, x == y))",
        message=f"'{remedy}'",
        check=lambda model: len(set(getattr(model, field))) == len(getattr(model, field)),
        told=lambda _: remedy,
    )


class ProfileBudget(Model):
    """What a profile may cost, whether or not an operator is there. When it is spent, copies end with what they have
    told so far; what an operator that takes over has not heard yet, it hears first.
    """

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


class Copying(Model):
    """The copies of a job: their sizes, what they may cost, and where they run."""

    executors: list[ScaleOut] = Field(
        default=[],
        max_length=16,
        description="Numbers of executors to measure. Default: the bounds of the job, and then up to two numbers "
        "between them about which least is known; what a former profile has measured is not measured again.",
    )
    budget: ProfileBudget = Field(default=ProfileBudget(), description="What a profile may cost.")
    parallel: int = Field(2, ge=1, le=16, description="Copies that run at a time.")
    namespaces: list[PlainName] = Field(
        default=[],
        max_length=16,
        description="Namespaces to use, one for each copy that runs at a time. They keep their own quotas and network "
        "policies, and must have the Secrets that the job uses; an operator of some namespaces only needs them. "
        "Default: the operator makes a namespace for each copy and removes it afterwards.",
    )
    copy_deadline: Duration = Field(
        "10m",
        description="The longest time from a copy's start to its measurement. Then it gives what it has. An operator "
        "that takes over counts anew; the budget does not.",
    )
    storage: ProfileStorage = Field(
        default=ProfileStorage(), description="The claim of each copy's checkpoint."
    )

    rules: ClassVar[tuple[Rule, ...]] = (
        positive_duration("copy_deadline"),
        _without_repetition("executors"),
        _without_repetition("namespaces"),
    )


class Profiling(Copying):
    """Measuring copies of the job at other sizes, beside production."""

    enabled: bool = Field(False, description="Whether the operator profiles the job by itself.")
    max_share: float = Field(
        0.05,
        gt=0,
        le=1,
        description="Share of the core-hours that the job itself took in the last 24 hours, which its profiles may "
        "take in the same time. It holds from the first measurement on.",
    )
    max_age: Duration = Field("30d", description="Measurements that are older are made anew.")

    rules = (*Copying.rules, positive_duration("max_age"))
