"""One fault after the other at random moments; after each, the job must be healthy again by itself."""

import random
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from e2e.faults.catalogue import FAULTS
from e2e.faults.field import Field
from e2e.support.api import Json, condition, wait_for

PATIENCE = 300.0
"""Seconds after which a job that is not healthy again needs a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a fault led to: drivers started because of it, and seconds until a batch was committed again.

    `harmed` are the seconds from the fault to its cure, `recovered` those from the cure to the first commit of a job
    that is Ready, and `measured` those of the operator's own record of the recovery, if a driver was lost.
    """

    fault: str
    harmed: float
    recovered: float
    drivers: int
    measured: float | None


def order(count: int, seed: int) -> list[str]:
    """So many faults by chance, each one before any comes again."""
    chance, names = random.Random(seed), list[str]()
    while len(names) < count:
        names += chance.sample([*FAULTS], len(FAULTS))
    return names[:count]


def chosen(asked: str, seed: int) -> list[str]:
    """The faults that somebody asks for, by how many or by their names. Raises ValueError for a name that is none's."""
    if asked.isdecimal():
        return order(int(asked), seed)
    names = [name.strip() for name in asked.split(",")]
    if unknown := [name for name in names if name not in FAULTS]:
        raise ValueError(f"no such fault: {', '.join(unknown)}; there are: {', '.join(FAULTS)}")
    return names


def run(field: Field, names: Iterable[str], seed: int) -> Iterator[Outcome]:
    """Do the faults in this order; the seed decides the moments and the victims."""
    chance = random.Random(seed)
    for name in names:
        field.job.wait_until_ready()
        time.sleep(chance.uniform(0, 5))
        outcome = _done(field, name, chance)
        print(
            f"{name}: healthy {outcome.recovered:.0f} s after {outcome.harmed:.0f} s of it, "
            f"{outcome.drivers} new drivers, recovery on record: {outcome.measured or '-'}",
            flush=True,
        )
        yield outcome


def _done(field: Field, name: str, chance: random.Random) -> Outcome:
    before = field.job.read()["status"]
    started = time.monotonic()
    FAULTS[name].harm(field, chance)
    cured, moment = time.monotonic(), datetime.now(UTC)
    after = wait_for(
        f"a healthy job after: {name}", lambda: _healthy(field, moment), seconds=PATIENCE
    )
    recovered = time.monotonic() - cured
    drivers = after["status"]["incarnation"] - before["incarnation"]
    return Outcome(
        fault=name,
        harmed=cured - started,
        recovered=recovered,
        drivers=drivers,
        measured=_recorded(field, _recoveries(before)) if drivers else None,
    )


def _recorded(field: Field, before: int) -> float:
    """The seconds of the newest recovery, which the operator puts on record when the job has caught up."""
    after = wait_for(
        "the recovery on record",
        lambda: _with_caught_up(field.job.read()["status"], before),
        seconds=PATIENCE,
    )
    seconds: float = after["recoveries"]["past"][-1]["caughtUp"]
    return seconds


def _with_caught_up(status: Json, before: int) -> Json | None:
    """The status, if a recovery is new in it that was not cut short by the next end of a driver."""
    is_over = _recoveries(status) > before and "caughtUp" in status["recoveries"]["past"][-1]
    return status if is_over else None


def _recoveries(status: Json) -> int:
    count: int = status.get("recoveries", {}).get("count", 0)
    return count


def _healthy(field: Field, since: datetime) -> Json | None:
    """The job, if it has committed since then and is Ready."""
    resource = field.job.read()
    committed = resource["status"].get("checkpoint", {}).get("committedAt")
    # One that is yet to come was told by a clock that was wrong.
    is_new = committed is not None and since < datetime.fromisoformat(committed) < datetime.now(UTC)
    is_ready = condition(resource, "Ready").get("status") == "True"
    return resource if is_new and is_ready else None
