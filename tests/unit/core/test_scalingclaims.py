"""What a job's owner is told of the promise to recover in time."""

from typing import Any

import pytest

from sluice.core import scalingclaims
from sluice.core.conditions import Claim
from sluice.core.record import Record
from tests.support.courses import decided
from tests.support.jobs import job

PROMISE = {"target": "180s"}


def told(
    recovery: dict[str, Any] | None = PROMISE, mode: str = "Auto", most: int = 8, **decision: Any
) -> Claim:
    """What is claimed after such a decision for 3 executors; after none, where nothing is said of it."""
    of = job(recovery=recovery, scaling={"mode": mode}, executors={"min": 1, "max": most})
    newest = decided(3, 3, **decision) if decision else None
    return scalingclaims.recovery(of, Record(incarnation=1, decided=newest))


def said(claim: Claim) -> tuple[str, str, str]:
    return claim.status.value, claim.reason, claim.message


def test_without_a_target_there_is_no_promise() -> None:
    assert said(told(None, expected_recovery=60.0)) == (
        "Unknown",
        "NoTarget",
        "spec.recovery declares nothing.",
    )


def test_nothing_is_promised_of_a_job_of_which_nothing_is_decided() -> None:
    claim = told(mode="Off", expected_recovery=60.0)
    assert said(claim) == (
        "Unknown",
        "Off",
        "Recoveries are predicted where spec.scaling.mode is not Off.",
    )


def test_before_the_first_decision_nothing_is_predicted_yet() -> None:
    assert said(told()) == ("Unknown", "NotPredicted", "No recovery has been predicted yet.")


def test_a_decision_that_predicts_no_recovery_tells_why() -> None:
    claim = told(reason="left as it is: query 'views' reads files")
    assert said(claim) == (
        "Unknown",
        "NotPredicted",
        "The newest decision predicts no recovery: left as it is: query 'views' reads files.",
    )


@pytest.mark.parametrize("mode", ["Auto", "Approve", "Observe"])
@pytest.mark.parametrize("seconds", [60.0, 180.0])
def test_a_recovery_within_the_target_is_feasible(mode: str, seconds: float) -> None:
    claim = told(mode=mode, expected_recovery=seconds)
    assert said(claim) == (
        "True",
        "Feasible",
        f"A lost driver would take {seconds:.0f} s at worst.",
    )


def test_too_few_executors_for_the_target_are_no_infeasible_target() -> None:
    assert said(told(expected_recovery=181.0)) == (
        "True",
        "NotAtThisSize",
        "A lost driver would take 181 s at worst, the target is 180 s: more executors are needed.",
    )


@pytest.mark.parametrize(("most", "named"), [(8, "8 executors"), (1, "1 executor")])
def test_a_target_that_no_number_of_executors_keeps_is_told_with_the_best_one(
    most: int, named: str
) -> None:
    claim = told(most=most, expected_recovery=260.0, smallest_recovery=240.0)
    assert said(claim) == (
        "False",
        "Infeasible",
        f"spec.recovery.target: 180 s cannot be kept; 240 s is the best that at most {named} can do.",
    )
