"""What a candidate would bring, and what speaks against it."""

import math
from dataclasses import replace

import pytest

from sluice.core.deciding.assessing import (
    Assessment,
    Goals,
    Trial,
    assess,
    moments,
)
from sluice.core.deciding.choosing import choose
from sluice.core.deciding.latencies import as_of, explained, explained_curve
from sluice.core.deciding.situation import Batching
from sluice.core.modelling.capacity import Capacity, CapacityModel
from sluice.core.modelling.fetching import Fetching
from sluice.core.modelling.latency import LatencyCurve, LatencyModel, LatencyPoint
from sluice.core.modelling.load import Load, constant_load, load
from sluice.core.modelling.shapes import Shape, Slots
from sluice.core.series import NoData
from tests.unit.core.deciding.situations import MODELS

GOALS = Goals(utilisation=0.85, latency=10.0, recovery=180.0, drain=180.0, tolerance=0.05)


def fitted(model: CapacityModel) -> Capacity:
    found = model.fitted()
    assert isinstance(found, Capacity)
    return found


CAPACITY = fitted(MODELS.capacity)
QUIET = Fetching(partitions=24, longest=0.5)


def trial(arriving: Load | None = None, **changes: object) -> Trial:
    expected = constant_load(100.0) if arriving is None else arriving
    ordinary = Trial(
        load=expected,
        peak=max(expected.rates),
        likely=max(expected.rates),
        horizon=600.0,
        failures=moments(expected, 600.0),
        backlog=0.0,
        downtime=60.0,
        interval=10.0,
        batching=Batching(),
        curve=NoData("not measured"),
    )
    return replace(ordinary, **changes)  # type: ignore[arg-type]  # named by tests


def tried(capacity: float, ordinary: Trial) -> Assessment:
    return assess(ordinary, 1, capacity=capacity, least=capacity)


def test_load_and_capacity_are_not_taken_to_be_at_the_edges_of_their_ranges_at_once() -> None:
    # 25 % on either side are 1.25 each, and exp(0.2231 x sqrt 2) = 1.3711 together, not 1.5625.
    found = assess(trial(peak=125.0, likely=100.0), 1, capacity=200.0, least=160.0)
    assert found.utilisation == pytest.approx(0.5 * 1.3711, rel=1e-4)


@pytest.mark.parametrize(
    ("peak", "least", "used"), [(125.0, 200.0, 0.625), (100.0, 160.0, 0.625), (100.0, 200.0, 0.5)]
)
def test_of_one_range_alone_the_edge_counts(peak: float, least: float, used: float) -> None:
    found = assess(trial(peak=peak, likely=100.0), 1, capacity=200.0, least=least)
    assert found.utilisation == pytest.approx(used)


def test_the_driver_is_lost_at_the_worst_moment_of_the_horizon() -> None:
    rising = load([(-60.0, 100.0), (0.0, 100.0), (600.0, 300.0)])
    assert isinstance(rising, Load)
    now = tried(600.0, trial(rising, failures=(rising,))).recovery
    assert tried(600.0, trial(rising)).recovery > now


def test_long_batches_replay_more_after_a_failure() -> None:
    # Batches with 8 s of overhead take 16 s at half the capacity, and are redone.
    batching = Batching(overhead=8.0)
    short, long = (
        tried(200.0, trial(interval=interval, batching=batching)) for interval in (0.0, 16.0)
    )
    assert short.recovery == long.recovery
    assert tried(200.0, trial(interval=40.0, batching=batching)).recovery > long.recovery


def test_a_load_above_the_capacity_is_never_caught_up() -> None:
    assert tried(99.0, trial()).recovery == float("inf")


def test_of_what_is_not_sure_to_process_anything_no_share_is_told() -> None:
    nothing = tried(0.0, trial())
    assert GOALS.shortfall(nothing, nothing) == "nothing is sure to be processed"


def test_without_a_latency_model_the_batches_tell_the_latency() -> None:
    # A record waits for the batch of 2 x 1 s that runs, and then for its own.
    assert tried(200.0, trial(batching=Batching(overhead=1.0))).latency == pytest.approx(4.0)
    periodic = Batching(overhead=1.0, period=30.0)
    assert tried(200.0, trial(batching=periodic)).latency == pytest.approx(32.0)


def test_a_limit_of_rows_below_the_load_is_no_reason_for_executors() -> None:
    throttled = trial(batching=Batching(period=10.0, most_rows=500.0))
    few, best = tried(400.0, throttled), tried(4000.0, throttled)
    assert few.recovery == best.recovery == float("inf")
    assert GOALS.shortfall(few, best) is None


