"""The capacity of a job that nobody has profiled is what it shows of itself."""

from dataclasses import replace

import pytest

from sluice.core.deciding.capacities import plausible
from sluice.core.deciding.compacting import compacted
from sluice.core.deciding.deciding import decide
from sluice.core.deciding.guards import Settings
from sluice.core.deciding.policies.sluice import Sluice
from sluice.core.deciding.situation import (
    Activity,
    Batching,
    Bounds,
    Models,
    Observations,
    Situation,
    Targets,
)
from sluice.core.deciding.starting import LEAST_WORK, busy_share, known_capacity
from sluice.core.modelling.capacity import Capacity, CapacityModel
from sluice.core.modelling.capacity import from_data as capacity_from_data
from sluice.core.series import NoData
from tests.unit.core.deciding.situations import MODELS, steady, wishes

PERIODIC = Batching(period=10.0)
MISSING = NoData("not measured")


def young(batching: Batching = PERIODIC, **changes: object) -> Situation:
    """A job on 4 executors without models, which processes 8,000 rows/s."""
    situation = steady(8_000.0, 4, models=Models(), batching=batching)
    observed = replace(situation.observed, **changes)  # type: ignore[arg-type]  # named by tests
    return replace(situation, observed=observed)


def rate(situation: Situation, executors: int = 4) -> float:
    found = known_capacity(situation, 5.0)
    assert isinstance(found, Capacity), found
    return found.rate(executors)


def test_what_was_learned_comes_first() -> None:
    assert rate(steady(8_000.0, 4)) == pytest.approx(64_000)
    assert rate(replace(young(), models=MODELS)) == pytest.approx(64_000)


def test_rates_of_hours_without_load_are_no_capacities() -> None:
    quiet = ((9, 140_000.0), (24, 380_000.0), (24, 390_000.0), (24, 3_000.0), (24, 200.0))
    model = CapacityModel(points=quiet)
    assert plausible(model).points == quiet[:3]
    assert rate(steady(1.0, 24, models=Models(capacity=model)), 24) == pytest.approx(
        385_000, rel=0.05
    )


def test_rates_at_a_small_size_are_held_against_those_of_each_executor_at_larger_ones() -> None:
    points = ((6, 500.0), (6, 700.0), (9, 140_000.0), (24, 380_000.0))
    assert plausible(CapacityModel(points=points)).points == points[2:]


@pytest.mark.parametrize(
    "rates",
    [((1, 1_000.0), (2, 6_000.0), (4, 12_000.0)), ((1, 10_000.0), (2, 16_000.0), (8, 6_000.0))],
    ids=["one alone spills", "falls with scale"],
)
def test_what_a_profile_has_measured_is_believed_however_odd(
    rates: tuple[tuple[int, float], ...],
) -> None:
    model = CapacityModel()
    for executors, found in rates:
        model = model.with_profiled(executors, found)
    situation = steady(1_300.0, executors=2, models=replace(MODELS, capacity=model))
    known = compacted(situation).models.capacity
    assert plausible(known).points == rates == capacity_from_data(known.to_data()).profiled
    low = known.with_observation(rates[-1][0], 10.0)
    assert plausible(low).points == rates


def test_a_job_is_not_shrunk_into_the_overload_that_a_profile_has_told_of() -> None:
    model = CapacityModel()
    for executors, found in ((1, 1_000.0), (2, 6_000.0), (4, 12_000.0)):
        model = model.with_profiled(executors, found)
    situation = steady(
        1_300.0,
        executors=2,
        bounds=Bounds(smallest=1, largest=4),
        models=replace(MODELS, capacity=model),
        wishes=wishes(1),
    )
    assert Sluice()(situation).wanted > 1


def test_a_step_between_waves_is_plausible() -> None:
    # 24 tasks take two waves on 23 executors, and one on 24.
    points = ((12, 96_000.0), (23, 96_000.0), (24, 192_000.0))
    assert plausible(CapacityModel(points=points)).points == points


