"""The latency to expect of so many executors at a rate, and whether it means overload.

Latency is taken as a function of the utilisation, rate / capacity(executors), and as never falling with it. So it
never rises with executors that add capacity and never falls with the rate, which the boosted trees of Phoebe's
artefact do not guarantee, and one scale-out teaches all others. A regression on executors and rate as two axes was
the alternative: it says nothing of scale-outs that were not profiled. On the published profile the utilisation alone
separates normal from overloaded latencies but for one of 79 (phoebe.md 5.11).

Latencies are in seconds. A job at or above its capacity is overloaded, whatever was measured.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import fmean

from sluice.core.modelling.capacity import Capacity
from sluice.core.modelling.estimates import Estimate, conformal_error
from sluice.core.modelling.isotonic import isotonic
from sluice.core.modelling.overload import overload_boundary
from sluice.core.modelling.stored import Data, opened, sealed
from sluice.core.series import NoData

VERSION = 1

MEMORY = 256
"""Points that are kept of profiles, and as many of production: else calm weeks would make overload forgotten."""

SHORTEST, LONGEST = 1e-3, 1e9
"""Seconds between which a latency is taken to be, so that it has a finite logarithm."""

MOST_UTILISATION = 10.0
"""Beyond that, all is the same."""

NEAREST = 16
"""The range of a prediction comes from the errors at so many points around it."""

NEAR = 0.1
"""Points within so much utilisation count as observations of it."""

PRIOR_ERROR = math.log(2)
"""One point leaves a factor of two open, n points its root of n-th part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyPoint:
    """A latency that was measured at a steady rate; `profiled` if not in production."""

    executors: int
    rate: float
    seconds: float
    profiled: bool = False

    def is_measurement(self) -> bool:
        """Whether all of it is a finite number that makes sense."""
        numbers = (self.rate, self.seconds)
        return self.executors >= 1 and all(0 <= number < math.inf for number in numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Seconds with their range, and whether they are those of an overloaded job."""

    seconds: Estimate
    is_overload: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyCurve:
    """Fitted logarithms of latencies at ascending utilisations, the errors of the points, and the boundary."""

    utilisations: tuple[float, ...]
    logs: tuple[float, ...]
    points: tuple[tuple[float, float], ...]
    boundary: float

    def at(self, utilisation: float) -> Latency:
        """The latency to expect at a utilisation; beyond what was measured the nearest fit holds."""
        used = min(utilisation, MOST_UTILISATION)
        log, error = self._log(used), self._error(used)
        seconds = math.exp(log)
        estimate = Estimate(
            value=seconds,
            low=math.exp(log - error),
            high=math.exp(log + error),
            observations=sum(abs(known - used) <= NEAR for known, _ in self.points),
        )
        return Latency(seconds=estimate, is_overload=used >= 1 or seconds > self.boundary)

    def _log(self, utilisation: float) -> float:
        place = bisect_right(self.utilisations, utilisation)
        if place == 0 or place == len(self.utilisations):
            return self.logs[min(place, len(self.logs) - 1)]
        before, after = self.utilisations[place - 1 : place + 1]
        # Written so that rounding cannot break the order.
        return self.logs[place - 1] + (self.logs[place] - self.logs[place - 1]) * (
            (utilisation - before) / (after - before)
        )

    def _error(self, utilisation: float) -> float:
        place = bisect_left(self.points, (utilisation,))
        first = max(0, min(place - NEAREST // 2, len(self.points) - NEAREST))
        errors = [error for _, error in self.points[first : first + NEAREST]]
        return max(conformal_error(errors), PRIOR_ERROR / math.sqrt(len(errors)))


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyModel:
    """Measured latencies, the oldest first."""

    profiled: tuple[LatencyPoint, ...] = ()
    observed: tuple[LatencyPoint, ...] = ()

    def with_observation(self, point: LatencyPoint) -> "LatencyModel":
        """One more latency; what is not finite, or negative, is none."""
        if not point.is_measurement():
            return self
        if point.profiled:
            return replace(self, profiled=(*self.profiled, point)[-MEMORY:])
        return replace(self, observed=(*self.observed, point)[-MEMORY:])

    def fitted(self, capacity: Capacity) -> LatencyCurve | NoData:
        """The latency at any utilisation of a capacity."""
        measured = (*self.profiled, *self.observed)
        if not measured:
            return NoData("no latency has been measured yet: profile the job, or let it run")
        pairs = sorted(
            (utilisation(point.rate, capacity.rate(point.executors)), _clipped(point.seconds))
            for point in measured
        )
        return _fit(pairs)

    def to_data(self) -> Data:
        """Plain data for `from_data`."""
        return sealed(
            "Latency",
            VERSION,
            profiled=[[point.executors, point.rate, point.seconds] for point in self.profiled],
            observed=[[point.executors, point.rate, point.seconds] for point in self.observed],
        )


def from_data(data: object) -> LatencyModel:
    """Read what `to_data` wrote. Raises CorruptState."""
    with opened(data, "Latency", VERSION) as fields:
        return LatencyModel(
            profiled=_points(fields["profiled"], profiled=True),
            observed=_points(fields["observed"], profiled=False),
        )


def utilisation(rate: float, capacity: float) -> float:
    """The share of a capacity that a rate uses."""
    if rate <= 0:
        return 0.0
    return min(rate / capacity, MOST_UTILISATION) if capacity > 0 else MOST_UTILISATION


def _points(stored: Sequence[Sequence[float]], *, profiled: bool) -> tuple[LatencyPoint, ...]:
    points = tuple(
        LatencyPoint(
            executors=int(executors), rate=float(rate), seconds=float(seconds), profiled=profiled
        )
        for executors, rate, seconds in stored
    )
    wrong = [point for point in points if not point.is_measurement()]
    if wrong:
        raise ValueError(f"{wrong[0]} is no measurement")
    return points[-MEMORY:]


def _clipped(seconds: float) -> float:
    return min(max(seconds, SHORTEST), LONGEST)


def _fit(pairs: Sequence[tuple[float, float]]) -> LatencyCurve:
    heaps = [
        (at, [math.log(seconds) for _, seconds in heap])
        for at, heap in groupby(pairs, key=lambda pair: pair[0])
    ]
    logs = isotonic([fmean(heap) for _, heap in heaps], [len(heap) for _, heap in heaps])
    return LatencyCurve(
        utilisations=tuple(at for at, _ in heaps),
        logs=logs,
        points=tuple(
            (at, abs(log - fit))
            for (at, heap), fit in zip(heaps, logs, strict=True)
            for log in heap
        ),
        boundary=overload_boundary([seconds for _, seconds in pairs]),
    )
