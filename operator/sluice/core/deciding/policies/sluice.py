"""Ours: the smallest number of executors that keeps latency and recovery promises for the load that is coming.

Up for what the upper forecast says of the next minutes, and live for a recovery that likely takes too long; to a size,
and down only to one, that is surer of it. Down when nothing larger was wanted for a while and, as far as can be
expected, will be for a longer while, if that pays for the outage of the rescale. While a backlog is drained the job is
left in peace. A promise that cannot be kept is named, with the best that can, and met as nearly as executors still
help.

What a candidate would bring is for `assessing`, the search for `choosing`, the price of a rescale for `paying`, a job
without a profile for `starting`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sluice.core.deciding.assessing import INFINITE, Goals, Trial, moments
from sluice.core.deciding.choosing import Choice, choose, worth_having
from sluice.core.deciding.decision import Decision
from sluice.core.deciding.latencies import explained_curve
from sluice.core.deciding.outlook import (
    arriving,
    backlog,
    expected_load,
    has_lost_its_source,
    highest,
    is_rising,
    peak,
    upper_load,
)
from sluice.core.deciding.paying import Price, Rescale, cheapest_rescale, way_back
from sluice.core.deciding.policies.replies import (
    enough_for,
    held,
    largest_wish,
    reply,
    steady_for,
    wanted_again,
    wishes_reach,
)
from sluice.core.deciding.situation import Situation
from sluice.core.deciding.spells import remaining
from sluice.core.deciding.starting import enough_for_tasks, known_capacity
from sluice.core.modelling.capacity import Capacity
from sluice.core.modelling.downtime import Cause
from sluice.core.modelling.load import Load
from sluice.core.modelling.rescaling import Path
from sluice.core.quantities import format_executors
from sluice.core.series import Measured, NoData


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A situation with the trials of its candidates: under the upper load soon, and the expected one until later."""

    situation: Situation
    capacity: Capacity
    soon: Trial
    later: Trial

    def is_faster_with(self, executors: int) -> bool:
        """Whether so many process more than the present ones."""
        return self.capacity.rate(executors) > self.capacity.rate(self.situation.executors)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sluice:
    """The parameters; times are in seconds."""

    lead: float = 300.0
    """What is needed within that time is needed now: a rescale takes its time, too."""
    horizon: float = 900.0
    """What is needed within that time is not taken away."""
    payback: float = 1200.0
    """A rescale must pay within that time, or within the one for which fewer executors are expected to be enough."""
    lasting: float = 0.5
    """What was enough for a time is expected to be enough for so many times that time more."""
    longest: float = 7200.0
    """But not for longer than that: loads change with the day."""
    returning: float = 0.5
    """The share of what the way back costs that counts, if it is known to come: for a load that returns, or noise."""
    stabilisation: float = 300.0
    """A smaller size must be wanted for so long, and a live rescale be so long ago."""
    downtime_share: float = 2 / 3
    """The share of driver losses whose downtime is not above the one that a size is chosen for."""
    utilisation: float = 0.85
    """The most of its sure capacity that the peak may use: batches grow without bound towards 1."""
    tolerance: float = 0.05
    """Where a promise cannot be kept, it is enough to come so near to the best."""
    calm: float = 5.0
    """Seconds of work that may wait without being a backlog, beside what waits between batches."""
    drain: float = 300.0
    """A backlog is to be drained within the recovery target, or else within this."""
    foresight: float = 4.0
    """Growing, the trend is taken to go on for so many horizons more, if that is cheaper than another rescale."""
    headroom: float = 0.1
    """Growing by a restart, so much more load is allowed for at least, and a load that grew by less is not
    rising: noise must neither ask for another nor keep what is idle."""
    patience: float = 0.1
    """Within the horizon after a start, no restart is made for a recovery that takes so much longer than its target, or
    than the best that can be had."""
    outage_price: float = 5.0
    """A second of outage is worth so many seconds of all executors that the highest load needs."""
    objective: float = 0.95
    """The share of the time in which the latency is to be kept. The rest is the error budget."""
    budget_price: float = 0.25
    """To spend all of the error budget is worth that share of all executors that the highest load needs."""

    def __call__(self, situation: Situation) -> Decision:
        """Decide for a job as it is now."""
        case = self._case(situation)
        if isinstance(case, NoData):
            return self._blindly(situation, case)
        soon, later = self._choice(case, case.soon), self._choice(case, case.later)
        if soon.chosen.executors > situation.executors:
            return self._larger(case, soon, later)
        choice = max(soon, later, key=lambda choice: choice.chosen.executors)
        return self._smaller(case, choice)

    def _blindly(self, situation: Situation, unknown: NoData) -> Decision:
        executors = enough_for_tasks(situation)
        if executors == situation.executors:
            return held(situation, f"left as it is: {unknown.reason}")
        told = f"a batch has run for {situation.observed.in_flight:.0f} s, and tasks of it wait"
        return reply(
            situation, executors, f"{format_executors(executors)}, because {told} for a core"
        )

    def _case(self, situation: Situation) -> Case | NoData:
        upper, expected = upper_load(situation, self.lead), expected_load(situation)
        capacity = known_capacity(situation, self.calm)
        if isinstance(upper, NoData):
            return upper
        if isinstance(expected, NoData):
            return expected
        if isinstance(capacity, NoData):
            return capacity
        soon = self._trial(situation, upper, expected, capacity)
        later = _over(soon, expected, self.horizon)
        return Case(situation=situation, capacity=capacity, soon=soon, later=later)

    def _trial(self, situation: Situation, load: Load, expected: Load, capacity: Capacity) -> Trial:
        batching, batch = situation.batching, situation.observed.batch
        waiting = backlog(situation, capacity.rate(max(1, situation.running)), self.calm)
        # A batch that works on a backlog is longer than the one before a failure would be.
        normal = 0.0 if isinstance(batch, NoData) or waiting > 0 else batch
        return Trial(
            load=load,
            peak=peak(load, self.lead),
            likely=peak(expected, self.lead),
            horizon=self.lead,
            failures=moments(load, self.lead),
            backlog=waiting,
            downtime=situation.models.downtimes.of(Cause.DRIVER_LOSS).quantile(self.downtime_share),
            interval=max(batching.period, normal),
            batching=batching,
            curve=explained_curve(situation.models.latency, capacity, batching),
        )

    def _choice(self, case: Case, trial: Trial, candidates: Iterable[int] | None = None) -> Choice:
        targets, bounds = case.situation.targets, case.situation.bounds
        allowed = range(bounds.smallest, bounds.largest + 1)
        goals = Goals(
            utilisation=self.utilisation,
            latency=INFINITE if targets.latency is None else targets.latency,
            recovery=INFINITE if targets.recovery is None else targets.recovery,
            drain=self.drain if targets.recovery is None else targets.recovery,
            tolerance=self.tolerance,
        )
        return choose(
            allowed if candidates is None else candidates,
            case.situation.executors,
            case.capacity,
            trial,
            goals=goals,
        )

    def _rescale(self, case: Case, choice: Choice) -> Rescale:
        executors = choice.chosen.executors
        return cheapest_rescale(
            case.situation, case.later, case.capacity, executors, price=self._price()
        )

    def _there_and_back(self, case: Case, choice: Choice, rescale: Rescale) -> Rescale:
        executors = choice.chosen.executors
        back = way_back(case.situation, case.later, case.capacity, executors, price=self._price())
        return rescale.followed_by(back, share=self.returning)

    def _price(self) -> Price:
        return Price(outage=self.outage_price, late=self.budget_price / (1 - self.objective))

    def _larger(self, case: Case, soon: Choice, later: Choice) -> Decision:
        situation, rescale = case.situation, self._rescale(case, soon)
        wanted = max(soon.chosen.executors, later.chosen.executors)
        waiting = self._reason_to_wait(case, soon, rescale.path)
        if waiting:
            reason = f"{format_executors(wanted)} {waiting}"
            return _decision(case, soon, rescale, wanted, situation.executors, reason)
        executors = self._lasting(case, soon, later, rescale)
        present = soon.verdict(soon.of(situation.executors))
        reason = f"{format_executors(executors)}, because with {situation.executors} {present}"
        return _decision(case, soon, rescale, wanted, executors, reason)

    def _reason_to_wait(self, case: Case, soon: Choice, path: Path) -> str | None:
        """Why more executors are wanted, but not asked for yet."""
        present = case.situation.executors
        starting = present - case.situation.running
        if starting > 0 and case.soon.backlog > 0 and soon.of(present).drain <= soon.goals.drain:
            return f"wanted, {starting} starting"
        if path is Path.RESTART and self._is_bearable(case, soon):
            return "wanted, but not by a restart so soon after the last start"
        if path is Path.LIVE and self._is_likely_enough(case, soon):
            return f"would be surer of a recovery, which {present} likely keep"
        return None

    def _is_bearable(self, case: Case, choice: Choice) -> bool:
        """Whether the job was started just now, and misses by little its promise, or the best that can be had."""
        goals, present = choice.goals, choice.of(case.situation.executors)
        relaxed = replace(
            goals, recovery=goals.recovery * (1 + self.patience), tolerance=self.patience
        )
        is_recent = steady_for(case.situation) < self.horizon
        return is_recent and relaxed.shortfall(present, choice.best) is None

    def _is_likely_enough(self, case: Case, choice: Choice) -> bool:
        """Whether the present executors miss nothing but a recovery that is likely, although not sure, to be in time.

        Between the two a size stays as it is: if one prediction told when to grow and when to shrink, noise would move
        it to and fro. Soon after more load has come, a job that grows live has more executors; one that must restart
        would be away first.
        """
        situation = case.situation
        likely = replace(
            case.soon,
            failures=moments(case.later.load, self.lead),
            downtime=situation.models.downtimes.of(Cause.DRIVER_LOSS).estimate().value,
        )
        present = self._choice(case, likely, candidates=(situation.executors,)).chosen
        return choice.goals.shortfall(present, choice.best) is None

    def _lasting(self, case: Case, soon: Choice, later: Choice, rescale: Rescale) -> int:
        """What is needed soon, and of what is needed later as much as is cheaper than another rescale."""
        needed, foreseen = soon.chosen.executors, later.chosen.executors
        needed = max(needed, int(min(foreseen, needed + rescale.break_even(self.horizon))))
        ahead = self.foresight * self.horizon
        headroom = self.headroom if rescale.path is Path.RESTART else 0.0
        farther = self._choice(case, _scaled(case.soon, 1 + max(self._trend(case.later), headroom)))
        foreseen = max(foreseen, farther.chosen.executors)
        growth = max((foreseen - needed) / ahead, _seen_growth(case.situation, needed))
        most = needed + min(growth * ahead, rescale.reserve(growth))
        most = min(most, self._enough_to_return(case, headroom))
        bounds = case.situation.bounds
        useful = worth_having(range(needed, bounds.largest + 1), case.capacity)
        return max(executors for executors in useful if executors <= max(needed, most))

    def _enough_to_return(self, case: Case, headroom: float) -> float:
        """The executors for a load that returns to where it was; endless for one that goes beyond.

        A pulse rises faster than any trend, but goes no further than the last one did.
        """
        known, soon = highest(case.situation, before=self.horizon), case.soon
        if soon.peak <= 0 or case.later.peak > (1 + self.headroom) * known:
            return INFINITE
        again = _scaled(soon, max(1.0, (1 + headroom) * known / soon.peak))
        return self._choice(case, again).chosen.executors

    def _trend(self, trial: Trial) -> float:
        """The share by which the load grows if the trend goes on."""
        rise = max(0.0, trial.peak - trial.load.rate(0.0))
        return self.foresight * rise / trial.peak if trial.peak > 0 else 0.0

    def _smaller(self, case: Case, choice: Choice) -> Decision:
        current, wanted = case.situation.executors, choice.chosen.executors
        rescale = self._rescale(case, choice)
        if has_lost_its_source(case.situation):
            reason = f"{_stay(current)}: nothing arrives, and what is held back may come at once"
            return _decision(case, choice, rescale, wanted, current, reason)
        if wanted >= current:
            enough = choice.shortfall is None or wanted > current
            lacking = f"{_stay(current)}, {choice.verdict(choice.chosen)}"
            reason = f"{format_executors(current)} will do" if enough else lacking
            return _decision(case, choice, rescale, wanted, current, reason)
        executors = min(current, largest_wish(case.situation, wanted, self.stabilisation))
        obstacle = self._obstacle(case, choice, rescale, executors)
        if obstacle:
            reason = f"{format_executors(wanted)} would do, but {obstacle}"
            return _decision(case, choice, rescale, wanted, current, reason)
        reason = f"{format_executors(executors)} will do for {case.later.peak:.0f} rows/s"
        return _decision(case, choice, rescale, wanted, executors, reason)

    def _obstacle(self, case: Case, choice: Choice, rescale: Rescale, executors: int) -> str | None:
        """What speaks against so few executors."""
        saved, lag = case.situation.executors - executors, case.situation.observed.lag
        if isinstance(lag, NoData):
            return f"how many rows wait is unknown: {lag.reason}"
        if case.later.backlog > 0 and not case.is_faster_with(executors):
            return f"a backlog of {case.later.backlog:.0f} rows is drained first"
        if saved == 0:
            return f"more were wanted within the last {self.stabilisation:.0f} s"
        if not wishes_reach(case.situation, self.stabilisation):
            return f"what was wanted is not known for {self.stabilisation:.0f} s yet"
        since = case.situation.since_rescale
        rest = self.payback if rescale.path is Path.RESTART else self.stabilisation
        if since is not None and since < rest:
            return f"the last rescale, {since:.0f} s ago, has not paid yet"
        lasting = min(self.longest, self.lasting * enough_for(case.situation, executors))
        within = max(self.payback, lasting)
        if saved <= rescale.break_even(within):
            return _too_dear(rescale, within)
        if rescale.path is Path.LIVE:
            back = wanted_again(case.situation, executors)
        else:
            back = self._back(case, executors, choice.best.executors)
        both_ways = self._there_and_back(case, choice, rescale)
        if not isinstance(back, NoData) and saved <= both_ways.break_even(back):
            return f"more are needed again in about {back:.0f} s, and {_too_dear(both_ways, back)}"
        if is_rising(case.situation, self.stabilisation, self.headroom):
            return "the load is rising"
        return None

    def _back(self, case: Case, executors: int, most: int) -> Measured:
        """The seconds after which more than so many may be needed again, as it has been before."""
        later = case.later
        if later.peak <= 0:
            return NoData("nothing will arrive")

        def is_enough(rate: float) -> bool:
            trial = _scaled(later, rate / later.peak)
            found = self._choice(case, trial, candidates=(executors, most))
            return found.chosen.executors <= executors

        return remaining(case.situation.history, is_enough, lasting=self.lasting)


