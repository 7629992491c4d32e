"""What is learned from batches, and what is not."""

from dataclasses import replace

import numpy as np
import pytest

from sluice.core.deciding.situation import Bounds, Models
from sluice.core.learning.batches import BatchReport
from sluice.core.learning.experience import Experience, Outage
from sluice.core.learning.overheads import Overheads, fitted_overhead, measured_capacities
from sluice.core.learning.starts import Start
from sluice.core.modelling.capacity import Capacity, CapacityModel
from sluice.core.modelling.downtime import Cause
from sluice.core.modelling.shapes import Slots
from sluice.core.profiling.planning import scale_outs
from sluice.core.series import NoData
from sluice.core.simulation.plant import PLANTS, Plant
from sluice.core.simulation.profiling import profiled


def report(
    start: float, rows: float, *, overhead: float = 0.5, rate: float = 1000.0, cold: float = 0.0
) -> BatchReport:
    seconds = overhead + rows / rate + cold
    return BatchReport(start=start, seconds=seconds, rows=rows, executors=4, cold=cold > 0)


def steady(count: int = 60, **of: float) -> list[BatchReport]:
    sizes = np.random.default_rng(1).uniform(1000, 5000, count)
    return [report(20.0 * number, float(rows), **of) for number, rows in enumerate(sizes)]


def rate(experience: Experience) -> float:
    capacity = experience.models.capacity.fitted()
    assert isinstance(capacity, Capacity)
    return capacity.rate(4)


def test_batches_of_different_sizes_tell_overhead_and_capacity() -> None:
    found = Experience().with_batches(steady(), now=1200)
    assert found.overhead == pytest.approx(0.5, rel=0.02)
    assert rate(found) == pytest.approx(1000, rel=0.02)


def test_batches_of_one_size_tell_no_capacity() -> None:
    alike = [report(20.0 * number, 1000) for number in range(60)]
    found = Experience().with_batches(alike, now=1200)
    assert isinstance(found.models.capacity.fitted(), NoData)
    assert fitted_overhead(alike).error > 0.3


def test_what_batches_of_one_size_show_at_least_outlasts_a_rescale() -> None:
    alike = [report(20.0 * number, 1000) for number in range(60)]
    found = Experience().with_batches(alike, now=1200).with_outage(Cause.GROWTH_LIVE, 1200, 4)
    assert dict(found.models.capacity.floors) == {4: pytest.approx(1000 / 1.5)}
    cold = [report(20.0 * number, 1000, cold=5.0) for number in range(60)]
    assert not Experience().with_batches(cold, now=1200).models.capacity.floors


def test_what_batches_do_now_they_can_do_although_less_was_measured_before() -> None:
    slow = Models(capacity=CapacityModel(points=((4, 300.0),) * 8))
    alike = [report(20.0 * number, 1000) for number in range(60)]
    found = Experience(models=slow)
    for place in range(0, 60, 3):
        found = found.with_batches(alike[place : place + 3], now=alike[place].end)
    assert rate(found) == pytest.approx(1000 / 1.5)
    fast = Models(capacity=CapacityModel(points=((4, 1000.0),) * 8))
    assert Experience(models=fast).with_batches(alike, now=1200).models.capacity.points == (
        fast.capacity.points
    )


def test_batches_of_one_size_leave_an_overhead_that_is_known_and_tell_the_capacity_beside_it() -> (
    None
):
    alike = [report(20.0 * number, 5000) for number in range(60)]
    found = Experience(overhead=0.5)
    for place in range(0, 60, 3):
        found = found.with_batches(alike[place : place + 3], now=alike[place].end)
    assert found.overhead == pytest.approx(0.5, rel=0.02)
    assert rate(found) == pytest.approx(1000, rel=0.02)


def test_small_batches_that_tell_less_or_more_than_is_known_change_nothing_and_those_of_a_backlog_do() -> (
    None
):
    known = Models(capacity=CapacityModel(points=((2, 500.0), (4, 1000.0), (8, 2000.0))))
    before = Experience(models=known, overhead=0.3)

    def after(rows: float, slow: float = 0.0, of: float = 1000.0) -> Experience:
        sizes = np.random.default_rng(1).uniform(0.8, 1.2, 60)
        batches = [
            report(20.0 * number, rows * float(share), overhead=0.3 + slow, rate=of)
            for number, share in enumerate(sizes)
        ]
        return before.with_batches(batches, now=1200)

    points = known.capacity.points
    assert after(500, slow=0.9).models.capacity.points == points, "eight waves, 0.1 s for each"
    assert after(500, of=2500.0).models.capacity.points == points, "rows wait while tasks begin"
    for truth in (500.0, 2000.0):
        executors, told = after(30_000, of=truth).models.capacity.points[-1]
        assert executors == 4
        assert told == pytest.approx(truth, rel=0.05), "with a backlog"


