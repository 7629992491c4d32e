"""A run as a whole: what a policy is told, what it is not told, and how it is judged."""

from dataclasses import replace

import numpy as np
import pytest

from sluice.core.deciding.compacting import MOST_OLDER, MOST_RECENT
from sluice.core.deciding.decision import Decision
from sluice.core.deciding.situation import Activity, Forecast, Situation
from sluice.core.modelling.downtime import Cause
from sluice.core.modelling.rescaling import Path
from sluice.core.series import NoData
from sluice.core.simulation import suites
from sluice.core.simulation.job import Failure, Loss, seconds_lost
from sluice.core.simulation.loop import Run, Scenario, last_value, run
from sluice.core.simulation.oracle import Oracle, ideal
from sluice.core.simulation.plant import PLANTS, Plant
from sluice.core.simulation.score import Score, score
from sluice.core.simulation.trace import Rates, Trace
from tests.simulation.plants import always, constant, plant


class Witness:
    """Decides for the same number, and remembers what it was told."""

    def __init__(self, executors: int) -> None:
        self.executors = executors
        self.told: list[Situation] = []

    def __call__(self, situation: Situation) -> Decision:
        self.told.append(situation)
        return Decision(wanted=self.executors, executors=self.executors, reason="always")


def told(of: Plant, trace: Trace, *failures: Failure, executors: int = 10) -> list[Situation]:
    witness = Witness(executors)
    scenario = Scenario(plant=of, trace=trace, seed=1, failures=failures, executors=executors)
    run(scenario, witness, last_value)
    return witness.told


def judged(trace: Trace, *failures: Failure, executors: int = 10, of: Plant | None = None) -> Score:
    scenario = Scenario(
        plant=of or plant(), trace=trace, seed=1, failures=failures, executors=executors
    )
    return score(run(scenario, always(executors), last_value))


def test_a_policy_is_told_what_is_measured() -> None:
    situation = told(plant(period=10.0), constant(2000))[-1]
    assert situation.observed.arrival == pytest.approx(2000, rel=0.01)
    assert situation.observed.processing == pytest.approx(2000, rel=0.35)
    assert situation.observed.cpu == pytest.approx(0.2, rel=0.35)
    assert situation.observed.busy == pytest.approx(0.25, rel=0.35)
    assert situation.observed.latency == pytest.approx(9.5 + 2.5, rel=0.05)
    assert situation.activity is Activity.STEADY
    assert situation.running == situation.executors == 10
    assert situation.history[-1][0] <= 0
    assert all(rate == pytest.approx(2000, rel=0.01) for _, rate in situation.history)


def test_nothing_is_told_sooner_than_it_can_be_read() -> None:
    slow = plant(scrape_delay=20.0)
    ages = [situation.observed.age for situation in told(slow, constant(2000))[2:]]
    assert set(ages) == {30.0}, "that of the scrape before the last one"


def test_a_share_of_time_is_never_above_one() -> None:
    busy = [
        situation.observed.busy
        for situation in told(plant(most_rows=90_000), constant(20_000), executors=1)
    ]
    shares = [share for share in busy if not isinstance(share, NoData)]
    assert max(shares) == pytest.approx(1)


def test_an_agent_without_a_driver_is_silent() -> None:
    during = told(plant(driver_loss=200.0), constant(2000), Failure(at=301, loss=Loss.DRIVER))
    silent = [situation for situation in during if 400 < situation.at % 3600 < 500]
    assert silent
    assert all(situation.observed.age > 60 for situation in silent)
    assert all(isinstance(situation.observed.arrival, NoData) for situation in silent)
    assert all(situation.activity is Activity.RECOVERING for situation in silent)


def test_a_job_that_has_caught_up_is_steady_again() -> None:
    after = told(plant(), constant(2000), Failure(at=301, loss=Loss.DRIVER))[-1]
    assert after.activity is Activity.STEADY


