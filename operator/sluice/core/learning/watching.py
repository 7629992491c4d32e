"""A job over time: what was seen of it and decided, as the situation that the next decision is made from.

The moment of a failure comes from outside, as Kubernetes tells the operator of pods that end. All else comes from
scrapes. Moments are in seconds of any clock; `Terms.epoch` says when it began. If it goes back, `set_back` is told.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from sluice.core.deciding.compacting import remembered
from sluice.core.deciding.decision import Decision
from sluice.core.deciding.judging import Reading, Trial, trial_of
from sluice.core.deciding.situation import (
    Activity,
    Batching,
    Observations,
    Situation,
    Wish,
)
from sluice.core.learning.batches import BatchReport
from sluice.core.learning.effects import Effects, Judged
from sluice.core.learning.experience import SETTLING, Experience
from sluice.core.learning.history import LONGEST, History
from sluice.core.learning.readings import BEFORE, LAGS, reading
from sluice.core.learning.scrapes import Scrape
from sluice.core.learning.terms import Terms
from sluice.core.modelling.downtime import Cause
from sluice.core.modelling.latency import LatencyPoint
from sluice.core.modelling.recovery import VARYING, Pace
from sluice.core.modelling.rescaling import Path
from sluice.core.series import Measured, NoData

RECENT = 60.0
"""Seconds over which rates and shares are averaged."""

CALM = 240.0
"""Seconds after a change or a recovery until latencies, which are those of two minutes, are ordinary again."""

WARM = 90.0
"""Seconds after the first batch until the rates of the last minute are those of executors that have worked before:
what a cold job does says nothing of what it could do.
"""

IDLE = 30.0
"""Seconds for which a driver tells of nothing to do, until the job counts as idle: the first look may be too early."""

LONGEST_RESCALE = 300.0
"""Seconds after which executors that are still not there are not waited for."""

ALIKE = 0.1
"""A backlog is over when a batch differs from the one before by less than this share."""

FULL = 0.9
"""A batch has all the rows that a limit allows if it has this share of them: Kafka's partitions share the limit, and
the share of each is rounded down.
"""

LONGEST_RECOVERY = 3600.0
"""Seconds after which a job is taken as it is: what was learned of its batches may be wrong, or it is too small."""


@dataclass
class Watcher:
    """What is known of a job, from one decision to the next. `executors` is the number that was asked for last."""

    terms: Terms
    executors: int
    experience: Experience = field(default_factory=Experience)
    history: History = field(default_factory=History)
    scrapes: list[Scrape] = field(default_factory=list)
    wishes: list[Wish] = field(default_factory=list)
    notes: Mapping[str, float] = field(default_factory=dict)
    effects: Effects = field(default_factory=Effects)
    lags: list[tuple[float, float]] = field(default_factory=list)
    rescaled_at: float | None = None
    changed_at: float = 0.0
    disturbed_at: float = 0.0
    first_batch: float | None = None
    last_batch: BatchReport | None = None
    recovering: bool = False
    idle_since: float | None = None

    def failed(self, cause: Cause, at: float) -> None:
        """A failure was seen."""
        self.experience = self.experience.with_outage(cause, at, self.executors)
        self.changed_at = self.disturbed_at = at
        self.recovering, self.idle_since = True, None
        if cause is not Cause.RESCALE_RESTART:
            self.spoiled(f"{cause.value} meanwhile", at)
        if cause is Cause.DRIVER_LOSS:
            self.first_batch = None

    def interrupted(self, at: float) -> None:
        """The job is away, and how long it stays so tells nothing of its failures: people have a part in it."""
        self.experience = self.experience.without_outage()
        self.changed_at = self.disturbed_at = at
        self.recovering, self.idle_since, self.first_batch = True, None, None
        self.spoiled("no driver meanwhile", at)

    def spoiled(self, why: str, at: float) -> None:
        """Something has happened that explains whatever is observed after it."""
        self.effects = self.effects.spoiled(why, self.terms.epoch + at)

    def reconfigured(self, at: float) -> None:
        """The job has been changed: what did harm before says nothing of it."""
        self.effects = self.effects.reconfigured(self.terms.epoch + at)

    def set_back(self, at: float) -> None:
        """The clock was set back to a moment: none that it has told before is waited for until it comes again."""
        self.effects = self.effects.spoiled("the clock was set back meanwhile", math.inf)
        self.experience = replace(self.experience.without_outage(), latency_at=0.0)
        self.scrapes, self.lags, self.idle_since = [], [], None
        self.changed_at = min(self.changed_at, at)
        self.disturbed_at = min(self.disturbed_at, at)
        if self.rescaled_at is not None:
            self.rescaled_at = min(self.rescaled_at, at)
        if self.first_batch is not None:
            self.first_batch = min(self.first_batch, at)

    def judge(self, now: float) -> tuple[Judged, ...]:
        """Judge the last rescale if it is time, and tell all that was judged since the last time."""
        if self.effects.trial is not None:
            self.effects = self.effects.judged(
                self._reading_of(self.effects.trial, now),
                self.terms.epoch + now,
                settling=self.terms.settling,
                bound=self.terms.targets.latency,
            )
        found, self.effects = self.effects.untold, self.effects.told()
        return found

    def decided(self, decision: Decision, at: float, id: str = "") -> None:
        """Remember a decision of that id, and what it changed; the effect of an undo is not judged."""
        applied = decision.executors != self.executors
        self.notes = decision.notes
        former = remembered(self.wishes, at, self.terms.epoch)
        self.wishes = [*former, Wish(at=at, executors=decision.wanted, applied=applied)]
        if applied:
            trial = self._trial(decision, at, id)
            self.rescaled(decision.executors, decision.path, at)
            self.effects = self.effects.tried(trial)

    def rescaled(self, executors: int, path: Path, at: float) -> None:
        """Another number of executors was asked for."""
        self.effects = self.effects.left()
        cause = path.cause(self.executors, executors)
        self.experience = self.experience.with_outage(cause, at, executors)
        self.executors = executors
        self.rescaled_at = self.changed_at = self.disturbed_at = at
        self.idle_since = None
        if path is Path.RESTART:
            self.first_batch, self.recovering = None, True

    def saw(self, scrape: Scrape, now: float) -> None:
        """Take in a scrape."""
        self.scrapes = [known for known in self.scrapes if known.at > scrape.at - RECENT]
        self.scrapes.append(scrape)
        if not isinstance(scrape.arrival, NoData):
            self.history.add(scrape.at, scrape.arrival)
        self.lags = [known for known in self.lags if known[0] > scrape.at - LAGS]
        if not isinstance(scrape.lag, NoData):
            self.lags.append((scrape.at, scrape.lag))
        scrape = replace(scrape, batches=tuple(map(self._with_wait, scrape.batches)))
        if scrape.batches:
            self._judge_recovery(scrape.batches)
            self.last_batch = scrape.batches[-1]
            if self.first_batch is None and self.last_batch.start >= self.changed_at:
                self.first_batch = self.last_batch.start
        if scrape.start is not None:
            self.experience = self.experience.with_start(scrape.start, scrape.batches)
        self.experience = self.experience.with_batches(scrape.batches, now)
        self._notice_idleness(scrape)
        self._learn_latency(scrape, now)

    def situation(self, now: float) -> Situation:
        """All that a decision is made from, but the forecast."""
        newest = self.scrapes[-1] if self.scrapes else None
        experience = self.experience
        return Situation(
            at=self.terms.epoch + now,
            bounds=self.terms.bounds,
            executors=self.executors,
            running=newest.running if newest else 0,
            observed=self._observed(newest, now),
            history=tuple((at - now, rate) for at, rate in self.history.since(now - LONGEST)),
            models=experience.models_now(),
            targets=self.terms.targets,
            batching=self._batching(),
            activity=self._activity(newest, now),
            mode=self.terms.mode,
            uptime=self._uptime(now),
            since_rescale=now - self.rescaled_at if self.rescaled_at is not None else None,
            live=self.terms.live,
            wishes=tuple(
                Wish(at=wish.at - now, executors=wish.executors, applied=wish.applied)
                for wish in self.wishes
            ),
            notes=self.notes,
            harms=self.effects.harms,
        )

    def _observed(self, newest: Scrape | None, now: float) -> Observations:
        if newest is None:
            return Observations(age=now)
        recent = [scrape for scrape in self.scrapes if scrape.at > now - RECENT]
        return Observations(
            arrival=_mean([scrape.arrival for scrape in recent]),
            processing=_mean([scrape.processing for scrape in recent]),
            lag=newest.lag,
            latency=newest.latency,
            cpu=_mean([scrape.cpu for scrape in recent]),
            busy=_mean([scrape.busy for scrape in recent]),
            commit_age=newest.at - self.last_batch.end if self.last_batch else NO_BATCH,
            batch=self.last_batch.seconds if self.last_batch else NO_BATCH,
            in_flight=newest.in_flight,
            queued=newest.queued,
            state=newest.state,
            age=now - newest.at,
        )

    def _batching(self) -> Batching:
        return Batching(
            overhead=self.experience.overhead,
            shared=self.experience.shared,
            period=self.terms.period,
            most_rows=self.terms.most_rows,
            fetching=self.terms.fetching,
            cores=self.experience.models.capacity.slots.cores,
        )

    def _activity(self, newest: Scrape | None, now: float) -> Activity:
        if newest is None or (self.last_batch is None and self.first_batch is None):
            return Activity.STARTING
        if self.recovering:
            return Activity.RECOVERING
        if not self.experience.models.capacity.points and self._uptime(now) < WARM:
            return Activity.STARTING
        if self.first_batch is None or (newest.running != self.executors and self._is_young(now)):
            return Activity.RESCALING
        return Activity.STEADY

    def _uptime(self, now: float) -> float:
        return now - self.first_batch if self.first_batch is not None else 0.0

    def _is_young(self, now: float) -> bool:
        """Whether executors may still be starting: where the cluster has no room for them, others are decided upon."""
        return self.rescaled_at is not None and now - self.rescaled_at < LONGEST_RESCALE

    def _notice_idleness(self, scrape: Scrape) -> None:
        """A job with nothing to do has no batch that could show that it is there again; its driver says so."""
        if not scrape.is_idle or scrape.at < self.changed_at:
            self.idle_since = None
            return
        self.idle_since = scrape.at if self.idle_since is None else self.idle_since
        if scrape.at - self.idle_since >= IDLE:
            self.recovering = False
            self.first_batch = self.idle_since if self.first_batch is None else self.first_batch
            self.experience = self.experience.without_outage()

    def _judge_recovery(self, batches: Sequence[BatchReport]) -> None:
        known = batches if self.last_batch is None else (self.last_batch, *batches)
        since = [batch for batch in known if batch.start >= self.changed_at]
        if not self.recovering or len(since) < 2:
            return
        before, batch = since[-2:]
        if batch.end - self.changed_at > LONGEST_RECOVERY or self._is_ordinary(before, batch):
            self.recovering = False
            self.disturbed_at = batch.end

    def _is_ordinary(self, before: BatchReport, batch: BatchReport) -> bool:
        """Whether a batch only took what came during the one before: each batch of a recovery is smaller.

        At a utilisation of 0.9 and more it is so by less than ALIKE from the first one on: then its length tells.
        """
        if self._is_full(batch):
            return False
        if batch.seconds <= self.terms.period:
            return True
        if batch.seconds > VARYING * self._ordinary(batch.executors):
            return False
        # What a cold batch took longer comes with the next one, which so may be as large.
        return not before.cold and batch.rows >= (1 - ALIKE) * before.rows

    def _is_full(self, batch: BatchReport) -> bool:
        most = self.terms.most_rows
        return most is not None and batch.read >= FULL * most

    def _with_wait(self, batch: BatchReport) -> BatchReport:
        """The batch with what its tasks have waited for rows: none where a limit has left some."""
        fetching, cores = self.terms.fetching, self.experience.models.capacity.slots.cores
        interval = batch.interval or 0.0
        if fetching is None or interval <= 0 or self._is_full(batch):
            return batch
        waited = fetching.waited(batch.executors * cores, batch.rows / interval, batch.rows)
        return replace(batch, waited=waited)

    def _ordinary(self, executors: int) -> float:
        """The seconds of a batch when nothing waits beside, by what was learned; infinite where that does not tell."""
        capacity = self.experience.models.capacity.fitted()
        arrival = _mean([scrape.arrival for scrape in self.scrapes])
        if isinstance(capacity, NoData) or isinstance(arrival, NoData):
            return math.inf
        batching = self._batching().on(executors, arrival)
        pace = Pace(capacity=capacity.rate(executors), overhead=batching.overhead)
        return pace.ordinary(arrival) or math.inf

    def _trial(self, decision: Decision, at: float, id: str) -> Trial | None:
        """A rescale that is about to be done."""
        if not self.scrapes:
            return None
        before = self._reading(self.scrapes[-1], at - BEFORE)
        return trial_of(decision, id, self.terms.epoch + at, former=self.executors, before=before)

    def _reading_of(self, trial: Trial, now: float) -> Reading | NoData:
        """What a job shows since it was rescaled, if it is steady."""
        newest = self.scrapes[-1] if self.scrapes else None
        activity = self._activity(newest, now)
        if newest is None or now - newest.at > RECENT:
            return NoData("nothing was seen of the job in the last minute")
        if activity is not Activity.STEADY:
            return NoData(f"the job is {activity.value.lower()}")
        if newest.running != self.executors:
            return NoData(f"{newest.running} of {self.executors} executors are there")
        if not self._is_calm(newest, now):
            return NoData(f"the job has been disturbed {now - self.disturbed_at:.0f} s ago")
        return self._reading(newest, trial.at - self.terms.epoch)

    def _reading(self, newest: Scrape, since: float) -> Reading:
        settled = self.changed_at + SETTLING
        batch = self.last_batch.seconds if self.last_batch is not None else 0.0
        return reading(
            newest,
            self.history.since(since),
            (sample for sample in self.lags if sample[0] >= settled),
            batch=max(batch, self.terms.period),
        )

    def _is_calm(self, scrape: Scrape, now: float) -> bool:
        """Whether latencies are ordinary."""
        disturbed = now - self.disturbed_at < CALM
        return not disturbed and not self.recovering and scrape.running == self.executors

    def _learn_latency(self, scrape: Scrape, now: float) -> None:
        arrival = _mean([known.arrival for known in self.scrapes])
        if not self._is_calm(scrape, now):
            return
        if isinstance(scrape.latency, NoData) or isinstance(arrival, NoData):
            return
        point = LatencyPoint(executors=scrape.running, rate=arrival, seconds=scrape.latency)
        self.experience = self.experience.with_latency(point, now)


NO_BATCH = NoData("no batch has been committed yet")


def _mean(numbers: list[Measured]) -> Measured:
    known = [number for number in numbers if not isinstance(number, NoData)]
    return fmean(known) if known else NoData("nothing was measured in the last minute")
