"""How long a job takes to recover from a failure: Phoebe's recursion, with what Spark adds to it.

After a downtime D a job replays what arrived since its last commit, I seconds before the failure, and what arrived
since. The first batch takes all of it, each later one what arrived during the one before (phoebe.md 2.1, 4.2):

    c(0) = b0 + rows(-I, D) / T        c(n) = b0 + rows(t(n), t(n) + c(n-1)) / T        R = D + c(0) + ... + c(N)

T is the capacity in rows per second, b0 the seconds that a batch takes however few rows it has. N is the first n with
c(n) < 1 s, or c(n) <= the trigger period. With b0 the batches need not get that short: at a utilisation rho they tend
to c* = b0 / (1 - rho). So it is enough, too, that of the outage itself less than 5 % of c* is left, after at least
rho / (1 - rho) batches. The rule of phoebe.md 4.2, c(n) < 1.05 c*, stops no later, and mostly at the same n below a
utilisation of 0.65. Further up it fails: c* grows beyond c(0), and more load would seem to recover faster.

Whoever measures a recovery cannot see what is left of an outage, only how many rows wait. `measured_recovery` ends
where that is usual again, which is sooner. It is what to compare with a measurement, and not with other loads: the
usual lag grows with the load, so that more of it may seem to recover faster.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

from sluice.core.modelling.load import Load
from sluice.core.series import NoData

SETTLED = 1.0
"""Seconds; a job whose batches are shorter has caught up (phoebe.md 2.6, eps)."""

REMAINDER = 0.05
"""What may be left of an outage, as a share of an ordinary batch (phoebe.md 4.2)."""

USUAL = 5.0
"""A lag of so many seconds of arrivals is usual for any job."""

VARYING = 1.25
"""So many times the lag before is usual, too: one batch is not like the other."""

PATIENCE = 86_400.0
"""Seconds; what takes longer than a day is not called a recovery."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """The seconds without processing, and the age of the last commit when they began."""

    downtime: float
    interval: float

    def __post_init__(self) -> None:
        if not (0 <= self.downtime < math.inf and 0 <= self.interval < math.inf):
            raise ValueError(f"{self}: both are seconds, neither negative nor infinite")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How a job works: rows per second, seconds per batch on top, the trigger's period (0 is none), rows per batch.

    `most_rows` is maxOffsetsPerTrigger; None is no limit.
    """

    capacity: float
    overhead: float = 0.0
    period: float = 0.0
    most_rows: float | None = None

    def __post_init__(self) -> None:
        numbers = (self.capacity, self.overhead, self.period)
        if not all(0 <= number < math.inf for number in numbers):
            raise ValueError(f"{self}: no number is negative or infinite")
        if self.most_rows is not None and not self.most_rows > 0:
            raise ValueError(f"{self}: a limit of rows per batch is positive")

    @property
    def sustained(self) -> float:
        """Rows per second that are possible for long.

        Batches of at most M rows, one per period P, make M / P; without b0 this is min(T, M / P) (phoebe.md 4.2).
        """
        if self.most_rows is None or not self.capacity:
            return self.capacity
        batch = max(self.period, self.overhead + self.most_rows / self.capacity)
        return min(self.capacity, self.most_rows / batch) if batch else self.capacity

    def seconds(self, rows: float) -> float:
        """The seconds that so many rows take, in as many batches as the limit demands."""
        return max(self.overhead + rows / self.capacity, rows / self.sustained)

    def ordinary(self, rate: float) -> float:
        """Seconds of a batch when nothing is wrong, c*; infinite when the load is too much."""
        spare = 1 - rate / self.capacity if self.capacity else 0.0
        return self.overhead / spare if spare > 0 else math.inf

    def ordinary_lag(self, rate: float) -> float:
        """The most seconds of arrivals that wait when nothing is wrong: just before a batch is committed."""
        between = max(self.period, self.ordinary(rate))
        return between + self.seconds(rate * between) if between < math.inf else math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """The seconds from the failure until the job has caught up, and the batches that it took."""

    seconds: float
    batches: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Never:
    """The job does not catch up, and why."""

    reason: str


