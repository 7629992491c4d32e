"""Ours: the smallest number of executors that keeps latency and recovery promises for the load that is coming.

Going up looks at the peak of the upper forecast; going down waits until nothing larger was wanted for a while, and
must pay for its own outage within the horizon. While a backlog is drained the job is left in peace. A promise that
cannot be kept is named, with the best that can, and met as nearly as executors still help.

What a candidate would bring is for `assessing`, the search for `choosing`, a job without a profile for `starting`.
"""

from dataclasses import dataclass, replace

from sluice.core.deciding.assessing import INFINITE, Assessment, Goals, Trial, moments
from sluice.core.deciding.choosing import Choice, choose
from sluice.core.deciding.decision import Decision
from sluice.core.deciding.latencies import explained_curve
from sluice.core.deciding.outlook import backlog, peak, upper_load
from sluice.core.deciding.paying import Way, price_in_executors, shortest_way
from sluice.core.deciding.policies.replies import held, largest_wish, reply, wishes_reach
from sluice.core.deciding.situation import Situation
from sluice.core.deciding.starting import observed_capacity
from sluice.core.modelling.capacity import Capacity
from sluice.core.modelling.downtime import Cause
from sluice.core.modelling.load import Load
from sluice.core.modelling.rescaling import Path
from sluice.core.series import NoData


