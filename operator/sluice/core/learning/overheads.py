"""What batches of different sizes have in common, and the rows per second beyond it.

seconds = overhead + rows / capacity(executors)

Where a batch follows the other at once, it has the rows that came during the one before. When the machine is slow for a
while, or warms up, batches are longer *and* have more rows, in proportion: as if there were no overhead, and as if the
job could do no more than what arrives. So their rows are taken as if each interval had been the usual one; what then
still differs is the load, or a backlog.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

from sluice.core.learning.batches import BatchReport
from sluice.core.modelling.capacity import Capacity
from sluice.core.modelling.estimates import Estimate
from sluice.core.modelling.shapes import part_of_each
from sluice.core.series import Measured, NoData

SURE = 0.1
"""Batches tell the capacity if noise and the error of their overheads are below this share of the rest."""

INEXACT = 0.02
"""No overhead is known better than to that share: batches without rows must not look like slow ones."""

INEXACT_IF_LESS = 1.0
"""So badly is the overhead known of batches that tell less than what is known: with few executors tasks go in many
waves, each with a cost of its own, which the rows of a backlog hide.
"""

INEXACT_IF_MORE = 0.25
"""And of those that tell more. Rows that wait, as for a database, wait while other tasks are made ready: 80 to 280 rows
on four executors told 1,150 rows/s where a backlog took 480.
"""

CLEARLY_MORE = 1.15
"""From so many times what is known, or foretold from other numbers of executors, on it is more. The range of what is
foretold is no measure: 300 rows on three executors told 455 rows/s, within the range of 363, where a backlog took 354.
"""

UNSURE = 0.25
"""The share of what tasks wait for rows that nobody knows: rows come in heaps, and partitions are unlike each other."""

SURELY = 2.0
"""Standard errors within which an overhead surely is."""

MOST_SURE = 0.75
"""No more of a batch is thought to be overhead for sure. While a job becomes faster batches take longer with fewer rows
than later with more, as if rows cost nothing.
"""

USUAL = 4.0
"""An interval that is so many times as long as the median one, or as short, was an outage, or one of a backlog."""

FIXED = 1.0
"""Seconds of a batch that no executors are thought to share, until batches tell."""

MEASURED, LEAST = 0.1, 0.01
"""The standard error of an overhead that copies have told, as its share, and in seconds at least."""

NOISE = 0.05
"""Of the logarithm of a batch's length, to weigh batches against the prior of the overhead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """The seconds that a batch takes without rows, and their standard error."""

    seconds: float
    error: float

    def capacity(self, batches: Sequence[BatchReport], inexact: float = INEXACT) -> Measured:
        """Rows per second beyond the overhead, which is known up to that share, if these batches can tell."""
        worked = sum(batch.worked for batch in batches) - len(batches) * self.seconds
        noise = NOISE * math.hypot(*(batch.worked for batch in batches))
        error = len(batches) * max(self.error, inexact * self.seconds)
        error += UNSURE * sum(batch.waited for batch in batches)
        if math.hypot(noise, error) >= SURE * worked:
            return NoData("batches of so few rows say nothing of the capacity")
        return sum(batch.rows for batch in batches) / worked


@dataclass(frozen=True, slots=True, kw_only=True)
class Overheads:
    """The seconds that a batch takes without rows: `fixed + shared / executors`.

    `fixed_error`, `shared_error` are standard errors, and `both` is the covariance.
    """

    fixed: float
    shared: float = 0.0
    fixed_error: float
    shared_error: float = 0.0
    both: float = 0.0

    def of(self, executors: int) -> Overhead:
        """That of a batch on so many executors."""
        part = part_of_each(executors)
        square = self.fixed_error**2 + 2 * part * self.both + (part * self.shared_error) ** 2
        return Overhead(seconds=self.fixed + part * self.shared, error=math.sqrt(max(0.0, square)))


def measured_capacities(
    batches: Iterable[BatchReport], overheads: Overheads, known: Capacity | NoData
) -> tuple[tuple[int, float], ...]:
    """Rows per second beyond the overhead, for each number of executors with batches that can tell.

    Small batches may tell less than there is, or several times as much: what is known holds until larger ones tell.
    """
    found = []
    for executors, group in sorted(_by_executors(batches).items()):
        overhead = overheads.of(executors)
        rate = overhead.capacity(group)
        if isinstance(rate, NoData):
            continue
        inexact = (
            INEXACT if isinstance(known, NoData) else _inexact(known.estimate(executors), rate)
        )
        if not isinstance(overhead.capacity(group, inexact), NoData):
            found.append((executors, rate))
    return tuple(found)


