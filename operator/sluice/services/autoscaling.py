"""Decide how many executors each job should have, as often as it declares: gather, forecast, decide, write down, tell.

What is decided is done by the reconciler, which remembers it in the status first. What was learned, and the decisions
themselves, are kept in a ConfigMap beside the job, so that another operator goes on where this one stopped.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

from sluice import logs
from sluice.core import autoscaling
from sluice.core.application import JobKey, StreamJob
from sluice.core.chosen import Decided, wanted_executors
from sluice.core.deciding.deciding import decide
from sluice.core.deciding.decision import Decision
from sluice.core.deciding.guards import MODE
from sluice.core.deciding.policies.named import FORECASTING
from sluice.core.deciding.situation import Mode, Situation
from sluice.core.deciding.storing import Record as Stored
from sluice.core.forecasting.forecast import Forecast
from sluice.core.foreseen import foreseen, likely_recovery
from sluice.core.learning.history import COARSE, FINE, LONGEST, MINUTE, History
from sluice.core.learning.remembering import recalled
from sluice.core.learning.watching import Watcher
from sluice.core.modelling.capacity import CapacityModel
from sluice.core.modelling.downtime import Cause
from sluice.core.observations import DriverPod
from sluice.core.profiling.records import LivePoint, Point
from sluice.core.record import Record
from sluice.core.running import is_as_declared
from sluice.core.series import NoData
from sluice.core.staffing import ROOM_AGAIN
from sluice.errors import (
    ClusterUnavailable,
    CorruptState,
    InvalidSpec,
    MetricsUnavailable,
    NameTaken,
    NotFound,
)
from sluice.manifests import notebook
from sluice.manifests.notebook import Notebook
from sluice.manifests.status import read_record
from sluice.ports import CONFIG_MAPS, Clock, Cluster, Forecasts, Metrics
from sluice.services import courses
from sluice.services.courses import Course
from sluice.services.fleet import Fleet
from sluice.services.having import Children
from sluice.services.measuring import Measuring
from sluice.services.polling import Poller
from sluice.services.workqueue import WorkQueue

log = logging.getLogger(__name__)

_ARRIVALS = (
    'sum(rate(sluice_query_arrived_rows_total{{namespace="{namespace}",job="{job}"}}[{width}]))'
)
_PAST = ((LONGEST, FINE, COARSE, "5m"), (FINE, 0.0, MINUTE, "2m"))
"""How the load of the past is asked for: from and until so many seconds ago, the seconds between two samples, and the
time that each is the mean of. A server gives 11,000 samples at once: two weeks of minutes would be more.
"""

_LONGEST_MEAN = timedelta(minutes=5)
"""After that time no mean has anything of what was before the job."""


class Autoscaler:
    """The newest decision of each job that is scaled; `told` is called when there is another one."""

    def __init__(
        self,
        *,
        fleet: Fleet,
        poller: Poller,
        measuring: Measuring,
        metrics: Metrics | None,
        forecasts: Forecasts,
        cluster: Cluster,
        clock: Clock,
        told: Callable[[JobKey], None],
        profiled: Callable[
            [StreamJob, DriverPod | None], Mapping[str, Sequence[Point | LivePoint]]
        ],
    ) -> None:
        """`profiled` gives what profiles have measured of a job with such a driver, by their uids."""
        self._fleet = fleet
        self._poller = poller
        self._measuring = measuring
        self._metrics = metrics
        self._forecasts = forecasts
        self._cluster = cluster
        self._children = Children(cluster)
        self._clock = clock
        self._told = told
        self._profiled = profiled
        self._courses: dict[JobKey, Course] = {}
        self._begun: dict[JobKey, str] = {}
        self._awaited: dict[JobKey, timedelta] = {}
        """The interval after which the next decision of each job is due."""
        self.queue: WorkQueue[JobKey] = WorkQueue(self._decide, fields=lambda key: key.fields)

    def decided(self, key: JobKey) -> Decided | None:
        """The newest decision of a job since this process leads."""
        course = self.course(key)
        return course.decided if course is not None else None

    def learned(self, key: JobKey) -> CapacityModel:
        """What is known of a job's capacity, by its profiles and by its own batches."""
        course = self.course(key)
        return CapacityModel() if course is None else course.watcher.experience.models.capacity

    def course(self, key: JobKey) -> Course | None:
        """What is known of a job that is scaled, and not of a former one that had its name."""
        course, resource = self._courses.get(key), self._fleet.job(key)
        if course is None or resource is None or course.uid != resource["metadata"]["uid"]:
            return None
        return course

    def heard(self, key: JobKey) -> None:
        """An agent may have told something new."""
        job = self._scaled(key)
        if job is None:
            self.forget(key)
            return
        course, driver = self.course(key), self._fleet.driver(key)
        if self._begun.get(key) != job.uid:
            self._begun[key] = job.uid
            self.queue.add(key)
        if course is not None and driver is not None:
            report, _ = self._poller.report(key, driver)
            if report is not None and course.is_news(report):
                # What became of its driver first: a batch after a loss tells how long that was.
                course.follow(job, self._record(key), report.at.timestamp())
                course.hear(job, report, driver)

    def changed(self, key: JobKey) -> None:
        """A job has changed: a person may have approved what waits for it, or declared another interval."""
        job = self._scaled(key)
        if job is None:
            return
        interval = job.scaling.interval
        if self._awaited.get(key, interval) != interval:
            self._awaited[key] = interval
            self.queue.add_after(key, interval.total_seconds())
        if _approved(job, self.decided(key) or self._record(key).decided) is not None:
            self.queue.add(key)

    def forget(self, key: JobKey) -> None:
        """Drop what is known of a job that is gone."""
        self._courses.pop(key, None)
        self._begun.pop(key, None)
        self._awaited.pop(key, None)

    def start_afresh(self) -> None:
        """Forget what was remembered in this process: another one may have led since."""
        self._courses.clear()
        self._begun.clear()
        self._awaited.clear()

    async def _decide(self, key: JobKey) -> float | None:
        job = self._scaled(key)
        if job is None:
            self.forget(key)
            return None
        now, record = self._clock.now(), self._record(key)
        course = self.course(key)
        if course is None:
            course = self._courses[key] = await self._course_of(job, record, now)
        course.follow(job, record, now.timestamp())
        if is_as_declared(job, record):
            profiled = self._profiled(job, self._fleet.driver(key))
            course.learn(profiled, autoscaling.percentile_of(job))
        if course.report is not None and not job.suspend and job.paused_by is None:
            await self._decide_now(job, record, course, now)
        self._awaited[key] = job.scaling.interval
        return job.scaling.interval.total_seconds()

    async def _decide_now(
        self, job: StreamJob, record: Record, course: Course, now: datetime
    ) -> None:
        course.judge(now.timestamp())
        before = course.decided or record.decided
        approved = _approved(job, before)
        situation = await self._situation(job, course, now)
        stored = Stored(
            situation=situation,
            policy=autoscaling.policy_of(job, situation.models),
            settings=autoscaling.settings_of(
                job,
                self._measuring.of(job.key),
                course.report,
                approved=approved,
                room=_room(record, situation, now),
            ),
        )
        decision = decide(stored.situation, stored.policy, stored.settings)
        decided = _decided(course, before, decision, situation, now)
        if decision.veto is None and approved == decision.wanted:
            decided = replace(decided, approval=job.approved)
        changes = decision.executors != situation.executors
        course.notebook = course.notebook.with_decision(decided.id, stored.to_data(), keep=changes)
        course.watcher.decided(decision, now.timestamp(), decided.id)
        await self._write_down(job, course)
        course.has_decided(decided, foreseen(situation))
        with logs.about(decision=decided.id):
            log.log(
                logging.INFO if changes else logging.DEBUG,
                "%d executors, before %d: %s",
                decision.executors,
                situation.executors,
                decision.reason,
            )
        self._told(job.key)

    async def _situation(self, job: StreamJob, course: Course, now: datetime) -> Situation:
        situation = course.watcher.situation(now.timestamp())
        told = self._measuring.of(job.key)
        age = max(situation.observed.age, autoscaling.seconds_unseen(told, now))
        forecast: Forecast | NoData = NoData("this policy asks for no forecast")
        if job.scaling.policy in FORECASTING:
            course.forecaster.horizon = job.scaling.horizon.total_seconds()
            course.forecaster.calendar = job.scaling.calendar
            course.forecaster, forecast = await self._forecasts.foresee(
                course.forecaster, situation.history, situation.at
            )
        observed = replace(situation.observed, age=age)
        return replace(situation, observed=observed, forecast=forecast)

    async def _course_of(self, job: StreamJob, record: Record, now: datetime) -> Course:
        """Go on with what was learned and measured before."""
        # This loads numpy, which an operator without scaled jobs does not need.
        from sluice.core.learning.foreseeing import Forecaster

        known = await self._read(job)
        watcher = self._recalled(job, record, known, now)
        for away in record.recoveries.past:
            # What was learned may be older: whoever led before may not have come to write it down.
            courses.know_absence(watcher, away.cause, away.began.timestamp())
        watcher.history = await self._history(job, now)
        return Course(
            uid=job.uid,
            watcher=watcher,
            forecaster=Forecaster(),
            notebook=known,
            absences=courses.beginnings(record.recoveries.past),
            taught=courses.taught(known.memory),
            key=courses.program(known.memory),
            share=courses.share_of(record),
        )

    def _recalled(self, job: StreamJob, record: Record, known: Notebook, now: datetime) -> Watcher:
        terms = autoscaling.terms_of(job, None)
        executors = wanted_executors(job, record.chosen)
        if known.memory:
            try:
                return recalled(known.memory, terms, executors, now.timestamp())
            except CorruptState as error:
                log.warning("%s", error)
        return Watcher(terms=terms, executors=executors, disturbed_at=now.timestamp())

    async def _history(self, job: StreamJob, now: datetime) -> History:
        """The load as the metrics' server remembers it, without that of a job which had the name before."""
        if self._metrics is None:
            return History()
        known = History()
        try:
            for begin, end, step, width in _PAST:
                since, until = now - timedelta(seconds=begin), now - timedelta(seconds=end)
                since = max(since, job.created + _LONGEST_MEAN)
                if since >= until:
                    continue
                series = await self._metrics.history(
                    _ARRIVALS.format(namespace=job.key.namespace, job=job.key.name, width=width),
                    since,
                    until,
                    timedelta(seconds=step),
                )
                for at, rate in chain.from_iterable(one.samples for one in series[:1]):
                    known.add(at.timestamp(), rate)
        except MetricsUnavailable as error:
            log.warning("the load of the past is not known: %s", error)
        return known

    async def _read(self, job: StreamJob) -> Notebook:
        name = notebook.name(job.key.name)
        try:
            body = await self._cluster.get(CONFIG_MAPS, job.key.namespace, name)
        except NotFound:
            return Notebook()
        if not _is_owned(body, job):
            return Notebook()
        return notebook.read_notebook(body)

    async def _write_down(self, job: StreamJob, course: Course) -> None:
        course.notebook = replace(course.notebook, memory=course.memory())
        try:
            await self._children.have(notebook.notebook_map(job, course.notebook), is_new=False)
        except (ClusterUnavailable, InvalidSpec, NameTaken) as error:
            # None must keep the job from being scaled, and what was decided now would not be decided again: the
            # watcher knows of it already. The next decision brings it, too.
            log.warning("what was learned and decided cannot be kept: %s", error)

    def _record(self, key: JobKey) -> Record:
        resource = self._fleet.job(key) or {}
        return read_record(resource.get("status") or {})

    def _scaled(self, key: JobKey) -> StreamJob | None:
        """The job, if decisions are wanted of it."""
        if self._fleet.job(key) is None:
            return None
        job = self._fleet.declared(key)
        if not isinstance(job, StreamJob) or job.scaling.mode is Mode.OFF:
            return None
        return job


