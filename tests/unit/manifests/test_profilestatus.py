"""The status of a profile tells what is remembered, and is read back as it was."""

from dataclasses import replace
from datetime import timedelta

import pytest

from sluice.core.profiling.keys import key_of
from sluice.core.profiling.records import (
    Copy,
    CopyPhase,
    Phase,
    Plan,
    Point,
    Problem,
    Reason,
    Run,
    Start,
)
from sluice.errors import InvalidSpec
from sluice.errors import Problem as Wrong
from sluice.manifests.profiling.status import invalid, read_run, status_of
from tests.support.jobs import NOW, job
from tests.unit.core.profiling.profiles import LIVE_POINT, ONE, profile

LATER = NOW + timedelta(minutes=3)
FULL = Problem(Reason.NO_CAPACITY, "0/3 nodes are available")
POINT = Point(executors=1, rate=1000.5, error=20.25, batches=7, overhead=0.31, at=LATER)
RUN = Run(
    key=key_of(job()),
    plan=Plan(copies=2, core_seconds=600.0, wall_seconds=150.0),
    began=NOW,
    copies=(
        Copy(executors=1, namespace="a", began=NOW, phase=CopyPhase.MEASURED, ended=LATER),
        Copy(executors=4, namespace="b", began=NOW, problem=FULL),
    ),
    points=(POINT, replace(POINT, executors=2, is_lower_bound=True)),
)


LIVE = replace(
    RUN,
    key=key_of(job(), Start.LATEST),
    points=(
        replace(LIVE_POINT, keeps_up=False, at=LATER),
        replace(LIVE_POINT, executors=2, is_lower_bound=True, at=LATER),
    ),
)


def test_what_is_remembered_is_read_back() -> None:
    told = status_of(profile(), RUN, Phase.PROFILING, 90.0, {}, LATER)
    assert read_run(told) == RUN
    ended = replace(RUN, ended=LATER, problem=FULL)
    assert read_run(status_of(profile(), ended, Phase.FAILED, 90.0, {}, LATER)) == ended
    assert read_run(status_of(profile(), LIVE, Phase.PROFILING, 90.0, {}, LATER)) == LIVE
    waiting = Run(problem=Problem(Reason.ANOTHER_PROFILE, "another"))
    assert read_run(status_of(profile(), waiting, Phase.PENDING, 0.0, {}, NOW)) == waiting


def test_the_beginning_is_read_from_nothing() -> None:
    assert read_run({}) == Run()


def test_a_word_of_a_newer_operator_is_no_reason() -> None:
    told = status_of(profile(), replace(RUN, ended=LATER, problem=FULL), Phase.FAILED, 1.0, {}, NOW)
    for condition in told["conditions"]:
        condition["reason"] = "Unheard"
    assert read_run(told).problem is None


def test_people_are_told_points_spending_and_what_is_only_a_bound() -> None:
    ended = replace(RUN, ended=LATER)
    told = status_of(profile(), ended, Phase.SUCCEEDED, 1800.0, {}, LATER)
    assert told["summary"] == {"points": "1: 1000, 2: 1000", "spent": "0.50/2"}
    (complete,) = [one for one in told["conditions"] if one["type"] == "Complete"]
    assert complete["status"] == "True"
    assert "may be higher at 2 executors" in complete["message"]


def test_people_are_told_the_latency_of_live_rows_and_what_falls_behind() -> None:
    told = status_of(profile(), replace(LIVE, ended=LATER), Phase.SUCCEEDED, 1800.0, {}, LATER)
    assert told["summary"]["points"] == "1: falls behind, 2: p95 1.4s"
    (complete,) = [one for one in told["conditions"] if one["type"] == "Complete"]
    assert complete["message"].startswith("1: falls behind, 2: p95 1.4s. The truth may be higher")
    assert "rowsPerSecond" not in told["points"][0]


def test_a_status_of_an_operator_that_knew_one_end_only_is_of_the_earliest() -> None:
    told = status_of(profile(), RUN, Phase.PROFILING, 90.0, {}, LATER)
    del told["key"]["from"]
    assert read_run(told).key == RUN.key
    told["key"]["from"] = "Middle"
    assert read_run(told).key is None


def test_the_digest_is_told_and_read_back_where_it_is_known() -> None:
    known = replace(RUN, key=replace(key_of(job()), digest=ONE))
    told = status_of(profile(), known, Phase.PROFILING, 90.0, {}, LATER)
    assert told["key"]["digest"] == ONE
    assert read_run(told) == known
    older = status_of(profile(), RUN, Phase.PROFILING, 90.0, {}, LATER)
    assert "digest" not in older["key"]


def test_what_a_copy_waits_for_is_told_while_it_waits() -> None:
    told = status_of(profile(), RUN, Phase.PROFILING, 600.0, {}, LATER)
    (complete,) = [one for one in told["conditions"] if one["type"] == "Complete"]
    assert complete["message"] == (
        "Copies run with so many executors: 4. The one of 4 waits: 0/3 nodes are available."
    )


def test_a_condition_keeps_the_time_of_its_last_transition() -> None:
    first = status_of(profile(), RUN, Phase.PROFILING, 1.0, {}, NOW)
    second = status_of(profile(), RUN, Phase.PROFILING, 2.0, first, LATER)
    assert second["conditions"] == first["conditions"]
    ended = status_of(profile(), replace(RUN, ended=LATER), Phase.SUCCEEDED, 2.0, second, LATER)
    times = {one["type"]: one["lastTransitionTime"] for one in ended["conditions"]}
    assert times["Complete"] > times["SpecValid"]


def test_a_wrong_spec_keeps_what_was_measured_before() -> None:
    before = status_of(profile(), RUN, Phase.PROFILING, 1.0, {}, NOW)
    error = InvalidSpec([Wrong("spec.namespaces[0]", "shop", "name another namespace")])
    told = invalid(2, error, before, LATER)
    assert told["points"] == before["points"]
    assert "spec.namespaces[0]" in told["conditions"][0]["message"]
    assert invalid(2, error, told, LATER + timedelta(minutes=1)) == told


@pytest.mark.parametrize(
    ("problem", "phase"), [(FULL, Phase.FAILED), (None, Phase.SUCCEEDED)], ids=["failed", "done"]
)
def test_a_spec_that_becomes_wrong_changes_nothing_of_how_a_profile_has_ended(
    problem: Problem | None, phase: Phase
) -> None:
    run = replace(RUN, ended=LATER, problem=problem)
    before = status_of(profile(), run, phase, 1.0, {}, LATER)
    told = invalid(2, InvalidSpec([Wrong("spec.namespaces[0]", "shop", "no")]), before, LATER)
    assert (read_run(told).problem, told["phase"]) == (problem, str(phase))
    (complete,) = (one for one in told["conditions"] if one["type"] == "Complete")
    assert complete["status"] == str(problem is None)
    assert told["conditions"][0]["status"] == "False", "and that the spec is wrong is told"


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("copies", {"phase": "Cooling"}),
        ("copies", {"startedAt": "soon"}),
        ("points", {"measuredAt": "soon"}),
        ("points", {"rowsPerSecond": "many"}),
        ("points", {"latency": {"p95Seconds": 1.0}}),
        ("points", {"latency": "short"}),
    ],
)
def test_what_another_operator_or_a_person_wrote_wrong_is_left_out(
    part: str, change: dict[str, str]
) -> None:
    told = status_of(profile(), RUN, Phase.PROFILING, 90.0, {}, LATER)
    told[part][0] |= change
    found = read_run(told)
    assert len(getattr(found, part)) == 1
    assert found.began == RUN.began
