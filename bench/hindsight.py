"""What a number of executors that is held all the time would have brought, if it had been known before."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from sluice.core.simulation.plant import Plant
from sluice.lab.contenders import STATIC
from sluice.lab.results import Row, by_scene
from sluice.lab.verdicts import OURS, is_better


def numbers(plant: Plant) -> tuple[str, ...]:
    """The contenders: each number from half of all."""
    largest = plant.bounds.largest
    return tuple(f"{STATIC}:executors={executors}" for executors in range(largest // 2, largest))


@dataclass(frozen=True, slots=True)
class Chosen:
    """In one scene ours, and the cheapest number that would have been late for no more of the time."""

    ours: Row
    number: Row
    every: Row
    """With all executors, by whose price both are told."""

    @property
    def is_better(self) -> bool:
        """Whether that number is late for less of the time than ours, and costs less."""
        return is_better(self.number, self.ours)

    def price(self, row: Row) -> float:
        """In percent of that of all executors."""
        return 100 * row.executor_hours / self.every.executor_hours


def chosen(found: Iterable[Row]) -> tuple[Chosen, ...]:
    """The number of each scene: all executors, where no fewer would have been enough."""
    return tuple(map(_chosen, by_scene(found).values()))


def _chosen(scene: Sequence[Row]) -> Chosen:
    by_policy = {row.policy: row for row in scene}
    ours, every = by_policy[OURS], by_policy[STATIC]
    fewer = [row for row in scene if row.policy.startswith(f"{STATIC}:") and row.late <= ours.late]
    cheapest = min([every, *fewer], key=lambda row: row.executor_hours)
    return Chosen(ours=ours, number=cheapest, every=every)


def told(found: Sequence[Chosen]) -> str:
    """What there is to say of it, with a table of all scenes."""
    lines = [
        "| scene | executors | late, % | `sluice` | executor-hours of all, % | `sluice` | kept, % | `sluice` |",
        "|" + "---|" * 8,
        *(f"| {' | '.join(_cells(one))} |" for one in found),
    ]
    theirs = fmean(one.price(one.number) for one in found)
    ours = fmean(one.price(one.ours) for one in found)
    better = sum(one.is_better for one in found)
    return (
        "To hold fewer than all executors all the time, load and job must be known before, as to the oracle. Of the "
        "numbers from half of all that would have been late for no more of the time than `sluice`, this is the "
        f"cheapest; or all, where no fewer would. These take {theirs:.1f} % of the executor-hours of all, `sluice` "
        f"takes {ours:.1f} %. In {better} of {len(found)} scenes, which are bold, such a number is late for less, "
        f"and costs less.\n\n{chr(10).join(lines)}"
    )


def _cells(one: Chosen) -> Iterator[str]:
    scene = f"{one.ours.plant}, {one.ours.trace}"
    yield f"**{scene}**" if one.is_better else scene
    yield one.number.policy.rpartition("=")[2] if one.number is not one.every else "all"
    for row in (one.number, one.ours):
        yield f"{100 * row.late:.2f}"
    for row in (one.number, one.ours):
        yield f"{one.price(row):.1f}"
    for row in (one.number, one.ours):
        yield f"{100 * (row.kept_share or 0.0):.1f}"
