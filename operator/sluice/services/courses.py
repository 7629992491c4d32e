"""The course of one job that is scaled: what is seen of it from report to report, and learned by that."""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sluice.core import autoscaling
from sluice.core.application import StreamJob
from sluice.core.chosen import CLOCKS_APART, Decided, wanted_executors
from sluice.core.deciding.judging import Outcome
from sluice.core.foreseen import Foreseen
from sluice.core.learning.remembering import memory_of
from sluice.core.learning.sights import Sight, look
from sluice.core.learning.watching import Watcher
from sluice.core.modelling.downtime import Cause
from sluice.core.modelling.rescaling import Path
from sluice.core.modelling.shapes import Slots
from sluice.core.observations import AgentReport, DriverPod
from sluice.core.parallelism import fixed_tasks
from sluice.core.profiling import teaching
from sluice.core.profiling.keys import running_key
from sluice.core.profiling.records import Key, LivePoint, Point
from sluice.core.quantities import CpuShare
from sluice.core.record import Record
from sluice.core.recoveries import Cause as Away
from sluice.core.recoveries import Recoveries, Recovery
from sluice.core.running import executors_of
from sluice.manifests.notebook import Notebook

if TYPE_CHECKING:
    from sluice.core.learning.foreseeing import Forecaster

SPACING = 15.0
"""Seconds between two looks: reports come more often, and tell the same."""

PROFILES = 20
"""Profiles that are gone and are remembered to have been learned from; what is not seen just now may come again."""

_PROFILES, _PROGRAM = "profiles", "program"


@dataclass
class Tally:
    """What was decided so far: by outcome and guard, by the way of a rescale, and by what that was."""

    decisions: Counter[tuple[str, str]] = field(
        default_factory=lambda: Counter({("changed", ""): 0, ("held", ""): 0})
    )
    rescales: Counter[Path] = field(default_factory=lambda: Counter(dict.fromkeys(Path, 0)))
    judged: Counter[Outcome] = field(default_factory=lambda: Counter(dict.fromkeys(Outcome, 0)))

    def count(self, decided: Decided) -> None:
        """One more decision."""
        decision = decided.decision
        if decision.veto is not None:
            self.decisions["kept", decision.veto.guard] += 1
        elif decided.changes:
            self.decisions["changed", ""] += 1
        else:
            self.decisions["held", ""] += 1
        if decided.changes:
            self.rescales[decision.path] += 1