def busy_rates(batches: Iterable[BatchReport]) -> tuple[tuple[int, float], ...]:
    """Rows per second while batches ran, for each number of executors: less than the capacity, by the overhead."""
    return tuple(
        (executors, sum(batch.rows for batch in group) / sum(batch.seconds for batch in group))
        for executors, group in sorted(_by_executors(batches).items())
    )


def least_rates(
    batches: Iterable[BatchReport], overheads: Overheads
) -> tuple[tuple[int, float], ...]:
    """Rows per second beyond what surely is overhead, for each number of executors: they do that much at least."""
    found = []
    for executors, group in sorted(_by_executors(batches).items()):
        seconds, overhead = [batch.seconds for batch in group], overheads.of(executors)
        usual = fmean(seconds)
        scatter = max(NOISE * usual, stdev(seconds)) if len(group) > 1 else usual
        # Batches that vary more than it was thought tell their overhead, and their own length, less exactly.
        error = math.hypot(
            overhead.error * scatter / (NOISE * usual), scatter / math.sqrt(len(group))
        )
        sure = min(overhead.seconds - SURELY * error, MOST_SURE * usual)
        found.append((executors, fmean(batch.rows for batch in group) / (usual - max(0.0, sure))))
    return tuple(found)


def fitted_overhead(batches: Sequence[BatchReport], known: float = 0.0) -> Overhead:
    """What batches of different sizes have in common: seconds = overhead + rows / capacity(executors).

    Least squares of the relative errors, with the capacities eliminated. Batches of one size say nothing; then the
    prior holds. `known` are the seconds that were learned before, from a profile or from batches that are forgotten.
    """
    if not batches:
        return Overhead(seconds=0.0, error=math.inf)
    before = _prior(min(batch.worked for batch in batches), known)
    prior = (NOISE / before.error) ** 2
    above, below = prior * before.seconds, prior
    for group in _by_executors(batches).values():
        more_above, more_below = _evidence(group)
        above, below = above + more_above, below + more_below
    # It may well be longer than the shortest batch: that one was short by chance.
    return Overhead(seconds=max(above / below, 0.0), error=NOISE / math.sqrt(below))


def fitted_overheads(
    batches: Sequence[BatchReport], fixed: float = 0.0, shared: float = 0.0, *, is_shared: bool
) -> Overheads:
    """The same where executors may share a part of it; `fixed` and `shared` were learned before."""
    if not (is_shared and batches):
        found = fitted_overhead(batches, fixed + shared)
        return Overheads(fixed=found.seconds, fixed_error=found.error)
    shortest = min(batches, key=lambda batch: batch.worked)
    part = part_of_each(shortest.executors)
    before = _recalled(shortest.worked, fixed + part * shared)
    told = [
        (part_of_each(executors), *_evidence(group))
        for executors, group in _by_executors(batches).items()
    ]
    told.append(_told(part, before.seconds, before.error))
    return _split(told, _thought(fixed or FIXED, before.seconds))


def measured_overheads(measured: Sequence[tuple[int, float]], *, is_shared: bool) -> Overheads:
    """The same from the seconds that were measured of several numbers of executors, at least one."""
    if not is_shared:
        seconds = median(seconds for _, seconds in measured)
        return Overheads(fixed=seconds, fixed_error=MEASURED * seconds)
    told = [
        _told(part_of_each(executors), seconds, max(MEASURED * seconds, LEAST))
        for executors, seconds in measured
    ]
    return _split(told, _thought(FIXED, min(seconds for _, seconds in measured)))


_Evidence = tuple[float, float, float]
"""The part of the shared seconds that an overhead has, its weight times its seconds, and its weight."""


def _told(part: float, seconds: float, error: float) -> _Evidence:
    weight = (NOISE / error) ** 2
    return part, weight * seconds, weight


def _thought(fixed: float, whole: float) -> _Evidence:
    """What is thought of the fixed part alone, so weakly that two numbers of executors outweigh it."""
    return _told(0.0, fixed, max(FIXED, whole))


