"""The measured rates that can be capacities, without those of a job that had too little to do.

More executors seldom halve a capacity. So a rate below half of what was measured on as many or fewer executors was not
one of saturation: it came from batches of few rows, whose length says nothing of them. Left in, hours without load
would make a large job look small.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from sluice.core.modelling.capacity import CapacityModel

IMPLAUSIBLE = 0.5


def plausible(model: CapacityModel) -> CapacityModel:
    """The same model without the rates that cannot be capacities."""
    rates: dict[int, list[float]] = defaultdict(list)
    for executors, rate in model.points:
        rates[executors].append(rate)
    least: dict[int, float] = {}
    reached = 0.0
    for executors in sorted(rates):
        reached = max(reached, _upper_quartile(rates[executors]))
        least[executors] = IMPLAUSIBLE * reached
    kept = tuple((executors, rate) for executors, rate in model.points if rate >= least[executors])
    return replace(model, points=kept)


def _upper_quartile(rates: Sequence[float]) -> float:
    """Not the largest: one wild number must not rule out all others."""
    return sorted(rates)[int(0.75 * (len(rates) - 1) + 0.5)]
