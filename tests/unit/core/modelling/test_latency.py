import json
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.core.modelling.capacity import Capacity, CapacityModel
from sluice.core.modelling.latency import (
    MEMORY,
    LatencyCurve,
    LatencyModel,
    LatencyPoint,
    from_data,
    utilisation,
)
from sluice.core.modelling.shapes import Curve, Shape, Slots
from sluice.core.series import NoData
from sluice.errors import CorruptState
from tests.unit.core.modelling.published import CAPACITIES, MILLISECONDS, RATE_STEP

POINTS = [
    LatencyPoint(
        executors=executors, rate=RATE_STEP * (index + 1), seconds=latency / 1000, profiled=True
    )
    for executors, row in MILLISECONDS.items()
    for index, latency in enumerate(row)
]

points = st.lists(
    st.builds(
        LatencyPoint,
        executors=st.integers(1, 50),
        rate=st.floats(0, 1e6),
        seconds=st.floats(0, 1e5),
        profiled=st.booleans(),
    ),
    min_size=1,
    max_size=20,
)


def proportional(rate: float) -> Capacity:
    curve = Curve(shape=Shape.LINEAR, slots=Slots(), intercept=0, slope=rate)
    return Capacity(curve=curve, error=0.1, smallest=1, largest=50, observations=10)


def published_capacity() -> Capacity:
    model = CapacityModel()
    for executors, rate in CAPACITIES.items():
        model = model.with_observation(executors, rate)
    found = model.fitted()
    assert isinstance(found, Capacity)
    return found


def taught(measured: list[LatencyPoint]) -> LatencyModel:
    model = LatencyModel()
    for point in measured:
        model = model.with_observation(point)
    return model


def curve(measured: list[LatencyPoint], capacity: Capacity) -> LatencyCurve:
    found = taught(measured).fitted(capacity)
    assert isinstance(found, LatencyCurve)
    return found


def test_on_the_published_profile_overload_is_told_from_utilisation_but_for_one_of_79() -> None:
    capacity = published_capacity()
    found = curve(POINTS, capacity)
    assert found.boundary == pytest.approx(2.004, abs=1e-3)
    wrong = [
        point
        for point in POINTS
        if found.at(utilisation(point.rate, capacity.rate(point.executors))).is_overload
        != (point.seconds > found.boundary)
    ]
    assert [(point.executors, point.rate) for point in wrong] == [(20, 280_000)]


def test_a_scale_out_that_was_not_profiled_is_predicted() -> None:
    capacity = published_capacity()
    found = curve(POINTS, capacity)
    calm = found.at(utilisation(100_000, capacity.rate(12)))
    assert calm.seconds.value == pytest.approx(1.05, rel=0.1)
    assert not calm.is_overload
    assert found.at(utilisation(150_000, capacity.rate(9))).is_overload


def test_a_job_at_its_capacity_is_overloaded_whatever_was_measured() -> None:
    found = curve([LatencyPoint(executors=1, rate=50, seconds=1)] * 9, proportional(100))
    assert not found.at(0.99).is_overload
    assert found.at(1).is_overload


def test_the_range_holds_what_was_measured() -> None:
    capacity = published_capacity()
    found = curve(POINTS, capacity)
    normal = [point for point in POINTS if point.seconds <= found.boundary]
    inside = 0
    for point in normal:
        seconds = found.at(utilisation(point.rate, capacity.rate(point.executors))).seconds
        inside += seconds.low <= point.seconds <= seconds.high
    assert inside / len(normal) >= 0.8


def test_far_from_all_points_nothing_was_observed() -> None:
    found = curve([LatencyPoint(executors=1, rate=50, seconds=1)] * 9, proportional(100))
    assert found.at(0.5).seconds.observations == 9
    assert found.at(0.8).seconds.observations == 0


def test_one_point_leaves_a_factor_of_two_open() -> None:
    seconds = curve([LatencyPoint(executors=1, rate=50, seconds=3)], proportional(100)).at(0.5)
    assert seconds.seconds.low == pytest.approx(1.5)
    assert seconds.seconds.high == pytest.approx(6)


