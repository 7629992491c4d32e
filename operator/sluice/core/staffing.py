"""Whether the executors that a job was rescaled to have come and are used, and what to do if they are not.

    asked      a driver that runs is told another number, or is replaced by one that has it
    come       that many were registered at one time
    used       each of them has completed a task: the rescale is verified

What does not follow in time leads to one restart for each number, or back to what there is:

    not taken  the driver aims at another number, whatever it is told: restart
    not used   one that joined is given no tasks although there are enough: a restart spreads the state anew; where one
               has not helped, there is no other before a rescale to more executors has been verified
    not come   there is no room, no image, or the cluster refuses the pods: no restart helps. The operator takes back
               what it chose, and asks for no more for a while; a number that the owner has fixed stays wanted, and that
               is told. Those for which a node is added, or whose containers are made, are waited for longer

In a blackout no driver is restarted for that. An agent that does not tell of the work of executors leaves open whether
they are used.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Self

from sluice.core import spreading
from sluice.core.application import StreamJob
from sluice.core.chosen import Chosen, wanted_executors
from sluice.core.modelling.rescaling import Path
from sluice.core.observations import (
    NODE_DEADLINE,
    AgentReport,
    DriverPod,
    Observed,
    WaitingExecutor,
    is_on_its_way,
)

TELLINGS = 12
"""Times that a driver is told a number, once for each report, before it counts as not taken: a minute's."""

PATIENCE = timedelta(seconds=300)
"""For executors of which nothing tells that they are on their way."""

REFUSED = timedelta(seconds=60)
"""How long pods are refused until that counts as no room: those of other pods that leave are still in a quota."""

ROOM_AGAIN = timedelta(minutes=15)
"""Until more executors are chosen again than there was room for."""

_NOT_USED = "ExecutorsNotUsed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback:
    """A restart for the sake of executors: a word for machines, and a sentence."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """More executors than these did not come; no more are chosen before a moment."""

    executors: int
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Staffing:
    """A rescale, and what became of it.

    `former` is the number before, and `incarnation` the driver that had it. `told` counts the reports since `told_at`
    by which it still aims at another. `came` and `used` are when that was so for the first time. `futile` is an earlier
    restart for executors that were not used, after which they were not, either.
    """

    executors: int
    former: int
    incarnation: int
    since: datetime
    told: int = 0
    told_at: datetime | None = None
    came: datetime | None = None
    used: datetime | None = None
    fallback: Fallback | None = None
    futile: Fallback | None = None

    @property
    def has_grown(self) -> bool:
        """Whether there are to be more than before."""
        return self.executors > self.former

    @property
    def is_restarted_for_use(self) -> bool:
        """Whether a restart was made because executors were not used, and not for another reason."""
        return self.fallback is not None and self.fallback.reason == _NOT_USED

    def told_again(self, report: AgentReport) -> Self:
        """The driver is told the number once more; several looks at one report count as one."""
        if self.told_at is not None and report.at <= self.told_at:
            return self
        return replace(self, told=self.told + 1, told_at=report.at)

    def seen(self, report: AgentReport, now: datetime) -> Self:
        """What a driver that has taken the number shows."""
        came = self.came or (now if (report.registered or 0) >= self.executors else None)
        is_verified = came is not None and spreading.all_used(report, self.executors)
        used = self.used or (now if is_verified else None)
        return replace(self, told=0, told_at=None, came=came, used=used)

    @property
    def is_waited_for(self) -> bool:
        """Whether executors that were added have not been there yet."""
        return self.has_grown and self.came is None

    def is_late(self, driver: DriverPod, waiting: Iterable[WaitingExecutor], now: datetime) -> bool:
        """Whether executors have been waited for in vain."""
        are_on_their_way = any(is_on_its_way(executor, now) for executor in waiting)
        patience = NODE_DEADLINE if are_on_their_way else PATIENCE
        return self.is_waited_for and self.waited(driver, now) >= patience

    def waited(self, driver: DriverPod, now: datetime) -> timedelta:
        """How long executors have been waited for; a later driver asks for them when it starts."""
        return now - max(self.since, driver.started or now)


def followed(
    before: Staffing | None,
    wanted: int,
    driver: DriverPod,
    report: AgentReport | None,
    now: datetime,
) -> Staffing | None:
    """What is known of the rescale to the wanted number; None if the driver was started with it."""
    if report is None or report.phase != "running" or report.target is None:
        return before
    staffing = before if before is not None and before.executors == wanted else None
    if report.target == wanted:
        return staffing and staffing.seen(report, now)
    if staffing is None:
        staffing = Staffing(
            executors=wanted,
            former=report.target,
            incarnation=driver.incarnation,
            since=now,
            futile=_futile(before),
        )
    return staffing.told_again(report)


def fallback(
    staffing: Staffing | None,
    job: StreamJob,
    driver: DriverPod,
    report: AgentReport | None,
    now: datetime,
) -> Fallback | None:
    """The restart that is due because executors did not come or are not used; once for each number."""
    if staffing is None or staffing.fallback is not None:
        return None
    if report is None or report.phase != "running" or job.scaling.is_blacked_out(now):
        return None
    if staffing.told > TELLINGS:
        text = f"the driver aims at {report.target} executors, although it was told {TELLINGS} times to have"
        message = f"{text} {staffing.executors}; it is restarted with them"
        return Fallback(reason="ExecutorsNotTaken", message=message)
    if staffing.used is not None or staffing.futile is not None or not staffing.has_grown:
        return None
    if report.target != staffing.executors or driver.incarnation != staffing.incarnation:
        return None
    found = spreading.unused(report, job.executors.slots)
    if found is None or not found.is_fault:
        return None
    message = f"{found}; the driver is restarted so that state is spread anew"
    return Fallback(reason=_NOT_USED, message=message)


def taken_back(
    staffing: Staffing | None,
    job: StreamJob,
    chosen: Chosen | None,
    driver: DriverPod,
    seen: Observed,
    now: datetime,
) -> Chosen | None:
    """The choice to be content with the executors that there are; None if more are waited for, or were not chosen."""
    report = seen.report
    if staffing is None or chosen is None or report is None:
        return None
    why = _why_none_come(staffing, driver, seen, now)
    there = report.registered
    if why is None or there is None or report.target != staffing.executors:
        return None
    returned = replace(
        chosen,
        executors=max(there, staffing.former),
        at=now,
        reason=f"{there} of {staffing.executors} executors were there {why}",
        path=Path.LIVE,
        incarnation=driver.incarnation,
        undoes=None,
    )
    # A number that the bounds demand was not chosen.
    return returned if wanted_executors(job, returned) < staffing.executors else None


def _why_none_come(
    staffing: Staffing, driver: DriverPod, seen: Observed, now: datetime
) -> str | None:
    """When executors that were added were given up, and why; None while they are waited for."""
    refused = seen.refused
    if staffing.is_waited_for and refused is not None and now - refused.since >= REFUSED:
        return f"when the cluster had refused more for {_seconds(REFUSED)}: {refused.message}"
    if staffing.is_late(driver, seen.waiting, now):
        waited = _seconds(staffing.waited(driver, now))
        return f"{waited} after they were asked for: no room, or their pods cannot start"
    return None


def _futile(before: Staffing | None) -> Fallback | None:
    """The last restart for executors that were not used, if none that were added have been used since."""
    if before is None or (before.used is not None and before.has_grown):
        return None
    return before.fallback if before.is_restarted_for_use else before.futile


def _seconds(time: timedelta) -> str:
    return f"{time.total_seconds():.0f} s"
