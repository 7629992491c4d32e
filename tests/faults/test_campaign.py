"""A campaign does each fault, and its table tells of each."""

from collections import Counter

import pytest

from e2e.faults import campaign, result
from e2e.faults.campaign import Outcome
from e2e.faults.catalogue import FAULTS


def outcome(fault: str, *, recovered: float, measured: float | None = None) -> Outcome:
    return Outcome(
        fault=fault,
        harmed=1.0,
        recovered=recovered,
        drivers=int(measured is not None),
        measured=measured,
    )


def test_each_fault_comes_before_any_comes_again() -> None:
    names = campaign.order(len(FAULTS) + 3, seed=7)

    assert {*names[: len(FAULTS)]} == {*FAULTS}
    assert max(Counter(names).values()) == 2


def test_a_seed_repeats_a_campaign() -> None:
    assert campaign.order(40, seed=7) == campaign.order(40, seed=7)
    assert campaign.order(40, seed=7) != campaign.order(40, seed=8)


def test_faults_are_asked_for_by_their_number_or_by_name() -> None:
    assert campaign.chosen("40", seed=7) == campaign.order(40, seed=7)
    assert campaign.chosen("etcd away, driver killed", seed=7) == ["etcd away", "driver killed"]
    with pytest.raises(ValueError, match=r"no such fault: tide; there are: driver killed, JVM"):
        campaign.chosen("etcd away, tide", seed=7)


def test_the_table_has_a_line_for_each_kind_with_its_median_and_worst() -> None:
    outcomes = [
        outcome("etcd away", recovered=4.0),
        outcome("driver killed", recovered=20.0, measured=30.0),
        outcome("driver killed", recovered=40.0, measured=50.0),
        outcome("driver killed", recovered=30.0, measured=31.0),
    ]

    assert result.table(outcomes).splitlines()[2:] == [
        "| driver killed | 3 | 3 | 30 | 40 | 31 | 50 |",
        "| etcd away | 1 | 0 | 4 | 4 |  |  |",
    ]


def test_a_campaign_that_stopped_early_misses_its_goal() -> None:
    account = {"expected": 10, "missing": 0, "duplicates": 2}

    told = result.figures([outcome("etcd away", recovered=4.0)], account, asked=2)

    missed = [figure.name for figure in told if figure.goal and not figure.is_met]
    assert missed == ["faults not got over"]
