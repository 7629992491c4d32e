"""Acceptance check 5.12 of the specification, and monotone regression."""

import math
import random
from itertools import pairwise
from statistics import fmean, median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.core.modelling.isotonic import isotonic
from sluice.core.modelling.overload import overload_boundary, scaled, two_means
from tests.unit.core.modelling.published import MILLISECONDS

PUBLISHED = sorted(latency for row in MILLISECONDS.values() for latency in row)

latencies = st.lists(st.floats(0.001, 1e6), max_size=40)
values = st.lists(st.integers(-1000, 1000), min_size=1, max_size=12)


def least_squares_split(ordered: list[int]) -> float:
    """By trying all: the sum of squares within groups of the best split."""
    return min(
        sum((value - fmean(group)) ** 2 for group in (ordered[:k], ordered[k:]) for value in group)
        for k in range(1, len(ordered))
    )


def test_5_12_the_published_latencies_fall_into_70_normal_and_9_overloaded() -> None:
    assert median(PUBLISHED) == 1_076
    clusters = two_means(scaled(PUBLISHED, 1_076, 851.18 - 827))
    assert clusters is not None
    assert (clusters.count, len(PUBLISHED)) == (70, 79)
    assert (clusters.lower, clusters.upper) == pytest.approx((0.733, 6.563), abs=1e-3)
    boundary = overload_boundary(PUBLISHED)
    assert boundary == pytest.approx(2_004, abs=1)
    normal = [latency for latency in PUBLISHED if latency <= boundary]
    assert (len(normal), max(normal), PUBLISHED[70]) == (70, 1_659, 3_490)


def test_5_12_without_the_scaling_one_more_would_be_normal() -> None:
    clusters = two_means([math.log(latency) for latency in PUBLISHED])
    assert clusters is not None
    assert clusters.count == 71


def test_5_12_the_order_of_the_latencies_does_not_matter() -> None:
    chance = random.Random(3)
    for _ in range(20):
        shuffled = chance.sample(PUBLISHED, len(PUBLISHED))
        assert overload_boundary(shuffled) == overload_boundary(PUBLISHED)


@pytest.mark.parametrize(
    "calm",
    [
        pytest.param([], id="none"),
        pytest.param([1.0], id="one"),
        pytest.param([1.0] * 9, id="equal"),
        pytest.param([0.0] * 9, id="zero"),
        pytest.param([1.0, 1.2, 0.9, 1.1, 1.5, 1.4], id="alike"),
        pytest.param([3.5, 3.7, 3.8, 12.5], id="one accident"),
    ],
)
def test_latencies_that_are_alike_are_all_normal(calm: list[float]) -> None:
    assert overload_boundary(calm) == math.inf


def test_fast_batches_that_are_alike_do_not_make_the_others_overload() -> None:
    chance = random.Random(5)
    normal = [1.0] * 20 + [1 + chance.random() / 10 for _ in range(60)]
    boundary = overload_boundary([*normal, *[10.0] * 10])
    assert max(normal) < boundary < 10


@given(latencies, st.integers(-10, 10))
def test_the_boundary_is_in_the_unit_of_the_latencies(found: list[float], power: int) -> None:
    """By powers of two, which rounding does not touch."""
    boundary = overload_boundary([latency * 2.0**power for latency in found])
    assert boundary == pytest.approx(overload_boundary(found) * 2.0**power)


@given(values)
def test_two_means_are_the_best_of_all_splits(found: list[int]) -> None:
    ordered = sorted(found)
    clusters = two_means(ordered)
    if clusters is None:
        assert ordered[0] == ordered[-1]
        return
    groups = (
        (ordered[: clusters.count], clusters.lower),
        (ordered[clusters.count :], clusters.upper),
    )
    within = sum((value - centre) ** 2 for group, centre in groups for value in group)
    assert within == pytest.approx(least_squares_split(ordered), abs=1e-6)


@pytest.mark.parametrize(
    ("given_values", "weights", "fit"),
    [
        ([1, 2, 3], [1, 1, 1], (1, 2, 3)),
        ([3, 2, 1], [1, 1, 1], (2, 2, 2)),
        ([1, 3, 2, 4], [1, 1, 1, 1], (1, 2.5, 2.5, 4)),
        ([1, 3, 2, 4], [1, 3, 1, 1], (1, 2.75, 2.75, 4)),
        ([], [], ()),
    ],
)
def test_neighbours_in_the_wrong_order_are_pooled(
    given_values: list[float], weights: list[float], fit: tuple[float, ...]
) -> None:
    assert isotonic(given_values, weights) == pytest.approx(fit)


@given(values)
def test_a_monotone_regression_is_monotone_and_keeps_the_mean(found: list[int]) -> None:
    fit = isotonic(found, [1.0] * len(found))
    assert all(after >= before for before, after in pairwise(fit))
    assert fmean(fit) == pytest.approx(fmean(found), abs=1e-6)


@given(values)
def test_a_monotone_regression_is_the_max_of_min_of_means(found: list[int]) -> None:
    """The closed form (Barlow et al., 1972), which takes cubic time."""
    size = range(len(found))
    expected = [
        max(
            min(fmean(found[first : last + 1]) for last in size if last >= at)
            for first in size
            if first <= at
        )
        for at in size
    ]
    assert isotonic(found, [1.0] * len(found)) == pytest.approx(expected)