def test_production_moves_the_latency_and_keeps_the_overload_of_the_profile() -> None:
    capacity = published_capacity()
    model = taught(POINTS)
    for index in range(2 * MEMORY):
        rate = 50_000 + 100 * index
        model = model.with_observation(LatencyPoint(executors=12, rate=rate, seconds=0.5))
    assert (len(model.profiled), len(model.observed)) == (79, MEMORY)
    found = model.fitted(capacity)
    assert isinstance(found, LatencyCurve)
    assert found.at(utilisation(80_000, capacity.rate(12))).seconds.value < 0.7
    assert found.at(0.95).is_overload


def test_nothing_measured_is_a_reason() -> None:
    assert isinstance(LatencyModel().fitted(proportional(1)), NoData)


@pytest.mark.parametrize(
    "point",
    [
        LatencyPoint(executors=0, rate=1, seconds=1),
        LatencyPoint(executors=1, rate=-1, seconds=1),
        LatencyPoint(executors=1, rate=math.nan, seconds=1),
        LatencyPoint(executors=1, rate=1, seconds=math.nan),
        LatencyPoint(executors=1, rate=1, seconds=math.inf, profiled=True),
    ],
)
def test_what_is_no_measurement_teaches_nothing(point: LatencyPoint) -> None:
    assert LatencyModel().with_observation(point) == LatencyModel()


@pytest.mark.parametrize(
    ("rate", "capacity", "used"), [(0, 0, 0), (5, 0, 10), (50, 100, 0.5), (1e300, 1e-300, 10)]
)
def test_utilisation(rate: float, capacity: float, used: float) -> None:
    assert utilisation(rate, capacity) == used


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "Latency", "version": 9, "profiled": [], "observed": []},
        {"kind": "Latency", "version": 1, "profiled": []},
        {"kind": "Latency", "version": 1, "profiled": [[1, 2]], "observed": []},
        {"kind": "Latency", "version": 1, "profiled": [[1, 2, math.nan]], "observed": []},
        {"kind": "Latency", "version": 1, "profiled": 7, "observed": []},
        "text",
    ],
)
def test_what_cannot_be_read_is_refused(data: object) -> None:
    with pytest.raises(CorruptState, match="learned anew"):
        from_data(data)


@given(points)
def test_what_is_stored_reads_back_equal(measured: list[LatencyPoint]) -> None:
    model = taught(measured)
    assert from_data(json.loads(json.dumps(model.to_data()))) == model


@given(points, st.floats(0, 1e6))
def test_more_executors_never_mean_more_latency(measured: list[LatencyPoint], rate: float) -> None:
    capacity = proportional(10_000)
    found = curve(measured, capacity)
    expected = [found.at(utilisation(rate, capacity.rate(number))) for number in range(1, 50)]
    for fewer, more in pairwise(expected):
        assert more.seconds.value <= fewer.seconds.value * (1 + 1e-12)
        assert more.is_overload <= fewer.is_overload


@given(points, st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_higher_rate_never_means_less_latency(
    measured: list[LatencyPoint], one: float, other: float
) -> None:
    found = curve(measured, proportional(10_000))
    low, high = (found.at(utilisation(rate, 60_000)) for rate in sorted((one, other)))
    assert low.seconds.value <= high.seconds.value * (1 + 1e-12)
    assert low.is_overload <= high.is_overload


@given(
    st.lists(
        st.builds(LatencyPoint, executors=st.integers(), rate=st.floats(), seconds=st.floats()),
        max_size=20,
    ),
    st.floats(0, 20),
)
def test_no_measurements_raise(measured: list[LatencyPoint], used: float) -> None:
    found = taught(measured).fitted(proportional(1))
    if isinstance(found, LatencyCurve):
        seconds = found.at(used).seconds
        assert 0 < seconds.low <= seconds.value <= seconds.high < math.inf
