"""A job's declaration in the terms of deciding."""

import pytest

from sluice.core import autoscaling
from sluice.core.deciding.policies.keda_lag import KedaLag
from sluice.core.deciding.situation import Models
from sluice.core.modelling.capacity import CapacityModel
from tests.support.jobs import job
from tests.unit.core.deciding.situations import steady

STEEP = Models(capacity=CapacityModel(points=((6, 1_000.0), (8, 9_000.0))))
"""Fewer than six executors would do nothing, by these."""


@pytest.mark.parametrize("most", [3, 8])
def test_a_threshold_of_rows_is_one_whatever_was_measured_of_more_executors(most: int) -> None:
    narrow = job(executors={"min": 1, "max": most}, scaling={"mode": "Auto", "policy": "keda-lag"})
    policy = autoscaling.policy_of(narrow, STEEP)
    assert isinstance(policy, KedaLag)
    assert policy.threshold > 0
    assert policy(steady(1_000.0, 2)).executors >= 2
