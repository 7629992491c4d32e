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
    that is Ready.
    """

    fault: str
    harmed: float
    recovered: float
    drivers: int


def run(field: Field, names: Iterable[str], seed: int) -> Iterator[Outcome]:
    """Do the faults in this order; the seed decides the moments and the victims."""
    chance = random.Random(seed)
    for name in names:
        field.job.wait_until_ready()
        time.sleep(chance.uniform(0, 5))
        outcome = _done(field, name, chance)
        print(
            f"{name}: healthy {outcome.recovered:.0f} s after {outcome.harmed:.0f} s of it, "
            f"{outcome.drivers} new drivers",
            flush=True,
        )
        yield outcome


def _done(field: Field, name: str, chance: random.Random) -> Outcome:
    before = field.job.read()["status"]["incarnation"]
    started = time.monotonic()
    FAULTS[name].harm(field, chance)
    cured, moment = time.monotonic(), datetime.now(UTC)
    after = wait_for(
        f"a healthy job after: {name}", lambda: _healthy(field, moment), seconds=PATIENCE
    )
    return Outcome(
        fault=name,
        harmed=cured - started,
        recovered=time.monotonic() - cured,
        drivers=after["status"]["incarnation"] - before,
    )


def _healthy(field: Field, since: datetime) -> Json | None:
    """The job, if it has committed since then and is Ready."""
    resource = field.job.read()
    committed = resource["status"].get("checkpoint", {}).get("committedAt")
    is_new = committed is not None and datetime.fromisoformat(committed) > since
    is_ready = condition(resource, "Ready").get("status") == "True"
    return resource if is_new and is_ready else None
