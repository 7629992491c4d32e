"""The number of executors that would have been the best, told after the fact."""

import pytest

from bench import hindsight
from sluice.core.simulation.plant import PLANTS, Plant
from sluice.lab.contenders import contenders
from tests.support.labrows import row

ALL = row("static", 0.02, 24.0)
OURS = row("sluice", 0.05, 16.0)


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_each_number_from_half_of_all_is_a_contender(plant: Plant) -> None:
    fixed = [contender.fixed(plant) for contender in contenders(hindsight.numbers(plant))]
    assert fixed == list(range(plant.bounds.largest // 2, plant.bounds.largest))


def test_the_cheapest_of_those_that_are_late_for_no_more_is_told() -> None:
    too_few, enough = row("static:executors=12", 0.06, 12.0), row("static:executors=14", 0.05, 14.0)
    more = row("static:executors=20", 0.03, 20.0)
    (found,) = hindsight.chosen([ALL, too_few, enough, more, OURS])
    assert found.number is enough
    assert not found.is_better
    assert "| phoebe, ramp | 14 | 5.00 | 5.00 | 58.3 | 66.7 |" in hindsight.told([found])


def test_where_no_number_is_late_for_no_more_it_is_all() -> None:
    (found,) = hindsight.chosen([ALL, row("static:executors=20", 0.051, 1.0), OURS])
    assert found.number is ALL
    assert "| phoebe, ramp | all |" in hindsight.told([found])


def test_a_number_that_is_late_for_less_and_cheaper_is_bold() -> None:
    (found,) = hindsight.chosen([ALL, row("static:executors=14", 0.04, 14.0), OURS])
    assert found.is_better
    told = hindsight.told([found])
    assert "| **phoebe, ramp** | 14 |" in told
    assert "In 1 of 1 scenes" in told
