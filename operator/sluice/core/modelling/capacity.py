"""The rows per second that a number of executors can process, from measurements at saturation.

Of several measurements at one scale-out the median counts, so one wild number does no harm. Of the shapes (`shapes`)
the one is taken that best predicts each scale-out from the others; the plainer one, unless another is clearly better.
The range comes from the same errors, as in split conformal prediction (Lei et al., 2018): their quantile, with the
correction for a small sample. It is wider outside the measured scale-outs.

Only batches of a job with a backlog, on executors that have worked before, tell its capacity: the first batch on a
cold executor takes 4 to 10 times as long. Which ones these are is for the caller to say.

What a job processed while it kept up is a floor: it can do that much at least. A floor bends no shape, because nobody
knows how much more it could have been; it only says where the shape of other scale-outs is known to be too low.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from statistics import fmean, median
from typing import Any

from sluice.core.modelling.estimates import Estimate, conformal_error
from sluice.core.modelling.shapes import Curve, Shape, Slots, fit_curve, possible_shapes
from sluice.core.modelling.stored import Data, opened, sealed
from sluice.core.series import NoData

VERSION = 1

MEMORY_PER_SCALE_OUT = 8
MEMORY = 512
"""Measurements that are kept of one scale-out, and of all."""

AGREEING = 4
"""Measurements in a row, of a minute at least, that have to agree that a job has become slower, or faster."""

OTHER = 1.5
"""By so many times at least."""

CLEARLY = 0.8
"""A less plain shape must have errors below this share of the plainer one's."""

PRIOR_ERRORS = {1: 0.3, 2: 0.2}
"""The range of the logarithm that one or two scale-outs leave open, whatever they say."""

LEAST_ERROR = 0.05
"""No range is narrower than 5 %: clusters are not laboratories."""

MOST_ERROR = 5.0
"""Nor wider than a factor of e^5, which says that nothing is known."""

MOST_FLOORS = 40
"""Scale-outs of which a floor is kept."""

FADING = 0.999
"""What is left of each floor when another one was seen, a minute later: data and machines of a day ago are others."""

WORTH = 1.005
"""More executors are worth having if they raise the capacity by half a percent."""

SLOWEST, FASTEST = 1e-6, 1e15
"""Rows per second between which a measurement makes sense, and sums of its powers stay finite."""

MOST_EXECUTORS = 1_000_000

