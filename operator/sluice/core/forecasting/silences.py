"""A source that falls silent is more often lost than idle, and returns with all that it held back.

So a silence is a gap in what was measured, and no load: while it lasts, the load is expected back at any moment, and
once it has ended it does not make forecasts look wrong for hours. That holds for a load that usually flows, and for
half an hour: executors that wait longer cost more than what comes late when the load returns to fewer of them.
"""

from dataclasses import dataclass

import numpy as np

from sluice.core.forecasting.forecast import SILENT
from sluice.core.forecasting.model import Flags, Values
from sluice.core.forecasting.sampling import runs

LONGEST = 1800.0
"""Seconds; what is silent for longer is idle."""

BEFORE = 3600.0
"""Seconds before a silence that tell whether the load usually flows."""

FLOWING = 0.75
"""The share of that time that must not have been silent."""

NEWEST = 5
"""Steps of flow before a silence whose median, its level, is expected back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridged:
    """Rates over whose silences the level before them is put, and where."""

    values: Values
    silent: Flags


def bridged(values: Values, step: float) -> Bridged:
    """Rates at steps of so many seconds, as if their source had never been lost."""
    quiet = values <= SILENT * float(np.median(values))
    found, silent = values.copy(), np.zeros_like(quiet)
    for start, end in runs(quiet):
        before = slice(max(0, start - round(BEFORE / step)), start)
        flowing = values[before][~quiet[before]]
        if (end - start) * step > LONGEST or len(flowing) * step < FLOWING * BEFORE:
            continue
        level = float(np.median(flowing[-NEWEST:]))
        # A step beside it in which less came was silent in part.
        beside = [place for place in (start - 1, end) if place < len(values)]
        lost = [*range(start, end), *(place for place in beside if values[place] < level)]
        found[lost], silent[lost] = level, True
    return Bridged(values=found, silent=silent)
