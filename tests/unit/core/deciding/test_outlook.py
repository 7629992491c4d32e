"""The load to plan for."""

import pytest

from sluice.core.deciding.outlook import upper_load
from sluice.core.modelling.load import Load
from tests.unit.core.deciding.situations import flat, steady


def planned(*, horizon: int, until: float) -> Load:
    load = upper_load(steady(100.0, forecast=flat(100.0, margin=0.5, horizon=horizon)), until)
    assert isinstance(load, Load)
    return load


@pytest.mark.parametrize("horizon", [120, 150, 900])
def test_the_upper_edge_is_planned_for_until_a_moment_and_what_is_likely_from_then_on(
    horizon: int,
) -> None:
    load = planned(horizon=horizon, until=150.0)
    assert load.rate(120.0) == pytest.approx(150.0)
    assert load.rate(210.0) == load.rate(10_000.0) == pytest.approx(100.0)


def test_a_moment_that_never_comes_leaves_the_upper_edge_to_plan_for() -> None:
    assert planned(horizon=120, until=float("inf")).rate(10_000.0) == pytest.approx(150.0)
