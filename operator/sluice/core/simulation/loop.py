"""A run: a simulated job, watched, learned from, decided upon and changed, until its trace ends.

Every scrape is taken in when it can be read, every interval has a decision. What decides and what forecasts comes in
as functions, the same ones that real jobs get. What a decision costs is told by a clock from outside.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from sluice.core.deciding.decision import Decision
from sluice.core.deciding.situation import Forecast, Situation, Targets
from sluice.core.foreseen import likely_recovery
from sluice.core.learning.effects import Judged
from sluice.core.learning.experience import Experience
from sluice.core.learning.scrapes import Scrape
from sluice.core.learning.terms import Terms
from sluice.core.learning.watching import Watcher
from sluice.core.modelling.downtime import Cause
from sluice.core.series import Measured, NoData
from sluice.core.simulation.cohorts import Arrivals
from sluice.core.simulation.job import Batch, Failure, Loss, SimulatedJob
from sluice.core.simulation.metrics import Metrics
from sluice.core.simulation.plant import Plant
from sluice.core.simulation.trace import EPOCH, Trace

Decide = Callable[[Situation], Decision]
Foresee = Callable[[Situation], Forecast | NoData]
"""What is forecast in a situation."""

CAUSES = {Loss.DRIVER: Cause.DRIVER_LOSS, Loss.EXECUTOR: Cause.EXECUTOR_LOSS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What a policy is tried in. `interval` is the time between decisions, `experience` what was learned before.

    `spent` is the price of that learning in executor-seconds.
    """

    plant: Plant
    trace: Trace
    seed: int
    failures: Sequence[Failure] = ()
    executors: int | None = None
    """To begin with; None is enough for the beginning of the trace with half to spare."""
    interval: float = 60.0
    experience: Experience = field(default_factory=Experience)
    spent: float = 0.0

    def initial_executors(self) -> int:
        """The number of executors to begin with."""
        if self.executors is not None:
            return self.plant.bounds.clipped(self.executors)
        bounds = self.plant.bounds
        needed = 2 * float(self.trace.rates[:600].mean())
        sufficient = (
            count
            for count in range(bounds.smallest, bounds.largest + 1)
            if self.plant.capacity(count) >= needed
        )
        return next(sufficient, bounds.largest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """How things stood: the executors that were asked for and those that worked, the lag, and what was seen of it."""

    at: float
    load: float
    executors: int
    running: int
    capacity: float
    lag: float
    latency: Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A decision, when it was made, what there was before, and the processor seconds that it and its forecast took."""

    at: float
    before: int
    decision: Decision
    cpu: float
    forecasting: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Struck:
    """A failure that happened, and the recovery that the models predicted at that moment."""

    at: float
    loss: Loss
    executors: int
    predicted: Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """All that happened."""

    scenario: Scenario
    arrivals: Arrivals
    batches: Sequence[Batch]
    moments: Sequence[Moment]
    decisions: Sequence[Decided]
    struck: Sequence[Struck]
    executor_seconds: float
    judged: Sequence[Judged] = ()
    """What became of rescales; the id of a decision is its second."""


def terms_of(plant: Plant) -> Terms:
    """What the owner of a simulated job would declare."""
    return Terms(
        bounds=plant.bounds,
        targets=Targets(latency=plant.latency, recovery=plant.recovery),
        period=plant.period,
        most_rows=plant.most_rows,
        fetching=plant.fetching,
        live=plant.live,
        epoch=EPOCH,
    )


def no_clock() -> float:
    """A clock for runs whose price does not matter."""
    return 0.0


@dataclass
class _Loop:
    scenario: Scenario
    decide: Decide
    foresee: Foresee
    clock: Callable[[], float]

    def __post_init__(self) -> None:
        scenario, executors = self.scenario, self.scenario.initial_executors()
        plant = scenario.plant
        self.job = SimulatedJob(plant, scenario.trace, scenario.seed, executors, scenario.failures)
        self.metrics = Metrics(self.job, scenario.seed)
        self.watcher = Watcher(
            terms=terms_of(plant), executors=executors, experience=scenario.experience
        )
        self.unread: deque[Scrape | None] = deque()
        self.moments: list[Moment] = []
        self.decisions: list[Decided] = []
        self.struck: list[Struck] = []
        self.judged: list[Judged] = []

    def scrape(self) -> None:
        """Look at the job now."""
        job, scraped = self.job, self.metrics.scrape()
        self.unread.append(scraped)
        running = job.ready
        self.moments.append(
            Moment(
                at=job.now,
                load=float(job.arrivals.rates[min(int(job.now), len(job.arrivals.rates) - 1)]),
                executors=job.executors,
                running=running,
                capacity=self.scenario.plant.capacity(running) if running else 0.0,
                lag=job.lag,
                latency=scraped.latency if scraped else NoData("the driver is down"),
            )
        )

    def read(self) -> None:
        """Take in the oldest scrape that was not read yet."""
        scraped = self.unread.popleft()
        if scraped:
            self.watcher.saw(scraped, self.job.now)

    def strike(self, failure: Failure) -> None:
        """Note a failure, and let the watcher see it; one that found no driver is none."""
        if failure not in self.job.happened:
            return
        self.struck.append(
            Struck(
                at=failure.at,
                loss=failure.loss,
                executors=self.job.executors,
                predicted=self._predicted_recovery(failure),
            )
        )
        self.watcher.failed(CAUSES[failure.loss], failure.at)

    def decide_now(self) -> None:
        """Judge the last rescale, decide anew, and do it."""
        now = self.job.now
        self.judged += self.watcher.judge(now)
        situation = self.watcher.situation(now)
        began = self.clock()
        situation = replace(situation, forecast=self.foresee(situation))
        foreseen = self.clock()
        decision = self.decide(situation)
        decided = Decided(
            at=now,
            before=self.job.executors,
            decision=decision,
            cpu=self.clock() - foreseen,
            forecasting=foreseen - began,
        )
        self.decisions.append(decided)
        if decision.executors != self.job.executors:
            self.job.rescale(decision.executors, decision.path)
        self.watcher.decided(decision, now, f"{now:.0f}")

    def _predicted_recovery(self, failure: Failure) -> Measured:
        situation = self.watcher.situation(failure.at)
        situation = replace(situation, forecast=self.foresee(situation))
        return likely_recovery(situation, CAUSES[failure.loss])

    def run(self) -> Run:
        """Go through the trace."""
        scenario, end = self.scenario, float(self.scenario.trace.seconds)
        for at, act in self._agenda(end):
            self.job.advance(at)
            act()
        self.job.advance(end)
        return Run(
            scenario=scenario,
            arrivals=self.job.arrivals,
            batches=self.job.batches,
            moments=self.moments,
            decisions=self.decisions,
            struck=self.struck,
            executor_seconds=self.job.executor_seconds + scenario.spent,
            judged=self.judged,
        )

    def _agenda(self, end: float) -> list[tuple[float, Callable[[], None]]]:
        """What is to be done when; at one moment failures come first, and decisions last."""
        plant = self.scenario.plant
        scrapes = _steps(plant.scrape_interval, end)
        agenda: list[tuple[float, int, Callable[[], None]]] = [
            *((found.at, 0, partial(self.strike, found)) for found in self.scenario.failures),
            *((at, 1, self.scrape) for at in scrapes),
            *((at + plant.scrape_delay, 2, self.read) for at in scrapes),
            *((at, 3, self.decide_now) for at in _steps(self.scenario.interval, end)),
        ]
        ordered = sorted(agenda, key=lambda entry: entry[:2])
        return [(at, act) for at, _, act in ordered if at < end]


def _steps(step: float, end: float) -> list[float]:
    return [step * index for index in range(1, int(end / step) + 1) if step * index < end]


def run(
    scenario: Scenario, decide: Decide, foresee: Foresee, clock: Callable[[], float] = no_clock
) -> Run:
    """Run a scenario."""
    return _Loop(scenario, decide, foresee, clock).run()


def last_value(situation: Situation) -> Forecast | NoData:
    """The forecast that all stays as it is, with a range of a tenth."""
    arrival = situation.observed.arrival
    if isinstance(arrival, NoData):
        return arrival
    times = tuple(60.0 * step for step in range(1, 16))
    return Forecast(
        times=times,
        rates=(arrival,) * 15,
        low=(0.9 * arrival,) * 15,
        high=(1.1 * arrival,) * 15,
        model="last-value",
    )
