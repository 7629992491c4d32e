"""How far another clock is off, as far as an answer over the network can tell."""

from datetime import timedelta

import pytest

from sluice.console.clocks import Reading
from tests.support.jobs import NOW


@pytest.mark.parametrize(
    ("shown", "took", "resolution", "skew"),
    [
        (0.0, 0.0, 1.0, 0.0),
        (0.0, 3.0, 1.0, 0.0),
        (3.0, 3.0, 1.0, 0.0),
        (-1.0, 0.0, 1.0, 0.0),
        (8.0, 3.0, 1.0, 5.0),
        (-8.0, 3.0, 1.0, -7.0),
        (-8.0, 3.0, 0.0, -8.0),
        (600.0, 0.5, 1.0, 599.5),
    ],
)
def test_only_what_the_way_and_the_rounding_cannot_explain_is_skew(
    shown: float, took: float, resolution: float, skew: float
) -> None:
    reading = Reading(
        shown=NOW + timedelta(seconds=shown),
        before=NOW,
        after=NOW + timedelta(seconds=took),
        resolution=timedelta(seconds=resolution),
    )
    assert reading.skew == timedelta(seconds=skew)
