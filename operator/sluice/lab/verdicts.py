"""Who is better than whom, how far from the oracle all are, and what has changed since a former result.

A policy beats another under a load if it is late for less of the time and costs fewer executor-hours. Differences
that are smaller than the seeds can tell are none.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sluice.lab.contenders import ORACLE
from sluice.lab.results import Key, Row, by_scene

SAME_LATE = 0.001
"""A thousandth of the time is no difference, ..."""
SAME_COST = 0.01
"""... and a hundredth of the price neither."""

OURS = "sluice"


@dataclass(frozen=True, slots=True)
class Beaten:
    """A rival that is late for less of the time than ours, for less."""

    ours: Row
    rival: Row

    def __str__(self) -> str:
        return (
            f"{self.rival.policy} beats {self.ours.policy} on {self.ours.plant} under {self.ours.trace}: "
            f"late {self.rival.late:.1%} against {self.ours.late:.1%}, "
            f"{self.rival.executor_hours:.1f} executor-hours against {self.ours.executor_hours:.1f}"
        )


def beaten(found: Iterable[Row]) -> tuple[Beaten, ...]:
    """Where a rival beats ours in both respects."""
    return tuple(
        Beaten(ours, rival)
        for scene in by_scene(found).values()
        for ours in scene
        if ours.policy == OURS
        for rival in scene
        if rival.policy not in (OURS, ORACLE) and is_better(rival, ours)
    )


def is_better(one: Row, other: Row) -> bool:
    """Whether a policy is late for less of the time than another, and costs less."""
    return (
        one.late < other.late - SAME_LATE
        and one.executor_hours < (1 - SAME_COST) * other.executor_hours
    )


@dataclass(frozen=True, slots=True)
class Gap:
    """How far a policy is from the oracle: more of the time late, and its price by the oracle's."""

    row: Row
    late: float
    price: float


def gaps(found: Iterable[Row]) -> dict[Key, Gap]:
    """The gap of each policy where the oracle was tried, too."""
    known: dict[Key, Gap] = {}
    for scene in by_scene(found).values():
        oracle = next((row for row in scene if row.policy == ORACLE), None)
        for row in scene if oracle else ():
            if oracle and row is not oracle:
                price = row.executor_hours / oracle.executor_hours
                known[row.key] = Gap(row, row.late - oracle.late, price)
    return known


@dataclass(frozen=True, slots=True)
class Change:
    """A policy then and now."""

    former: Row
    present: Row

    @property
    def verdict(self) -> str:
        """In one word."""
        if is_better(self.present, self.former):
            return "better"
        if is_better(self.former, self.present):
            return "worse"
        late = abs(self.present.late - self.former.late) > SAME_LATE
        cost = (
            abs(self.present.executor_hours / self.former.executor_hours - 1) > SAME_COST
            if self.former.executor_hours
            else False
        )
        if not (late or cost):
            return "same"
        if late and cost:
            return "traded"
        improved = self.present.late < self.former.late if late else _is_cheaper(self)
        return "better" if improved else "worse"


def _is_cheaper(change: Change) -> bool:
    return change.present.executor_hours < change.former.executor_hours


def changes(former: Sequence[Row], present: Sequence[Row]) -> tuple[Change, ...]:
    """What both results have under the same terms, side by side."""
    known = {(row.key, row.terms): row for row in former}
    both = ((known.get((row.key, row.terms)), row) for row in present)
    return tuple(Change(then, now) for then, now in both if then)