def test_small_batches_are_not_believed_to_tell_more_than_is_foretold_from_fewer_executors() -> (
    None
):
    # Of one and two executors much is left open for four; 1250 of 1000 rows/s is within that.
    known = CapacityModel(points=((1, 250.0), (2, 500.0)))
    found = known.fitted()
    assert isinstance(found, Capacity)
    assert found.estimate(4).high > 1250
    overheads = Overheads(fixed=0.9, fixed_error=0.01)

    def told(rows: float, truth: float) -> tuple[tuple[int, float], ...]:
        batches = [report(2.0 * n, rows, overhead=0.9, rate=truth) for n in range(30)]
        return measured_capacities(batches, overheads, found)

    assert not told(900, 1250.0)
    ((executors, rate),) = told(900, 1100.0)
    assert executors == 4
    assert rate == pytest.approx(1100, rel=0.01)
    ((_, rate),) = told(9000, 1250.0)
    assert rate == pytest.approx(1250, rel=0.01), "with a backlog"


def test_a_batch_that_ended_without_any_executor_left_tells_nothing_and_the_others_do() -> None:
    """Nobody has noticed the loss, where another executor still had to come: what is learned goes on."""
    known = CapacityModel(slots=Slots(cores=1, tasks=8), points=((2, 500.0), (4, 1000.0)))
    batches = steady(rate=2000.0)
    batches[2] = replace(batches[2], executors=0)
    found = Experience(models=Models(capacity=known))
    for batch in batches:
        found = found.with_batches([batch], now=batch.end)
    assert rate(found) == pytest.approx(2000, rel=0.05)
    assert {executors for executors, _ in found.models.capacity.points} == {2, 4}


def test_an_overhead_that_most_of_a_batch_would_be_is_not_known() -> None:
    alike = [report(20.0 * number, 1000) for number in range(60)]
    assert fitted_overhead(alike, known=1.4) == fitted_overhead(alike)


def test_short_batches_tell_the_overhead_and_no_capacity() -> None:
    found = Experience().with_batches(
        [
            replace(batch, rows=batch.rows / 100, seconds=0.5 + batch.rows / 1e5)
            for batch in steady()
        ],
        now=1200,
    )
    assert isinstance(found.models.capacity.fitted(), NoData)


def test_hours_of_idle_batches_tell_no_capacity_however_noisy_they_are() -> None:
    chance = np.random.default_rng(1)
    idle = [
        replace(
            report(10.0 * number, float(chance.poisson(10))),
            seconds=0.8 * float(chance.lognormal(0, 0.05)),
        )
        for number in range(720)
    ]
    found = Experience()
    for place in range(0, len(idle), 3):
        found = found.with_batches(idle[place : place + 3], now=idle[place].end)
    assert found.overhead == pytest.approx(0.8, rel=0.02)
    assert not found.models.capacity.points


def test_a_capacity_of_zero_explains_no_batch() -> None:
    falling = CapacityModel(points=((2, 10.0), (3, 1000.0), (4, 2000.0)))
    capacity = falling.fitted()
    assert isinstance(capacity, Capacity)
    batch = replace(report(0.0, 1000), executors=1)
    assert capacity.rate(1) == 0
    assert isinstance(Experience().expected(batch, capacity), NoData)


def test_cold_batches_tell_nothing() -> None:
    cold = [report(20.0 * number, 3000, cold=8.0) for number in range(60)]
    assert Experience().with_batches(cold, now=1200) == Experience()


def test_a_downtime_is_until_the_next_batch_and_what_that_takes_longer() -> None:
    known = Experience().with_batches(steady(), now=1200)
    lost = known.with_outage(Cause.DRIVER_LOSS, 1210.0, 4)
    found = lost.with_batches([report(1270.0, 4000, cold=8.0), report(1283.0, 4000)], now=1290)
    (downtime,) = found.models.downtimes.of(Cause.DRIVER_LOSS).observed
    assert downtime == pytest.approx(60 + 8, rel=0.02)


KNOWN = Models(capacity=CapacityModel(points=((2, 500.0), (4, 1000.0), (8, 2000.0))))
LEARNED = Experience(models=KNOWN, overhead=0.5)
"""All is known of its batches, and nothing of its downtimes."""


def slow(start: float, seconds: float) -> BatchReport:
    """A batch on executors that have worked, and still take so much longer than they will."""
    return replace(report(start, 4000, cold=seconds), cold=False)


