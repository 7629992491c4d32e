"""What happened to a job, as marks on its curves: recoveries, rescales, profiles.

The status keeps the last five recoveries and the notebook the last ten rescales, both to the second. What is older is
read from the operator's counters, to the slice in which they changed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sluice.console.decisions import Kept
from sluice.console.reporting.curves import Curve, Tagged
from sluice.core.recoveries import CHOSEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """A time in which the job was away, or short of an executor that a drill has killed.

    `seconds` are those until it had caught up, `downtime` those without a batch; None has not come yet or is not known.
    `goes_on` is whether it is under way: one that is over without having caught up lasts as long as is known, until its
    first batch. `exact` is whether the status tells of it.
    """

    cause: str
    began: datetime
    seconds: float | None = None
    downtime: float | None = None
    is_drill: bool = False
    goes_on: bool = False
    exact: bool = True

    @property
    def is_failure(self) -> bool:
        """Whether the operator did not choose it; only failures have a target."""
        return self.cause not in CHOSEN

    def lasting(self, now: datetime) -> float:
        """Seconds so far."""
        if self.seconds is not None:
            return self.seconds
        if not self.goes_on:
            return self.downtime or 0.0
        return max(0.0, (now - self.began).total_seconds())

    def end(self, now: datetime) -> datetime:
        """When it was over; now, if it is under way."""
        return self.began + timedelta(seconds=self.lasting(now))

    def is_within(self, target: float | None, now: datetime) -> bool | None:
        """Whether its target was kept; None if there is none, or as long as nobody knows."""
        if target is None or not self.is_failure:
            return None
        if self.lasting(now) > target:
            return False
        return None if self.seconds is None else True


@dataclass(frozen=True, slots=True, kw_only=True)
class Recoveries:
    """Those in a time, the oldest first, and how many others there were of which nothing is known."""

    found: tuple[Recovery, ...] = ()
    missing: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescale:
    """Another number of executors that was decided: the way, and both numbers if the decision is kept."""

    at: datetime
    path: str
    former: int | None = None
    executors: int | None = None
    is_undo: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A profile under way; one without an end still is."""

    name: str
    began: datetime
    ended: datetime | None = None


def recoveries(told: Mapping[str, Any], counter: Curve, lasting: Iterable[Tagged]) -> Recoveries:
    """Those of a status, and those before them by the counter and by how long the last one of each moment took."""
    kept = [_recovery(one) for one in told.get("past", ())]
    oldest = told.get("count", 0) - len(kept)
    older = tuple(_counted(counter, tuple(lasting), oldest))
    present = [_recovery(told["present"], goes_on=True)] if told.get("present") else []
    now = counter.at(counter.slices.count - 1)
    shown = (
        one
        for one in (*(one for one, _ in older if one is not None), *kept, *present)
        if one.end(now) >= counter.slices.start
    )
    return Recoveries(found=tuple(shown), missing=sum(missing for _, missing in older))


def _recovery(told: Mapping[str, Any], *, goes_on: bool = False) -> Recovery:
    return Recovery(
        cause=told["cause"],
        began=datetime.fromisoformat(told["began"]),
        seconds=told.get("caughtUp"),
        downtime=told.get("firstBatch"),
        is_drill=bool(told.get("drilled")),
        goes_on=goes_on,
    )


def _counted(
    counter: Curve, lasting: Sequence[Tagged], oldest: int
) -> Iterator[tuple[Recovery | None, int]]:
    """Those up to a number: of several that ended in a slice the last is told, the others are missing."""
    for index, former, number in counter.changes:
        ended = int(min(number, oldest) - former)
        if ended <= 0:
            continue
        # The numbers of one scrape belong together, so what is told here is of the recovery that the counter has.
        one = _last_at(index, lasting) if number <= oldest else None
        yield one, ended - (one is not None)


def _last_at(index: int, lasting: Iterable[Tagged]) -> Recovery | None:
    for labels, curve in lasting:
        seconds = curve.values[index]
        if seconds is not None:
            return Recovery(
                cause=labels.get("cause", ""),
                began=curve.at(index) - timedelta(seconds=seconds),
                seconds=seconds,
                is_drill=labels.get("drill") == "yes",
                exact=False,
            )
    return None


def changed(decisions: Iterable[Kept]) -> tuple[Kept, ...]:
    """The decisions that gave the job another number of executors."""
    return tuple(
        one for one in decisions if one.decision.executors != one.record.situation.executors
    )


def rescales(
    changes: Sequence[Kept], counters: Iterable[Tagged], start: datetime
) -> tuple[Rescale, ...]:
    """Those of the decisions that are kept, and those before them by the counters, the oldest first."""
    kept = [_rescale(one) for one in changes if one.at >= start]
    oldest = min((one.at for one in changes), default=None)
    older = [
        one
        for labels, curve in counters
        for one in _counts(labels.get("path", ""), curve)
        if oldest is None or one.at < oldest
    ]
    return tuple(sorted((*older, *kept), key=lambda one: one.at))


def _rescale(kept: Kept) -> Rescale:
    return Rescale(
        at=kept.at,
        path=kept.decision.path.value,
        former=kept.record.situation.executors,
        executors=kept.decision.executors,
        is_undo=kept.decision.undoes is not None,
    )


def _counts(path: str, counter: Curve) -> Iterator[Rescale]:
    for index, former, number in counter.changes:
        # With another leader it begins at 0.
        more = number - former if number > former else number
        yield from [Rescale(at=counter.at(index), path=path)] * int(more)


def profiles(costs: Iterable[Tagged]) -> tuple[Profile, ...]:
    """Those of which costs were told, which they are while they are under way."""
    return tuple(
        Profile(
            name=labels.get("profile", ""),
            began=curve.at(curve.known[0][0]),
            ended=None if curve.values[-1] is not None else curve.at(curve.known[-1][0]),
        )
        for labels, curve in costs
        if curve.known
    )