@pytest.mark.parametrize("period", [0.0, 5.0])
def test_a_job_recovers_though_its_load_grows_meanwhile(period: float) -> None:
    ramp = Trace(name="ramp", rates=np.linspace(1000, 8000, 1800))
    situations = told(plant(period=period), ramp, Failure(at=601, loss=Loss.DRIVER))
    activities = [situation.activity for situation in situations]
    # A minute without a driver, and not two minutes to catch up at half of the capacity.
    assert activities[10] is Activity.RECOVERING
    assert set(activities[14:]) == {Activity.STEADY}


def test_a_second_batch_that_a_cold_one_made_large_is_no_recovery() -> None:
    cold = plant(cold=30.0)
    situations = told(cold, constant(5000), Failure(at=601, loss=Loss.DRIVER))
    # The cold batch ends at 722 s, the next one at 753 s with as many rows.
    assert situations[12].at % 3600 == 780
    assert situations[12].activity is Activity.RECOVERING


def test_latencies_of_a_recovery_are_not_learned() -> None:
    after = told(plant(), constant(5000, 3600), Failure(at=601, loss=Loss.DRIVER))[-1]
    learned = [point.seconds for point in after.models.latency.observed]
    assert learned
    assert max(learned) < 3


def test_a_policy_is_not_told_the_plant() -> None:
    first = told(plant(), constant(2000))[0]
    assert isinstance(first.models.capacity.fitted(), NoData)
    assert first.models.downtimes.causes == type(first.models.downtimes)().causes


def test_what_tasks_wait_for_is_not_taken_for_what_the_executors_cannot_do() -> None:
    waves = 700 + 600 * np.sin(np.arange(3600) / 200)
    quiet = plant(tasks=48, task_rate=100, fetch_wait=0.5, overhead=0.5)
    learned = told(quiet, Trace(name="waves", rates=waves), executors=16)[-1]
    capacity = learned.models.capacity.fitted()
    assert not isinstance(capacity, NoData)
    assert capacity.rate(16) == pytest.approx(quiet.capacity(16), rel=0.1)
    assert learned.batching.overhead == pytest.approx(0.5, abs=0.2)
    assert learned.batching.on(16, 100.0).overhead == pytest.approx(
        quiet.fixed(16, 100.0), rel=0.15
    )


def test_a_policy_is_told_how_the_newest_driver_began() -> None:
    of = plant(cold=7.0, restart=40.0)
    first = told(of, constant(2000))[-1].models.downtimes
    assert (first.start, first.of(Cause.DRIVER_LOSS).observed) == (35.0, ())
    assert first.excess == pytest.approx(7, abs=0.2)
    lost = told(of, constant(2000), Failure(at=301, loss=Loss.DRIVER))[-1].models.downtimes
    assert lost.start == 35.0
    assert lost.of(Cause.DRIVER_LOSS).quantile(0.5) == pytest.approx(60 + 7, abs=0.2)


def test_former_wishes_and_notes_come_back() -> None:
    def decide(situation: Situation) -> Decision:
        count = situation.notes.get("count", 0.0) + 1
        return Decision(wanted=4, executors=3, reason="", notes={"count": count})

    found = run(Scenario(plant=plant(), trace=constant(100), seed=1), decide, last_value)
    assert found.decisions[-1].decision.notes == {"count": len(found.decisions)}


def test_a_forecast_is_made_from_all_that_was_measured_and_not_from_what_is_stored() -> None:
    known: list[int] = []

    def foresee(situation: Situation) -> Forecast | NoData:
        known.append(len(situation.history))
        return last_value(situation)

    run(Scenario(plant=plant(), trace=constant(100, 9000), seed=1), always(3), foresee)
    assert known[-1] > MOST_RECENT + MOST_OLDER


def test_a_restart_only_plant_counts_restarts() -> None:
    def decide(situation: Situation) -> Decision:
        wanted = 6 if situation.at % 3600 > 600 else 3
        return Decision(wanted=wanted, executors=wanted, reason="", path=Path.LIVE)

    restarting = Scenario(plant=plant(live=False), trace=constant(100), seed=1, executors=3)
    found = score(run(restarting, decide, last_value))
    assert (found.live_rescales, found.restart_rescales) == (0, 1)