@dataclass
class Course:
    """A job's watcher, what it saw last, its forecaster, its notebook and its newest decision.

    `absences` are the beginnings of the recoveries that are known; no clock that was set back hides a later one.
    `present` is the one that was under way at the last look.
    `predicted_recovery` is what was likely when a driver was last lost, in seconds. `taught` are the uids of the
    profiles whose points are among what was learned, the newest last. `key` is that of the program that was learned of.
    `share` is the CPU that the executors of the present driver were given while they ran, if they were.
    """

    uid: str
    watcher: Watcher
    forecaster: "Forecaster"
    notebook: Notebook
    sight: Sight | None = None
    report: AgentReport | None = None
    absences: frozenset[datetime] = frozenset()
    present: Recovery | None = None
    decided: Decided | None = None
    foreseen: Foreseen = field(default_factory=Foreseen)
    predicted_recovery: float | None = None
    tally: Tally = field(default_factory=Tally)
    taught: tuple[str, ...] = ()
    key: Key | None = None
    share: CpuShare | None = None

    def learn(self, profiles: Mapping[str, Sequence[Point | LivePoint]], percentile: float) -> None:
        """Take in what profiles have measured, each once. Of a mere bound nothing is learned.

        `percentile` is the share of the rows whose latency is decided by.
        """
        for uid, points in profiles.items():
            if uid not in self.taught:
                self.taught = _remembered((*self.taught, uid), profiles)
                self.watcher.experience = teaching.taught(
                    self.watcher.experience, points, percentile
                )

    def memory(self) -> dict[str, Any]:
        """What is kept of it in the notebook."""
        told = {_PROFILES: list(self.taught), _PROGRAM: _told_key(self.key)}
        return {**memory_of(self.watcher), **told}

    def is_news(self, report: AgentReport) -> bool:
        """Whether a report does not come so soon after the last that it says nothing new.

        One from before the last is news: the clock was set back, and would be waited for otherwise.
        """
        if self.sight is None:
            return True
        return not 0 <= report.at.timestamp() - self.sight.scrape.at < SPACING

    def hear(self, job: StreamJob, report: AgentReport, driver: DriverPod | None = None) -> None:
        """Take in a report, of that driver."""
        at = report.at.timestamp()
        if driver is not None:
            self._know_program(running_key(job, driver))
        before, self.report = self.sight, report
        slots = executors_of(job, driver).slots
        percentile = autoscaling.percentile_of(job)
        self.sight = look(report, before, percentile=percentile, cores=slots)
        self.watcher.terms = autoscaling.terms_of(job, report)
        if before is not None and at < before.scrape.at:
            self.watcher.set_back(at)
        self._know_slots(slots, report)
        self._know_pause(job)
        if _is_another_driver(before, self.sight) and not self.watcher.recovering:
            # Nobody lost it, as after a suspension: what has waited meanwhile is worked off all the same.
            self.watcher.interrupted(at)
        self._notice_lost_executors(before, at)
        self.watcher.saw(self.sight.scrape, at)

    def judge(self, now: float) -> None:
        """Judge the last rescale, if it is time, and keep the verdict with its decision."""
        for judged in self.watcher.judge(now):
            self.tally.judged[judged.verdict.outcome] += 1
            self.notebook = self.notebook.with_verdict(judged.decision, judged.verdict)

    def has_decided(self, decided: Decided, expected: Foreseen) -> None:
        """Take in the newest decision, and what was foreseen with it."""
        self.decided, self.foreseen = decided, expected
        self.tally.count(decided)

    def follow(self, job: StreamJob, record: Record, now: float) -> None:
        """Take in what has become of the job: other bounds, other numbers of executors, drivers that are gone."""
        self.watcher.terms = autoscaling.terms_of(job, self.report)
        wanted = wanted_executors(job, record.chosen)
        if wanted != self.watcher.executors and not self._is_under_way(record, now):
            self.watcher.rescaled(wanted, Path.LIVE, now)
        share = share_of(record)
        if share != self.share:
            self.share = share
            if share is not None:
                # With other CPU, what did harm before says nothing.
                self.watcher.reconfigured(now)
        before, self.present = self.present, record.recoveries.present
        if before is not None and not _is_of_one_loss(before, record.recoveries):
            self.watcher.interrupted(now)
        known, recoveries = self.absences, _all(record.recoveries)
        self.absences = beginnings(recoveries)
        for away in recoveries:
            if away.began not in known:
                self._lose_driver(away.cause, away.began.timestamp())

    def _is_under_way(self, record: Record, now: float) -> bool:
        """Whether the newest decision has not reached the job's record yet."""
        if self.decided is None or not self.decided.changes:
            return False
        chosen = record.chosen
        if chosen is None or chosen.decision == self.decided.id:
            return chosen is None
        # As for `newly_chosen`, a choice of the future is older than any decision: a clock was set back.
        latest = now + CLOCKS_APART.total_seconds()
        return not self.decided.at.timestamp() <= chosen.at.timestamp() <= latest

    def _lose_driver(self, cause: Away, at: float) -> None:
        match cause:
            case Away.EXECUTOR_LOSS:
                pass  # the agent's reports tell of executors, however they were lost
            case Away.DRIVER_LOSS | Away.NODE_LOSS:
                if self.decided is not None:
                    self.predicted_recovery = self.decided.likely_recovery
                self.watcher.failed(Cause.DRIVER_LOSS, at)
            case _:
                self.watcher.failed(Cause.RESCALE_RESTART, at)
        know_absence(self.watcher, cause, at)

    def _notice_lost_executors(self, before: Sight | None, at: float) -> None:
        """Fewer than were asked for, or others, where all were there before: a pod is replaced within one look."""
        now = self.sight
        assert now is not None
        if before is None or before.incarnation != now.incarnation:
            return
        asked = self.watcher.executors
        # An agent that does not tell who is there has not lost them all.
        gone = before.staff - now.staff if now.staff else frozenset()
        if before.scrape.running == asked and (gone or now.scrape.running < asked):
            self.watcher.failed(Cause.EXECUTOR_LOSS, at)

    def _know_pause(self, job: StreamJob) -> None:
        """When the next driver would be started if this one were lost."""
        pause = autoscaling.pause_of(job)
        self.watcher.experience = self.watcher.experience.with_pause(pause)

    def _know_slots(self, each: int, report: AgentReport) -> None:
        models = self.watcher.experience.models
        tasks = fixed_tasks(report, models.capacity.slots.tasks)
        slots = Slots(cores=each, tasks=tasks)
        if models.capacity.slots.cores != slots.cores:
            self.watcher.experience = self.watcher.experience.of_other(slots)
        elif models.capacity.slots != slots:
            capacity = replace(models.capacity, slots=slots)
            self.watcher.experience = replace(
                self.watcher.experience, models=replace(models, capacity=capacity)
            )

    def _know_program(self, key: Key) -> None:
        """What was learned of another program, or configuration, is dropped, and which profiles have taught it."""
        if self.key is not None and not key.agrees_with(self.key):
            experience = self.watcher.experience
            self.watcher.experience = experience.of_other(experience.models.capacity.slots)
            self.taught, self.key = (), None
        if self.key is None or self.key.digest is None:
            self.key = key


