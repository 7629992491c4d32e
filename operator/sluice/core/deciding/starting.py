"""The capacity of a job that nobody has profiled, from what it does this minute.

A job that processes r rows per second while it works a share u of the time could do r / u (the true rate of DS2:
Kalavri et al., OSDI 2018), and so many executors more or less change that in proportion. Batches work for nothing
during their fixed overhead. With a trigger that never waits a job looks busy at any load: then only the processors
tell. It is a guess for the first minutes, with the wide range of a single measurement. A job that has had no rows yet
needs no capacity.

What so many executors were seen to process is known of other numbers, too: they do that much at least.

A job that works for minutes on one batch, of all that has waited, processes nothing meanwhile. What it could do then is
at most all those rows in the time that they have taken so far, which is the less the longer that lasts. Of its very
first batch, or of the first one of a new driver, nobody knows the rows. As long as tasks of it wait for a core, it gets
twice the executors each minute, as Spark's own dynamic allocation has it, but no more than those tasks can use.
"""

import math
from dataclasses import replace

from sluice.core.deciding.capacities import plausible
from sluice.core.deciding.outlook import backlog, batching_now, upper_load
from sluice.core.deciding.situation import Situation
from sluice.core.modelling.capacity import Capacity
from sluice.core.series import Measured, NoData

LEAST_USE = 0.005
"""Below that share of the time at work on rows the rate per second of it says nothing."""

LEAST_WORK = 0.25
"""The share of a batch that is taken for work on its rows at least: one batch is short by chance, and seems to be all
overhead.
"""

LONG_BATCH = 60.0
"""Seconds after which a batch that is not committed yet tells something."""

BOTTLENECK = 0.5
"""A backlog on processors that are less busy has another reason than too few of them."""


def known_capacity(situation: Situation, calm: float) -> Capacity | NoData:
    """What was learned of the capacity; else what can be seen of it now."""
    learned = plausible(situation.models.capacity).fitted()
    if not isinstance(learned, NoData):
        return learned
    return _ample(situation) if _is_idle(situation) else observed_capacity(situation, calm)


def observed_capacity(situation: Situation, calm: float) -> Capacity | NoData:
    """The capacity that the present rate of processing implies.

    A job with a backlog, of more than so many seconds of work, shows its capacity by itself.
    """
    rate = situation.observed.processing
    if isinstance(rate, NoData):
        return rate
    is_behind = backlog(situation, rate, calm) > 0
    used = 1.0 if is_behind and _may_lack_processors(situation) else busy_share(situation)
    if isinstance(used, NoData):
        return used
    if rate == 0:
        rate, used = _most_in_flight(situation), 1.0
    if not (used >= LEAST_USE and rate > 0 and situation.running > 0):
        told = (
            "a backlog waits, but no batch has told yet"
            if is_behind
            else "the job works too little to say"
        )
        return NoData(f"{told} what it could do")
    model, found = situation.models.capacity, rate / min(used, 1.0)
    if not is_behind:
        # With little to do it seems to be able to do less than it was seen to do.
        found = max(found, model.likely_floor(situation.running))
    return replace(model, points=()).with_observation(situation.running, found).fitted()


def _most_in_flight(situation: Situation) -> float:
    """The most rows per second that a long batch can have been processed with so far; 0 if there is none."""
    observed, most = situation.observed, situation.batching.most_rows
    if isinstance(observed.in_flight, NoData) or isinstance(observed.lag, NoData):
        return 0.0
    rows = observed.lag if most is None else min(observed.lag, most)
    return rows / observed.in_flight if observed.in_flight >= LONG_BATCH else 0.0


def is_long_in_flight(situation: Situation) -> bool:
    """Whether a batch has run for so long that it need not be waited for."""
    took, latency = situation.observed.in_flight, situation.targets.latency
    return not isinstance(took, NoData) and took >= max(LONG_BATCH, latency or 0.0)


def enough_for_tasks(situation: Situation) -> int:
    """The executors that a long batch of unknown rows is given now: the present ones, or more of them.

    A running driver gets them without losing what the batch has done so far.
    """
    present, queued, since = (
        situation.executors,
        situation.observed.queued,
        situation.since_rescale,
    )
    is_settled = situation.running >= present and (since is None or since >= LONG_BATCH)
    if isinstance(queued, NoData) or not (situation.live and is_settled):
        return present
    if not is_long_in_flight(situation):
        return present
    return situation.bounds.clipped(present + min(present, math.ceil(queued)))


def busy_share(situation: Situation) -> Measured:
    """The share of the time in which the job processes rows."""
    observed, batching = situation.observed, batching_now(situation)
    if batching.overhead > 0 and not isinstance(observed.busy, NoData):
        if isinstance(observed.batch, NoData) or observed.batch <= 0:
            return observed.batch if isinstance(observed.batch, NoData) else NoData("no batch yet")
        return observed.busy * max(LEAST_WORK, 1 - batching.overhead / observed.batch)
    return observed.busy if batching.period > 0 else observed.cpu


def _is_idle(situation: Situation) -> bool:
    """Whether nothing arrives, nothing waits, and nothing is expected."""
    load, lag = upper_load(situation), situation.observed.lag
    return not isinstance(load, NoData) and max(load.rates) == 0 and lag == 0


def _ample(situation: Situation) -> Capacity | NoData:
    """Any capacity will do for no rows at all."""
    return replace(situation.models.capacity, points=((1, 1.0),)).fitted()


def _may_lack_processors(situation: Situation) -> bool:
    """Whether processors may be what a backlog waits for."""
    cpu = situation.observed.cpu
    return isinstance(cpu, NoData) or cpu >= BOTTLENECK