def test_changes_of_direction_are_counted_by_the_hour() -> None:
    numbers = iter([3, 5, 3, 5, 3, *[3] * 60])

    def decide(_: Situation) -> Decision:
        wanted = next(numbers)
        return Decision(wanted=wanted, executors=wanted, reason="")

    scenario = Scenario(plant=plant(), trace=constant(100, 3600), seed=1, executors=3)
    assert score(run(scenario, decide, last_value)).turns == 3


def test_enough_executors_are_never_late_and_too_few_always_in_the_end() -> None:
    assert judged(constant(5000)).late == 0
    starved = judged(constant(5000, 3600), executors=4)
    assert starved.late > 0.8
    assert starved.attainment < 0.2
    assert starved.end_lag > 0.15 * 5000 * 3600


def test_an_outage_is_late_for_those_that_arrive_in_it_and_unseen_at_the_sink() -> None:
    found = judged(constant(2000, 3600), Failure(at=1000, loss=Loss.DRIVER))
    late = found.late * 3600
    assert 60 - 10 < late < 60 + 20
    assert found.seen_late * 3600 < 30


def test_a_recovery_without_end_has_not_kept_its_target() -> None:
    failure = Failure(at=600, loss=Loss.DRIVER)
    (found,) = judged(constant(9950, 3600), failure, executors=10).recoveries
    assert isinstance(found.seconds, NoData)
    assert found.within is False


def test_a_target_that_no_number_of_executors_keeps_is_infeasible() -> None:
    failure = Failure(at=600, loss=Loss.DRIVER)
    (found,) = judged(constant(2000), failure, of=plant(recovery=61.0)).recoveries
    assert not found.feasible


@pytest.mark.parametrize("seconds", [30.0, 4.0])
def test_what_is_feasible_after_an_executor_does_not_wait_for_a_driver(seconds: float) -> None:
    failure = Failure(at=600, loss=Loss.EXECUTOR)
    (found,) = judged(constant(2000), failure, of=plant(recovery=seconds)).recoveries
    assert found.feasible is (seconds > plant().executor_loss)


def test_what_is_feasible_depends_on_how_long_the_failure_lasts() -> None:
    failure = Failure(at=600, loss=Loss.DRIVER)
    of = plant(spread=0.5, recovery=75.0)
    told = {}
    for seed in range(8):
        scenario = Scenario(
            plant=of, trace=constant(1000), seed=seed, failures=[failure], executors=24
        )
        (found,) = score(run(scenario, always(24), last_value)).recoveries
        told[seconds_lost(failure, of, seed)] = (found.feasible, found.within)
    assert all(feasible is (lasts < 70) for lasts, (feasible, _) in told.items())
    assert all(within for feasible, within in told.values() if feasible)
    assert {feasible for feasible, _ in told.values()} == {True, False}


def test_an_ideal_plant_makes_no_target_feasible() -> None:
    of = plant(cold=100.0)
    scenario = Scenario(
        plant=ideal(of),
        trace=constant(5000),
        seed=1,
        failures=[Failure(at=300, loss=Loss.DRIVER)],
        executors=24,
    )
    found = run(scenario, always(24), last_value)
    assert score(found).recoveries[0].feasible
    assert not score(found, of).recoveries[0].feasible


def test_a_failure_at_the_very_end_is_not_judged() -> None:
    found = judged(constant(2000), Failure(at=1190, loss=Loss.DRIVER))
    assert found.recoveries[0].within is None
    assert not found.judged


def test_a_failure_that_nobody_can_notice_is_not_judged() -> None:
    assert not judged(constant(0, 3600), Failure(at=600, loss=Loss.DRIVER)).judged


def test_a_failure_in_silence_is_not_judged_by_when_rows_come_again() -> None:
    rates = np.zeros(7200)
    rates[:1800] = rates[5400:] = 2000
    silent = Trace(name="silent", rates=rates)
    at_work, in_silence = judged(
        silent, *(Failure(at=at, loss=Loss.DRIVER) for at in (1000, 3000))
    ).recoveries
    assert at_work.within is True
    assert in_silence.within is None
    assert isinstance(in_silence.seconds, NoData)