def _split(told: Sequence[_Evidence], thought: _Evidence) -> Overheads:
    """Least squares of fixed + part * shared, neither of them negative."""
    evidence = (*told, thought)
    ones = sum(weight for _, _, weight in evidence)
    parts = sum(part * weight for part, _, weight in evidence)
    squares = sum(part**2 * weight for part, _, weight in evidence)
    above = sum(found for _, found, _ in evidence)
    across = sum(part * found for part, found, _ in evidence)
    determinant = ones * squares - parts**2
    fixed = (squares * above - parts * across) / determinant
    shared = (ones * across - parts * above) / determinant
    if shared <= 0:
        # What is thought of the fixed part alone is no evidence of all.
        weights = sum(weight for _, _, weight in told)
        seconds = sum(found for _, found, _ in told) / weights
        return Overheads(fixed=max(0.0, seconds), fixed_error=NOISE / math.sqrt(weights))
    if fixed < 0:
        return Overheads(
            fixed=0.0,
            shared=max(0.0, across / squares),
            fixed_error=0.0,
            shared_error=NOISE / math.sqrt(squares),
        )
    return Overheads(
        fixed=fixed,
        shared=shared,
        fixed_error=NOISE * math.sqrt(squares / determinant),
        shared_error=NOISE * math.sqrt(ones / determinant),
        both=-(NOISE**2) * parts / determinant,
    )


def _prior(shortest: float, known: float) -> Overhead:
    """Half of the shortest batch, give or take as much; or what is known, give or take half, if that is less."""
    half = shortest / 2
    if 0 < known < half:
        return Overhead(seconds=known, error=known / 2)
    return Overhead(seconds=half, error=half)


def _recalled(shortest: float, known: float) -> Overhead:
    """What is known, give or take a fourth. Under a steady load batches do not tell it again: they have one size."""
    if known <= 0:
        return _prior(shortest, known)
    seconds = min(known, shortest)
    return Overhead(seconds=seconds, error=seconds / 4)


def _inexact(known: Estimate, rate: float) -> float:
    """How exactly an overhead has to be taken to be known for that rate to be believed."""
    if rate < known.low:
        return INEXACT_IF_LESS
    return INEXACT_IF_MORE if rate > CLEARLY_MORE * known.value else INEXACT


def _evidence(group: Sequence[BatchReport]) -> tuple[float, float]:
    weights = [1 / batch.worked**2 for batch in group]
    rows = _explained([batch.rows for batch in group], _instruments(group), weights)
    seconds = [batch.worked for batch in group]
    square = _dot(weights, rows, rows)
    if square <= 0:
        return 0.0, 0.0
    ones = [1.0] * len(group)
    across, all_rows = _dot(weights, rows, seconds), _dot(weights, rows, ones)
    above = _dot(weights, seconds, ones) - all_rows * across / square
    return above, max(0.0, sum(weights) - all_rows**2 / square)


def _explained(
    rows: Sequence[float], instruments: Sequence[float], weights: Sequence[float]
) -> list[float]:
    """What a straight line through the instruments says of the rows (two-stage least squares)."""
    total = sum(weights)
    ones = [1.0] * len(rows)
    middle, mean = _dot(weights, instruments, ones) / total, _dot(weights, rows, ones) / total
    apart = [instrument - middle for instrument in instruments]
    spread = _dot(weights, apart, apart)
    slope = _dot(weights, apart, rows) / spread if spread > 0 else 0.0
    return [mean + slope * distance for distance in apart]


def _instruments(group: Sequence[BatchReport]) -> list[float]:
    """The rows that each batch would have if those before it had all taken as long as usual, but for outages.

    A batch that a limit has kept small has the same rows after any interval: of both numbers the more usual one counts.
    """
    # One that is negative tells that the driver's clock was set back.
    intervals = [batch.interval for batch in group if batch.interval and batch.interval > 0]
    if not intervals:
        return [batch.rows for batch in group]
    usual, typical = median(intervals), median(batch.rows for batch in group)

    def counted(batch: BatchReport) -> float:
        share = (batch.interval or usual) / usual
        if not 1 / USUAL <= share <= USUAL:
            return batch.rows
        return min(batch.rows, batch.rows / share, key=lambda rows: abs(rows - typical))

    return [counted(batch) for batch in group]


def _dot(weights: Sequence[float], left: Sequence[float], right: Sequence[float]) -> float:
    return sum(w * x * y for w, x, y in zip(weights, left, right, strict=True))


def _by_executors(batches: Iterable[BatchReport]) -> dict[int, list[BatchReport]]:
    groups: dict[int, list[BatchReport]] = defaultdict(list)
    for batch in batches:
        groups[batch.executors].append(batch)
    return groups