def test_one_wild_rate_rules_out_no_others() -> None:
    points = ((4, 64_000.0), (4, 63_000.0), (4, 65_000.0), (4, 1e9), (8, 128_000.0))
    assert set(plausible(CapacityModel(points=points)).points) >= set(points)


def test_negative_returns_are_capacities() -> None:
    points = ((4, 64_000.0), (8, 90_000.0), (16, 70_000.0))
    assert plausible(CapacityModel(points=points)).points == points


def test_a_share_of_busy_time_scales_to_the_whole_and_to_other_sizes() -> None:
    assert rate(young(busy=0.25)) == pytest.approx(32_000)
    assert rate(young(busy=0.25), 8) == pytest.approx(64_000)


def test_a_trigger_that_never_waits_leaves_only_the_processors_to_tell() -> None:
    assert rate(young(Batching(), busy=1.0, cpu=0.5)) == pytest.approx(16_000)


def test_the_overhead_of_batches_is_no_work() -> None:
    overhead = Batching(overhead=3.0)
    assert busy_share(young(overhead, busy=1.0, batch=4.0)) == pytest.approx(0.25)
    assert isinstance(busy_share(young(overhead, busy=1.0, batch=0.0)), NoData)


def test_of_a_batch_that_is_all_overhead_a_share_is_taken_for_work() -> None:
    usual, short = (
        rate(young(Batching(overhead=3.0, period=5.0), busy=0.8, batch=seconds))
        for seconds in (4.0, 2.0)
    )
    assert short == pytest.approx(usual)
    assert usual == pytest.approx(8_000 / (0.8 * LEAST_WORK))


def test_a_job_that_rests_most_of_the_time_shows_what_it_could_do() -> None:
    resting = young(Batching(overhead=3.0, period=60.0), busy=0.05, batch=3.0)
    assert rate(resting) == pytest.approx(8_000 / (0.05 * LEAST_WORK))


def test_a_backlog_shows_the_capacity_by_itself() -> None:
    behind = young(busy=0.5, cpu=0.9, lag=1e6)
    assert rate(behind) == pytest.approx(8_000)


def test_a_backlog_on_idle_processors_shows_nothing() -> None:
    behind = young(busy=0.5, cpu=0.1, lag=1e6)
    assert rate(behind) == pytest.approx(16_000)


def test_a_job_that_never_had_rows_needs_no_capacity() -> None:
    silent = steady(0.0, 4, models=Models(), forecast=MISSING)
    idle = replace(silent, observed=replace(silent.observed, lag=0.0))
    assert isinstance(known_capacity(idle, 5.0), Capacity)
    waiting = replace(silent, observed=replace(silent.observed, lag=5.0))
    assert isinstance(known_capacity(waiting, 5.0), NoData)


SEEN = replace(Models(), capacity=CapacityModel(floors=((2, 30_000.0), (4, 50_000.0))))


def test_with_little_to_do_a_job_can_still_do_what_it_was_seen_to_do() -> None:
    little = replace(young(busy=0.25), models=SEEN)
    assert rate(little) == pytest.approx(60_000), "as twice as many do twice as much"
    assert rate(little, 2) == pytest.approx(30_000)
    assert rate(little, 8) == pytest.approx(120_000)


@pytest.mark.parametrize("cpu", [0.9, 0.1])
def test_a_job_that_falls_behind_can_do_no_more_than_it_does_and_elsewhere_less_than_it_did(
    cpu: float,
) -> None:
    behind = replace(young(busy=1.0, cpu=cpu, lag=1e6), models=SEEN)
    assert rate(behind) == pytest.approx(8_000)
    assert rate(behind, 2) == pytest.approx(30_000 * 8 / 50)


@pytest.mark.parametrize("missing", ["processing", "busy"])
def test_what_is_not_measured_tells_nothing(missing: str) -> None:
    situation = young()
    observed = replace(situation.observed, **{missing: MISSING})  # type: ignore[arg-type]  # a name above
    assert isinstance(known_capacity(replace(situation, observed=observed), 5.0), NoData)