def lost_at_1000() -> Experience:
    """A job of which all is known but how long it is away, whose driver is lost."""
    return LEARNED.with_outage(Cause.DRIVER_LOSS, 1000.0, 4)


def downtimes(experience: Experience) -> tuple[float, ...]:
    return experience.models.downtimes.of(Cause.DRIVER_LOSS).observed


def test_what_batches_take_longer_until_one_is_as_fast_as_usual_is_part_of_the_downtime() -> None:
    early = [report(1060.0, 4000, cold=20.0), slow(1085.0, 4.0), slow(1094.0, 2.0)]
    begun = lost_at_1000().with_batches(early, now=1101)
    assert not downtimes(begun)
    found = begun.with_batches([report(1101.0, 4000), slow(1106.0, 9.0)], now=1120)
    assert downtimes(found) == pytest.approx((60 + 20 + 4 + 2,))
    assert found.outage is None


def test_of_batches_that_stay_slow_only_the_first_one_is_part_of_the_downtime() -> None:
    known = lost_at_1000().with_batches([report(1060.0, 4000, cold=20.0)], now=1090)
    for start in range(1100, 1240, 10):
        known = known.with_batches([slow(start, 4.0)], now=start + 9.0)
        assert not downtimes(known)
    assert downtimes(known.with_batches([], now=1241.0)) == pytest.approx((60 + 20,))


def test_what_happens_while_batches_are_still_slow_is_another_outage() -> None:
    known = lost_at_1000().with_batches([report(1060.0, 4000, cold=20.0)], now=1085)
    again = known.with_outage(Cause.GROWTH_LIVE, 1090.0, 4)
    assert downtimes(again) == pytest.approx((60 + 20,))
    assert again.outage is not None
    assert again.outage.cause is Cause.GROWTH_LIVE


def test_a_rescale_within_an_outage_is_part_of_it() -> None:
    lost = Experience().with_outage(Cause.DRIVER_LOSS, 100.0, 4)
    again = lost.with_outage(Cause.RESCALE_RESTART, 120.0, 4)
    found = again.with_batches([report(150.0, 1000)], now=160)
    assert found.models.downtimes.of(Cause.DRIVER_LOSS).observed == (50.0,)
    assert not found.models.downtimes.of(Cause.RESCALE_RESTART).observed


def test_a_driver_that_is_lost_in_a_restart_begins_the_outage_anew() -> None:
    restarting = Experience().with_outage(Cause.RESCALE_RESTART, 100.0, 4)
    lost = restarting.with_outage(Cause.DRIVER_LOSS, 120.0, 4)
    found = lost.with_batches([report(190.0, 1000)], now=200)
    assert found.models.downtimes.of(Cause.DRIVER_LOSS).observed == (70.0,)
    assert not found.models.downtimes.of(Cause.RESCALE_RESTART).observed


def began(at: float, *batches: BatchReport, known: Experience = LEARNED) -> Experience:
    """What is known when a driver took 20 s to its first query, and told of these batches."""
    return known.with_start(Start(began=at, seconds=20.0), batches)


def excess(experience: Experience) -> float | None:
    """What the newest driver's first batch took longer, by what is known now."""
    return experience.models_now().downtimes.excess


def test_a_first_batch_foretells_how_much_longer_the_next_one_takes() -> None:
    found = began(0.0, report(19.0, 4000, cold=15.0), report(39.0, 4000))
    assert found.models_now().downtimes.start == 20.0
    assert excess(found) == pytest.approx(15)


def test_the_slow_batches_after_the_first_one_foretell_it_too() -> None:
    early = [report(19.0, 4000, cold=15.0), slow(40.0, 3.0), slow(48.0, 2.0)]
    found = began(0.0, *early)
    assert excess(found) == pytest.approx(15), "they may stay so"
    usual, one_day = report(55.0, 4000), slow(60.0, 50.0)
    assert excess(began(0.0, usual, one_day, known=found)) == pytest.approx(15 + 3 + 2)


def test_of_a_job_that_starts_for_the_first_time_it_is_told_as_soon_as_the_capacity_is_known() -> (
    None
):
    first, *others = [report(19.0, 4000, cold=15.0), *steady()]
    found = began(0.0, first, known=Experience())
    assert excess(found) is None
    learned = found.with_batches(others, now=1200)
    assert excess(learned) == pytest.approx(15, rel=0.02)
    profiled = replace(found, models=KNOWN, overhead=0.5)
    assert excess(profiled) == pytest.approx(15)


