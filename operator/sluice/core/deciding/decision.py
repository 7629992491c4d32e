"""What is wanted of a job, by which way, why, and what is expected of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sluice.core.deciding.situation import Situation
from sluice.core.modelling.rescaling import Path
from sluice.core.series import Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A number of executors that was looked at, what it would bring, and why it was taken or not.

    Capacity is in rows per second, latency and recovery in seconds.
    """

    executors: int
    capacity: Measured
    latency: Measured
    recovery: Measured
    verdict: str
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Veto:
    """A guard that kept a wish from being done: its name, and a sentence with numbers."""

    guard: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The number of executors to have from now on.

    `wanted` is what the policy wished for, `executors` what is to be done: the present number where a guard vetoed or
    nothing is to change. `path` is the way of a change. `smallest_recovery` is the shortest recovery target that could
    be kept, where the declared one cannot. `undoes` is the id of the decision whose harm this one is to undo.
    """

    wanted: int
    executors: int
    reason: str
    path: Path = Path.LIVE
    veto: Veto | None = None
    candidates: tuple[Candidate, ...] = ()
    expected_latency: float | None = None
    expected_recovery: float | None = None
    smallest_recovery: float | None = None
    notes: Mapping[str, float] = field(default_factory=dict)
    undoes: str | None = None


Policy = Callable[[Situation], Decision]
"""A rule that decides. Its parameters are bound in it (a frozen dataclass with `__call__`)."""
