"""Daedalus (Pfister, Scheinert, Geldenhuys, Kao: 2024, arXiv 2403.02093): capacity from processor use, and a forecast.

Capacity is what the workers would process at full processor use, in proportion to their number. Wanted is the smallest
scale-out above the forecast of 15 minutes that, after the downtime of the rescale itself, has caught up within the
target of 10 minutes. Nothing within 3 minutes of a rescale, and within 10 only to avert an overload. Constants of the
published program (peers.md 4); how its regression weighs single workers is left out, because executors are alike here.
"""

from dataclasses import dataclass

from sluice.core.deciding.decision import Decision
from sluice.core.deciding.outlook import expected_load, peak
from sluice.core.deciding.policies.replies import held, reply, steady_for
from sluice.core.deciding.situation import Situation
from sluice.core.modelling.load import Load
from sluice.core.modelling.recovery import Outage, Pace, Recovered, predicted_recovery
from sluice.core.quantities import format_executors
from sluice.core.series import Measured, NoData

LEAST_CPU = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Daedalus:
    """The constants of the published program, in seconds."""

    horizon: float = 900.0
    target: float = 600.0
    hold: float = 180.0
    preferred: float = 600.0
    downtime_up: float = 30.0
    downtime_down: float = 15.0
    checkpoint: float = 10.0

    def __call__(self, situation: Situation) -> Decision:
        """Decide on the smallest scale-out that catches up in time."""
        load, each, lag = expected_load(situation), _each(situation), situation.observed.lag
        if isinstance(load, NoData):
            return held(situation, f"left as it is: {load.reason}")
        if isinstance(each, NoData):
            return held(situation, f"left as it is: {each.reason}")
        if isinstance(lag, NoData):
            return held(situation, f"left as it is: {lag.reason}")
        return self._chosen(situation, load, each, lag)

    def _chosen(self, situation: Situation, load: Load, each: float, lag: float) -> Decision:
        current, age = situation.executors, steady_for(situation)
        most = peak(load, self.horizon)
        suffices = most < each * current
        if age < self.hold or (age < self.preferred and suffices):
            return held(situation, f"left as it is: rescaled {age:.0f} s ago")
        numbers = range(situation.bounds.smallest, situation.bounds.largest + 1)
        able = (
            count
            for count in numbers
            if most < each * count and self._catches_up(situation, load, each, lag, count)
        )
        wanted = next(able, situation.bounds.largest)
        reason = f"{format_executors(wanted)} of {each:.0f} rows/s each for up to {most:.0f} rows/s"
        return reply(situation, wanted, reason)

    def _catches_up(
        self, situation: Situation, load: Load, each: float, lag: float, count: int
    ) -> bool:
        """Whether a rescale to that number would be over in time; the lag counts as age of the last commit."""
        current, rate = situation.executors, load.rate(0.0)
        downtime = 0.0 if count == current else self.downtime_up
        if count < current:
            downtime = self.downtime_down
        waiting = lag / rate if rate > 0 else 0.0
        outage = Outage(downtime=downtime, interval=min(max(waiting, self.checkpoint), 1e6))
        recovery = predicted_recovery(load, outage, Pace(capacity=each * count))
        return isinstance(recovery, Recovered) and recovery.seconds <= self.target


def _each(situation: Situation) -> Measured:
    """The rows per second of one executor at full processor use."""
    processing, cpu = situation.observed.processing, situation.observed.cpu
    if isinstance(processing, NoData):
        return processing
    if isinstance(cpu, NoData):
        return cpu
    if cpu < LEAST_CPU or processing <= 0:
        return NoData("the processors are hardly used")
    return processing / min(cpu, 1.0) / max(1, situation.running)
