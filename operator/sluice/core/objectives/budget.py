"""The error budget: how much bad time an objective leaves in its window, and how much of it is spent."""

from dataclasses import dataclass, replace
from datetime import timedelta

from sluice.core.objectives.verdicts import Gaps, Tally
from sluice.core.series import Measured, NoData

SLICE = timedelta(minutes=1)
"""The slice that objectives are judged by; the recording rules use the same."""

LONGEST = timedelta(days=3650)
"""No metrics are kept for longer, and a metrics' server refuses what it cannot count in nanoseconds."""


def window_of(declared: timedelta) -> timedelta:
    """The window that is counted for a declared one: it holds a slice, and can be asked for."""
    return min(max(declared, SLICE), LONGEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """The share of a rolling window in which the bounds hold, and how gaps in what is known count."""

    share: float
    window: timedelta
    gaps: Gaps = Gaps.UNKNOWN
    slice: timedelta = SLICE

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise ValueError(f"an objective of {self.share}: it is a share between 0 and 1")
        if self.window < self.slice:
            raise ValueError(f"a window of {self.window}: it holds one slice of {self.slice}")

    @property
    def slices(self) -> int:
        """How many slices the window has."""
        return self.window // self.slice


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Bad slices: how many are allowed in a window, and how many there were."""

    allowed: float
    bad: float

    @property
    def spent(self) -> float:
        """The share that is spent; more than 1 when the objective is missed."""
        return self.bad / self.allowed

    @property
    def left(self) -> float:
        """The share that is left; negative when the objective is missed."""
        return 1 - self.spent


def budget_of(tally: Tally, objective: Objective) -> Budget | NoData:
    """The budget of a window of which `tally` is known.

    Unknown slices give no budget and take none. The part of the window that a young job has not lived yet gives its
    budget in advance: else one bad minute in the first hour would be more than all of it.
    """
    settled = tally.settled(objective.gaps)
    counted = max(objective.slices, settled.total) - settled.unknown
    if counted == 0:
        return NoData("nothing is known of this window")
    return Budget(allowed=(1 - objective.share) * counted, bad=settled.bad)


def burn_rate(tally: Tally, objective: Objective, span: timedelta) -> Measured:
    """How many times as fast as the objective allows the budget is spent within a span that ends now.

    At a rate of 1 the budget lasts for just one window.
    """
    budget = budget_of(tally, replace(objective, window=span))
    return budget if isinstance(budget, NoData) else budget.spent