SHARING = Batching(shared=90.0, most_rows=5_000.0)
"""Tasks that there are without rows take 90 s of all executors: a batch is the shorter, the more there are."""


def test_a_limit_of_rows_that_larger_candidates_lift_is_one() -> None:
    few, best = (
        assess(
            trial(batching=SHARING), executors, capacity=400.0 * executors, least=400.0 * executors
        )
        for executors in (1, 10)
    )
    assert few.is_held_back
    assert not best.is_held_back
    assert GOALS.shortfall(few, best) == "batches of limited rows let it do 49 rows/s"


def test_where_no_candidate_lifts_it_the_nearest_ones_are_enough() -> None:
    heavy = trial(peak=5_000.0, likely=5_000.0, batching=SHARING)
    far, near, best = (
        assess(
            heavy,
            executors,
            capacity=400.0 * executors,
            least=400.0 * executors,
        )
        for executors in (20, 96, 100)
    )
    assert GOALS.shortfall(far, best) == "batches of limited rows let it do 976 rows/s"
    assert best.is_held_back
    assert GOALS.shortfall(near, best) is None


@pytest.mark.parametrize("most", [500.0, 1_100.0], ids=["below the load", "just above it"])
def test_no_executors_help_a_backlog_that_a_limit_of_rows_holds_back(most: float) -> None:
    behind = trial(backlog=1e6, batching=Batching(period=10.0, most_rows=most))
    enough, best = tried(200.0, behind), tried(4000.0, behind)
    assert best.drain > GOALS.drain
    assert GOALS.shortfall(enough, best) is None
    unlimited = trial(backlog=1e6, batching=Batching(period=10.0))
    assert GOALS.shortfall(tried(200.0, unlimited), tried(4000.0, unlimited)) is not None


def test_no_executors_help_a_recovery_that_a_limit_of_rows_makes_too_long() -> None:
    limited = trial(batching=Batching(period=10.0, most_rows=1_100.0))
    enough, best = tried(150.0, limited), tried(4000.0, limited)
    assert best.recovery > GOALS.recovery
    assert GOALS.shortfall(enough, best) is None


def test_latency_speaks_only_against_what_more_executors_would_make_faster() -> None:
    slow = tried(200.0, trial(batching=Batching(overhead=20.0)))
    assert GOALS.shortfall(slow, slow) == "latency 80.0 s, the goal is 10.0 s"
    idle = tried(1000.0, trial(batching=Batching(overhead=6.0)))
    assert idle.latency > GOALS.latency
    assert GOALS.shortfall(idle, idle) is None


def test_at_any_load_latency_speaks_for_executors_that_share_the_overhead() -> None:
    idle = trial(batching=Batching(overhead=1.0, shared=20.0))
    found = [assess(idle, executors, capacity=1e4, least=1e4) for executors in (1, 2, 4, 8)]
    # For the batch that runs, and then for its own.
    assert [round(one.latency) for one in found] == [42, 22, 12, 7]
    verdicts = [GOALS.shortfall(one, found[-1]) for one in found]
    assert [verdict is None for verdict in verdicts] == [False, False, False, True]
    alone = trial(batching=Batching(overhead=15.0, shared=5.0))
    few, many = (assess(alone, executors, capacity=1e4, least=1e4) for executors in (1, 8))
    assert few.latency > GOALS.latency
    assert GOALS.shortfall(few, many) is None, "others would take a fourth of it at most"


def test_a_latency_that_was_seen_with_few_executors_is_shorter_with_more_that_share_it() -> None:
    batching = Batching(overhead=1.0, shared=20.0)
    seen = LatencyModel(
        observed=tuple(LatencyPoint(executors=2, rate=16.0, seconds=22.0) for _ in range(9))
    )
    curve = explained_curve(seen, CAPACITY, batching)
    idle = trial(batching=batching, curve=curve)
    found = [assess(idle, executors, capacity=1e4, least=1e4) for executors in (1, 2, 4)]
    assert [one.latency for one in found] == pytest.approx([42.0, 22.0, 12.0], rel=0.02)


def test_what_tasks_wait_for_rows_is_shared_by_executors_and_the_less_the_more_rows_come() -> None:
    batching = Batching(overhead=1.0, fetching=QUIET, cores=2)
    for rate, each in ((48.0, 0.25), (480.0, 0.025)):
        quiet = trial(constant_load(rate), batching=batching)
        found = [assess(quiet, executors, capacity=1e6, least=1e6) for executors in (1, 2, 4)]
        # For the batch that runs, and then for its own, in which two, four and eight tasks wait at once.
        expected = [2 * (1 + waves * each) for waves in (12, 6, 3)]
        assert [one.latency for one in found] == pytest.approx(expected, rel=1e-3)


