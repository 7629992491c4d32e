"""`sluice` and each rival under the same loads, the rivals with their main knob at several positions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from sluice.lab.contenders import STATIC, Contender
from sluice.lab.results import Row, by_scene
from sluice.lab.verdicts import OURS, is_better


@dataclass(frozen=True, slots=True)
class Bout:
    """One scene, and its executor-hours with all executors, by which both are told."""

    ours: Row
    rival: Row
    every: float

    @property
    def won(self) -> bool:
        """Whether `sluice` is late for less of the time, and costs less."""
        return is_better(self.ours, self.rival)

    @property
    def lost(self) -> bool:
        """Whether the rival is, and does."""
        return is_better(self.rival, self.ours)


@dataclass(frozen=True, slots=True)
class Duel:
    """All scenes of a rival, with its knob at one position."""

    rival: Contender
    bouts: Sequence[Bout]

    @property
    def late(self) -> float:
        """The share of the time in which the rival is late, on average."""
        return fmean(bout.rival.late for bout in self.bouts)

    @property
    def price(self) -> float:
        """Its executor-hours as the share of those of all executors, on average."""
        return fmean(bout.rival.executor_hours / bout.every for bout in self.bouts)

    @property
    def kept(self) -> float:
        """The share of its recoveries within the target."""
        feasible = sum(bout.rival.recoveries for bout in self.bouts)
        return sum(bout.rival.kept for bout in self.bouts) / feasible if feasible else 0.0

    @property
    def ours(self) -> float:
        """The share of the time in which `sluice` is late, on average."""
        return fmean(bout.ours.late for bout in self.bouts)

    @property
    def won(self) -> int:
        """Scenes in which `sluice` is better in both."""
        return sum(bout.won for bout in self.bouts)

    @property
    def lost(self) -> int:
        """Scenes in which the rival is."""
        return sum(bout.lost for bout in self.bouts)

    @property
    def dearer(self) -> int:
        """Scenes in which neither is, and `sluice` is late for less."""
        return sum(bout.ours.late < bout.rival.late for bout in self._even)

    @property
    def later(self) -> int:
        """Scenes in which neither is, and `sluice` is late for no less."""
        return len(self._even) - self.dearer

    @property
    def _even(self) -> list[Bout]:
        return [bout for bout in self.bouts if not (bout.won or bout.lost)]


def fought(found: Iterable[Row], rivals: Iterable[Contender]) -> tuple[Duel, ...]:
    """The duels of these rivals."""
    scenes = [{row.policy: row for row in scene} for scene in by_scene(found).values()]
    return tuple(
        Duel(
            rival,
            [
                Bout(scene[OURS], scene[str(rival)], scene[STATIC].executor_hours)
                for scene in scenes
            ],
        )
        for rival in rivals
    )


def rows(duels: Iterable[Duel]) -> tuple[Row, ...]:
    """All who took part."""
    return tuple(
        dict.fromkeys(
            row for duel in duels for bout in duel.bouts for row in (bout.ours, bout.rival)
        )
    )


def best(duels: Sequence[Duel]) -> Duel:
    """The position of a rival's knob that suits it best in all scenes together.

    It is the cheapest of those that are late for no more of the time than `sluice`; where none is, the least late.
    """
    as_good = [duel for duel in duels if duel.late <= duel.ours]
    return (
        min(as_good, key=lambda duel: duel.price)
        if as_good
        else min(duels, key=lambda duel: duel.late)
    )


def told(duels: Sequence[Duel]) -> str:
    """What there is to say of them, with a table of all."""
    by_name: dict[str, list[Duel]] = {}
    for duel in duels:
        by_name.setdefault(duel.rival.name, []).append(duel)
    lines = [
        "| rival | late, % | executor-hours of static, % | kept, % | `sluice` better | rival better "
        "| less late, dearer | cheaper, later |",
        "|" + "---|" * 8,
        *(_line(duel, duel is best(tried)) for tried in by_name.values() for duel in tried),
    ]
    return (
        f"Of {len(duels[0].bouts)} scenes, in how many one is late for less of the time *and* costs less; in all "
        "others one is paid for by the other. A rival without a number has the defaults of its authors; then its "
        "main knob is turned. The position that is best in all scenes together is bold: the cheapest that is late for "
        "no more of the time than `sluice`, or, where none is, the least late.\n\n"
        + "\n".join(lines)
    )


def _line(duel: Duel, is_best: bool) -> str:
    name = f"**{duel.rival}**" if is_best else str(duel.rival)
    shares = (f"{100 * share:.3g}" for share in (duel.late, duel.price, duel.kept))
    counts = map(str, (duel.won, duel.lost, duel.dearer, duel.later))
    return f"| {' | '.join([name, *shares, *counts])} |"
