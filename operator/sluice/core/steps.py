"""What the operator can do next for a job: one step, with what must be remembered before it is taken."""

from dataclasses import dataclass
from datetime import datetime

from sluice.core.quantities import CpuShare
from sluice.core.record import Phase, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class StartDriver:
    """Create the children of this incarnation and its driver pod.

    `inherits` says that the former driver is proven dead: its Lease of the checkpoint passes on. Else the new driver
    waits until it is given back or has run out, unless nobody has ever taken it.
    """

    incarnation: int
    inherits: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StopDriver:
    """Delete the driver pod; its agent stops the queries within the grace period.

    `by_force` takes it out of the API at once, whatever its node says.
    """

    uid: str
    by_force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetExecutors:
    """Ask the driver's agent for this many executors."""

    target: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceExecutors:
    """Ask the driver's agent for others in place of these executors, which are named by Spark's ids."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResizeExecutors:
    """Give these executor pods, which run, another share of CPU."""

    pods: tuple[str, ...]
    share: CpuShare


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Do nothing before `until`, or until something happens if that is None."""

    until: datetime | None = None


Step = StartDriver | StopDriver | SetExecutors | ReplaceExecutors | ResizeExecutors | Wait
WAIT = Wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The next step, what to remember before it is taken, and the job's phase in a word.

    `held_back` is why a restart is due that must wait for those of other jobs.
    """

    step: Step
    record: Record
    phase: Phase
    held_back: str | None = None
