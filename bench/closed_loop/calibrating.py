"""The plant of the lab from what was measured: its capacity, the overhead of a batch, and how long it is away.

Pure arithmetic on courses, the reverse of what `core.simulation` does with these numbers:

    batches       for `fitting`
    executors     from the moment at which there are too few until their pods run, and until they are registered
    cold          all executors lost: first commit = executors there + cold + the first batch
    driver loss   first commit = downtime + cold + the first batch
    executor loss the batch that it hits, on average at its middle, ends so much later
    crowding      what the batches after that one take longer is `cold` for a single new executor

Medians of all runs; what no run has shown keeps the value of `DEFAULTS`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from bench.closed_loop.courses import Course
from bench.closed_loop.figures import Struck
from bench.closed_loop.fitting import windows, with_pace, with_warming
from bench.closed_loop.measurements import Measurement
from bench.closed_loop.scene import (
    DRIVER_KILLED,
    EXECUTOR_KILLED,
    EXECUTORS_KILLED,
    FETCH_WAIT,
    Scene,
)
from bench.closed_loop.usage import with_usage
from sluice.core.deciding.situation import Bounds
from sluice.core.series import NoData
from sluice.core.simulation.plant import STATELESS, Plant

DEFAULTS = STATELESS

SPREAD = 0.1
"""Of the logarithm of outages and starts: less than that of `DEFAULTS`, for the medians are of this machine."""

AFTER = 60.0
"""Seconds after the loss of an executor in which batches show what its successor costs."""

MOST_CROWDING = 0.99


def calibrated(
    scene: Scene, measured: Sequence[Measurement], *, fetch_wait: float = FETCH_WAIT
) -> Plant | NoData:
    """The plant on which the same runs should look the same."""
    declared = replace(_plant(scene), fetch_wait=fetch_wait)
    pace = with_pace(declared, [one for run in measured for one in windows(run.course)])
    if isinstance(pace, NoData):
        return pace
    pace = with_warming(pace, [run.course for run in measured])
    plant = _with_executors(pace, [found for run in measured for found in arrivals(run.course)])
    plant = replace(
        plant,
        cold=_median(_colds(plant, measured), DEFAULTS.cold),
        executor_loss=_median(_executor_losses(plant, scene, measured), DEFAULTS.executor_loss),
    )
    plant = replace(plant, crowding=min(_median(_crowdings(plant, measured), 0.0), MOST_CROWDING))
    loss = _median(_driver_losses(plant, measured), DEFAULTS.driver_loss)
    plant = with_usage(plant, measured)
    # The operator's own restart is measured by nothing here, and lacks only that the loss is noticed.
    return replace(plant, driver_loss=loss, restart=loss)


def _plant(scene: Scene) -> Plant:
    return replace(
        DEFAULTS,
        name="closed-loop",
        bounds=Bounds(smallest=scene.smallest, largest=scene.largest),
        peak=scene.highest,
        latency=scene.bound,
        recovery=scene.target,
        tasks=scene.partitions,
        most_rows=float(scene.most_rows),
        period=scene.period,
        spread=SPREAD,
        scrape_interval=15.0,
        scrape_delay=1.0,
    )


def _median(numbers: Iterable[float], default: float) -> float:
    found = [max(0.0, number) for number in numbers]
    return median(found) if found else default


# Executors.


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """Seconds from a shortage of executors until as many pods as wanted ran, and until all were registered."""

    pods: float
    registered: float


def arrivals(course: Course) -> Iterator[Arrival]:
    """How long missing executors took to come, under drivers that went on."""
    for driver in course.drivers:
        place = 1
        while place < len(driver.registered):
            end = _end_of_shortage(course, driver.registered, place)
            if end is not None:
                pods = next(
                    later
                    for later in range(place, end + 1)
                    if later == end or _enough(course.running, course.wanted, later)
                )
                # Each of the two ends lies half a step before its sample, so that their distance is right.
                yield Arrival(
                    pods=(pods - place) * course.step, registered=(end - place) * course.step
                )
                place = end
            place += 1


def _end_of_shortage(course: Course, registered: Sequence[float | None], place: int) -> int | None:
    """Where a shortage that begins at a sample ends, if nothing else happens meanwhile."""
    wanted = course.wanted
    if not (_enough(registered, wanted, place - 1) and _lacks(registered, wanted, place)):
        return None
    for later in range(place, len(registered)):
        if registered[later] is None or wanted[later] != wanted[place]:
            return None
        if _enough(registered, wanted, later):
            return later
    return None


def _enough(there: Sequence[float | None], wanted: Sequence[float | None], place: int) -> bool:
    return _lacks(there, wanted, place) is False


def _lacks(
    there: Sequence[float | None], wanted: Sequence[float | None], place: int
) -> bool | None:
    """Whether there are fewer than wanted; None is not known."""
    count, needed = there[place], wanted[place]
    return None if count is None or needed is None else count < needed


def _with_executors(plant: Plant, found: Sequence[Arrival]) -> Plant:
    if not found:
        return plant
    pending = median(one.pods for one in found)
    registered = median(one.registered for one in found)
    return replace(plant, pending=pending, start=max(0.0, registered - pending))


# Outages.


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Seconds from a failure to the first commit of what came after it, and the rows of that."""

    struck: Struck
    seconds: float
    rows: float


