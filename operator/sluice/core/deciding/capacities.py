"""The measured rates that can be capacities, without those of a job that had too little to do.

More executors seldom halve a capacity, and of fewer executors each seldom does half as much. So a rate far below what
was measured on fewer, or for each of more, was not one of saturation: it came from batches of few rows, whose length
says nothing of them. Left in, hours without load would make a job look slow at the sizes that it had then. A profile
measures at saturation, so that what it tells is believed, however odd.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from sluice.core.modelling.capacity import CapacityModel

IMPLAUSIBLE = 0.4
"""One wave less may double a rate, but no more (phoebe.md 4.3)."""


def plausible(model: CapacityModel) -> CapacityModel:
    """The same model without the rates that cannot be capacities."""
    rates: dict[int, list[float]] = defaultdict(list)
    for executors, rate in model.points:
        rates[executors].append(rate)
    sizes = sorted(rates)
    usual = [_upper_quartile(rates[executors]) for executors in sizes]
    of_fewer = list(accumulate(usual, max))
    each = [rate / executors for executors, rate in zip(sizes, usual, strict=True)]
    of_more = list(accumulate(reversed(each), max))[::-1]
    least = {
        executors: IMPLAUSIBLE * max(rate, executors * single)
        for executors, rate, single in zip(sizes, of_fewer, of_more, strict=True)
    }
    kept = tuple(
        (executors, rate)
        for executors, rate in model.points
        if rate >= least[executors] or (executors, rate) in model.profiled
    )
    return replace(model, points=kept)


def _upper_quartile(rates: Sequence[float]) -> float:
    """Not the largest: one wild number must not rule out all others."""
    return sorted(rates)[int(0.75 * (len(rates) - 1) + 0.5)]
