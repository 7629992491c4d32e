"""When executors that were retired are ended; `test_executors` has it with Spark."""

from collections.abc import Sequence
from typing import Any

import pytest

from sluice.agent import executors
from sluice.agent.leaving import Leaving


class Application:
    """The executors and jobs of one application, in place of Spark's."""

    def __init__(self, ids: Sequence[str], jobs: Sequence[int]) -> None:
        self.ids, self.jobs = set(ids), set(jobs)
        self.ended: list[str] = []

    def end(self, ids: Sequence[str]) -> None:
        self.ended += ids
        self.ids -= set(ids)


@pytest.fixture(autouse=True)
def spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def end(application: Any, ids: Sequence[str]) -> None:
        application.end(ids)

    monkeypatch.setattr(executors, "active_jobs", lambda one: frozenset(one.jobs))
    monkeypatch.setattr(executors, "known", lambda one: frozenset(one.ids))
    monkeypatch.setattr(executors, "end", end)


def test_an_executor_is_ended_when_the_jobs_have_that_ran_when_it_was_retired() -> None:
    application, leaving = Application(["1", "2"], jobs=[7, 8]), Leaving()
    leaving.begin(application, ["2"])
    seen = []
    for jobs in ({7, 8}, {8, 9}, {9, 10}, {11}):
        application.jobs = jobs
        leaving.see_off(application)
        seen.append(list(application.ended))
    assert seen == [[], [], ["2"], ["2"]]


def test_without_a_job_it_is_ended_at_once() -> None:
    application, leaving = Application(["1", "2"], jobs=[]), Leaving()
    leaving.begin(application, ["2"])
    application.jobs = {1}
    leaving.see_off(application)
    assert application.ended == ["2"]


def test_one_that_has_gone_by_itself_is_not_asked_for_again() -> None:
    application, leaving = Application(["1", "2"], jobs=[1]), Leaving()
    leaving.begin(application, ["2"])
    application.ids, application.jobs = {"1"}, set()
    leaving.see_off(application)
    assert application.ended == []


def test_another_application_keeps_executors_of_the_same_names() -> None:
    before, after, leaving = Application(["2"], jobs=[1]), Application(["2"], jobs=[]), Leaving()
    leaving.begin(before, ["2"])
    leaving.see_off(after)
    assert (before.ended, after.ended) == ([], [])
