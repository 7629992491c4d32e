"""The smallest candidate that reaches the goals, and what was seen of the others.

Candidates are the numbers that are worth having: each has more capacity than the smaller ones. So each goal that one
reaches, all larger ones reach, too, and the smallest is found by halving.
"""

from bisect import bisect_left
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from sluice.core.deciding.assessing import INFINITE, Assessment, Goals, Trial, assess, shortfall
from sluice.core.deciding.decision import Candidate
from sluice.core.deciding.situation import Bounds
from sluice.core.modelling.capacity import Capacity
from sluice.core.series import Measured, NoData

SHOWN = 32
"""All candidates are looked at and shown if they are not more than that; else those on the way to the choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The chosen candidate, the one with most capacity, the goals that were within reach, and all that were seen."""

    chosen: Assessment
    best: Assessment
    goals: Goals
    seen: tuple[Assessment, ...]

    def of(self, executors: int) -> Assessment | None:
        """What was seen of a number of executors."""
        return next((found for found in self.seen if found.executors == executors), None)

    def candidates(self) -> tuple[Candidate, ...]:
        """What was seen, in words."""
        return tuple(self._candidate(found) for found in self.seen)

    def _candidate(self, found: Assessment) -> Candidate:
        wrong = shortfall(found, self.goals)
        chosen = found.executors == self.chosen.executors
        return Candidate(
            executors=found.executors,
            capacity=found.capacity,
            latency=_measured(found.latency, "overload"),
            recovery=_measured(found.recovery, "never catches up"),
            verdict=wrong or ("the smallest that is enough" if chosen else "more than needed"),
            chosen=chosen,
        )


def choose(
    bounds: Bounds, capacity: Capacity, trial: Trial, *, goals: Goals, tolerance: float
) -> Choice:
    """Choose the smallest candidate that reaches the goals, as far as they are within reach."""
    useful = capacity.useful(range(bounds.smallest, bounds.largest + 1))
    # Far from what was measured the range widens faster than the capacity grows. More executors are no loss, though.
    sure = dict(
        zip(useful, accumulate((capacity.estimate(s).low for s in useful), max), strict=True)
    )

    @cache
    def tried(executors: int) -> Assessment:
        return assess(trial, executors, capacity=capacity.rate(executors), surely=sure[executors])

    best = tried(useful[-1])
    reachable = goals.within_reach(best, tolerance)
    place = bisect_left(useful, True, key=lambda s: shortfall(tried(s), reachable) is None)
    chosen = useful[min(place, len(useful) - 1)]
    shown = useful if len(useful) <= SHOWN else _around(useful, place)
    seen = tuple(tried(executors) for executors in shown)
    return Choice(chosen=tried(chosen), best=best, goals=reachable, seen=seen)


def _around(useful: tuple[int, ...], place: int) -> tuple[int, ...]:
    """Some beside the choice, and some of all."""
    near = useful[max(0, place - SHOWN // 4) : place + SHOWN // 4]
    return tuple(sorted({*near, *useful[:: len(useful) // (SHOWN // 4)], useful[-1]}))


def _measured(number: float, otherwise: str) -> Measured:
    return number if number < INFINITE else NoData(otherwise)
