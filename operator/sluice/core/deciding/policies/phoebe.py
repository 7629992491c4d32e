"""Phoebe (Geldenhuys, Scheinert, Kao, Thamsen: ICWS 2022): the smallest scale-out that recovers in time.

Algorithm 1 as printed, over the whole range of scale-outs (phoebe.md 2.4), with what the published runs did beside it:
no evaluation within 10 minutes of a start, and no step down by one or two workers (phoebe.md 2.7 a). The downtime is a
constant, as there: 110 s in the committed program. It is a rival here; `sluice` is what we make of it.
"""

from dataclasses import dataclass

from sluice.core.deciding.decision import Candidate, Decision
from sluice.core.deciding.outlook import expected_load
from sluice.core.deciding.policies.replies import held, reply, steady_for
from sluice.core.deciding.situation import Situation
from sluice.core.modelling.capacity import Capacity
from sluice.core.modelling.latency import LatencyCurve, utilisation
from sluice.core.modelling.load import Load
from sluice.core.modelling.recovery import Outage, Pace, Recovered, predicted_recovery
from sluice.core.quantities import format_executors
from sluice.core.series import Measured, NoData


@dataclass(frozen=True, slots=True, kw_only=True)
class Phoebe:
    """The parameters of phoebe.md 2.6; times are in seconds."""

    target: float = 180.0
    """The recovery time, where the job declares none."""
    downtime: float = 110.0
    checkpoint: float = 10.0
    horizon: float = 600.0
    bins: int = 5
    evaluation: float = 600.0
    """A job that is younger is left alone: it may be recovering."""
    hysteresis: int = 2
    """A step down by so many executors, or fewer, is not made; 0 is what the paper prints."""
    count: int | None = None
    """So many equally spaced scale-outs are considered; all of them by default."""

    def __call__(self, situation: Situation) -> Decision:
        """Decide as Algorithm 1."""
        age = steady_for(situation)
        if age < self.evaluation:
            return held(situation, f"the job is {age:.0f} s old, and may be recovering")
        load, capacity = expected_load(situation), situation.models.capacity.fitted()
        if isinstance(load, NoData):
            return held(situation, load.reason)
        if isinstance(capacity, NoData):
            return held(situation, capacity.reason)
        return self._chosen(situation, load, capacity)

    def _chosen(self, situation: Situation, load: Load, capacity: Capacity) -> Decision:
        smallest, largest = situation.bounds.smallest, situation.bounds.largest
        curve = situation.models.latency.fitted(capacity)
        candidates: list[Candidate] = []
        for executors in scale_outs(smallest, largest, self.count):
            rate = capacity.rate(executors)
            used = utilisation(load.peak(self.horizon, self.bins), rate)
            recovery = self._recovery(load, rate)
            target = situation.targets.recovery or self.target
            verdict = _verdict(recovery, target, curve, used)
            candidates.append(
                Candidate(
                    executors=executors,
                    capacity=rate,
                    latency=curve if isinstance(curve, NoData) else curve.at(used).seconds.value,
                    recovery=recovery,
                    verdict=verdict or "recovers in time, with normal latency",
                    chosen=not verdict,
                )
            )
            if candidates[-1].chosen:
                break
        return self._decision(situation, tuple(candidates))

    def _recovery(self, load: Load, rate: float) -> Measured:
        outage = Outage(downtime=self.downtime, interval=self.checkpoint)
        found = predicted_recovery(load, outage, Pace(capacity=rate))
        return found.seconds if isinstance(found, Recovered) else NoData(found.reason)

    def _decision(self, situation: Situation, candidates: tuple[Candidate, ...]) -> Decision:
        last = candidates[-1]
        current, wanted = situation.executors, last.executors
        reason = f"{format_executors(wanted)}: {last.verdict}"
        stays = 0 < current - wanted <= self.hysteresis
        if stays:
            reason += f"; not worth a step down from {current}"
        answer = reply(situation, wanted, reason, executors=current if stays else wanted)
        return Decision(
            wanted=answer.wanted,
            executors=answer.executors,
            reason=reason,
            path=answer.path,
            candidates=candidates,
            expected_latency=_number(last.latency),
            expected_recovery=_number(last.recovery),
            smallest_recovery=None if last.chosen else _number(last.recovery),
        )


def scale_outs(smallest: int, largest: int, count: int | None = None) -> tuple[int, ...]:
    """Equally spaced numbers from the smallest to the largest, both included, rounded half up (phoebe.md 2.2)."""
    span = largest - smallest
    if count is None or count > span:
        return tuple(range(smallest, largest + 1))
    if count < 2:
        return (largest,)
    return tuple(int(smallest + span * index / (count - 1) + 0.5) for index in range(count))


def _verdict(
    recovery: Measured, target: float, curve: LatencyCurve | NoData, used: float
) -> str | None:
    if isinstance(recovery, NoData):
        return recovery.reason
    if recovery > target:
        return f"recovers in {recovery:.0f} s and the target is {target:.0f} s"
    if not isinstance(curve, NoData) and curve.at(used).is_overload:
        return f"is overloaded at {used:.0%} of its capacity"
    return None


def _number(measured: Measured) -> float | None:
    return None if isinstance(measured, NoData) else measured