def _colds(plant: Plant, measured: Sequence[Measurement]) -> Iterator[float]:
    """Of as many executors as there can be, if that was seen."""
    found = list(_gaps(measured, EXECUTORS_KILLED))
    most = max((gap.struck.executors for gap in found), default=0)
    for gap in found:
        if gap.struck.executors == most:
            yield gap.seconds - plant.pending - plant.start - _first_batch(plant, gap)


def _driver_losses(plant: Plant, measured: Sequence[Measurement]) -> Iterator[float]:
    for gap in _gaps(measured, DRIVER_KILLED):
        cold = plant.cold * plant.crowded(gap.struck.executors)
        yield gap.seconds - cold - _first_batch(plant, gap)


def _executor_losses(
    plant: Plant, scene: Scene, measured: Sequence[Measurement]
) -> Iterator[float]:
    for gap in _gaps(measured, EXECUTOR_KILLED):
        executors = gap.struck.executors
        if executors > 1:
            ordinary = _ordinary(plant, scene.rate(gap.struck.at), executors)
            # The others do its work, too: all that is left of the batch takes longer by that.
            yield gap.seconds * (executors - 1) / executors - ordinary / 2


def _crowdings(plant: Plant, measured: Sequence[Measurement]) -> Iterator[float]:
    """The share of `cold` that one new executor among others does not cost, by each loss of one."""
    for run in measured:
        for struck in run.struck:
            if struck.fault == EXECUTOR_KILLED and struck.executors > 1 and plant.cold > 0:
                alone = _delay(plant, run.course, struck) - plant.executor_loss
                yield (1 - max(0.0, alone) / plant.cold) / (1 - 1 / plant.bounds.largest)


def _delay(plant: Plant, course: Course, struck: Struck) -> float:
    """Seconds by which batches were longer in the minute after a failure than of warm executors."""
    capacity = plant.capacity(struck.executors)

    def total(counter: str) -> float:
        grown = zip(course.times, course.grown(counter), strict=True)
        return sum(count for at, count in grown if struck.at < at <= struck.at + AFTER)

    rows = total("rows")
    fixed = plant.fixed(struck.executors, rows / AFTER)
    return total("seconds") - fixed * total("batches") - rows / capacity


def _gaps(measured: Sequence[Measurement], fault: str) -> Iterator[Gap]:
    """The gap after each failure of a kind."""
    for run in measured:
        course = run.course
        committed, rows = course.known("committed"), course.grown("rows")
        commits = sorted({at for at in committed if at is not None})
        for struck in run.struck:
            after = [at for at in commits if at > struck.at]
            if struck.fault == fault and after:
                end = _end_of_outage(struck.at, after)
                yield Gap(struck=struck, seconds=end - struck.at, rows=rows[committed.index(end)])


def _end_of_outage(failed: float, after: Sequence[float]) -> float:
    """The end of the longer one of the first two pauses: a batch that was all but done is committed at once."""
    pauses = zip(after[:2], (failed, *after), strict=False)
    return max(pauses, key=lambda pause: pause[0] - pause[1])[0]


def _first_batch(plant: Plant, gap: Gap) -> float:
    """Seconds of the first batch after an outage beside those in which executors are cold."""
    executors = max(1, gap.struck.executors)
    speed = plant.capacity(executors) * (1 - plant.slowness * plant.crowded(executors))
    return plant.fixed(executors, gap.rows / gap.seconds) + gap.rows / speed


def _ordinary(plant: Plant, rate: float, executors: int) -> float:
    """Seconds of a batch when nothing is wrong."""
    capacity = plant.capacity(executors)
    fixed = plant.fixed(executors, rate)
    alone = fixed + rate * plant.period / capacity
    if alone <= plant.period or rate >= capacity:
        return alone
    return fixed / (1 - rate / capacity)
