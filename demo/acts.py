"""The acts of the story: which one it is follows from what was seen; what happens in it, and what to look for.

    measure   until the demo lets the operator scale the job
    foresee   until a rescale to more executors
    grow      until the demo kills the driver
    recover   until the job has caught up
    shrink    until the end

What the product does is told in its own words, by `diary`; this is for who sees it for the first time.
"""

from dataclasses import dataclass
from enum import IntEnum

from demo.looks import Promise
from demo.story import Story


class Act(IntEnum):
    """In their order."""

    MEASURE = 1
    FORESEE = 2
    GROW = 3
    RECOVER = 4
    SHRINK = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """An act in words: its title, what happens now, and what to look for."""

    title: str
    now: str
    look: str


def act(story: Story) -> Act:
    """The act that is played."""
    if story.failure is not None:
        return Act.SHRINK if story.has_recovered else Act.RECOVER
    if story.let_at is None:
        return Act.MEASURE
    return Act.GROW if any(rescale.grew for rescale in story.rescales) else Act.FORESEE


def scene(act: Act, promise: Promise) -> Scene:
    """An act in words."""
    match act:
        case Act.MEASURE:
            return Scene(
                title="Measure",
                now="Two copies of the job, with 1 and with 2 executors, read the topic again from its beginning and "
                "write nowhere: a StreamProfile measures how many rows per second each can do.",
                look=f"The job itself goes on beside them, its latency below {promise.bound}.",
            )
        case Act.FORESEE:
            return Scene(
                title="Foresee",
                now=f"The demo has set spec.scaling.mode to Auto. Every {promise.interval} the operator forecasts the "
                f"load of the next {promise.horizon}, and takes the fewest executors that keep p95 below "
                f"{promise.bound} and recover within {promise.target}.",
                look="The circles (what the load may become) run ahead of the bars (the load).",
            )
        case Act.GROW:
            return Scene(
                title="Grow",
                now="The load rises, and the operator adds executors to the running driver before they are needed.",
                look="The line (capacity) steps up before the bars get there; the driver's number stays the same.",
            )
        case Act.RECOVER:
            return Scene(
                title="Fail, and recover",
                now="The demo has killed the driver's process, as a node out of memory does. The operator starts the "
                "next driver on the same checkpoint, with as many executors.",
                look=f"The stages of the recovery, and its end within the target of {promise.target}.",
            )
        case Act.SHRINK:
            return Scene(
                title="Shrink",
                now=f"The load falls. Executors that the next {promise.horizon} do not need are given back.",
                look="The line (capacity) comes down behind the bars, one step at a time.",
            )