def test_what_a_first_batch_took_longer_follows_what_is_known_of_its_rows() -> None:
    found = began(0.0, report(19.0, 4000, cold=15.0))
    faster = Models(capacity=CapacityModel(points=((2, 1000.0), (4, 2000.0), (8, 4000.0))))
    assert excess(replace(found, models=faster)) == pytest.approx(17)


def test_batches_on_executors_that_come_later_are_no_first_ones() -> None:
    found = began(0.0, report(19.0, 4000, cold=15.0), report(39.0, 4000, cold=3.0))
    again = began(0.0, report(59.0, 4000, cold=5.0), known=found)
    assert excess(again) == pytest.approx(15)


def test_the_newest_first_batch_is_that_of_the_newest_driver_that_had_one() -> None:
    first = began(0.0, report(19.0, 4000, cold=15.0))
    starting = began(300.0, known=first)
    assert excess(starting) == pytest.approx(15)
    assert excess(began(300.0, report(318.0, 4000, cold=9.0), known=starting)) == pytest.approx(9)


@pytest.mark.parametrize(
    "batches",
    [
        pytest.param([], id="none yet"),
        pytest.param([report(19.0, 4000)], id="not seen from its beginning"),
        pytest.param([report(19.0, 0, cold=3.0), report(25.0, 4000)], id="without rows before"),
        pytest.param([replace(report(19.0, 4000, cold=15.0), executors=0)], id="nobody left"),
        pytest.param([report(19.0, 61_000, cold=25.0)], id="a backlog of a minute"),
    ],
)
def test_nothing_is_told_by_a_first_batch(batches: list[BatchReport]) -> None:
    assert excess(began(0.0, *batches)) is None


def test_a_first_batch_that_was_hardly_longer_than_its_rows_explain_was_not_held_up() -> None:
    assert excess(began(0.0, report(19.0, 4000, cold=1.0))) == 0.0


def test_a_loss_that_was_seen_has_its_first_batch_in_it_once() -> None:
    known = began(0.0, report(19.0, 4000, cold=15.0))
    lost = known.with_outage(Cause.DRIVER_LOSS, 1000.0, 4)
    batch = report(1060.0, 4000, cold=15.0)
    usual = report(1080.0, 4000)
    found = began(1039.0, batch, usual, known=lost).with_batches([batch, usual], now=1090.0)
    learned = found.models_now().downtimes.of(Cause.DRIVER_LOSS)
    assert learned.observed == pytest.approx((60 + 15,))
    assert learned.quantile(0.5) == pytest.approx(60 + 15)


ONE_COLD = (report(1205.0, 2000), report(1210.0, 2000, cold=9.0), report(1222.0, 2000))
"""Batches after a live rescale at 1200."""


def test_a_live_rescale_costs_what_its_batches_take_longer() -> None:
    known = Experience().with_batches(steady(), now=1200)
    grown = known.with_outage(Cause.GROWTH_LIVE, 1200.0, 4)
    settling = grown.with_batches(ONE_COLD, now=1225)
    assert not settling.models.downtimes.of(Cause.GROWTH_LIVE).observed
    found = settling.with_batches([report(1395.0, 2000)], now=1400)
    (downtime,) = found.models.downtimes.of(Cause.GROWTH_LIVE).observed
    assert downtime == pytest.approx(9, rel=0.02)


@pytest.mark.parametrize(
    ("cause", "wanted", "learned"),
    [
        (Cause.GROWTH_LIVE, 4, (9.0,)),
        (Cause.RELEASE_LIVE, 4, (9.0,)),
        (Cause.GROWTH_LIVE, 5, ()),
    ],
    ids=["all have come", "all others are gone", "one is missing"],
)
def test_a_live_rescale_teaches_before_the_next_one_if_its_executors_work_as_usual(
    cause: Cause, wanted: int, learned: tuple[float, ...]
) -> None:
    rescaled = LEARNED.with_outage(cause, 1200.0, wanted)
    found = rescaled.with_batches(ONE_COLD, now=1225).with_outage(Cause.RELEASE_LIVE, 1226.0, 3)
    assert found.models.downtimes.of(cause).observed == pytest.approx(learned)
    assert found.outage == Outage(cause=Cause.RELEASE_LIVE, at=1226.0, executors=3)


@pytest.mark.parametrize(
    "last",
    [report(1222.0, 2000, cold=0.1), report(1222.0, 2000, overhead=4.0)],
    ids=["cold", "slow"],
)
def test_a_live_rescale_whose_last_batch_was_not_as_usual_teaches_nothing_before_the_next_one(
    last: BatchReport,
) -> None:
    grown = LEARNED.with_outage(Cause.GROWTH_LIVE, 1200.0, 4)
    batches = [report(1210.0, 2000, cold=9.0), last]
    found = grown.with_batches(batches, now=1235).with_outage(Cause.GROWTH_LIVE, 1236.0, 5)
    assert not found.models.downtimes.of(Cause.GROWTH_LIVE).observed


