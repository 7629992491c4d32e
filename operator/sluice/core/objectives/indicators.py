"""Service level indicators: whether one slice of time was good, from what was measured in it.

    latency        rows within the bound are the declared share of all rows
    throughput     what was processed keeps up with the declared rate, or with what arrived if that is less
    freshness      the last committed batch is young, unless nothing waits
    availability   a query was active

What is not known makes a slice unknown, never bad. Rows that are late without being committed do make it bad: a
stream that hangs commits nothing that could be measured.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from sluice.core.objectives.verdicts import Tally, Verdict
from sluice.core.series import Measured, NoData

SLACK = 0.05
"""Share of the rows that a slice may lack at its end: batches do not end when slices do. The same 5 % is what
Henge lets utility drop before it acts (see `juice`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyBound:
    """The share of the rows that must be committed within so many seconds of their arrival."""

    share: float
    seconds: float

    def __post_init__(self) -> None:
        if not (0 < self.share < 1 and self.seconds > 0):
            raise ValueError(f"{self}: the share is between 0 and 1, the seconds are positive")


def weights(bounds: Sequence[float], seconds: float) -> tuple[tuple[float, float], ...]:
    """The cumulative buckets whose weighted sum counts the rows within so many seconds.

    Rows lie evenly in their bucket, as Prometheus' histogram_quantile has it: so the share is met exactly when that
    quantile is within the bound. Beyond the last bound nobody knows, and only the rows below it count.
    """
    if seconds >= bounds[-1]:
        return ((bounds[-1], 1.0),)
    for below, above in pairwise((0.0, *bounds)):
        if seconds == below:
            break
        if seconds < above:
            part = (seconds - below) / (above - below)
            return ((below, 1 - part), (above, part)) if below else ((above, part),)
    return ((seconds, 1.0),)


def rows_within(
    buckets: Sequence[tuple[float, float]], rows: float, bound: LatencyBound, untimed: float = 0
) -> Tally:
    """The rows of a cumulative histogram by the bound; rows of unknown arrival are unknown."""
    cumulative = dict(buckets)
    needed = weights(sorted(cumulative), bound.seconds)
    within = min(rows, sum(cumulative[limit] * weight for limit, weight in needed))
    return Tally(good=within, bad=rows - within, unknown=untimed)


def latency(within: Measured, waiting: Measured, bound: LatencyBound) -> Verdict:
    """Judge by the share of the committed rows; where none was, by how long the oldest row waits."""
    if not isinstance(within, NoData):
        return _good_if(within >= bound.share)
    if isinstance(waiting, NoData):
        return Verdict.UNKNOWN
    return _good_if(waiting <= bound.seconds)


def throughput(processed: Measured, arrived: Measured, minimum: float) -> Verdict:
    """Judge rates: processing at the minimum is enough, and so is keeping up with less."""
    if isinstance(processed, NoData):
        return Verdict.UNKNOWN
    if processed >= minimum * (1 - SLACK):
        return Verdict.GOOD
    if isinstance(arrived, NoData):
        return Verdict.UNKNOWN
    return _good_if(processed >= min(minimum, arrived) * (1 - SLACK))


def freshness(age: Measured, waiting: Measured, oldest: float) -> Verdict:
    """Judge the age of the last committed batch; an old one is fresh as long as no row has waited for longer.

    `waiting` are the seconds that the oldest row waits; 0 if none does.
    """
    if not isinstance(waiting, NoData) and waiting <= oldest:
        return Verdict.GOOD
    if isinstance(age, NoData):
        return Verdict.UNKNOWN
    if age <= oldest:
        return Verdict.GOOD
    return Verdict.UNKNOWN if isinstance(waiting, NoData) else Verdict.BAD


def availability(active: Measured) -> Verdict:
    """Judge the number of active queries of a job that is not suspended."""
    return Verdict.UNKNOWN if isinstance(active, NoData) else _good_if(active >= 1)


def _good_if(holds: bool) -> Verdict:
    return Verdict.GOOD if holds else Verdict.BAD
