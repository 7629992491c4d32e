"""A job's declaration in the terms of deciding."""

from dataclasses import replace

import pytest

from sluice.core import autoscaling
from sluice.core.deciding.deciding import decide
from sluice.core.deciding.decision import Decision
from sluice.core.deciding.policies.keda_lag import KedaLag
from sluice.core.deciding.policies.sluice import Sluice
from sluice.core.deciding.situation import Models
from sluice.core.measurement import NOT_CONFIGURED
from sluice.core.modelling.capacity import CapacityModel
from sluice.core.modelling.fetching import Fetching
from sluice.core.observations import FailingTasks, Processing, QueryReport
from tests.support.jobs import job, query, report
from tests.unit.core.deciding.situations import steady

STEEP = Models(capacity=CapacityModel(points=((6, 1_000.0), (8, 9_000.0))))
"""Fewer than six executors would do nothing, by these."""

BUSY = replace(steady(9_000.0, 2), models=STEEP)


@pytest.mark.parametrize("most", [3, 8])
def test_a_threshold_of_rows_is_one_whatever_was_measured_of_more_executors(most: int) -> None:
    narrow = job(executors={"min": 1, "max": most}, scaling={"mode": "Auto", "policy": "keda-lag"})
    policy = autoscaling.policy_of(narrow, STEEP)
    assert isinstance(policy, KedaLag)
    assert policy.threshold > 0
    assert policy(steady(1_000.0, 2)).executors >= 2


def test_what_a_rescale_may_spend_is_what_the_objective_leaves() -> None:
    strict = job(slo={"latency": {"bound": "5s"}, "objective": 0.999})
    policy, usual = (autoscaling.policy_of(declared, Models()) for declared in (strict, job()))
    assert isinstance(policy, Sluice)
    assert policy.objective == 0.999
    assert usual == replace(policy, objective=Sluice().objective)


def decided_when_busy(*queries: QueryReport, failing: FailingTasks | None = None) -> Decision:
    """What is decided of a job that needs more executors, when its agent tells this."""
    declared = job(executors={"min": 1, "max": 8}, scaling={"mode": "Auto"})
    told = report(*queries, failing=failing)
    settings = autoscaling.settings_of(declared, NOT_CONFIGURED, told)
    return decide(BUSY, autoscaling.policy_of(declared, STEEP), settings)


@pytest.mark.parametrize("processing", [Processing.REAL_TIME, Processing.CONTINUOUS])
def test_no_policy_scales_a_job_whose_batches_do_not_tell_what_it_can_do(
    processing: Processing,
) -> None:
    ordinary = query(backlog_rows=0.0)
    assert decided_when_busy(ordinary).executors > BUSY.executors
    found = decided_when_busy(ordinary, query(name="fast", processing=processing))
    assert found.executors == BUSY.executors
    assert "query 'fast'" in found.reason
    assert 'spec.scaling.mode "Off"' in found.reason
    ended = query(name="fast", processing=processing, active=False)
    assert decided_when_busy(ended) == decided_when_busy(ordinary)


def test_no_policy_scales_a_job_none_of_whose_sources_tells_what_arrives() -> None:
    files, topic = query(name="files", backlog_rows=None), query(backlog_rows=0.0)
    found = decided_when_busy(files)
    assert found.executors == BUSY.executors
    assert "query 'files' reads a source that does not tell" in found.reason
    assert 'spec.scaling.mode "Off"' in found.reason
    assert decided_when_busy(files, topic).executors > BUSY.executors
    assert decided_when_busy(replace(files, committed_at=None)).executors > BUSY.executors, (
        "too early to say"
    )


def test_no_policy_scales_a_job_whose_tasks_fail() -> None:
    def decided(failing: FailingTasks | None) -> Decision:
        return decided_when_busy(query(backlog_rows=0.0), failing=failing)

    assert decided(None).executors > BUSY.executors
    assert decided(FailingTasks(failed=1, completed=1)) == decided(None)
    found = decided(FailingTasks(failed=2, completed=1))
    assert found.executors == BUSY.executors
    assert "tasks of the batch in flight fail" in found.reason


def test_the_trigger_and_the_limit_of_a_query_that_has_ended_are_no_terms_of_the_job() -> None:
    main = query(trigger_seconds=2.0, most_rows=500.0)
    ended = query(name="backfill", active=False, trigger_seconds=60.0)
    terms = autoscaling.terms_of(job(), report(main, ended))
    assert (terms.period, terms.most_rows) == (2, 500)
    alone = autoscaling.terms_of(job(), report(ended))
    assert (alone.period, alone.most_rows) == (60, None)


def test_tasks_of_all_queries_that_run_are_thought_to_wait_as_long_as_those_of_the_slowest() -> (
    None
):
    clicks = query(fetching=Fetching(partitions=24, longest=0.01))
    orders = query(name="orders", fetching=Fetching(partitions=6, longest=0.5))
    ended = query(name="old", active=False, fetching=Fetching(partitions=99, longest=9.0))
    files = query(name="files")
    terms = autoscaling.terms_of(job(), report(clicks, orders, ended, files))
    assert terms.fetching == Fetching(partitions=30, longest=0.5)
    assert autoscaling.terms_of(job(), report(files)).fetching is None
    assert autoscaling.terms_of(job(), None).fetching is None
