"""Acceptance checks 5.7, 5.9 and 5.10 of the specification."""

from dataclasses import replace

import pytest

from sluice.core.deciding.policies.phoebe import Phoebe, scale_outs
from sluice.core.deciding.situation import Targets
from sluice.core.modelling.latency import LatencyModel, LatencyPoint
from tests.unit.core.deciding.situations import MODELS, steady

PAPER = Phoebe(downtime=90, checkpoint=10, hysteresis=0)
ALWAYS_NORMAL = replace(MODELS, latency=LatencyModel())


def test_the_smallest_scale_out_that_recovers_in_time_is_chosen() -> None:
    decision = PAPER(steady(100_000, executors=20, models=ALWAYS_NORMAL))
    assert decision.executors == 14
    assert [found.executors for found in decision.candidates] == list(range(2, 15))
    assert decision.candidates[-2].recovery == pytest.approx(182.59, abs=1)
    assert decision.expected_recovery == pytest.approx(170.65, abs=1)
    assert decision.smallest_recovery is None


def test_where_nothing_qualifies_the_largest_is_taken_and_the_smallest_feasible_target_named() -> (
    None
):
    situation = steady(100_000, models=ALWAYS_NORMAL, targets=Targets(recovery=120))
    decision = PAPER(situation)
    assert decision.executors == 24
    assert decision.smallest_recovery == pytest.approx(125.21, abs=1)


def test_a_scale_out_that_would_be_overloaded_is_passed_over() -> None:
    overloaded_up_to_15 = LatencyModel(
        profiled=tuple(
            LatencyPoint(executors=10, rate=160_000 * used, seconds=seconds, profiled=True)
            for used, seconds in ((0.1, 1.0), (0.2, 1.0), (0.4, 1.0), (0.41, 30.0), (0.5, 40.0))
        )
    )
    models = replace(MODELS, latency=overloaded_up_to_15)
    assert PAPER(steady(100_000, models=models)).executors == 16


def test_profiled_scale_outs_are_equally_spaced_with_both_ends() -> None:
    assert scale_outs(2, 24, 8) == (2, 5, 8, 11, 15, 18, 21, 24)
    assert sum(scale_outs(2, 24, 8)) == 104


@pytest.mark.parametrize(("uptime", "executors"), [(599, 20), (601, 14)])
def test_a_job_that_has_just_started_is_left_alone(uptime: float, executors: int) -> None:
    situation = steady(100_000, executors=20, models=ALWAYS_NORMAL, uptime=uptime)
    assert PAPER(situation).executors == executors


@pytest.mark.parametrize(("current", "executors"), [(16, 16), (15, 15), (17, 14), (13, 14)])
def test_small_steps_down_are_not_made_under_hysteresis(current: int, executors: int) -> None:
    situation = steady(100_000, executors=current, models=ALWAYS_NORMAL)
    decision = replace(PAPER, hysteresis=2)(situation)
    assert decision.wanted == 14
    assert decision.executors == executors


def test_a_rescale_counts_as_a_start() -> None:
    situation = steady(100_000, executors=20, models=ALWAYS_NORMAL, since_rescale=0.0)
    assert PAPER(situation).executors == 20
