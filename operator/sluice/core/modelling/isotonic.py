"""Monotone regression: the non-decreasing numbers that are nearest to given ones, by least squares."""

from collections.abc import Sequence


def isotonic(values: Sequence[float], weights: Sequence[float]) -> tuple[float, ...]:
    """The non-decreasing fit: neighbours in the wrong order are pooled until none is left.

    The pool adjacent violators algorithm (Barlow et al., 1972), in linear time. The weights are positive.
    """
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        pool = (value, weight, 1)
        while pools and pools[-1][0] >= pool[0]:
            pool = _pooled(pools.pop(), pool)
        pools.append(pool)
    return tuple(mean for mean, _, count in pools for _ in range(count))


def _pooled(
    left: tuple[float, float, int], right: tuple[float, float, int]
) -> tuple[float, float, int]:
    weight = left[1] + right[1]
    # Not (l w + r v) / (w + v): so written, the mean of equal numbers is that number.
    return left[0] + (right[0] - left[0]) * (right[1] / weight), weight, left[2] + right[2]