def _decision(
    case: Case, choice: Choice, rescale: Rescale, wanted: int, executors: int, reason: str
) -> Decision:
    target, best = case.situation.targets.recovery, choice.best.recovery
    infeasible = target is not None and best > target
    if infeasible:
        least = f"{best:.0f} s at best" if best < INFINITE else "the job would not catch up"
        reason += f"; a recovery within {target:.0f} s cannot be kept: {least}"
    if choice.best.is_held_back:
        most = choice.best.sustained
        reason += (
            f"; batches of limited rows let at most {most:.0f} rows/s through: raise the limit"
        )
    expected = choice.of(executors)
    return replace(
        reply(case.situation, wanted, reason, executors=executors),
        path=rescale.path,
        candidates=choice.candidates(),
        expected_latency=_finite(expected.latency),
        expected_recovery=_finite(expected.recovery),
        smallest_recovery=_finite(best) if infeasible else None,
    )


def _stay(executors: int) -> str:
    return f"{format_executors(executors)} {'stays' if executors == 1 else 'stay'}"


def _too_dear(rescale: Rescale, within: float) -> str:
    """What is said of a rescale that costs more than it saves within so many seconds."""
    if rescale.outage == INFINITE:
        return "the job would not catch up after the rescale"
    outage, worth = f"an outage of {rescale.outage:.0f} s", rescale.break_even(within)
    if worth == INFINITE:
        return f"{outage} is not over within {within:.0f} s"
    if rescale.back > 0:
        outage += f", and one of {rescale.back:.0f} s on the way back"
    outage += f", {rescale.spent:.0f} s of it from the error budget," if rescale.spent > 0 else ""
    return f"{outage} is worth {worth:.1f} executors for {within:.0f} s"


def _seen_growth(situation: Situation, needed: int) -> float:
    """The executors by which the need has grown each second since the last rescale, as far as the load has, too.

    One more may be noise, and a forecast that became less sure is no growth.
    """
    since, now = situation.since_rescale, arriving(situation)
    if not since or isinstance(now, NoData) or now <= 0:
        return 0.0
    before = next((rate for at, rate in situation.history if at >= -since), now)
    grown = min(needed - situation.executors - 1, needed * (1 - before / now))
    return max(0.0, grown) / since


def _scaled(trial: Trial, factor: float) -> Trial:
    """The same trial with so many times the load."""
    scaled = _over(trial, trial.load.scaled(factor), trial.horizon)
    return replace(scaled, likely=factor * trial.likely)


def _over(trial: Trial, load: Load, horizon: float) -> Trial:
    """The same trial with another load and horizon, of which that much is expected."""
    return replace(
        trial,
        load=load,
        peak=peak(load, horizon),
        likely=peak(load, horizon),
        horizon=horizon,
        failures=moments(load, horizon),
    )


def _finite(number: float) -> float | None:
    return number if number < INFINITE else None
