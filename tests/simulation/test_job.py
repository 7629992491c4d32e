"""The laws of a simulated job: what arrives is committed once, and all takes the time that it should."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.core.deciding.situation import Bounds
from sluice.core.modelling.capacity import Capacity, CapacityModel
from sluice.core.modelling.downtime import NEXT_POD
from sluice.core.modelling.load import constant_load
from sluice.core.modelling.recovery import Outage, Recovered, predicted_recovery
from sluice.core.modelling.rescaling import Path
from sluice.core.modelling.shapes import Slots
from sluice.core.simulation import suites
from sluice.core.simulation.cohorts import commits, latencies
from sluice.core.simulation.job import Failure, Loss, SimulatedJob, seconds_lost
from sluice.core.simulation.loop import Scenario, last_value, run
from sluice.core.simulation.plant import PLANTS, Plant
from sluice.core.simulation.score import score
from sluice.core.simulation.truth import true_pace
from tests.simulation.plants import always, constant, job, plant

LOSSES = [Failure(at=500, loss=Loss.DRIVER), Failure(at=900, loss=Loss.EXECUTOR)]


@pytest.mark.parametrize("found", PLANTS.values(), ids=PLANTS)
def test_each_row_that_arrives_is_committed_once_or_waits(found: Plant) -> None:
    trace = suites.named_trace("yahoo-sine", 1).scaled(found.peak / suites.PEAK).cut(3600)
    running = SimulatedJob(found, trace, 1, 6, LOSSES)
    for at, executors in ((300, 12), (1500, 4), (2000, 9)):
        running.advance(at)
        running.rescale(executors, Path.LIVE)
    running.advance(3600)
    ends = [0.0, *(batch.upto for batch in running.batches)]
    starts = [batch.first for batch in running.batches]
    assert starts == ends[:-1], "no gap and no overlap between batches"
    # A part of a row has not arrived.
    assert running.committed + running.lag == pytest.approx(trace.rates.sum(), abs=1)
    assert all(before.end <= after.start for before, after in pairwise(running.batches))


def test_a_triggered_job_at_low_load_has_the_latency_of_half_a_period_and_a_batch() -> None:
    running = job(plant(period=10.0), 1000, 10)
    running.advance(1200)
    found = latencies(running.arrivals, commits(running.batches), start=0.0, end=running.committed)
    batch = 0.5 + 10 * 1000 / 10_000
    assert found.mean() == pytest.approx(10 / 2 + batch, rel=0.01)


def test_a_job_without_a_trigger_settles_at_batches_of_overhead_over_idle_share() -> None:
    running = job(plant(), 5000, 10)
    running.advance(1200)
    assert running.batches[-1].seconds == pytest.approx(0.5 / (1 - 0.5), rel=0.01)


def test_the_staircase_of_a_plant_is_the_one_that_models_fit() -> None:
    found = plant(tasks=24)
    model = CapacityModel(slots=Slots(cores=1, tasks=24))
    for executors in (2, 8, 24):
        model = model.with_observation(executors, found.capacity(executors))
    fitted = model.fitted()
    assert isinstance(fitted, Capacity)
    for executors in range(1, 25):
        assert fitted.rate(executors) == pytest.approx(found.capacity(executors))


def test_slots_that_hinder_each_other_add_less_and_less() -> None:
    found = plant(contention=0.1)
    assert found.capacity(1) == 1000
    assert found.capacity(11) == pytest.approx(11_000 / 2)


def test_slots_that_hinder_each_other_are_at_work_all_the_same() -> None:
    running = job(plant(contention=0.1, most_rows=50_000, overhead=0.0), 100_000, 11)
    running.advance(1000)
    assert running.worked == pytest.approx(11 * 1000, rel=0.001)


def test_a_batch_takes_the_waves_of_its_tasks() -> None:
    lengths = []
    for executors in (12, 23, 24):
        running = job(plant(tasks=24, most_rows=24_000, overhead=0.0), 100_000, executors)
        running.advance(100)
        lengths.append(running.batches[-1].seconds)
    assert lengths == pytest.approx([2.0, 2.0, 1.0])


def test_tasks_without_rows_go_in_waves_too() -> None:
    found = plant(tasks=24, task_cost=0.5)
    for executors, waves in ((1, 24), (5, 5), (24, 1)):
        running = job(found, 1.0, executors)
        running.advance(1200)
        assert running.batches[-1].seconds == pytest.approx(0.5 + 0.5 * waves, rel=0.05)


@pytest.mark.parametrize("utilisation", [0.2, 0.5, 0.7, 0.85])
@pytest.mark.parametrize("period", [0.0, 5.0])
def test_a_recovery_takes_as_long_as_predicted(utilisation: float, period: float) -> None:
    found = plant(period=period, driver_loss=60.0)
    rate = utilisation * found.capacity(10)
    failure = Failure(at=1000, loss=Loss.DRIVER)
    scenario = Scenario(
        plant=found, trace=constant(rate, 3000), seed=1, failures=[failure], executors=10
    )
    found_run = run(scenario, always(10), last_value)
    (measured,) = score(found_run).recoveries
    committed = max(batch.end for batch in found_run.batches if batch.end <= 1000)
    outage = Outage(downtime=60.0, interval=1000 - committed)
    predicted = predicted_recovery(constant_load(rate), outage, true_pace(found, 10))
    assert isinstance(predicted, Recovered)
    assert measured.seconds == pytest.approx(predicted.seconds, rel=0.1)


@pytest.mark.parametrize(
    ("rate", "waited"),
    [(2400, 0.01 / 2), (100, 0.24 / 2), (48, 0.5 / 2), (24, (0.5 / 2 + 0.5) / 2), (0, 0)],
)
def test_a_task_that_has_read_all_waits_for_the_next_row_of_its_partition(
    rate: float, waited: float
) -> None:
    # Two waves on twelve slots; of rows that are a second apart half of the tasks meet none within half a second.
    found = plant(tasks=24, fetch_wait=0.5)
    assert found.fixed(12, rate) == pytest.approx(0.5 + 2 * waited)


def test_quiet_partitions_make_batches_longer_and_those_with_a_backlog_do_not() -> None:
    of = plant(tasks=24, fetch_wait=0.5, period=10.0)
    running = job(of, 100, 12)
    running.advance(600)
    assert running.batches[-1].seconds == pytest.approx(
        0.5 + 2 * 0.24 / 2 + 1000 / 12_000, rel=0.01
    )
    behind = job(replace(of, most_rows=500), 100, 12)
    behind.advance(600)
    assert behind.batches[-1].seconds == pytest.approx(0.5 + 500 / 12_000, rel=0.01)


def test_without_a_driver_nothing_is_committed_until_the_downtime_is_over() -> None:
    running = job(plant(), 1000, 4, failures=[Failure(at=500.25, loss=Loss.DRIVER)])
    running.advance(530)
    assert running.is_down
    assert running.ready == 0
    running.advance(1000)
    during = [batch for batch in running.batches if 500.25 < batch.end < 560.25]
    first = next(batch for batch in running.batches if batch.start > 500)
    assert not during
    assert first.start == pytest.approx(560.25)


def test_rows_since_the_last_checkpoint_are_processed_again_after_a_failure() -> None:
    lengths = []
    for checkpoint in (1.0, 100.0):
        running = job(
            plant(checkpoint=checkpoint), 1000, 4, failures=[Failure(at=199, loss=Loss.DRIVER)]
        )
        running.advance(400)
        lengths.append(next(batch for batch in running.batches if batch.start > 199).seconds)
    replayed = 199 - 1 - 100
    assert lengths[1] - lengths[0] == pytest.approx(replayed * 1000 / 4000, abs=1)


@pytest.mark.parametrize(
    "losses", [[Loss.DRIVER], [Loss.EXECUTOR] * 4], ids=["driver", "all executors"]
)
def test_a_batch_that_is_lost_is_done_again_with_the_same_rows(losses: list[Loss]) -> None:
    running = job(plant(), 2000, 4, failures=[Failure(at=500.5, loss=loss) for loss in losses])
    running.advance(500.49)
    assert running.batch_since is not None
    upto = running.arrived(running.batch_since)
    running.advance(600)
    again = next(batch for batch in running.batches if batch.end > 500.5)
    assert again.start > 505
    assert again.upto == pytest.approx(upto)
    following = running.batches[running.batches.index(again) + 1]
    assert following.upto == pytest.approx(running.arrived(following.start))


def test_a_lost_executor_holds_its_batch_up_and_is_replaced() -> None:
    running = job(plant(), 2000, 4, failures=[Failure(at=500, loss=Loss.EXECUTOR)])
    running.advance(505)
    assert running.ready == 3
    running.advance(600)
    assert running.ready == 4
    hit = next(batch for batch in running.batches if batch.end > 500)
    assert 5.0 < hit.seconds <= (1.0 + 5.0) * 4 / 3


def test_the_last_executor_takes_its_batch_with_it() -> None:
    running = job(plant(), 500, 1, failures=[Failure(at=500, loss=Loss.EXECUTOR)])
    running.advance(700)
    first = next(batch for batch in running.batches if batch.end > 500)
    assert first.start == pytest.approx(510)


def test_a_new_executor_works_after_its_start_and_its_first_batch_is_cold() -> None:
    running = job(plant(cold=8.0), 1000, 2)
    running.advance(600)
    running.rescale(4, Path.LIVE)
    running.advance(609)
    assert running.ready == 2
    running.advance(700)
    assert running.ready == 4
    cold = [batch for batch in running.batches if batch.cold and batch.start > 600]
    assert [batch.executors for batch in cold] == [4]
    assert cold[0].seconds > 8


def cold_batch(executors: int, **changes: float) -> float:
    """Seconds of the first batch on executors of which so many are new, of eight."""
    running = job(plant(cold=8.0, overhead=0.5, **changes), 800, 8 - executors)
    running.advance(600)
    running.rescale(8, Path.LIVE)
    running.advance(700)
    (cold,) = (batch for batch in running.batches if batch.cold and batch.start > 600)
    return cold.seconds


def test_where_processors_are_shared_one_new_executor_is_ready_sooner_than_many() -> None:
    assert cold_batch(1) == pytest.approx(cold_batch(6), abs=0.2), "each has its own"
    one, many = cold_batch(1, crowding=0.8), cold_batch(6, crowding=0.8)
    assert many - one == pytest.approx(8 * 0.8 * 5 / 24, abs=0.2), "of 24 that there can be"


def test_those_that_come_one_after_the_other_wait_for_each_other_too() -> None:
    bounds = Bounds(smallest=1, largest=4)
    found = plant(bounds=bounds, cold=20.0, crowding=0.9, start=5.0, spread=0.1, overhead=0.5)
    running = job(found, 800, 4, failures=[Failure(at=500, loss=Loss.EXECUTOR)] * 4)
    running.advance(600)
    first = next(batch for batch in running.batches if batch.end > 500)
    assert first.executors > 1
    assert first.seconds > 15


def test_new_executors_are_slow_at_first_and_so_is_their_first_batch() -> None:
    found = plant(slowness=0.5, warming=60.0, most_rows=4000, overhead=0.0)
    running = job(found, 100_000, 4)
    running.advance(600)
    first, second, *_, last = running.batches
    assert first.seconds == pytest.approx(2.0)
    assert second.seconds == pytest.approx(2.0), "it fades from the end of the first batch on"
    later = next(batch for batch in running.batches if batch.start >= first.end + 60)
    assert later.seconds == pytest.approx(1 / (1 - 0.5 / math.e), rel=0.02)
    assert last.seconds == pytest.approx(1.0, rel=0.01)


def test_where_processors_are_shared_few_new_executors_are_less_slow_than_many() -> None:
    found = plant(slowness=0.5, crowding=0.8, warming=1e6, most_rows=4000, overhead=0.0)
    few = job(found, 100_000, 6)
    few.advance(600)
    assert few.batches[-1].seconds == pytest.approx(
        (4 / 6) / (1 - 0.5 * (1 - 0.8 * 18 / 24)), rel=0.01
    )


def test_executors_take_cpu_at_rest_and_more_while_they_are_new() -> None:
    running = job(plant(resting=0.4, compiling=2.0, warming=50.0), 1000, 2)
    running.advance(600)
    assert running.cpu(0.5) == pytest.approx(0.4 + 0.6 * 0.5, abs=0.001)
    running.rescale(4, Path.LIVE)
    running.advance(611)
    assert running.cpu(0.5) == pytest.approx(0.7 + 2.0 * 2 / 4, rel=0.02)
    running.advance(1190)
    assert running.cpu(0.5) == pytest.approx(0.7, abs=0.001)


def test_new_executors_take_over_what_waits_of_a_long_batch() -> None:
    running = job(plant(most_rows=200_000, overhead=0.0), 100_000, 1)
    running.advance(60)
    running.rescale(4, Path.LIVE)
    running.advance(200)
    long = next(batch for batch in running.batches if batch.rows == 200_000)
    alone = 60 + 10 - long.start
    assert long.seconds == pytest.approx(alone + (200 - alone) / 4)


def test_executors_that_leave_have_the_rest_of_a_batch_to_others() -> None:
    running = job(plant(most_rows=80_000, overhead=0.0), 100_000, 4)
    running.advance(30)
    running.rescale(1, Path.LIVE)
    running.advance(100)
    hit = next(batch for batch in running.batches if batch.end > 30)
    together = 30 - hit.start
    assert hit.seconds == pytest.approx(together + (20 - together) * 4)


def test_new_executors_of_a_stateful_job_get_their_share_only_slowly() -> None:
    found = plant(unevenness=0.6, spreading=240.0, most_rows=4000, overhead=0.0)
    running = job(found, 100_000, 2)
    running.advance(600)
    running.rescale(4, Path.LIVE)
    running.advance(2400)
    young = next(batch for batch in running.batches if batch.executors == 4 and batch.start > 610)
    old = running.batches[-1]
    assert young.seconds == pytest.approx(4 / (2 + 2 * 0.4), rel=0.02)
    assert old.seconds == pytest.approx(1.0, rel=0.01)


def test_state_that_moves_is_loaded_again() -> None:
    running = job(plant(state_reload=20.0), 1000, 4)
    running.advance(600)
    running.rescale(2, Path.LIVE)
    running.advance(700)
    assert max(batch.seconds for batch in running.batches if batch.start > 590) > 20 * 2 / 4


def test_a_restart_takes_its_downtime_and_has_the_new_number() -> None:
    running = job(plant(live=False), 1000, 4)
    running.advance(600)
    running.rescale(8, Path.LIVE)
    running.advance(639)
    assert running.is_down
    running.advance(700)
    assert running.ready == 8


def test_a_driver_that_is_lost_while_it_starts_has_to_start_again() -> None:
    lost = Failure(at=620, loss=Loss.DRIVER)
    running = job(plant(), 1000, 4, failures=[lost, Failure(at=650, loss=Loss.EXECUTOR)])
    running.advance(600)
    running.rescale(8, Path.RESTART)
    running.advance(700)
    first = next(batch for batch in running.batches if batch.start > 600)
    assert first.start == pytest.approx(620 + 60)
    assert first.executors == 8
    assert running.happened == [lost], "there was no executor to lose"


def test_what_a_downtime_is_longer_than_usual_the_program_took_to_start() -> None:
    found = plant(spread=0.3, restart=40.0)
    running = job(found, 1000, 4, failures=[Failure(at=620, loss=Loss.DRIVER)])
    first = running.start
    assert first.began == -first.seconds, "it is there from the beginning on"
    assert first.seconds != found.program, "by chance"
    running.advance(800)
    away = next(batch.start for batch in running.batches if batch.start > 620) - 620
    assert away != pytest.approx(60, abs=0.1)
    assert running.start.seconds == pytest.approx(40 - NEXT_POD + away - 60)
    assert running.start.began == pytest.approx(620 + away - running.start.seconds)


def test_pods_are_paid_for_from_their_start_to_their_end() -> None:
    running = job(plant(decommissioning=30.0, pending=5.0), 1000, 4)
    running.advance(600)
    running.rescale(2, Path.LIVE)
    running.advance(900)
    running.rescale(3, Path.LIVE)
    running.advance(1200)
    assert running.executor_seconds == pytest.approx(600 * 4 + 2 * 30 + 600 * 2 + 295)


def test_a_rate_limit_holds() -> None:
    running = job(plant(most_rows=500), 5000, 10)
    running.advance(100)
    assert max(batch.rows for batch in running.batches) == pytest.approx(500)
    assert running.lag > 0


def test_the_same_seed_gives_the_same_run() -> None:
    found = PLANTS["spark-stateful"]
    trace = suites.named_trace("spikes", 3).scaled(found.peak / suites.PEAK).cut(3600)

    def ends(seed: int) -> list[float]:
        running = SimulatedJob(found, trace, seed, 8, LOSSES)
        running.advance(3600)
        return [batch.end for batch in running.batches]

    assert ends(1) == ends(1)
    assert ends(1) != ends(2)


def test_no_load_makes_no_batches_and_costs_all_the_same() -> None:
    running = job(plant(), 0, 3)
    running.advance(1200)
    assert not running.batches
    assert running.executor_seconds == 3600
    assert math.isclose(running.lag, 0)


def test_a_step_of_the_clock_changes_nothing() -> None:
    whole, stepped = job(PLANTS["spark-wide"], 9000, 4), job(PLANTS["spark-wide"], 9000, 4)
    whole.advance(1200)
    for at in np.arange(0.0, 1200.5, 0.5):
        stepped.advance(float(at))
    assert [batch.end for batch in whole.batches] == [batch.end for batch in stepped.batches]


actions = st.lists(
    st.tuples(st.integers(1, 900), st.integers(1, 24), st.sampled_from(Path)), max_size=8
)
losses = st.lists(st.builds(Failure, at=st.floats(1, 900), loss=st.sampled_from(Loss)), max_size=5)


@settings(max_examples=60, deadline=None)
@given(
    found=st.sampled_from([*PLANTS.values()]), todo=actions, failures=losses, load=st.floats(0, 3)
)
def test_whatever_is_done_to_a_job_no_row_is_lost_and_none_is_counted_twice(
    found: Plant, todo: list[tuple[int, int, Path]], failures: list[Failure], load: float
) -> None:
    trace = constant(load * found.peak, 900)
    running = SimulatedJob(found, trace, 1, 4, failures)
    for at, executors, path in sorted(todo):
        running.advance(float(at))
        running.rescale(executors, path)
    running.advance(900.0)
    numbers = [0.0, *(batch.upto for batch in running.batches)]
    assert [batch.first for batch in running.batches] == numbers[:-1]
    assert all(before.end <= after.start for before, after in pairwise(running.batches))
    assert all(batch.executors >= 1 for batch in running.batches)
    # A part of a row has not arrived.
    assert running.committed + running.lag == pytest.approx(trace.rates.sum(), abs=1)
    assert running.lag >= 0
    assert 0 <= running.executor_seconds <= 24 * (900 + found.decommissioning * (len(todo) + 1))


def test_a_failure_lasts_as_long_whoever_scales_the_job() -> None:
    varying = plant(spread=0.5)
    outages = []
    for executors in (5, 9):
        running = SimulatedJob(varying, constant(2000), 1, executors, LOSSES)
        running.advance(20 * executors)
        running.rescale(executors + 3, Path.LIVE)
        running.advance(501)
        assert running.down_until is not None
        outages.append(running.down_until - 500)
    assert outages[0] == pytest.approx(outages[1])
    assert outages[0] == pytest.approx(seconds_lost(LOSSES[0], varying, 1))


def test_failures_of_a_run_and_those_of_other_seeds_differ() -> None:
    varying = plant(spread=0.5)
    lasted = {
        seconds_lost(Failure(at=at, loss=loss), varying, seed)
        for at in (500.0, 900.0)
        for loss in Loss
        for seed in range(5)
    }
    assert len(lasted) == 20