def _decided(
    course: Course,
    before: Decided | None,
    decision: Decision,
    situation: Situation,
    now: datetime,
) -> Decided:
    id = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    return Decided(
        id=id,
        at=now,
        before=situation.executors,
        incarnation=course.sight.incarnation if course.sight is not None else 0,
        decision=decision,
        likely_recovery=_likely_recovery(situation, decision),
        pending=_pending(before, decision, situation, id),
    )


def _likely_recovery(situation: Situation, decision: Decision) -> float | None:
    """With the executors that are decided upon: it is compared with what comes after."""
    rescaled = replace(situation, executors=decision.executors)
    found = likely_recovery(rescaled, Cause.DRIVER_LOSS)
    return None if isinstance(found, NoData) else found


def _pending(
    before: Decided | None, decision: Decision, situation: Situation, id: str
) -> str | None:
    """The id of the first decision that wants what this one wants, as long as that waits for an approval."""
    if situation.mode is not Mode.APPROVE or decision.veto is None or decision.veto.guard != MODE:
        return None
    if before is not None and before.pending and before.decision.wanted == decision.wanted:
        return before.pending
    return id


def _room(record: Record, situation: Situation, now: datetime) -> int | None:
    """The most executors that are worth choosing now: no fewer than are wanted and there."""
    room = record.room
    # No longer than that is ever waited: a clock was set back, or somebody has edited the status.
    if room is None or not now < room.until <= now + ROOM_AGAIN:
        return None
    return max(room.executors, min(situation.executors, situation.running))


def _approved(job: StreamJob, before: Decided | None) -> int | None:
    """The number of executors that a person has approved."""
    if before is None or before.pending is None or job.approved != before.pending:
        return None
    return before.decision.wanted


def _is_owned(body: Mapping[str, Any], job: StreamJob) -> bool:
    owners = body["metadata"].get("ownerReferences") or ()
    return any(owner.get("uid") == job.uid for owner in owners)
