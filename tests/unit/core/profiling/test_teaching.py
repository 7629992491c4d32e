"""What the models of a job learn from a profile, beside what they know."""

from dataclasses import replace

import pytest

from sluice.core.learning.experience import Experience
from sluice.core.modelling.shapes import Slots
from sluice.core.profiling.records import Point
from sluice.core.profiling.teaching import taught
from tests.support.jobs import NOW
from tests.unit.core.profiling.profiles import LIVE_POINT


def point(executors: int, rate: float, *, overhead: float = 0.4) -> Point:
    return Point(
        executors=executors, rate=rate, error=rate / 50, batches=9, overhead=overhead, at=NOW
    )


def test_capacities_take_the_place_of_what_was_known_of_their_scale_outs() -> None:
    known = taught(Experience(), [point(1, 100.0), point(4, 390.0)], 0.95)
    again = taught(known, [point(4, 300.0)], 0.95)
    assert again.models.capacity.points == ((1, 100.0), (4, 300.0))


def test_of_a_mere_bound_nothing_is_learned() -> None:
    bounds = [
        replace(point(1, 100.0), is_lower_bound=True),
        replace(point(2, 200.0), is_upper_bound=True),
    ]
    assert taught(Experience(), bounds, 0.95) == Experience()


def test_the_overhead_is_learned_unless_the_jobs_own_batches_have_told_it() -> None:
    points = [
        point(executors, 100.0, overhead=overhead)
        for executors, overhead in enumerate((0.2, 0.4, 9.0), 1)
    ]
    assert taught(Experience(), points, 0.95).overhead == 0.4
    assert taught(replace(Experience(), overhead=1.5), points, 0.95).overhead == 1.5


def test_of_a_job_with_state_it_is_learned_what_executors_share_of_the_overhead() -> None:
    points = [point(1, 100.0, overhead=20.5), point(4, 100.0, overhead=5.5)]
    whole = taught(Experience(), points, 0.95)
    assert (whole.overhead, whole.shared) == (13.0, 0.0)
    with_state = taught(Experience().of_other(Slots(tasks=200)), points, 0.95)
    assert with_state.overhead == pytest.approx(0.5, abs=0.2)
    assert with_state.shared == pytest.approx(20.0, rel=0.05)
    assert with_state.overhead_of(2) == pytest.approx(10.5, rel=0.05)
    known = replace(Experience().of_other(Slots(tasks=200)), overhead=1.5, shared=2.0)
    found = taught(known, points, 0.95)
    assert (found.overhead, found.shared) == (1.5, 2.0)


def test_of_a_live_copy_the_latency_of_the_objectives_percentile_is_learned() -> None:
    (found,) = taught(Experience(), [LIVE_POINT], 0.95).models.latency.profiled
    assert (found.executors, found.rate, found.seconds) == (1, 1200.5, 1.4)
