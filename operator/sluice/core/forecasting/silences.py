"""A source that falls silent is more often lost than idle, and returns with all that it held back.

So a silence is a gap in what was measured, and no load: while it lasts, the load is expected back at any moment, and
once it has ended it does not make forecasts look wrong for hours. That holds for a load that usually flows, and for
half an hour: executors that wait longer cost more than what comes late when the load returns to fewer of them.
"""

from dataclasses import dataclass

import numpy as np

from sluice.core.forecasting.forecast import SILENT
from sluice.core.forecasting.model import Flags, Values

LONGEST = 1800.0
"""Seconds; what is silent for longer is idle."""

HOUR = 3600.0
"""Seconds before a silence that tell whether the load usually flows."""

FLOWING = 0.75
"""The share of that time, known and not silent, in which it must have."""

LEVEL = 5
"""Steps before a silence whose median is expected back. The one just before was silent in part, and so was the one
after it, if less than that came in them."""


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
        hour = slice(max(0, start - round(HOUR / step)), start)
        flowing = values[hour][~quiet[hour]]
        if (end - start) * step > LONGEST or len(flowing) * step < FLOWING * HOUR:
            continue
        level = float(np.median(flowing[-LEVEL:]))
        beside = [place for place in (start - 1, end) if place < len(values)]
        lost = [*range(start, end), *(place for place in beside if values[place] < level)]
        found[lost], silent[lost] = level, True
    return Bridged(values=found, silent=silent)


def runs(flags: Flags) -> list[tuple[int, int]]:
    """Begin and end of each row of flags that are set."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]])))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]
