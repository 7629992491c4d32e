"""Steps taken together: coarser ones, which have less noise and cost less, and those in a row."""

import numpy as np

from sluice.core.forecasting.model import Flags, Values


def means(values: Values, size: int) -> Values:
    """The means of so many steps each, counted from the newest; the oldest that fill no group are left out."""
    groups = len(values) // size
    return np.asarray(values[len(values) - groups * size :].reshape(groups, size).mean(axis=1))


def at_most(values: Values, count: int) -> tuple[Values, int]:
    """No more than so many values, and how many steps each of them has."""
    size = -(-len(values) // count)
    return means(values, size), size


def runs(flags: Flags) -> list[tuple[int, int]]:
    """Begin and end of each row of flags that are set."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]])))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]