@pytest.mark.parametrize(
    ("colds", "learned"),
    [((9.0, 4.0), 13.0), ((9.0, 0.0, 4.0), 9.0), ((4.0, 0.0, 9.0), 9.0)],
    ids=["for both", "for the longer one", "for the later one"],
)
def test_a_live_rescale_costs_the_longest_that_a_row_waits_for_its_batch_and_the_one_before(
    colds: tuple[float, ...], learned: float
) -> None:
    rescaled = LEARNED.with_outage(Cause.GROWTH_LIVE, 1200.0, 4)
    batches = [
        report(1205.0 + 15 * number, 2000, cold=cold) for number, cold in enumerate((*colds, 0.0))
    ]
    found = rescaled.with_batches(batches, now=1400)
    assert found.models.downtimes.of(Cause.GROWTH_LIVE).observed == pytest.approx((learned,))


def test_where_batches_are_rare_a_live_rescale_costs_what_the_next_ones_take_longer() -> None:
    grown = LEARNED.with_outage(Cause.GROWTH_LIVE, 1200.0, 4)
    waiting = grown.with_batches([report(1190.0, 20_000)], now=1400).with_batches([], now=1500)
    assert not waiting.models.downtimes.of(Cause.GROWTH_LIVE).observed
    found = waiting.with_batches([report(1800.0, 2000, cold=9.0)], now=1815)
    assert found.models.downtimes.of(Cause.GROWTH_LIVE).observed == pytest.approx((9.0,))


def test_without_a_known_capacity_a_live_rescale_teaches_no_downtime() -> None:
    grown = Experience().with_outage(Cause.GROWTH_LIVE, 0.0, 4)
    found = grown.with_batches([report(10.0, 2000, cold=9.0)], now=300)
    assert found.outage is None
    assert not found.models.downtimes.of(Cause.GROWTH_LIVE).observed


def test_without_a_known_capacity_the_first_warm_batch_after_a_live_rescale_begins_to_teach_it() -> (
    None
):
    grown = Experience().with_outage(Cause.GROWTH_LIVE, 0.0, 4)
    cold = grown.with_batches([report(10.0, 2000, cold=9.0)], now=25)
    assert cold.outage is not None
    assert cold.with_batches([report(25.0, 2000)], now=30).outage is None


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_a_profile_finds_overhead_capacity_and_downtime_of_a_plant(plant: Plant) -> None:
    found, spent = profiled(plant, seed=1)
    capacity = found.models.capacity.fitted()
    assert isinstance(capacity, Capacity)
    assert found.overhead == pytest.approx(plant.overhead, rel=0.2)
    largest = plant.bounds.largest
    assert capacity.rate(largest) == pytest.approx(plant.capacity(largest), rel=0.1)
    outage = plant.driver_loss + plant.cold + plant.state_reload
    assert found.models.downtimes.of(Cause.DRIVER_LOSS).quantile(0.5) == pytest.approx(
        outage, rel=0.5
    )
    assert 0 < spent < 0.02 * 6 * 3600 * largest, "two per cent of all executors for six hours"


def test_a_job_of_one_size_has_a_profile_too() -> None:
    of = replace(PLANTS["phoebe"], bounds=Bounds(smallest=6, largest=6))
    found, _ = profiled(of, seed=1)
    capacity = found.models.capacity.fitted()
    assert isinstance(capacity, Capacity)
    assert capacity.rate(6) == pytest.approx(of.capacity(6), rel=0.05)


def test_profiled_scale_outs_are_those_of_the_paper() -> None:
    assert scale_outs(PLANTS["phoebe"].bounds, 8) == (2, 5, 8, 11, 15, 18, 21, 24)


def test_a_batch_that_ended_without_any_executor_left_is_no_fault() -> None:
    """Its tasks were done when the last executor was lost, and the driver has committed it."""
    points = ((1, 1000.0), (2, 2000.0), (4, 4000.0), (8, 4000.0))
    staircase = CapacityModel(slots=Slots(cores=1, tasks=4), points=points)
    known = Experience(models=Models(capacity=staircase)).with_outage(Cause.EXECUTOR_LOSS, 90.0, 4)
    alone = BatchReport(start=80.0, seconds=20.0, rows=5000, executors=0)
    assert known.with_batches([alone], now=105.0).outage is not None