def test_where_batches_are_mostly_waiting_latency_speaks_for_executors_however_little_they_do() -> (
    None
):
    quiet = trial(constant_load(48.0), batching=Batching(overhead=1.0, fetching=QUIET))
    few, many = (assess(quiet, executors, capacity=1e6, least=1e6) for executors in (1, 12))
    assert GOALS.shortfall(few, many) == "latency 14.0 s, the goal is 10.0 s"
    assert GOALS.shortfall(many, many) is None


def test_a_latency_that_was_seen_at_night_is_shorter_at_day() -> None:
    batching = Batching(overhead=1.0, fetching=QUIET)
    at_night = LatencyPoint(executors=2, rate=48.0, seconds=2 * (1 + 12 * 0.25))
    seen = LatencyModel(observed=(at_night,) * 9)
    curve = explained_curve(seen, CAPACITY, batching)
    day = trial(constant_load(480.0), batching=batching, curve=curve)
    found = assess(day, 2, capacity=1e6, least=1e6)
    assert found.latency == pytest.approx(2 * (1 + 12 * 0.025), rel=0.01)


def test_before_an_overhead_is_known_latencies_are_compared_by_their_waiting() -> None:
    batching = Batching(overhead=0.0, fetching=QUIET)
    seen = LatencyModel(observed=(LatencyPoint(executors=1, rate=48.0, seconds=12.0),) * 9)
    quiet = trial(
        constant_load(48.0),
        batching=batching,
        curve=explained_curve(seen, CAPACITY, batching),
    )
    found = [assess(quiet, executors, capacity=1e6, least=1e6).latency for executors in (1, 2)]
    assert found[0] == pytest.approx(12.0, rel=0.01)
    assert found[1] <= found[0]


def test_of_what_executors_share_latency_never_falls_with_the_load() -> None:
    # Of one executor, latency grows with the utilisation; of many, the trigger hides that: noise looks like a fall.
    batching = Batching(overhead=0.0, shared=90.0, period=10.0)
    seen = LatencyModel(
        observed=tuple(
            LatencyPoint(executors=10, rate=rate, seconds=20.0)
            for rate in (160.0, 60_000.0, 120_000.0)
        )
    )
    curve = explained_curve(seen, CAPACITY, batching)
    found = [
        assess(
            trial(constant_load(rate), batching=batching, curve=curve),
            30,
            capacity=480_000.0,
            least=480_000.0,
        ).latency
        for rate in (0.0, 1e5, 2e5, 3e5, 4e5)
    ]
    assert found == sorted(found)
    # As at the least load: for the trigger, and for a batch of 3 s instead of 9 s.
    assert found[0] == pytest.approx(20.0 * (10.0 + 3.0) / (10.0 + 9.0), rel=0.01)


def test_where_the_curve_of_one_is_level_that_of_many_is_too() -> None:
    level = LatencyCurve(
        utilisations=(0.0, 0.8), logs=(math.log(18), math.log(18)), points=(), boundary=1e9
    )
    of_thirty = as_of(level, Batching(shared=90.0, period=10.0), 30, 10.0)
    # For the batch that runs, and then for its own: 90 s each of one, the trigger and 3 s of thirty.
    assert [math.exp(log) for log in of_thirty.logs] == pytest.approx([18 * 13 / 180] * 2)


def test_a_job_that_is_hardly_used_is_not_overloaded() -> None:
    points = tuple(
        LatencyPoint(executors=1, rate=rate, seconds=seconds)
        for rate, seconds in ((16.0, 1.0), (32.0, 1.0), (6_400.0, 30.0), (6_500.0, 40.0))
    )
    curve = LatencyModel(observed=points).fitted(CAPACITY)
    assert tried(240.0, trial(curve=curve)).utilisation < 0.5
    assert not isinstance(curve, NoData)
    assert curve.at(100 / 240).is_overload
    assert not tried(240.0, trial(curve=curve)).is_overload
    assert tried(190.0, trial(curve=curve)).is_overload