def in_flight(took: float) -> Situation:
    """The job in a batch that has run for so long, of all of the 80,000 rows that wait."""
    return young(processing=0.0, cpu=0.0, busy=1.0, lag=80_000.0, in_flight=took)


def test_a_batch_that_goes_on_shows_what_the_job_can_do_at_most() -> None:
    assert rate(in_flight(100.0)) == pytest.approx(800)
    assert rate(in_flight(400.0)) == pytest.approx(200)
    limited = replace(in_flight(100.0), batching=replace(PERIODIC, most_rows=10_000.0))
    assert rate(limited) == pytest.approx(100)


@pytest.mark.parametrize(
    "situation",
    [
        in_flight(59.0),
        replace(in_flight(100.0), observed=replace(in_flight(100.0).observed, in_flight=MISSING)),
        replace(in_flight(100.0), observed=replace(in_flight(100.0).observed, lag=MISSING)),
    ],
)
def test_what_says_nothing_of_a_batch_says_nothing_of_the_capacity(situation: Situation) -> None:
    assert isinstance(known_capacity(situation, 5.0), NoData)


def test_a_job_with_a_backlog_is_not_said_to_work_too_little() -> None:
    behind, idle = (
        known_capacity(in_flight(59.0), 5.0),
        known_capacity(young(busy=0.001, cpu=0.001, lag=0.0), 5.0),
    )
    assert isinstance(behind, NoData)
    assert behind.reason.startswith("a backlog waits, but no batch has told yet")
    assert isinstance(idle, NoData)
    assert idle.reason.startswith("the job works too little to say")


def first_batch(took: float = 90.0, queued: float | NoData = 20.0) -> Situation:
    """A job on 4 executors, of 1 to 24, of which no more is known than that its first batch runs."""
    return Situation(
        at=1e9,
        bounds=Bounds(smallest=1, largest=24),
        executors=4,
        running=4,
        observed=Observations(in_flight=took, queued=queued),
        activity=Activity.STARTING,
    )


def decided(situation: Situation) -> int:
    return decide(situation, Sluice(), Settings()).executors


def test_a_first_batch_of_minutes_doubles_the_executors_as_long_as_its_tasks_wait() -> None:
    assert decided(first_batch()) == 8
    assert decided(first_batch(queued=1.5)) == 6
    assert decided(first_batch(queued=0.0)) == 4


def test_a_first_batch_is_given_no_more_than_is_allowed() -> None:
    assert decided(replace(first_batch(), bounds=Bounds(smallest=1, largest=5))) == 5
    narrow = replace(first_batch(), bounds=Bounds(smallest=1, largest=4))
    assert "because" not in decide(narrow, Sluice(), Settings()).reason


def test_a_first_batch_is_given_more_only_when_those_before_have_come_and_had_a_minute() -> None:
    rescaled = replace(first_batch(), since_rescale=59.0)
    assert decided(rescaled) == 4
    assert decided(replace(rescaled, since_rescale=60.0)) == 8
    assert decided(replace(rescaled, since_rescale=60.0, running=3)) == 4


@pytest.mark.parametrize(
    "situation",
    [
        first_batch(took=59.0),
        first_batch(queued=MISSING),
        replace(first_batch(), live=False),
        replace(first_batch(), targets=Targets(latency=300.0)),
    ],
)
def test_a_first_batch_that_may_take_its_time_or_would_be_lost_is_left_alone(
    situation: Situation,
) -> None:
    assert decided(situation) == 4


def test_the_load_of_a_job_that_is_known_decides_whatever_waits_in_its_batch() -> None:
    known = steady(8_000.0, 4)
    long = replace(known, observed=replace(known.observed, in_flight=90.0, queued=20.0))
    assert decided(long) == decided(known)