@dataclass(frozen=True, slots=True, kw_only=True)
class Sluice:
    """The parameters; times are in seconds."""

    lead: float = 300.0
    """What is needed within that time is needed now: a rescale takes its time, too."""
    horizon: float = 900.0
    """What is needed within that time is not taken away, and a rescale must pay within it."""
    stabilisation: float = 300.0
    """A smaller size must be wanted for so long."""
    downtime_share: float = 0.7
    """The share of driver losses whose downtime is not above the one that is planned with."""
    utilisation: float = 0.85
    """The most of its sure capacity that the peak may use: batches grow without bound towards 1."""
    tolerance: float = 0.05
    """Where a promise cannot be kept, it is enough to come so near to the best."""
    calm: float = 5.0
    """Seconds of work that may wait without being a backlog, beside what waits between batches."""
    drain: float = 300.0
    """A backlog is to be drained within the recovery target, or within this."""
    foresight: float = 4.0
    """Growing by a restart, the trend is taken to go on for so many horizons more, if that is cheaper than another."""
    outage_price: float = 5.0
    """A second without processing is worth so many seconds of all executors that the highest load needs."""

    def __call__(self, situation: Situation) -> Decision:
        """Decide for a job as it is now."""
        load = upper_load(situation)
        if isinstance(load, NoData):
            return held(situation, f"left as it is: {load.reason}")
        capacity = self._capacity(situation)
        if isinstance(capacity, NoData):
            return held(situation, f"left as it is: {capacity.reason}")
        trial = self._trial(situation, load, capacity)
        choice = self._choice(situation, capacity, trial)
        later = self._until(trial, load, self.horizon)
        way = shortest_way(situation, later, choice.chosen.capacity)
        price = price_in_executors(situation, later, capacity, way, self.outage_price)
        if choice.chosen.executors > situation.executors:
            wanted = self._lasting(situation, capacity, later, choice, way, price)
            return self._larger(situation, trial, choice, wanted, way)
        choice = self._choice(situation, capacity, later)
        return self._smaller(situation, later, choice, choice.chosen.executors, way, price)

    def _lasting(
        self,
        situation: Situation,
        capacity: Capacity,
        trial: Trial,
        choice: Choice,
        way: Way,
        price: float,
    ) -> int:
        """The number to grow to: what is needed soon, and of what is needed later as much as an outage is worth."""
        needed = choice.chosen.executors
        later = self._foreseen(trial) if way.path is Path.RESTART else trial
        foreseen = self._choice(situation, capacity, later).chosen.executors
        return max(needed, int(min(foreseen, needed + price)))

    def _capacity(self, situation: Situation) -> Capacity | NoData:
        learned = situation.models.capacity.fitted()
        return observed_capacity(situation, self.calm) if isinstance(learned, NoData) else learned

    def _trial(self, situation: Situation, load: Load, capacity: Capacity) -> Trial:
        batching, batch = situation.batching, situation.observed.batch
        waiting = backlog(situation, capacity.rate(max(1, situation.running)), self.calm)
        normal = 0.0 if isinstance(batch, NoData) or waiting > 0 else batch
        return Trial(
            load=load,
            peak=peak(load, self.lead),
            horizon=self.lead,
            failures=moments(load, self.lead),
            backlog=waiting,
            downtime=situation.models.downtimes.of(Cause.DRIVER_LOSS).quantile(self.downtime_share),
            interval=max(batching.period, normal),
            batching=batching,
            curve=explained_curve(situation.models.latency, capacity),
        )

    def _until(self, trial: Trial, load: Load, horizon: float) -> Trial:
        return replace(
            trial,
            load=load,
            peak=peak(load, horizon),
            horizon=horizon,
            failures=moments(load, horizon),
        )

    def _choice(self, situation: Situation, capacity: Capacity, trial: Trial) -> Choice:
        targets = situation.targets
        goals = Goals(
            utilisation=self.utilisation,
            latency=_promised(targets.latency, INFINITE),
            recovery=_promised(targets.recovery, INFINITE),
            drain=_promised(targets.recovery, self.drain),
        )
        return choose(
            range(situation.bounds.smallest, situation.bounds.largest + 1),
            situation.executors,
            capacity,
            trial,
            goals=goals,
            tolerance=self.tolerance,
        )

    def _larger(
        self, situation: Situation, trial: Trial, choice: Choice, wanted: int, way: Way
    ) -> Decision:
        current = situation.executors
        present = choice.of(current)
        starting = current - situation.running
        if starting > 0 and present and trial.backlog > 0 and present.drain <= choice.goals.drain:
            reason = f"{wanted} executors are wanted, and {starting} are starting"
            return self._decision(situation, choice, wanted, current, reason, way)
        reason = f"{wanted} executors: {_told(choice, present)}"
        return self._decision(situation, choice, wanted, wanted, reason, way)

    def _smaller(
        self,
        situation: Situation,
        trial: Trial,
        choice: Choice,
        wanted: int,
        way: Way,
        price: float,
    ) -> Decision:
        current = situation.executors
        executors = min(current, largest_wish(situation, wanted, self.stabilisation))
        if wanted >= current:
            reason = f"{current} executors fit"
            return self._decision(situation, choice, wanted, current, reason, way)
        stays = ""
        if trial.backlog > 0:
            stays = f"a backlog of {trial.backlog:.0f} rows is drained first"
        elif isinstance(situation.observed.lag, NoData):
            stays = f"how many rows wait is unknown ({situation.observed.lag.reason})"
        elif executors == current or not wishes_reach(situation, self.stabilisation):
            stays = f"more was wanted within the last {self.stabilisation:.0f} s"
        elif not current - executors > price:
            stays = f"an outage of {way.outage:.0f} s pays only for {price:.1f} executors less"
        if stays:
            reason = f"{wanted} executors are enough, but {stays}"
            return self._decision(situation, choice, wanted, current, reason, way)
        reason = f"{executors} executors are enough for {trial.peak:.0f} rows/s"
        return self._decision(situation, choice, wanted, executors, reason, way)

    def _foreseen(self, trial: Trial) -> Trial:
        """The same trial under a load whose trend goes on."""
        rise = max(0.0, trial.peak - trial.load.rate(0.0))
        factor = 1 + self.foresight * rise / trial.peak if trial.peak > 0 else 1.0
        return self._until(trial, trial.load.scaled(factor), trial.horizon)

    def _decision(
        self,
        situation: Situation,
        choice: Choice,
        wanted: int,
        executors: int,
        reason: str,
        way: Way,
    ) -> Decision:
        target, best = situation.targets.recovery, choice.best.recovery
        infeasible = target is not None and best > target
        if infeasible:
            reason += f"; a recovery within {target:.0f} s cannot be kept: {_at_best(best)}"
        expected = choice.of(executors) or choice.chosen
        return replace(
            reply(situation, wanted, reason, executors=executors),
            path=way.path,
            candidates=choice.candidates(),
            expected_latency=_finite(expected.latency),
            expected_recovery=_finite(expected.recovery),
            smallest_recovery=_finite(best) if infeasible else None,
        )


def _told(choice: Choice, present: Assessment | None) -> str:
    """Why the present number is not enough."""
    seen = [
        found for found in choice.candidates() if present and found.executors == present.executors
    ]
    return f"with {seen[0].executors}, {seen[0].verdict}" if seen else "the smallest that is enough"


def _at_best(best: float) -> str:
    return f"{best:.0f} s at best" if best < INFINITE else "the job would not catch up"


def _promised(target: float | None, otherwise: float) -> float:
    return otherwise if target is None else target


def _finite(number: float) -> float | None:
    return number if number < INFINITE else None
