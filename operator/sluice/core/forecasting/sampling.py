"""Coarser steps: less noise, and less to compute."""

import numpy as np

from sluice.core.forecasting.model import Values


def means(values: Values, size: int) -> Values:
    """The means of so many steps each, counted from the newest; the oldest that fill no group are left out."""
    groups = len(values) // size
    return np.asarray(values[len(values) - groups * size :].reshape(groups, size).mean(axis=1))


def at_most(values: Values, count: int) -> tuple[Values, int]:
    """No more than so many values, and how many steps each of them has."""
    size = -(-len(values) // count)
    return means(values, size), size
