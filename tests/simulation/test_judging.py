"""Rescales of simulated jobs: what did harm is undone once, remembered for a while, and nothing else changes."""

from dataclasses import dataclass, replace
from functools import partial

import pytest

from sluice.core.deciding.deciding import decide
from sluice.core.deciding.decision import Decision, Policy
from sluice.core.deciding.harms import REMEMBERED
from sluice.core.deciding.judging import Outcome
from sluice.core.deciding.policies.named import policy_named
from sluice.core.deciding.policies.static import Static
from sluice.core.deciding.situation import Situation
from sluice.core.learning.watching import Watcher
from sluice.core.modelling.rescaling import Path
from sluice.core.simulation import suites
from sluice.core.simulation.job import Failure, Loss
from sluice.core.simulation.loop import Run, Scenario, last_value, run
from sluice.core.simulation.plant import PLANTS, Plant
from sluice.core.simulation.trace import EPOCH
from tests.simulation.plants import constant, plant

CROWDED = plant(tasks=8, contention=0.1)
"""More than eight executors have no more tasks, and lose more to each other: of 4,700 rows/s twelve leave 3,800."""

BEGUN = 1800.0


@dataclass(frozen=True)
class Stubborn:
    """Wants one number for half an hour and another one from then on, whatever happens."""

    first: int
    then: int

    def __call__(self, situation: Situation) -> Decision:
        executors = self.first if situation.at - EPOCH < BEGUN else self.then
        return Static(executors=executors)(situation)


def tried(of: Plant, rate: float, policy: Stubborn, *failures: Failure, hours: float = 2.0) -> Run:
    """A run under a constant load."""
    scenario = Scenario(
        plant=of,
        trace=constant(rate, int(3600 * hours)),
        seed=1,
        executors=policy.first,
        failures=failures,
    )
    return run(scenario, partial(decide, policy=policy), last_value)


def changes(of: Run) -> list[tuple[float, int, int]]:
    """When the executors changed, from how many, and to how many."""
    return [
        (one.at, one.before, one.decision.executors)
        for one in of.decisions
        if one.decision.executors != one.before
    ]


def outcomes(of: Run) -> list[Outcome]:
    return [one.verdict.outcome for one in of.judged]


def test_a_growth_that_made_latency_worse_is_undone_once_and_not_tried_again_for_hours() -> None:
    found = tried(CROWDED, 4000, Stubborn(8, 12), hours=6.7)
    again = 2100 + REMEMBERED
    assert changes(found) == [
        (1800.0, 8, 12),
        (2100.0, 12, 8),
        (again, 8, 12),
        (again + 300, 12, 8),
    ]
    assert outcomes(found) == [Outcome.HARMFUL, Outcome.HARMFUL]
    meanwhile = [one.decision for one in found.decisions if 2100 < one.at < again]
    assert {decision.veto and decision.veto.guard for decision in meanwhile} == {"harmful before"}
    latencies = [one.latency for one in found.moments if 2700 < one.at < again]
    assert max(map(float, latencies)) < CROWDED.latency  # type: ignore[arg-type]  # all are measured


def test_an_undo_names_the_decision_and_what_it_did() -> None:
    found = tried(CROWDED, 4000, Stubborn(8, 12), hours=0.7)
    undo = next(one.decision for one in found.decisions if one.decision.undoes)
    assert undo.undoes == "1800"
    told = "undoes decision 1800: with 12 executors instead of 8 the latency is"
    assert undo.reason.startswith(told)


def test_a_shrink_that_broke_the_bound_is_undone_and_goes_less_far_after_some_peace() -> None:
    found = tried(plant(), 7000, Stubborn(10, 7), hours=3)
    assert changes(found) == [(1800.0, 10, 7), (2100.0, 7, 10), (3900.0, 10, 8)]
    assert outcomes(found) == [Outcome.HARMFUL, Outcome.GOOD]


def test_a_shrink_far_too_far_comes_to_rest_after_a_few_tries() -> None:
    found = tried(plant(), 7000, Stubborn(10, 4), hours=4)
    assert [after for _, _, after in changes(found)] == [4, 10, 5, 10, 7, 10]


def test_harm_by_a_restart_is_undone_by_a_restart() -> None:
    found = tried(plant(live=False), 7000, Stubborn(10, 7), hours=1.5)
    undo = next(one for one in found.decisions if one.decision.undoes)
    assert (undo.before, undo.decision.executors, undo.decision.path) == (7, 10, Path.RESTART)


def test_a_rescale_that_does_no_harm_stays() -> None:
    found = tried(plant(), 7000, Stubborn(12, 9))
    assert changes(found) == [(1800.0, 12, 9)]
    assert outcomes(found) == [Outcome.GOOD]


@pytest.mark.parametrize("loss", list(Loss))
def test_a_failure_meanwhile_leaves_the_effect_unknown(loss: Loss) -> None:
    found = tried(plant(), 7000, Stubborn(12, 9), Failure(at=1900, loss=loss))
    assert outcomes(found) == [Outcome.INCONCLUSIVE]
    assert len(changes(found)) == 1


@pytest.mark.parametrize(
    ("name", "plant_name"),
    [
        ("sluice", "spark-stateless"),
        ("ds2", "spark-stateful"),
        ("flink-autoscaler", "spark-stateful"),
        ("keda-lag", "spark-stateful"),
    ],
)
def test_without_harm_decisions_are_as_if_nothing_was_judged(
    name: str, plant_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = on_waves(plant_name, policy_named(name))
    assert Outcome.HARMFUL not in outcomes(judged)
    assert judged.judged
    monkeypatch.setattr(Watcher, "judge", lambda *_: ())
    unjudged = on_waves(plant_name, policy_named(name))
    assert [one.decision for one in judged.decisions] == [
        one.decision for one in unjudged.decisions
    ]


def on_waves(plant_name: str, policy: Policy) -> Run:
    of = PLANTS[plant_name]
    trace = suites.named_trace("yahoo-sine", 1).scaled(of.peak / suites.PEAK).cut(7200)
    scenario = Scenario(plant=of, trace=trace, seed=1)
    return run(replace(scenario, executors=12), partial(decide, policy=policy), last_value)