def test_rows_that_waited_before_the_silence_are_to_be_recovered() -> None:
    rates = np.zeros(7200)
    rates[:1000] = 20_000
    failure = Failure(at=1000, loss=Loss.DRIVER)
    (found,) = judged(Trace(name="silent", rates=rates), failure).recoveries
    assert found.within is False


def test_a_job_that_lost_its_driver_in_silence_can_be_rescaled_before_rows_come_again() -> None:
    rates = np.zeros(7200)
    rates[:1800] = 2000
    situations = told(
        plant(), Trace(name="silent", rates=rates), Failure(at=3000, loss=Loss.DRIVER)
    )
    assert Activity.RECOVERING in {found.activity for found in situations[49:52]}
    assert situations[-1].activity is Activity.STEADY


def test_the_price_of_learning_before_counts() -> None:
    free = Scenario(plant=plant(), trace=constant(2000), seed=1, executors=10)
    dear = replace(free, spent=7200.0)
    hours = [score(run(one, always(10), last_value)).executor_hours for one in (free, dear)]
    assert hours[1] - hours[0] == pytest.approx(2)


@pytest.fixture(scope="module")
def wave() -> dict[str, Run]:
    of = PLANTS["spark-stateless"]
    trace = suites.named_trace("yahoo-sine", 1).scaled(of.peak / suites.PEAK).cut(7200)
    scenario = Scenario(plant=of, trace=trace, seed=1, executors=16)
    oracle = Oracle(plant=of, trace=trace, interval=60.0)
    return {
        "oracle": run(replace(scenario, plant=ideal(of)), oracle, last_value),
        "all": run(scenario, always(16), last_value),
        "half": run(scenario, always(8), last_value),
    }


def test_the_oracle_is_never_late_and_cheaper_than_what_is_never_late(wave: dict[str, Run]) -> None:
    scores = {name: score(found) for name, found in wave.items()}
    assert scores["oracle"].late < 0.001, "but for seconds with less than a row"
    assert scores["all"].late < 0.01
    assert scores["half"].late > 0.1
    assert scores["oracle"].executor_hours < 0.7 * scores["all"].executor_hours


def test_what_was_too_much_for_all_executors_the_oracle_works_off_with_all_of_them() -> None:
    rates = np.full(3600, 2000.0)
    rates[1200:1440] = 60_000.0
    of, trace = plant(), Trace(name="spike", rates=rates)
    scenario = Scenario(plant=of, trace=trace, seed=1, executors=24)
    oracle = score(run(scenario, Oracle(plant=of, trace=trace, interval=60.0), last_value))
    everyone = score(run(scenario, always(24), last_value))
    assert everyone.late > 0.1, "nobody could have processed it in time"
    assert oracle.late <= everyone.late + 0.01
    assert oracle.executor_hours < everyone.executor_hours / 2


def test_a_row_is_not_late_because_others_are_rare() -> None:
    scenario = Scenario(plant=plant(), trace=constant(0.05), seed=1, executors=1)
    assert score(run(scenario, always(1), last_value)).late == 0


def test_the_same_seed_gives_the_same_run() -> None:
    of = PLANTS["spark-stateful"]
    trace = suites.named_trace("spikes", 1).scaled(of.peak / suites.PEAK).cut(3600)
    failures = (Failure(at=1800, loss=Loss.DRIVER),)

    def lags(seed: int) -> list[float]:
        scenario = Scenario(plant=of, trace=trace, seed=seed, failures=failures, executors=12)
        return [moment.lag for moment in run(scenario, always(12), last_value).moments]

    assert lags(1) == lags(1)
    assert lags(1) != lags(2)


@pytest.mark.parametrize("rates", [np.zeros(1200), np.full(1200, 1e-3), np.full(1200, 1e9)])
def test_loads_beyond_sense_end_in_a_score(rates: Rates) -> None:
    found = judged(Trace(name="odd", rates=rates), Failure(at=600, loss=Loss.DRIVER))
    assert 0 <= found.late <= 1
    assert found.executor_hours > 0
