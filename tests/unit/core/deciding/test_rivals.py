"""The rivals decide as their authors publish: phoebe.md 5.17, and the arithmetic of their documentation."""

import math
from dataclasses import replace

import pytest

from sluice.core.deciding.decision import Policy
from sluice.core.deciding.policies.daedalus import Daedalus
from sluice.core.deciding.policies.ds2 import Ds2
from sluice.core.deciding.policies.flink_autoscaler import FlinkAutoscaler
from sluice.core.deciding.policies.hpa import Hpa
from sluice.core.deciding.policies.keda_lag import KedaLag
from sluice.core.deciding.policies.named import POLICIES, name_of, parameters_of, policy_named
from sluice.core.deciding.policies.replicas import Behaviour
from sluice.core.deciding.policies.static import Static
from sluice.core.deciding.policies.twres import Twres
from sluice.core.deciding.situation import Observations, Situation
from sluice.core.modelling.capacity import CapacityModel
from sluice.core.modelling.shapes import Slots
from sluice.core.series import NoData
from tests.unit.core.deciding.situations import MODELS, flat, steady, wishes


def observing(situation: Situation, **changes: object) -> Situation:
    observed = replace(situation.observed, **changes)  # type: ignore[arg-type]  # named by tests
    return replace(situation, observed=observed)


@pytest.mark.parametrize(
    ("executors", "cpu", "expected"), [(12, 0.70, 24), (10, 0.36, 10), (3, 0.20, 2)]
)
def test_hpa_takes_the_ceiling_of_the_ratio_outside_its_tolerance(
    executors: int, cpu: float, expected: int
) -> None:
    situation = observing(steady(100_000, executors), cpu=cpu)
    assert Hpa(target=0.35)(situation).wanted == expected


def test_hpa_does_not_round_an_exact_ratio_up() -> None:
    # 5 x 0.49 / 0.35 is 7.000000000000001 in floating point.
    assert Behaviour().recommended(5, 0.49 / 0.35) == 7


def test_hpa_shrinks_to_the_largest_recommendation_of_five_minutes() -> None:
    situation = observing(steady(100_000, 20), cpu=0.2)
    assert Hpa(target=0.8)(situation).executors == 20
    lower = (*wishes(20)[:-6], *wishes(8, seconds=300))
    assert Hpa(target=0.8)(replace(situation, wishes=lower)).executors == 8


def test_hpa_doubles_or_adds_four_in_fifteen_seconds() -> None:
    last = (replace(wishes(2)[-1], at=-15.0),)
    situation = observing(steady(100_000, 2, wishes=last), cpu=1.0)
    assert Hpa(target=0.05)(situation).executors == 6


def test_keda_asks_for_one_executor_per_threshold_of_lag_up_to_the_partitions() -> None:
    model = CapacityModel(slots=Slots(tasks=12), points=MODELS.capacity.points)
    situation = steady(100_000, 4, models=replace(MODELS, capacity=model))
    behind = observing(situation, lag=75_000.0)
    assert KedaLag(threshold=10_000)(behind).wanted == 8
    assert KedaLag(threshold=10)(behind).wanted == 12


def test_flink_needs_about_1_6_times_the_rate_without_lag() -> None:
    needed = FlinkAutoscaler().needed(1000.0, 0.0, 0.7, restart=300.0)
    assert needed == pytest.approx(1000 * (300 / 1800 + 1 / 0.7))
    assert needed == pytest.approx(1600, rel=0.01)


def test_flink_leaves_alone_what_is_inside_its_band() -> None:
    assert FlinkAutoscaler()(steady(100_000, 12)).wanted == 12


def test_flink_grows_to_the_needed_capacity() -> None:
    saturated = observing(steady(100_000, 4, uptime=9000.0), processing=64_000.0, lag=600_000.0)
    needed = FlinkAutoscaler().needed(100_000, 600_000, 0.7, restart=300.0)
    assert FlinkAutoscaler()(saturated).executors == math.ceil(4 * needed / 64_000)


def test_flink_shrinks_after_an_hour_and_by_sixty_percent_at_most() -> None:
    idle = steady(10_000, 20)
    assert FlinkAutoscaler()(idle).wanted == 8
    assert FlinkAutoscaler()(idle).executors == 20
    patient = replace(idle, wishes=wishes(9, seconds=3660))
    assert FlinkAutoscaler()(patient).executors == 9


def test_flink_waits_for_a_full_window_after_a_rescale() -> None:
    rescaled = observing(steady(100_000, 4, since_rescale=1100.0), processing=64_000.0)
    assert FlinkAutoscaler()(rescaled).executors == 4
    assert FlinkAutoscaler()(replace(rescaled, since_rescale=1300.0)).executors > 4


def test_flink_does_not_shrink_while_it_processes_a_backlog() -> None:
    behind = observing(
        steady(10_000, 20, wishes=wishes(9, seconds=3660)),
        lag=10_000 * 301.0,
        busy=1.0,
        processing=320_000.0,
    )
    assert FlinkAutoscaler()(behind).executors == 20


def test_ds2_finds_the_optimum_in_one_step() -> None:
    assert Ds2()(steady(100_000, 20)).executors == math.ceil(100 / 16)
    assert Ds2(scaling_factor=0.2)(steady(100_000, 20)).executors == math.ceil(120 / 16)


@pytest.mark.parametrize(
    ("rate", "latency", "expected"),
    [
        pytest.param(60_000, 2.5, 7, id="latency above the limit: one more"),
        pytest.param(60_000, 0.9, 4, id="enough with less"),
        pytest.param(150_000, 0.9, 10, id="not enough"),
    ],
)
def test_twres_takes_the_smallest_capacity_above_the_forecast(
    rate: float, latency: float, expected: int
) -> None:
    situation = observing(steady(rate, 6), latency=latency)
    assert Twres()(situation).executors == expected


def test_daedalus_takes_the_smallest_scale_out_above_the_forecast() -> None:
    assert Daedalus()(steady(100_000, 20)).executors == 7


def test_daedalus_grows_only_to_avert_an_overload_within_ten_minutes_of_a_rescale() -> None:
    rescaled = steady(100_000, 20, since_rescale=300.0)
    assert Daedalus()(rescaled).executors == 20
    overloaded = steady(100_000, 6, since_rescale=300.0, forecast=flat(110_000))
    assert Daedalus()(overloaded).executors > 6
    assert Daedalus()(replace(overloaded, since_rescale=100.0)).executors == 6


def test_static_keeps_its_number() -> None:
    assert Static(executors=24)(steady(1.0, 5)).executors == 24
    assert Static()(steady(1.0, 5)).executors == 5


@pytest.mark.parametrize("name", sorted(set(POLICIES) - {"static"}))
def test_a_policy_that_sees_nothing_changes_nothing(name: str) -> None:
    blind = replace(
        steady(100_000, 9),
        observed=Observations(age=10.0),
        history=(),
        forecast=NoData("no history"),
    )
    assert policy_named(name)(blind).executors == 9


def test_policies_are_found_by_the_names_that_users_write() -> None:
    named: Policy = policy_named("hpa", target=0.35)
    assert named == Hpa(target=0.35)
    assert name_of(named) == "hpa"
    assert parameters_of(named) == {"target": 0.35}


def test_an_unknown_policy_or_parameter_is_refused_with_what_there_is() -> None:
    with pytest.raises(ValueError, match="'hpq' is unknown: choose one of sluice, phoebe"):
        policy_named("hpq")
    with pytest.raises(ValueError, match="no parameter 'tarjet': choose one of target"):
        policy_named("hpa", tarjet=0.3)
