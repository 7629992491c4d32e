"""The table of a comparison: each figure as it was measured, as the lab has it, and by how much the lab is off."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.closed_loop.contenders import CONTENDERS
from bench.closed_loop.figures import Figures, Recovery
from bench.closed_loop.measurements import Measurement
from bench.closed_loop.scene import DRIVER_KILLED, STRIKES, Scene
from sluice.core.simulation.plant import Plant

AGREES = 0.2
"""The lab agrees with a measurement if it is off by no more than this share."""

UNKNOWN = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A run with its figures, and those of the same run in the lab; None where nothing could be calibrated."""

    measured: Measurement
    found: Figures
    lab: Figures | None


Read = Callable[[Figures], float | None]


@dataclass(frozen=True, slots=True)
class Row:
    """A figure of both worlds: its name with its unit, how it is read, and how it is told.

    `compared` are the figures of which a difference in percent says something.
    """

    name: str
    read: Read
    tell: Callable[[float], str]
    compared: bool = True


def rows(scene: Scene) -> Iterator[Row]:
    """The figures that the lab has, too."""
    bound = f"time above {scene.bound:g} s, %"
    yield Row(bound, lambda figures: 100 * figures.late, _number)
    for fault in STRIKES:
        yield Row(f"recovery, {fault}, s", _seconds_of(fault), _number)
    within = f"recoveries within {scene.target:g} s"
    yield Row(within, lambda figures: figures.kept(scene.target), _count, compared=False)
    yield Row("executor-hours", lambda figures: figures.executor_hours, _number)
    yield Row("of these for its profile", lambda figures: figures.profile_hours, _number, False)
    yield Row("rescales, live", lambda figures: figures.live, _count, compared=False)
    yield Row("rescales, by a restart", lambda figures: figures.restarts, _count, compared=False)
    yield Row("predicted, driver killed, s", _of(DRIVER_KILLED, _predicted), _number, False)
    yield Row("error of that, %", _of(DRIVER_KILLED, _error), _number, compared=False)


def table(scene: Scene, pairs: Mapping[str, Pair]) -> str:
    """The table in Markdown; who has not run yet has a column without numbers."""
    head = ["measured (lab, its difference)", *CONTENDERS]
    lines = [_line(head), "|" + "---|" * len(head)]
    for row in rows(scene):
        cells = [_cell(row, pairs.get(name)) for name in CONTENDERS]
        lines.append(_line([row.name, *cells]))
    for name, read in _MEASURED_ONLY.items():
        lines.append(_line([name, *(_alone(read, pairs.get(one)) for one in CONTENDERS)]))
    return "\n".join(lines)


def difference(measured: float | None, lab: float | None) -> float | None:
    """By which share the lab is off; None where there is nothing to divide by."""
    if measured is None or lab is None:
        return None
    if measured == lab:
        return 0.0
    return (lab - measured) / measured if measured else None


def agreement(scene: Scene, pairs: Mapping[str, Pair]) -> tuple[int, int]:
    """How many figures the lab has within the allowed difference, of how many that can be compared."""
    known = [
        off
        for pair in pairs.values()
        if pair.lab is not None
        for row in rows(scene)
        if row.compared
        and (off := difference(row.read(pair.found), row.read(pair.lab))) is not None
    ]
    return sum(abs(off) <= AGREES for off in known), len(known)


def notes(scene: Scene, pairs: Mapping[str, Pair], plant: Plant | None, why: str) -> str:
    """What is said below the table: what lacks, how well the lab agrees, and the plant."""
    return "\n\n".join(
        filter(None, (_missing(pairs), _agreement(scene, pairs), _plant(plant, why)))
    )


def _missing(pairs: Mapping[str, Pair]) -> str:
    missing = [name for name in CONTENDERS if name not in pairs]
    if not missing:
        return ""
    words = " ".join(f"--only {name}" for name in missing)
    return f"Not run yet: {', '.join(missing)} (`.venv/bin/python -m bench.closed_loop {words}`)."


def _agreement(scene: Scene, pairs: Mapping[str, Pair]) -> str:
    near, known = agreement(scene, pairs)
    if not known:
        return ""
    return (
        f"The lab has {near} of {known} comparable figures within {AGREES:.0%} of the measured ones; "
        "others are bold."
    )


def _plant(plant: Plant | None, why: str) -> str:
    if plant is None:
        return f"Nothing could be calibrated, so the lab says nothing: {why}."
    return (
        f"Plant: {plant.task_rate:.1f} rows/s for each executor, less {plant.contention:.1%} for each other one; "
        f"{plant.overhead:.2f} s for each batch beside its rows; a task that has read all there is waits up to "
        f"{plant.fetch_wait:g} s for the next row of its partition, by Kafka's default; executors come in "
        f"{plant.pending:.0f} + {plant.start:.0f} s, and their first batch takes {plant.cold:.1f} s longer, "
        f"{plant.crowding:.0%} of it because all share few processors; after it they lack {plant.slowness:.0%} of "
        f"their speed, which fades with {plant.warming:.0f} s; at rest they take {plant.resting:.0%} of the CPU of a "
        f"busy one, and {plant.compiling:.1f} times as much beside that while they are new; a lost driver is away for "
        f"{plant.driver_loss:.0f} s, and a lost executor delays its batch by {plant.executor_loss:.1f} s."
    )


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(row: Row, pair: Pair | None) -> str:
    if pair is None:
        return UNKNOWN
    found = row.read(pair.found)
    lab = row.read(pair.lab) if pair.lab is not None else None
    told = UNKNOWN if found is None else row.tell(found)
    if pair.lab is None:
        return told
    shown = UNKNOWN if lab is None else row.tell(lab)
    off = difference(found, lab) if row.compared else None
    if off is None:
        return f"{told} ({shown})"
    percent = f"{100 * off:+.0f} %"
    return f"{told} ({shown}, {percent if abs(off) <= AGREES else f'**{percent}**'})"


def _alone(read: Callable[[Measurement], float | None], pair: Pair | None) -> str:
    value = read(pair.measured) if pair is not None else None
    return UNKNOWN if value is None else _number(value)


def _caught_up(measured: Measurement) -> float | None:
    killed = next((one for one in measured.struck if one.fault == DRIVER_KILLED), None)
    away = measured.away(killed) if killed is not None else None
    return away.caught_up if away is not None else None


_MEASURED_ONLY: Mapping[str, Callable[[Measurement], float | None]] = {
    "recovery, driver killed, by the status, s": _caught_up,
    "rows": lambda measured: measured.account.expected,
    "rows lost": lambda measured: measured.account.lost,
    "rows written twice": lambda measured: measured.account.duplicated,
}


def _of(fault: str, read: Callable[[Recovery], float | None]) -> Callable[[Figures], float | None]:
    def found(figures: Figures) -> float | None:
        one = next((one for one in figures.recoveries if one.fault == fault), None)
        return read(one) if one is not None else None

    return found


def _seconds_of(fault: str) -> Read:
    return _of(fault, lambda recovery: recovery.seconds)


def _predicted(recovery: Recovery) -> float | None:
    return recovery.predicted


def _error(recovery: Recovery) -> float | None:
    return None if recovery.error is None else 100 * recovery.error


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == 0 else f"{value:.3g}"


def _count(value: float) -> str:
    return f"{value:.3g}"