def test_the_slower_of_two_kinds_of_latency_is_an_overload_only_where_none_is_promised() -> None:
    points = [(rate, 0.5) for rate in (1_000.0, 2_000.0, 3_000.0)]
    points += [(rate, 4.0) for rate in (4_000.0, 4_200.0, 4_400.0)]
    model = LatencyModel(
        observed=tuple(
            LatencyPoint(executors=1, rate=rate, seconds=seconds) for rate, seconds in points
        )
    )
    found = tried(150.0, trial(curve=model.fitted(fitted(CapacityModel(points=((1, 6_000.0),))))))
    assert found.is_overload
    assert GOALS.shortfall(found, found) is None, "4 s of 10"
    nothing_promised = replace(GOALS, latency=float("inf"))
    assert (
        nothing_promised.shortfall(found, found) == "overloaded at 67% of what it surely processes"
    )
    strict = replace(GOALS, latency=3.0)
    assert strict.shortfall(found, found) == "latency 4.0 s, the goal is 3.0 s"


def test_a_backlog_that_nothing_drains_in_time_needs_only_what_helps() -> None:
    behind = trial(backlog=1e6)
    best, near, far = (tried(capacity, behind) for capacity in (4000.0, 3900.0, 2000.0))
    assert best.drain > GOALS.drain
    assert GOALS.shortfall(near, best) is None
    assert GOALS.shortfall(far, best) == "the backlog takes 526 s, the goal is 180 s"


def test_more_executors_far_from_the_profile_count_as_no_loss() -> None:
    narrow = fitted(CapacityModel(points=((1, 60.0), (2, 200.0), (3, 260.0))))
    assert narrow.estimate(9).low < narrow.estimate(5).low
    choice = choose(range(1, 401), 1, narrow, trial(constant_load(1e9)), goals=GOALS)
    ordered = [found.utilisation for found in choice.seen]
    assert ordered == sorted(ordered, reverse=True)
    assert choice.chosen.executors == 400


def test_the_present_size_and_the_neighbours_of_the_choice_are_looked_at() -> None:
    choice = choose(range(1, 101), 90, CAPACITY, trial(constant_load(5e5)), goals=GOALS)
    seen = [found.executors for found in choice.seen]
    place = choice.chosen.executors
    assert 90 in seen
    assert set(range(place - 3, place + 4)) <= set(seen)


def test_numbers_with_the_same_waves_of_tasks_are_no_candidates() -> None:
    # Noise made the curve a straight line; the tasks go in waves all the same.
    rates = [(s, 8_000.0 * s) for s in (2, 7, 10, 13, 17, 20)]
    stairs = fitted(CapacityModel(slots=Slots(tasks=24), points=tuple(rates)))
    assert stairs.curve.shape is not Shape.STAIRCASE
    choice = choose(range(1, 25), 13, stairs, trial(constant_load(60_000)), goals=GOALS)
    # The present size is looked at, whatever it is.
    assert {found.executors for found in choice.seen} <= {1, 2, 3, 4, 5, 6, 8, 12, 24} | {13}
    assert choice.chosen.executors != 13


def test_latencies_that_an_outage_left_behind_do_not_bend_the_curve() -> None:
    clean = tuple(
        LatencyPoint(executors=10, rate=1_600.0 * share, seconds=1.0) for share in range(5, 80)
    )
    left = tuple(LatencyPoint(executors=10, rate=160.0, seconds=60.0) for _ in range(5))
    model = LatencyModel(observed=(*clean, *left))
    bent, straight = model.fitted(CAPACITY), explained_curve(model, CAPACITY, Batching())
    assert not isinstance(bent, NoData)
    assert not isinstance(straight, NoData)
    assert bent.at(0.5).seconds.value > 1.2
    assert straight.at(0.5).seconds.value == pytest.approx(1.0)


def test_one_latency_at_the_highest_load_is_an_accident_and_two_are_none() -> None:
    usual = tuple(
        LatencyPoint(executors=10, rate=1_600.0 * share, seconds=3.0) for share in range(1, 7)
    )
    stall = LatencyPoint(executors=10, rate=11_000.0, seconds=120.0)
    assert stall not in explained(LatencyModel(observed=(*usual, stall)), CAPACITY)
    again = replace(stall, rate=11_100.0)
    assert {stall, again} <= {*explained(LatencyModel(observed=(*usual, stall, again)), CAPACITY)}


def test_latencies_of_an_overload_are_explained_by_load() -> None:
    knee = tuple(
        LatencyPoint(executors=10, rate=16_000.0 * share, seconds=1.0 if share < 9 else 30.0)
        for share in range(1, 12)
    )
    assert len(explained(LatencyModel(observed=knee), CAPACITY)) == len(knee)
