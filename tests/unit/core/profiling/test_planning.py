"""Which numbers of executors are measured next."""

import pytest

from sluice.core.deciding.situation import Bounds
from sluice.core.modelling.shapes import Slots
from sluice.core.profiling.planning import MOST, next_scale_out, scale_outs

BOUNDS = Bounds(smallest=1, largest=12)
SLOTS = Slots(cores=1)


def amdahl(executors: int) -> float:
    return 1000 * executors / (1 + 0.2 * (executors - 1))


def test_both_bounds_come_first() -> None:
    assert next_scale_out(BOUNDS, SLOTS, []) == 1
    assert next_scale_out(BOUNDS, SLOTS, [], under_way=[1]) == 12
    assert next_scale_out(BOUNDS, SLOTS, [], under_way=[1, 12]) is None


def test_a_job_of_one_size_is_measured_there_alone() -> None:
    fixed = Bounds(smallest=3, largest=3)
    assert next_scale_out(fixed, SLOTS, []) == 3
    assert next_scale_out(fixed, SLOTS, [(3, 1000.0)]) is None


def test_after_the_bounds_comes_where_the_shapes_contradict_each_other_most() -> None:
    chosen = next_scale_out(BOUNDS, SLOTS, [(1, amdahl(1)), (12, amdahl(12))])
    assert chosen is not None
    assert 3 <= chosen <= 6


def test_what_is_under_way_is_waited_for_after_the_bounds() -> None:
    known = [(1, amdahl(1)), (12, amdahl(12))]
    assert next_scale_out(BOUNDS, SLOTS, known, under_way=[4]) is None


def test_of_tasks_that_run_in_waves_the_first_number_of_each_wave_is_measured() -> None:
    slots = Slots(cores=1, tasks=12)
    known = [(1, 1000.0), (12, 12000.0)]
    assert next_scale_out(BOUNDS, slots, known) in {2, 3, 4, 6}


def test_it_ends_when_the_capacity_is_known_well_enough_everywhere() -> None:
    known = [(executors, 1000.0 * executors) for executors in (1, 6, 12)]
    assert next_scale_out(BOUNDS, SLOTS, known) is None


def test_it_goes_on_while_the_measurements_contradict_each_other() -> None:
    known = [(1, 1000.0), (6, 3000.0), (12, 11000.0)]
    assert next_scale_out(BOUNDS, SLOTS, known) not in {None, 1, 6, 12}


def test_it_never_measures_more_than_the_most() -> None:
    known = [(1, 1000.0), (6, 3000.0), (12, 11000.0), (3, 9000.0)]
    assert len(known) == MOST
    assert next_scale_out(BOUNDS, SLOTS, known) is None


def test_what_failed_does_not_come_again_and_keeps_nothing_else_from_being_measured() -> None:
    chosen = next_scale_out(BOUNDS, SLOTS, [(1, 1000.0)], failed=[12])
    assert chosen not in {None, 1, 12}


def test_where_both_bounds_have_failed_nothing_else_is_tried() -> None:
    assert next_scale_out(BOUNDS, SLOTS, [], failed=[1, 12]) is None


@pytest.mark.parametrize("largest", [2, 5, 1000])
def test_a_choice_is_always_within_the_bounds_and_new(largest: int) -> None:
    bounds = Bounds(smallest=1, largest=largest)
    known: list[tuple[int, float]] = []
    while (chosen := next_scale_out(bounds, SLOTS, known)) is not None:
        assert 1 <= chosen <= largest
        assert chosen not in dict(known)
        known.append((chosen, amdahl(chosen) ** 1.1))
    assert {1, largest} <= set(dict(known))


def test_equally_spaced_scale_outs_have_both_ends() -> None:
    assert scale_outs(BOUNDS) == (1, 5, 8, 12)
    assert scale_outs(Bounds(smallest=2, largest=3)) == (2, 3)
