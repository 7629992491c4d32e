"""Latencies of rows, against counting each of them."""

import numpy as np
import pytest

from sluice.core.simulation.cohorts import Commits, arrivals, latencies
from sluice.core.simulation.trace import Trace


def test_quantiles_are_those_of_single_rows() -> None:
    trace = Trace(name="two", rates=np.array([100.0, 300.0, 0.0, 50.0]))
    commits = Commits(upto=np.array([120.0, 420.0, 450.0]), at=np.array([2.0, 3.5, 6.0]))
    found = latencies(arrivals(trace), commits, start=0.0, end=450.0)
    numbers = (np.arange(450_000) + 0.5) / 1000
    arrived = np.interp(numbers, [0, 100, 400, 400.000001, 450], [0, 1, 2, 3, 4])
    each = commits.at[np.searchsorted(commits.upto, numbers)] - arrived
    for share in (0.05, 0.5, 0.95, 0.99):
        assert found.quantile(share) == pytest.approx(np.quantile(each, share), abs=1e-3)
    assert found.mean() == pytest.approx(each.mean(), abs=1e-3)
    assert found.share_above(2.0) == pytest.approx((each > 2.0).mean(), abs=1e-3)


def test_slices_hold_all_rows_once() -> None:
    trace = Trace(name="some", rates=np.array([7.0, 0.0, 11.0, 13.0]))
    commits = Commits(upto=np.array([3.0, 18.0, 31.0]), at=np.array([1.0, 3.0, 5.0]))
    found = latencies(arrivals(trace), commits, start=0.0, end=31.0)
    assert found.rows.sum() == pytest.approx(31)
    assert np.bincount(found.seconds, found.rows) == pytest.approx([7, 0, 11, 13])


def test_rows_arrive_whole() -> None:
    found = arrivals(Trace(name="rare", rates=np.full(8, 0.25)))
    assert found.rows.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2]
