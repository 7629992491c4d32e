"""What a watcher has learned as versioned plain data, and a watcher from it again.

Only what cannot be seen anew is kept: models, wishes, when executors were changed last, and with what effects.
"""

import math
from dataclasses import asdict
from typing import Any

from sluice.core.deciding.compacting import compacted_models, remembered
from sluice.core.deciding.situation import Models, Wish
from sluice.core.learning.batches import BatchReport
from sluice.core.learning.effects import Effects, effects_from_data
from sluice.core.learning.experience import Experience
from sluice.core.learning.terms import Terms
from sluice.core.learning.watching import Watcher
from sluice.core.modelling import capacity, downtime, latency
from sluice.core.modelling.stored import Data, opened, sealed

VERSION = 1


def memory_of(watcher: Watcher) -> Data:
    """Plain data for `recalled`."""
    models = compacted_models(watcher.experience.models)
    return sealed(
        "Memory",
        VERSION,
        capacity=models.capacity.to_data(),
        latency=models.latency.to_data(),
        downtimes=models.downtimes.to_data(),
        overhead=watcher.experience.overhead,
        shared=watcher.experience.shared,
        early=[asdict(batch) for batch in watcher.experience.early],
        wishes=[[wish.at, wish.executors, int(wish.applied)] for wish in watcher.wishes],
        notes=dict(watcher.notes),
        rescaled_at=watcher.rescaled_at,
        effects=watcher.effects.to_data(),
    )


def recalled(data: object, terms: Terms, executors: int, now: float) -> Watcher:
    """A watcher that goes on with what another one has learned. Raises CorruptState."""
    with opened(data, "Memory", VERSION) as stored:
        models = Models(
            capacity=capacity.from_data(stored["capacity"]),
            latency=latency.from_data(stored["latency"]),
            downtimes=downtime.from_data(stored["downtimes"]),
        )
        rescaled_at, effects = stored["rescaled_at"], stored.get("effects")
        wishes = [
            Wish(at=float(at), executors=int(count), applied=bool(applied))
            for at, count, applied in stored["wishes"]
        ]
        return Watcher(
            terms=terms,
            executors=executors,
            experience=Experience(
                models=models,
                overhead=_quantity(stored["overhead"]),
                # Releases that took all of it for fixed kept none.
                shared=_quantity(stored.get("shared", 0.0)),
                # Releases that learned nothing from it kept none.
                early=tuple(map(_batch, stored.get("early", ()))),
            ),
            wishes=list(remembered(wishes, now, terms.epoch)),
            notes={str(name): float(number) for name, number in stored["notes"].items()},
            disturbed_at=now,
            rescaled_at=None if rescaled_at is None else float(rescaled_at),
            # Releases that did not judge rescales kept none.
            effects=Effects() if effects is None else effects_from_data(effects, executors),
        )


def _batch(stored: Any) -> BatchReport:
    return BatchReport(
        start=_quantity(stored["start"]),
        seconds=_quantity(stored["seconds"]),
        rows=_quantity(stored["rows"]),
        executors=int(stored["executors"]),
        cold=bool(stored["cold"]),
        offsets=None if stored["offsets"] is None else _quantity(stored["offsets"]),
        waited=_quantity(stored.get("waited", 0.0)),
    )


def _quantity(stored: object) -> float:
    quantity = float(stored)  # type: ignore[arg-type]  # else CorruptState
    if not 0 <= quantity < math.inf:
        raise ValueError(f"{quantity} is no quantity")
    return quantity
