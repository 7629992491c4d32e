"""The smallest candidate that reaches the goals, and what was seen of the others.

Candidates are the numbers that are worth having: each has more capacity than the smaller ones. So each goal that one
reaches, all larger ones reach, too, and the smallest is found by halving.
"""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from sluice.core.deciding.assessing import INFINITE, Assessment, Goals, Trial, assess
from sluice.core.deciding.decision import Candidate
from sluice.core.modelling.capacity import Capacity
from sluice.core.modelling.shapes import Slots
from sluice.core.series import Measured, NoData

NEIGHBOURS = 3
"""So many candidates on both sides of the choice are looked at, too: people ask why not one more, or less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The chosen candidate, the one with most capacity, the goals, and all candidates that were seen."""

    chosen: Assessment
    best: Assessment
    goals: Goals
    seen: tuple[Assessment, ...]

    def of(self, executors: int) -> Assessment:
        """What was seen of a number of executors; of one that was not looked at, what the choice would bring."""
        return next((found for found in self.seen if found.executors == executors), self.chosen)

    @property
    def shortfall(self) -> str | None:
        """What is wrong even with the chosen candidate; None if it reaches the goals."""
        return self.goals.shortfall(self.chosen, self.best)

    def verdict(self, found: Assessment) -> str:
        """Why a candidate was chosen or not."""
        wrong = self.goals.shortfall(found, self.best)
        enough = found.executors == self.chosen.executors
        if wrong and enough:
            return f"the most that helps, but {wrong}"
        if enough and found.latency > self.goals.latency:
            return (
                f"more hardly shorten its latency, of which the goal is {self.goals.latency:.1f} s"
            )
        return wrong or ("the smallest that is enough" if enough else "more than needed")

    def candidates(self) -> tuple[Candidate, ...]:
        """What was seen, in words."""
        return tuple(self._candidate(found) for found in self.seen)

    def _candidate(self, found: Assessment) -> Candidate:
        return Candidate(
            executors=found.executors,
            capacity=found.capacity,
            latency=_measured(found.latency, "overload"),
            recovery=_measured(found.recovery, "never catches up"),
            verdict=self.verdict(found),
            chosen=found.executors == self.chosen.executors,
        )


def choose(
    candidates: Iterable[int],
    present: int,
    capacity: Capacity,
    trial: Trial,
    *,
    goals: Goals,
) -> Choice:
    """Choose the smallest candidate that reaches the goals; if there is none, the one with most capacity."""
    useful = worth_having(candidates, capacity)
    # Far from what was measured the range widens faster than the capacity grows. More executors are no loss, though.
    sure = accumulate((capacity.estimate(executors).low for executors in useful), max)
    surely = dict(zip(useful, sure, strict=True))
    seen: dict[int, Assessment] = {}

    def tried(executors: int) -> Assessment:
        if executors not in seen:
            rate = capacity.rate(executors)
            least = surely.get(executors, capacity.estimate(executors).low)
            seen[executors] = assess(trial, executors, capacity=rate, least=least)
        return seen[executors]

    best = tried(useful[-1])
    place = bisect_left(useful, True, key=lambda s: goals.shortfall(tried(s), best) is None)
    chosen = min(place, len(useful) - 1)
    for executors in useful[max(0, chosen - NEIGHBOURS) : chosen + NEIGHBOURS + 1]:
        tried(executors)
    tried(present)
    ordered = tuple(seen[executors] for executors in sorted(seen))
    return Choice(chosen=seen[useful[chosen]], best=best, goals=goals, seen=ordered)


def worth_having(candidates: Iterable[int], capacity: Capacity) -> tuple[int, ...]:
    """The candidates that have more capacity than each smaller one, in ascending order."""
    return capacity.useful(_with_fewer_waves(candidates, capacity.curve.slots))


def _with_fewer_waves(candidates: Iterable[int], slots: Slots) -> list[int]:
    """The candidates on which tasks go in fewer waves than on each smaller one (phoebe.md 4.3).

    A fitted curve may say otherwise for a while, when measurements are noisy; the arithmetic of waves does not.
    """
    if slots.tasks is None:
        return list(candidates)
    fewest: dict[int, int] = {}
    for executors in candidates:
        fewest.setdefault(slots.waves(executors), executors)
    return list(fewest.values())


def _measured(number: float, otherwise: str) -> Measured:
    return number if number < INFINITE else NoData(otherwise)
