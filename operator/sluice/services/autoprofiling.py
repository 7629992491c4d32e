"""Profile jobs by themselves, where spec.profiling says so: look each minute, decide in the core, make a StreamProfile.

What is made is remembered by itself: the number in a profile's name follows from the profiles that are there, so an
operator that ends in between makes the same one again, and is refused. What a profile does is `Profiler`'s affair.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from sluice.core.application import JobKey, StreamJob
from sluice.core.chosen import Decided
from sluice.core.modelling.capacity import CapacityModel
from sluice.core.news import News
from sluice.core.observations import ProfilingOutlook
from sluice.core.profiling import budget
from sluice.core.profiling.records import Reason
from sluice.core.profiling.usage import Usage
from sluice.core.profiling.wanting import (
    Hold,
    NotNow,
    Production,
    WantProfile,
    wanted_profile,
)
from sluice.core.quantities import format_count, format_duration
from sluice.core.running import executors_of
from sluice.errors import Conflict, InvalidSpec, NotAllowed, NotFound
from sluice.manifests.profiling.automatic import automatic_profile
from sluice.manifests.status import read_record
from sluice.ports import STREAM_PROFILES, Clock, Cluster
from sluice.services.copyviews import CopyViews
from sluice.services.fleet import Fleet
from sluice.services.ledgers import Ledgers
from sluice.services.profiling import Profiler
from sluice.services.telling import announce
from sluice.services.workqueue import WorkQueue

log = logging.getLogger(__name__)

EVERY = 60.0
"""Seconds between two looks at a job."""


@dataclass(frozen=True, slots=True)
class _Look:
    """What was last seen and said of a job of that uid; nothing is said before the first look."""

    uid: str
    usage: Usage = field(default_factory=Usage)
    outlook: ProfilingOutlook | None = None


class AutoProfiler:
    """The one maker of automatic profiles; `told` is called when there is something new to tell of a job."""

    def __init__(
        self,
        *,
        fleet: Fleet,
        ledgers: Ledgers,
        profiler: Profiler,
        views: CopyViews,
        decided: Callable[[JobKey], Decided | None],
        learned: Callable[[JobKey], CapacityModel],
        cluster: Cluster,
        clock: Clock,
        leads: Callable[[], bool],
        told: Callable[[JobKey], None],
    ) -> None:
        """`decided` gives a job's newest decision, `learned` what is known of its capacity."""
        self._fleet = fleet
        self._ledgers = ledgers
        self._profiler = profiler
        self._views = views
        self._decided = decided
        self._learned = learned
        self._cluster = cluster
        self._clock = clock
        self._leads = leads
        self._told = told
        self._looks: dict[JobKey, _Look] = {}
        self.queue: WorkQueue[JobKey] = WorkQueue(self._look, fields=lambda key: key.fields)

    def outlook(self, key: JobKey) -> ProfilingOutlook | None:
        """What there is to tell of a job; None if it is not profiled by itself, or not looked at yet."""
        look = self._looks.get(key)
        return look.outlook if look is not None and self._enabled(key) is not None else None

    def heard(self, key: JobKey) -> None:
        """A job has changed, or its agent has told something: it may be one that is to be profiled."""
        job, look = self._enabled(key), self._looks.get(key)
        if job is None:
            self._looks.pop(key, None)
        elif look is None or look.uid != job.uid:
            self._looks[key] = _Look(job.uid)
            self.queue.add(key)

    def start_afresh(self) -> None:
        """Forget what was seen in this process: another one may have led since."""
        self._looks.clear()

    async def _look(self, key: JobKey) -> float | None:
        job, look = self._enabled(key), self._looks.get(key)
        if job is None or look is None or not self._leads():
            self._looks.pop(key, None)
            return None
        now = self._clock.now()
        usage = look.usage.with_cores(self._cores(job), now)
        decided = await self._acted(job, self._production(job, usage, now), now)
        ledger = self._ledgers.of(job, now)
        outlook = replace(
            self._ledgers.newest(job),
            points=", ".join(f"{one.executors}: {format_count(one.rate)}" for one in ledger.points),
            reason=str(decided.reason),
            message=decided.message,
            until=decided.until,
        )
        self._looks[key] = _Look(job.uid, usage, outlook)
        if outlook != look.outlook:
            self._told(key)
        await self._sweep(job, now)
        return EVERY

    def _production(self, job: StreamJob, usage: Usage, now: datetime) -> Production:
        driver, resource = self._fleet.driver(job.key), self._fleet.job(job.key) or {}
        full, decided = self._views.without_room(), self._decided(job.key)
        learned = self._learned(job.key)
        return Production(
            record=read_record(resource.get("status") or {}),
            running=self._fleet.executors_running(job.key),
            grows=decided is not None and decided.grows,
            without_room=str(full) if full is not None else None,
            tasks=self._views.tasks(job.key, learned.slots.tasks),
            capacity=learned.points,
            core_seconds=usage.core_seconds(
                now,
                since=driver.started if driver is not None else None,
                least=budget.cores(job, job.executors.minimum),
            ),
        )

    def _cores(self, job: StreamJob) -> float:
        driver = self._fleet.driver(job.key)
        if driver is None or driver.started is None or driver.is_over:
            return 0.0
        running = replace(job, executors=executors_of(job, driver))
        return budget.cores(running, self._fleet.executors_running(job.key))

    async def _acted(self, job: StreamJob, production: Production, now: datetime) -> NotNow:
        """Make a profile if one is wanted; why none begins after that."""
        decided = wanted_profile(job, production, self._ledgers.of(job, now), now)
        if isinstance(decided, NotNow):
            return decided
        # What was seen of profiles may be old, and what it costs cannot be taken back: ask.
        try:
            async for body in self._cluster.each(STREAM_PROFILES, job.key.namespace):
                self._profiler.changed(body)
        except (NotFound, NotAllowed) as error:
            return NotNow(
                reason=Reason.REFUSED, message=f"The cluster shows no StreamProfiles: {error}"
            )
        decided = wanted_profile(job, production, self._ledgers.of(job, now), now)
        return decided if isinstance(decided, NotNow) else await self._make(job, decided)

    async def _make(self, job: StreamJob, wanted: WantProfile) -> NotNow:
        """Make the profile, and say that it is under way; or why the cluster does not take it."""
        body = automatic_profile(job, self._ledgers.next_number(job.key), wanted)
        name = body["metadata"]["name"]
        try:
            made = await self._cluster.create(STREAM_PROFILES, body)
        except Conflict:
            # A request whose answer was lost, or somebody who was faster; it is listed at the next look.
            return NotNow(reason=Hold.UNDER_WAY, message=f"{name} is there already.")
        except (InvalidSpec, NotFound, NotAllowed) as error:
            return NotNow(reason=Reason.REFUSED, message=f"The cluster refused {name}: {error}")
        news = News(reason="ProfileStarting", message=_told(name, wanted, job))
        await announce(self._cluster, self._clock, "StreamJob", job.key, job.uid, news)
        self._profiler.changed(made)
        return NotNow(reason=Hold.UNDER_WAY, message=f"{name} is under way.")

    async def _sweep(self, job: StreamJob, now: datetime) -> None:
        """Remove old profiles that nothing needs any more."""
        for name, uid in self._ledgers.superfluous(job, now):
            log.info("removing the old profile %s", name)
            await self._cluster.delete(STREAM_PROFILES, job.key.namespace, name, uid=uid)

    def _enabled(self, key: JobKey) -> StreamJob | None:
        """The job, if it is to be profiled by itself."""
        if self._fleet.job(key) is None:
            return None
        job = self._fleet.declared(key)
        if not isinstance(job, StreamJob) or not job.profiling.enabled:
            return None
        return job


def _told(name: str, wanted: WantProfile, job: StreamJob) -> str:
    plan = wanted.plan
    sizes = ", ".join(map(str, wanted.executors)) or "numbers of its own choice of"
    return (
        f"{name} measures {sizes} executors: {wanted.why}. At most {plan.copies} copies, about "
        f"{plan.core_seconds / 3600:.2f} core-hours of {wanted.core_seconds / 3600:.2f} that it may take, "
        f"{format_duration(timedelta(seconds=plan.wall_seconds))} with {job.profiling.parallel} at a time"
    )
