"""Acceptance checks 5.13 and 5.18 of the specification, and what measurements may do."""

import json
import math
import random
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.core.modelling.capacity import (
    MEMORY,
    MEMORY_PER_SCALE_OUT,
    MOST_FLOORS,
    Capacity,
    CapacityModel,
    from_data,
)
from sluice.core.modelling.shapes import Shape, Slots
from sluice.core.series import NoData
from sluice.errors import CorruptState
from tests.unit.core.modelling.published import CAPACITIES

executors = st.integers(1, 200)
rates = st.floats(1, 1e9)
measurements = st.lists(st.tuples(executors, rates), min_size=1, max_size=30)


def measured(*points: tuple[int, float], tasks: int | None = None, cores: int = 1) -> CapacityModel:
    model = CapacityModel(slots=Slots(cores=cores, tasks=tasks))
    for number, rate in points:
        model = model.with_observation(number, rate)
    return model


def fitted(model: CapacityModel) -> Capacity:
    found = model.fitted()
    assert isinstance(found, Capacity), found
    return found


def staircase(number: int) -> float:
    return 16_000 * 24 / -(-24 // number)


@pytest.mark.parametrize("tasks", [None, 24], ids=["5.13", "5.13 with its 24 partitions"])
def test_the_published_profile_is_a_straight_line(tasks: int | None) -> None:
    found = fitted(measured(*CAPACITIES.items(), tasks=tasks))
    assert found.curve.shape is Shape.LINEAR
    assert found.curve.intercept == pytest.approx(6_371, abs=1)
    assert found.curve.slope == pytest.approx(15_934, abs=1)
    residuals = [abs(rate - found.rate(number)) for number, rate in CAPACITIES.items()]
    assert max(residuals) == pytest.approx(14_187, abs=1)
    assert found.rate(24) == pytest.approx(388_800, abs=100)
    assert found.rate(24) == pytest.approx(376_000, rel=0.04)


def test_the_range_of_the_published_profile_holds_what_was_measured() -> None:
    found = fitted(measured(*CAPACITIES.items()))
    inside = [
        found.estimate(number).low <= rate <= found.estimate(number).high
        for number, rate in CAPACITIES.items()
    ]
    assert all(inside)
    assert found.estimate(11).high < 1.35 * found.estimate(11).low


def test_5_18_waves() -> None:
    slots = Slots(tasks=24)
    assert [slots.waves(number) for number in (8, 11, 12, 13, 23, 24)] == [3, 3, 2, 2, 2, 1]
    assert Slots(tasks=24, cores=2).waves(6) == 2


def test_a_staircase_is_recognised_and_only_its_edges_are_offered() -> None:
    found = fitted(measured(*((n, staircase(n)) for n in (2, 6, 11, 14, 24)), tasks=24))
    assert found.curve.shape is Shape.STAIRCASE
    assert found.rate(23) == pytest.approx(staircase(12))
    assert found.useful(range(1, 31)) == (1, 2, 3, 4, 5, 6, 8, 12, 24)


def test_between_the_edges_of_a_staircase_the_first_candidate_is_offered() -> None:
    found = fitted(measured((2, staircase(2)), (24, staircase(24)), tasks=24))
    assert found.useful(range(13, 24)) == (13,)


def test_returns_that_diminish_are_recognised() -> None:
    points = [(n, n * 10_000 / (1 + 0.1 * (n - 1))) for n in (1, 2, 4, 8, 16)]
    found = fitted(measured(*points))
    assert found.curve.shape is Shape.CONTENTION
    assert found.rate(32) == pytest.approx(32 * 10_000 / 4.1)


@pytest.mark.parametrize("cores", [1, 2])
def test_waves_on_executors_that_hinder_each_other_are_known_from_four_scale_outs(
    cores: int,
) -> None:
    def rate(number: int) -> float:
        slots = number * cores
        return 5_000 * 48 / -(-48 // slots) / (1 + 0.004 * (slots - 1))

    largest = 48 // cores
    sizes = (1, largest // 3 + 1, 2 * largest // 3, largest)
    found = fitted(measured(*((n, rate(n)) for n in sizes), tasks=48, cores=cores))
    assert found.error <= 0.1
    for number in range(1, largest + 1):
        assert found.rate(number) == pytest.approx(rate(number), rel=0.03)


def test_a_little_noise_at_few_executors_does_not_hide_that_many_hinder_each_other() -> None:
    """Without the largest one they seem to help each other, by 3 %, and that was no shape at all."""
    points = ((1, 9_466), (5, 46_905), (8, 78_045), (24, 198_481))
    found = fitted(measured(*points, tasks=48, cores=2))
    for number, rate in points:
        estimate = found.estimate(number)
        assert estimate.low <= rate <= estimate.high <= 1.4 * estimate.low


def test_three_scale_outs_that_disagree_do_not_make_more_executors_worse() -> None:
    found = fitted(measured((1, 100), (2, 260), (3, 300)))
    assert found.rate(24) > found.rate(12) > found.rate(3)


def test_executors_beyond_the_peak_are_never_offered() -> None:
    points = [(n, n * 10_000 / (1 + 0.01 * n * (n - 1))) for n in (1, 4, 8, 16, 24)]
    found = fitted(measured(*points))
    assert found.curve.shape is Shape.CROSSTALK
    assert max(found.useful(range(1, 25))) == 10


def test_capacity_that_falls_between_two_scale_outs_peaks_between_them() -> None:
    found = fitted(measured((2, 100_000), (10, 50_000)))
    assert found.rate(2) == pytest.approx(100_000)
    assert found.rate(10) == pytest.approx(50_000)
    assert found.rate(1) < found.rate(2)
    assert max(found.useful(range(1, 25))) < 10


def test_capacity_that_no_shape_explains_is_a_reason() -> None:
    assert measured((2, 100_000), (3, 10_000)).fitted() == NoData(
        "the measured capacities fit no shape (100000 rows/s on 2, 10000 rows/s on 3): profile the job again"
    )


def test_no_capacity_is_negative() -> None:
    found = fitted(measured((8, 2_000), (10, 2_600), (12, 3_200)))
    assert (found.rate(1), found.estimate(1).low, found.estimate(1).high) == (0, 0, 0)


@pytest.mark.parametrize(
    "points", [((8, 8_400), (9, 8_600)), ((8, 7_600), (9, 9_500)), ((4, 1_000), (8, 2_600))]
)
def test_noise_of_two_scale_outs_does_not_decide_about_all_others(
    points: tuple[tuple[int, float], ...],
) -> None:
    found = fitted(measured(*points))
    assert found.curve.shape is Shape.PROPORTIONAL
    assert found.rate(24) == pytest.approx(24 * found.rate(1))


SEEN_BEFORE = ((2, 2_000), (8, 8_000), (16, 16_000), (8, 8_000))


@pytest.mark.parametrize("share", [0.4, 2.5])
def test_a_job_that_became_another_one_is_that_at_all_scale_outs(share: float) -> None:
    now = [(executors, share * 1_000 * executors) for executors in (6, 8, 10, 8)]
    still = fitted(measured(*SEEN_BEFORE, *now[:3]))
    assert still.rate(16) == pytest.approx(16_000, rel=0.35)
    found = fitted(measured(*SEEN_BEFORE, *now))
    for executors in (2, 8, 16):
        assert found.rate(executors) == pytest.approx(share * 1_000 * executors)


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(((8, 3_000), (8, 3_000), (8, 3_000), (8, 8_000)), id="they do not agree"),
        pytest.param(((8, 6_000),) * 4, id="noise"),
        pytest.param(((20, 5_000),) * 4, id="beyond what was measured the shape may be another"),
    ],
)
def test_what_was_measured_before_stays(now: tuple[tuple[int, float], ...]) -> None:
    assert measured(*SEEN_BEFORE, *now).points[: len(SEEN_BEFORE)] == SEEN_BEFORE


def test_a_profile_replaces_what_was_measured_at_its_scale_outs_before() -> None:
    model = measured((4, 4_000), (4, 4_100), (8, 8_000)).with_profiled(4, 16_000.0)
    assert model.points == ((8, 8_000), (4, 16_000.0))
    assert model.with_profiled(4, float("nan")) == model


def test_rates_that_grow_faster_than_executors_do_not_leave_the_capacity_unknown() -> None:
    """As small batches on three executors once told; a line through the last two leaves nothing for the first."""
    found = fitted(measured((1, 106), (2, 234), (3, 455)))
    assert found.curve.shape is Shape.PROPORTIONAL
    assert found.rate(4) == pytest.approx(4 * 795 / 6)
    assert found.estimate(2).low > 0.6 * found.rate(2)


def test_a_line_that_passes_below_the_origin_is_believed_if_all_points_are_on_it() -> None:
    found = fitted(measured((2, 10_000), (4, 50_000), (6, 90_000), (8, 130_000)))
    assert found.curve.shape is Shape.LINEAR
    assert found.rate(3) == pytest.approx(30_000)


@pytest.mark.parametrize("rates", [(53_134, 55_816, 54_457), (55_784, 53_433, 55_961)])
def test_noise_of_scale_outs_with_as_many_waves_does_not_decide_about_all_others(
    rates: tuple[int, ...],
) -> None:
    """54 tasks in 5 waves are 10.8 slots, and the mean of three such numbers is rounded to another one."""
    found = fitted(measured(*zip((11, 12, 13), rates, strict=True), tasks=54))
    assert found.rate(1) == pytest.approx(found.rate(11) / 10.8)
    assert found.rate(54) == pytest.approx(5 * found.rate(11))


def test_nothing_measured_is_a_reason() -> None:
    assert isinstance(CapacityModel().fitted(), NoData)


def test_one_scale_out_is_taken_in_proportion_with_a_wide_range() -> None:
    found = fitted(measured((4, 40_000)))
    assert found.rate(8) == pytest.approx(80_000)
    assert found.estimate(4).low == pytest.approx(40_000 * math.exp(-0.3))
    assert found.estimate(24).high > 3 * found.estimate(24).value


def test_contradicting_measurements_widen_the_range() -> None:
    found = fitted(measured((4, 50_000), (4, 100_000), (8, 150_000), (8, 140_000)))
    assert found.estimate(4).low <= 50_000
    assert found.estimate(4).high >= 100_000


def test_one_wild_measurement_among_three_does_no_harm() -> None:
    calm = measured(*CAPACITIES.items(), *CAPACITIES.items())
    spiked = calm.with_observation(11, 195_827_000)
    assert fitted(spiked).rate(24) == fitted(calm).rate(24)


def test_production_moves_the_capacity() -> None:
    model = measured(*CAPACITIES.items())
    for number, rate in [*CAPACITIES.items()] * MEMORY_PER_SCALE_OUT:
        model = model.with_observation(number, rate * 0.7)
    assert fitted(model).rate(24) == pytest.approx(0.7 * 388_800, rel=1e-3)


def test_outside_the_measured_scale_outs_the_range_is_wider() -> None:
    found = fitted(measured(*CAPACITIES.items()))
    near, far = found.estimate(23), found.estimate(60)
    assert far.high / far.low > near.high / near.low


def test_memory_is_bounded() -> None:
    full = tuple((1 + index % 200, 1_000.0 + index) for index in range(MEMORY))
    model = CapacityModel(points=full).with_observation(150, 1_600.0)
    assert model.points == (*full[1:], (150, 1_600.0))
    same = measured(*((7, 1_000.0 + index) for index in range(20)))
    assert [rate for _, rate in same.points] == [
        1_012.0 + index for index in range(MEMORY_PER_SCALE_OUT)
    ]


def test_a_job_can_do_what_it_was_seen_to_do() -> None:
    """As on one executor, when two of them were slower than one, and half of two was believed of one."""
    found = fitted(measured((2, 45)).with_floor(1, 100))
    assert found.rate(1) == found.estimate(1).low == 100
    assert found.rate(2) == 45
    assert found.useful(range(1, 4)) == (1,)


def test_a_floor_bends_no_shape_and_lowers_nothing() -> None:
    model = measured((4, 400))
    found = fitted(model.with_floor(2, 100).with_floor(8, 400))
    assert [found.estimate(n) for n in (2, 8, 16)] == [
        fitted(model).estimate(n) for n in (2, 8, 16)
    ]


def test_where_a_job_was_measured_its_floor_says_nothing() -> None:
    assert fitted(measured((2, 45)).with_floor(2, 60)).rate(2) == 45


def test_a_job_that_became_slower_than_it_was_seen_has_lower_floors_everywhere() -> None:
    assert fitted(measured((2, 45)).with_floor(1, 80).with_floor(2, 90)).rate(1) == pytest.approx(
        40, rel=0.01
    )


def test_the_largest_floor_counts_and_fades_with_the_minutes() -> None:
    model = CapacityModel().with_floor(1, 100).with_floor(1, 60)
    assert dict(model.floors) == {1: pytest.approx(100, rel=0.01)}
    for _ in range(693):
        model = model.with_floor(2, 60)
    assert dict(model.floors) == {1: pytest.approx(50, rel=0.01), 2: 60}
    assert dict(model.with_floor(1, 70).floors)[1] == 70


def test_more_executors_likely_do_in_proportion_what_fewer_were_seen_to_do() -> None:
    assert CapacityModel().likely_floor(4) == 0
    model = CapacityModel().with_floor(2, 100).with_floor(4, 150)
    assert model.likely_floor(4) == pytest.approx(200, rel=0.01)
    assert CapacityModel().with_floor(2, 100).with_floor(4, 250).likely_floor(4) == 250
    assert model.likely_floor(1) == 0


def test_the_newest_floors_are_kept() -> None:
    model = CapacityModel()
    for number in (*range(1, MOST_FLOORS + 1), 1, 200):
        model = model.with_floor(number, 10.0)
    assert [number for number, _ in model.floors] == [*range(3, MOST_FLOORS + 1), 1, 200]


def test_floors_of_a_release_that_kept_none_are_none() -> None:
    data = measured((4, 400)).with_floor(2, 300).to_data()
    del data["floors"]
    assert from_data(data) == measured((4, 400))


@pytest.mark.parametrize(
    ("number", "rate"), [(0, 1.0), (-3, 1.0), (4, 0.0), (4, -1.0), (4, math.nan), (4, math.inf)]
)
def test_what_is_no_measurement_teaches_nothing(number: int, rate: float) -> None:
    model = measured((4, 40_000))
    assert model.with_observation(number, rate) == model
    assert model.with_floor(number, rate) == model


def test_the_range_holds_the_truth_four_times_in_five() -> None:
    chance = random.Random(11)
    held = 0
    for _ in range(300):
        noisy = [(n, 15_000 * n * chance.lognormvariate(0, 0.15)) for n in (2, 5, 8, 11, 14, 17)]
        # The truth of one more measurement, not of the mean.
        truth = 15_000 * 10 * chance.lognormvariate(0, 0.15)
        found = fitted(measured(*noisy)).estimate(10)
        held += found.low <= truth <= found.high
    assert 0.7 <= held / 300 <= 0.97


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (None, "found None where a stored Capacity should be"),
        ({"kind": "Latency", "version": 1}, "found 'Latency'"),
        ({"kind": "Capacity", "version": 2}, "has version 2 and this release reads version 1"),
        ({"kind": "Capacity"}, "has version None"),
        ({"kind": "Capacity", "version": 1}, "cannot be read"),
        ({"kind": "Capacity", "version": 1, "cores": 1, "tasks": None, "points": [[4]]}, "read"),
        ({"kind": "Capacity", "version": 1, "cores": 1, "tasks": None, "points": [[4, 0]]}, "read"),
        (
            {
                "kind": "Capacity",
                "version": 1,
                "cores": 1,
                "tasks": None,
                "points": [],
                "floors": [[4, -1]],
            },
            "read",
        ),
        ({"kind": "Capacity", "version": 1, "cores": "x", "tasks": None, "points": []}, "read"),
        ({"kind": "Capacity", "version": 1, "cores": 1, "tasks": "y", "points": []}, "read"),
        (
            {
                "kind": "Capacity",
                "version": 1,
                "cores": 1,
                "tasks": None,
                "points": [[4, math.nan]],
            },
            "read",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(data: object, told: str) -> None:
    with pytest.raises(CorruptState, match=told):
        from_data(data)


@given(measurements, measurements, st.one_of(st.none(), st.integers(1, 200)))
def test_what_is_stored_reads_back_equal(
    points: list[tuple[int, float]], floors: list[tuple[int, float]], tasks: int | None
) -> None:
    model = measured(*points, tasks=tasks, cores=2)
    for number, rate in floors:
        model = model.with_floor(number, rate)
    assert from_data(json.loads(json.dumps(model.to_data()))) == model


@given(measurements, measurements, st.one_of(st.none(), st.integers(1, 200)))
def test_what_is_offered_rises_in_executors_and_in_capacity(
    points: list[tuple[int, float]], floors: list[tuple[int, float]], tasks: int | None
) -> None:
    found = replace(measured(*points, tasks=tasks), floors=tuple(dict(floors).items())).fitted()
    if isinstance(found, NoData):
        return
    offered = found.useful(range(1, 60))
    assert offered
    assert all(found.rate(more) > found.rate(fewer) for fewer, more in pairwise(offered))
    assert max(found.rate(number) for number in range(1, 60)) <= 1.005 * found.rate(offered[-1])


@given(
    st.lists(
        st.tuples(st.integers(-10, 10**9), st.floats(allow_nan=True, allow_infinity=True)),
        max_size=30,
    ),
    st.integers(0, 10_000),
)
def test_no_measurements_raise(points: list[tuple[int, float]], number: int) -> None:
    found = measured(*points, tasks=24).fitted()
    if not isinstance(found, NoData):
        estimate = found.estimate(number)
        assert 0 <= estimate.low <= estimate.value <= estimate.high < math.inf