Recovery = Recovered | Never


def predicted_recovery(load: Load, outage: Outage, pace: Pace) -> Recovery:
    """Predict the recovery from an outage that begins now."""
    if pace.sustained <= 0:
        return Never("there is no capacity")
    start, end = -outage.interval, outage.downtime
    left = outage.interval + outage.downtime
    batches: list[float] = []
    while end < PATIENCE:
        rows = load.between(start, end)
        rate = rows / (end - start) if end > start else load.rate(end)
        batches.append(pace.seconds(rows))
        left *= rate / pace.sustained
        if end >= load.end and load.last >= pace.sustained:
            return Never(_overload(load.last, pace.sustained))
        if _has_caught_up(pace, rate, batches, left):
            return Recovered(seconds=outage.downtime + math.fsum(batches), batches=tuple(batches))
        # Only a limit keeps a job behind whose batch was shorter than that. Its next one begins no sooner.
        start, end = end, end + max(batches[-1], SETTLED)
    return Never(f"it would take longer than {PATIENCE / 3600:.0f} hours")


def measured_recovery(load: Load, outage: Outage, pace: Pace) -> Recovery:
    """Predict what will be measured of the recovery from an outage that begins now: until the lag is usual again."""
    found = predicted_recovery(load, outage, pace)
    if isinstance(found, Never):
        return found
    most = most_usual(pace.ordinary_lag(load.rate(0.0)))
    batches = found.batches
    for count, (batch, following) in enumerate(pairwise(batches), 1):
        # What arrives during a batch waits until the following one is committed.
        if batch + following <= most:
            return Recovered(
                seconds=outage.downtime + math.fsum(batches[:count]), batches=batches[:count]
            )
    return found


def most_usual(lag: float) -> float:
    """The most seconds of arrivals that may wait when a job has caught up, if so many did before."""
    return max(VARYING * lag, USUAL)


def _has_caught_up(pace: Pace, rate: float, batches: list[float], left: float) -> bool:
    # A limit of rows lets each batch end in time, however much it leaves for the next one.
    if pace.capacity > pace.sustained <= rate:
        return False
    if batches[-1] < SETTLED or batches[-1] <= pace.period:
        return True
    if rate >= pace.sustained:
        return False
    # An outage fades by rho with each batch. Before rho / (1 - rho) of them, c* would grow with the load faster than
    # the outage fades slower, and the predicted recovery would not be monotone.
    enough = len(batches) >= rate / (pace.capacity - rate)
    return enough and left < REMAINDER * pace.ordinary(rate)


def _overload(rate: float, sustained: float) -> str:
    return f"{rate:.0f} rows/s arrive and {sustained:.0f} rows/s can be processed"


def recovery_limit(rate: float, outage: Outage, capacity: float) -> Recovery:
    """The recovery time under a constant load, without overheads and to the last row: D + (I + D) rho / (1 - rho)."""
    if rate >= capacity:
        return Never(_overload(rate, capacity))
    backlog = (outage.interval + outage.downtime) * rate
    return Recovered(seconds=outage.downtime + backlog / (capacity - rate), batches=())


def largest_utilisation(target: float, outage: Outage) -> float | NoData:
    """The utilisation from which a job recovers in just the target time: (RC - D) / (RC + I) (phoebe.md 2.1)."""
    if target <= outage.downtime:
        return NoData(
            f"a recovery target of {target:g} s is impossible: the downtime alone is {outage.downtime:g} s"
        )
    return (target - outage.downtime) / (target + outage.interval)


def needed_capacity(rate: float, target: float, outage: Outage) -> float | NoData:
    """The rows per second that let a job recover within the target under a constant load."""
    utilisation = largest_utilisation(target, outage)
    return utilisation if isinstance(utilisation, NoData) else rate / utilisation