def _remembered(taught: Sequence[str], there: Container[str]) -> tuple[str, ...]:
    """Without the oldest that are gone. One that is there would teach again, in the place of what was learned since."""
    gone = [uid for uid in taught if uid not in there]
    forgotten = frozenset(gone[:-PROFILES])
    return tuple(uid for uid in taught if uid not in forgotten)


def share_of(record: Record) -> CpuShare | None:
    """The CPU that the executors of the present driver were given while they ran."""
    return None if record.resize is None else record.resize.share


def know_absence(watcher: Watcher, cause: Away, at: float) -> None:
    """What an absence of the driver says of the effects of rescales; one that it knows says nothing new."""
    match cause:
        case Away.SPEC_CHANGE:
            watcher.reconfigured(at)
        case Away.RESCALE:
            pass
        case _:
            watcher.spoiled(f"{cause} meanwhile", at)


def taught(memory: Mapping[str, Any]) -> tuple[str, ...]:
    """The profiles of which a notebook remembers that they were learned from."""
    known = memory.get(_PROFILES)
    return tuple(map(str, known)) if isinstance(known, list) else ()


def program(memory: Mapping[str, Any]) -> Key | None:
    """The program of which a notebook has learned; releases that did not tell programs apart kept none."""
    told = memory.get(_PROGRAM)
    if not isinstance(told, Mapping):
        return None
    digest = told.get("digest")
    return Key(
        image=str(told.get("image")),
        configuration=str(told.get("configuration")),
        digest=None if digest is None else str(digest),
    )


def _told_key(key: Key | None) -> Mapping[str, Any] | None:
    if key is None:
        return None
    return {"image": key.image, "configuration": key.configuration, "digest": key.digest}


def _is_of_one_loss(before: Recovery, now: Recoveries) -> bool:
    """Whether a recovery tells of the loss that began it: it is over, or waits for the same driver as before.

    One in which a further driver was lost tells of the program, or of whoever mended it; so does one for which nobody
    waits any more.
    """
    if before.committed is not None or before.began in beginnings(now.past):
        return True
    present = now.present
    return (
        present is not None
        and present.began == before.began
        and present.incarnation <= before.incarnation
    )


def _is_another_driver(before: Sight | None, now: Sight) -> bool:
    return before is not None and before.incarnation != now.incarnation


def beginnings(recoveries: Sequence[Recovery]) -> frozenset[datetime]:
    """When some began, by which they are told apart."""
    return frozenset(recovery.began for recovery in recoveries)


def _all(recoveries: Recoveries) -> tuple[Recovery, ...]:
    """Those that are over, and the present one: a short one may begin and end between two looks."""
    return recoveries.past if recoveries.present is None else (*recoveries.past, recoveries.present)