MOST_SLOTS = 1_000_000
"""Cores of an executor, and tasks of a stage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """A fitted curve, the errors of its logarithm, the scale-outs that it was fitted to, and the floors of others."""

    curve: Curve
    error: float
    smallest: int
    largest: int
    observations: int
    floors: tuple[tuple[int, float], ...] = ()

    def rate(self, executors: int) -> float:
        """Rows per second; none where nobody is left to work, as at the end of a batch whose last executor was lost."""
        if executors < 1:
            return 0.0
        return max(min(self.curve.rate(executors), FASTEST), _floor(self.floors, executors))

    def estimate(self, executors: int) -> Estimate:
        """Rows per second with their range."""
        away = max(self.smallest - executors, executors - self.largest, 0)
        error = min(self.error * (1 + away / self.largest), MOST_ERROR)
        rate = self.rate(executors)
        return Estimate(
            value=rate,
            low=max(rate * math.exp(-error), _floor(self.floors, executors)),
            high=rate * math.exp(error),
            observations=self.observations,
        )

    def useful(self, candidates: Iterable[int]) -> tuple[int, ...]:
        """The candidates that have more capacity than each smaller one, in ascending order.

        More executors for the same waves, or for less, are never worth their price (phoebe.md 4.3).
        """
        kept: list[int] = []
        for executors in sorted(set(candidates)):
            if not kept or self.rate(executors) > WORTH * self.rate(kept[-1]):
                kept.append(executors)
        return tuple(kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityModel:
    """Measurements of (executors, rows per second), the oldest first.

    `floors` are (executors, rows per second) of a minute in which the job kept up, beyond what surely is overhead:
    one of each number of executors, the one that was seen last at the end. `profiled` are those measurements that were
    surely made at saturation, by a profile.
    """

    slots: Slots = field(default_factory=Slots)
    points: tuple[tuple[int, float], ...] = ()
    floors: tuple[tuple[int, float], ...] = ()
    profiled: tuple[tuple[int, float], ...] = ()

    def __post_init__(self) -> None:
        for executors, rate in (*self.points, *self.floors):
            if not _is_measurement(executors, rate):
                raise ValueError(f"{rate} rows/s on {executors} executors: both are positive")

    def with_observation(self, executors: int, rate: float) -> "CapacityModel":
        """One more measurement at saturation; a rate of zero, or one that is not finite, measured nothing."""
        if not _is_measurement(executors, rate):
            return self
        points = (*self.points, (executors, rate))
        same = [index for index, (known, _) in enumerate(points) if known == executors]
        surplus = set(same[:-MEMORY_PER_SCALE_OUT])
        kept = tuple(point for index, point in enumerate(points) if index not in surplus)
        return replace(self, points=_brought_up(self.slots, kept[-MEMORY:]))

    def with_floor(self, executors: int, rate: float) -> "CapacityModel":
        """A minute in which so much was processed at least, as far as batches ran."""
        if not _is_measurement(executors, rate):
            return self
        faded = {known: max(SLOWEST, FADING * least) for known, least in self.floors}
        least = max(rate, faded.pop(executors, 0.0))
        return replace(self, floors=(*faded.items(), (executors, least))[-MOST_FLOORS:])

    def likely_floor(self, executors: int) -> float:
        """The rows per second that so many likely process at least, as they or fewer were seen to; 0 if none were."""
        seen = ((size, least) for size, least in self.floors if size <= executors)
        return max((least * executors / size for size, least in seen), default=0.0)

    def with_profiled(self, executors: int, rate: float) -> "CapacityModel":
        """An exact measurement of a profile, in the place of all that were made at that scale-out before."""
        if not _is_measurement(executors, rate):
            return self
        others, profiled = (
            tuple(point for point in known if point[0] != executors)
            for known in (self.points, self.profiled)
        )
        point = executors, rate
        return replace(
            self, points=(*others, point)[-MEMORY:], profiled=(*profiled, point)[-MEMORY:]
        )

    def fitted(self) -> Capacity | NoData:
        """The capacity at any number of executors."""
        found = _fitted(self.slots, self.points)
        return found if isinstance(found, NoData) else replace(found, floors=self._unmeasured())

    def _unmeasured(self) -> tuple[tuple[int, float], ...]:
        """The floors of scale-outs that were not measured, if the job is still as fast as it was then.

        Where it was measured, it may have become slower than it was seen: then it has elsewhere, too.
        """
        measured = _by_executors(self.points)
        seen = [(median(measured[size]), least) for size, least in self.floors if size in measured]
        left = min((1.0, *(rate / least for rate, least in seen)))
        return tuple((size, left * least) for size, least in self.floors if size not in measured)

    def to_data(self) -> Data:
        """Plain data for `from_data`."""
        return sealed(
            "Capacity",
            VERSION,
            cores=self.slots.cores,
            tasks=self.slots.tasks,
            points=[list(point) for point in self.points],
            floors=[list(floor) for floor in self.floors],
            profiled=[list(point) for point in self.profiled],
        )


def from_data(data: object) -> CapacityModel:
    """Read what `to_data` wrote. Raises CorruptState."""
    with opened(data, "Capacity", VERSION) as fields:
        # Releases that knew no floors, or not which points are a profile's, kept none.
        points, floors = _rates(fields["points"]), _rates(fields.get("floors", ()))
        profiled = _rates(fields.get("profiled", ()))
        tasks = fields["tasks"]
        slots = Slots(cores=_count(fields["cores"]), tasks=None if tasks is None else _count(tasks))
        return CapacityModel(
            slots=slots,
            points=points[-MEMORY:],
            floors=floors[-MOST_FLOORS:],
            profiled=profiled[-MEMORY:],
        )


def _brought_up(
    slots: Slots, points: tuple[tuple[int, float], ...]
) -> tuple[tuple[int, float], ...]:
    """The measurements as if the job had always been as fast as it is now, if the newest agree that it is another.

    Its data, its sink, or its machines have changed: what was measured before at other scale-outs is wrong by as much.
    Beyond the scale-outs that were measured, it may be the shape that is not known.
    """
    older, newest = points[:-AGREEING], points[-AGREEING:]
    known = _fitted(slots, older)
    if isinstance(known, NoData):
        return points
    shares = [
        rate / known.rate(executors)
        for executors, rate in newest
        if known.smallest <= executors <= known.largest and known.rate(executors) > 0
    ]
    is_other = min(shares, default=1) > OTHER or max(shares, default=1) < 1 / OTHER
    if len(shares) < AGREEING or not is_other:
        return points
    share = median(shares)
    scaled = tuple(
        (executors, min(max(share * rate, SLOWEST), FASTEST)) for executors, rate in older
    )
    return (*scaled, *newest)


@lru_cache(maxsize=128)
def _fitted(slots: Slots, points: tuple[tuple[int, float], ...]) -> Capacity | NoData:
    """Remembered, because a job asks for it several times a minute, and its points change once in several minutes."""
    if not points:
        return NoData("no capacity has been measured yet: profile the job")
    rates = _by_executors(points)
    medians = sorted((executors, median(found)) for executors, found in rates.items())
    curve = _best_curve(medians, slots)
    if curve is None:
        return NoData(_contradiction(medians))
    return Capacity(
        curve=curve,
        error=_error(rates, medians, curve),
        smallest=medians[0][0],
        largest=medians[-1][0],
        observations=len(points),
    )


def _floor(floors: Iterable[tuple[int, float]], executors: int) -> float:
    return next((rate for known, rate in floors if known == executors), 0.0)


def _rates(stored: Any) -> tuple[tuple[int, float], ...]:
    return tuple((int(executors), float(rate)) for executors, rate in stored)


def _count(stored: object) -> int:
    if not isinstance(stored, int) or stored > MOST_SLOTS:
        raise ValueError(f"{stored!r:.20} is no number of cores or tasks")
    return stored


def _is_measurement(executors: int, rate: float) -> bool:
    return 1 <= executors <= MOST_EXECUTORS and SLOWEST <= rate <= FASTEST


def _by_executors(points: Iterable[tuple[int, float]]) -> Mapping[int, list[float]]:
    rates: dict[int, list[float]] = defaultdict(list)
    for executors, rate in points:
        rates[executors].append(rate)
    return rates


def _best_curve(medians: Sequence[tuple[int, float]], slots: Slots) -> Curve | None:
    shapes = possible_shapes(slots, medians)
    if len(medians) < 3 and Shape.PROPORTIONAL in shapes:
        # Noise of two measurements decides about any line through them, and far from them about all that is predicted.
        return fit_curve(Shape.PROPORTIONAL, slots, medians)
    best, least = None, math.inf
    for shape in shapes:
        curve = fit_curve(shape, slots, medians)
        if curve is None:
            continue
        error = fmean(_left_out(shape, slots, medians, medians)) if len(medians) > 2 else 1.0
        if best is None or error < CLEARLY * least:
            best, least = curve, error
    return best


def _left_out(
    shape: Shape,
    slots: Slots,
    medians: Sequence[tuple[int, float]],
    points: Iterable[tuple[int, float]],
) -> list[float]:
    """The error of the logarithm at each point, predicted from the other scale-outs."""
    without = {
        executors: fit_curve(shape, slots, [rest for rest in medians if rest[0] != executors])
        for executors, _ in medians
    }
    return [_miss(without[executors], executors, rate) for executors, rate in points]


def _miss(curve: Curve | None, executors: int, rate: float) -> float:
    predicted = curve.rate(executors) if curve else 0.0
    return min(abs(math.log(rate / predicted)), MOST_ERROR) if predicted > 0 else MOST_ERROR


def _error(
    rates: Mapping[int, list[float]], medians: Sequence[tuple[int, float]], curve: Curve
) -> float:
    points = [(executors, rate) for executors, found in rates.items() for rate in found]
    if len(medians) > 2:
        return max(
            LEAST_ERROR, conformal_error(_left_out(curve.shape, curve.slots, medians, points))
        )
    scatter = [_miss(curve, executors, rate) for executors, rate in points]
    return max(PRIOR_ERRORS[len(medians)], conformal_error(scatter))


def _contradiction(medians: Sequence[tuple[int, float]]) -> str:
    told = ", ".join(f"{rate:.0f} rows/s on {executors}" for executors, rate in medians[:4])
    return f"the measured capacities fit no shape ({told}): profile the job again"
