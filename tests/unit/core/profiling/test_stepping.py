"""The life of a profile, told as stories: one line per instant."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from sluice.core.profiling.keys import key_of
from sluice.core.profiling.records import (
    NOT_THERE,
    Allowance,
    CopySeen,
    EndCopy,
    LivePoint,
    MakeCopy,
    Phase,
    Problem,
    Reason,
    Run,
    Start,
)
from sluice.core.profiling.stepping import PATIENCE, next_steps
from sluice.errors import InvalidSpec
from sluice.errors import Problem as Wrong
from tests.support.jobs import NOW, job
from tests.unit.core.profiling.profiles import (
    JOB,
    KEY,
    ONE,
    RUNS,
    TWO,
    Story,
    live_reading,
    point,
    profile,
    reading,
    runs,
    seen,
)

OF_ONE = replace(KEY, digest=ONE)


def failed(story: Story) -> Reason:
    """Why the profile has failed."""
    assert story.verdict is not None
    assert story.verdict.phase is Phase.FAILED
    assert story.run.problem is not None
    return story.run.problem.reason


def allowance(core_seconds: float = 7200, minutes: float = 30) -> Allowance:
    return Allowance(core_seconds=core_seconds, wall=timedelta(minutes=minutes))


def test_a_profile_measures_what_is_declared_so_many_at_a_time_and_succeeds() -> None:
    story = Story(executors=(1, 2, 4), parallel=2)
    assert [type(step) for step in story.look().steps] == [MakeCopy, MakeCopy]
    assert story.open == [1, 2]
    assert story.look(30).steps == ()
    story.measured(1000, 1900)
    assert story.open == [4]
    ended = story.measured(3500)
    assert ended.phase is Phase.SUCCEEDED
    assert [one.rate for one in story.run.capacities] == [1000, 1900, 3500]
    assert story.run.problem is None


def test_without_declared_executors_the_bounds_are_measured_and_what_they_leave_open() -> None:
    story = Story()
    story.look()
    assert story.open == [1, 4]
    story.measured(1000, 2500)
    assert len(story.open) == 1
    assert 1 < story.open[0] < 4


def test_a_copy_is_made_again_until_it_is_there_and_removed_until_it_is_gone() -> None:
    story = Story(executors=(2,))
    story.look()
    (copy,) = story.run.open
    assert story.look(copies={copy.namespace: CopySeen(has_place=True)}).steps == (MakeCopy(copy),)
    story.measured(1000)
    (ended,) = story.run.copies
    there = {ended.namespace: RUNS}
    assert story.look(copies=there).steps == (EndCopy(ended),)
    assert story.look(copies=there).steps == (EndCopy(ended),)
    assert story.look(copies={ended.namespace: CopySeen()}).steps == ()


def test_looking_twice_changes_nothing() -> None:
    story = Story(executors=(1, 2))
    story.look()
    once = story.look()
    assert story.look() == once


def test_what_a_profile_remembers_is_decided_before_a_copy_is_made() -> None:
    verdict = next_steps(profile(executors=(2,)), Run(), seen(), NOW)
    assert [step.copy for step in verdict.steps] == list(verdict.run.copies)


@pytest.mark.parametrize("lack", [None, InvalidSpec([Wrong("spec.sources", "", "declare one")])])
def test_a_job_that_is_applied_with_its_profile_may_be_heard_of_after_it(
    lack: InvalidSpec | None,
) -> None:
    story = Story(executors=(2,))
    waiting = story.look(29, job=lack)
    assert waiting.phase is Phase.PENDING
    assert waiting.again is not None
    assert story.run.problem is not None
    assert story.look().phase is Phase.PROFILING
    assert story.run.problem is None


def test_a_job_that_is_not_there_or_not_valid_fails_the_profile() -> None:
    missing = Story()
    missing.look(30, job=None)
    assert failed(missing) is Reason.JOB_NOT_FOUND
    wrong = Story()
    wrong.look(30, job=InvalidSpec([Wrong("spec.executors.min", 0, "use 1")]))
    assert failed(wrong) is Reason.JOB_INVALID
    assert "spec.executors.min" in str(wrong.run.problem)


def test_a_job_that_cannot_be_copied_fails_the_profile() -> None:
    story = Story()
    story.look(obstacle=Problem(Reason.NEEDS_SECRET, "it uses the Secret kafka"))
    assert failed(story) is Reason.NEEDS_SECRET
    assert story.run.copies == ()


def test_a_profile_waits_for_an_older_one_of_the_same_job() -> None:
    story = Story(executors=(2,))
    waiting = story.look(rival="clicks-0")
    assert waiting.phase is Phase.PENDING
    assert waiting.again is not None
    assert story.run.problem is not None
    assert "clicks-0" in story.run.problem.message
    assert story.look().phase is Phase.PROFILING
    assert story.run.problem is None


def test_a_job_that_changes_meanwhile_ends_all_copies() -> None:
    story = Story(executors=(1, 2))
    story.look()
    other = job(application={"image": "shop/clicks:2", "mainFile": "/opt/clicks.py"})
    ended = story.look(60, job=other, key=key_of(other))
    assert failed(story) is Reason.SUPERSEDED
    assert story.open == []
    assert [type(step) for step in ended.steps] == [EndCopy, EndCopy]


def test_a_digest_that_becomes_known_does_not_disturb() -> None:
    story = Story(executors=(1, 2))
    story.look()
    story.look(10, key=OF_ONE)
    assert story.run.key == OF_ONE
    # The driver is away, and has not told yet when it comes back.
    story.look(10)
    story.look(10, key=OF_ONE)
    assert story.open == [1, 2]


def test_a_driver_that_comes_back_with_another_digest_ends_all_copies() -> None:
    story = Story(executors=(1, 2))
    story.look(key=OF_ONE)
    story.look(10, key=replace(KEY, digest=TWO))
    assert failed(story) is Reason.SUPERSEDED
    assert story.run.problem is not None
    assert ONE in story.run.problem.message
    assert TWO in story.run.problem.message
    assert story.open == []


def test_a_profile_is_of_the_digest_that_its_copies_run() -> None:
    story = Story(executors=(2,))
    story.look()
    (copy,) = story.run.open
    story.look(10, copies={copy.namespace: runs(copy, digest=ONE)})
    assert story.run.key == OF_ONE
    story.measured(1900)
    assert (story.run.problem, story.run.key) == (None, OF_ONE)


def test_a_copy_of_another_digest_than_production_ends_the_profile_before_it_has_told() -> None:
    story = Story(executors=(1, 2))
    story.look(key=OF_ONE)
    one, two = story.run.open
    strange = runs(two, digest=TWO, reading=reading())
    copies = {one.namespace: runs(one, digest=ONE), two.namespace: strange}
    story.look(10, key=OF_ONE, copies=copies)
    assert failed(story) is Reason.OTHER_IMAGE
    assert story.run.problem is not None
    assert f"StreamJob 'clicks' runs {ONE}" in story.run.problem.message
    assert f"the copy in {two.namespace} runs {TWO}" in story.run.problem.message
    assert (story.run.points, story.run.key) == ((), OF_ONE)


def test_copies_that_do_not_agree_end_the_profile_also_while_production_is_away() -> None:
    story = Story(executors=(1, 2))
    story.look()
    one, two = story.run.open
    copies = {one.namespace: runs(one, digest=ONE), two.namespace: runs(two, digest=TWO)}
    story.look(10, copies=copies)
    assert failed(story) is Reason.OTHER_IMAGE


def test_production_that_starts_with_another_digest_than_its_copies_ends_them() -> None:
    story = Story(executors=(2,))
    story.look()
    (copy,) = story.run.open
    story.look(10, copies={copy.namespace: runs(copy, digest=TWO)})
    story.look(10, key=OF_ONE)
    assert failed(story) is Reason.SUPERSEDED


def test_a_change_that_makes_the_job_no_faster_does_not_disturb() -> None:
    calm = job(executors={"min": 2, "max": 9}, slo={"latency": {"bound": "9s"}})
    assert key_of(calm) == key_of(JOB)
    larger = job(executors={"min": 1, "max": 4, "memory": "3Gi"})
    assert key_of(larger) != key_of(JOB)


def test_a_copy_that_fails_is_ended_and_the_others_go_on() -> None:
    story = Story(executors=(1, 2))
    story.look()
    one, two = story.run.open
    broken = replace(RUNS, problem=Problem(Reason.COPY_FAILED, "exit code 1"))
    story.look(60, copies={one.namespace: broken})
    assert story.open == [2]
    story.measured(1900)
    assert failed(story) is Reason.COPY_FAILED
    assert [at.executors for at in story.run.points] == [2]
    assert two.namespace != one.namespace


@pytest.mark.parametrize("reason", [Reason.NOT_REPLAYABLE, Reason.NOT_PROFILABLE])
def test_what_keeps_one_copy_from_running_at_all_ends_the_profile(reason: Reason) -> None:
    story = Story(executors=(1, 2, 4, 8), parallel=2)
    story.look()
    one, _ = story.run.open
    problem = Problem(reason, "the program reads a socket")
    story.look(60, copies={one.namespace: replace(RUNS, problem=problem)})
    assert failed(story) is reason
    assert story.open == []
    assert len(story.run.copies) == 2


def test_executors_that_do_not_come_are_waited_for_a_while() -> None:
    story = Story(executors=(4,))
    story.look()
    (copy,) = story.run.open
    obstacle = Problem(Reason.NO_CAPACITY, "0/3 nodes are available")
    some = {copy.namespace: replace(RUNS, registered=3, obstacle=obstacle)}
    story.look(PATIENCE.total_seconds() - 1, copies=some)
    assert story.open == [4]
    story.look(2, copies=some)
    assert failed(story) is Reason.NO_CAPACITY
    assert story.run.problem == obstacle


def test_a_driver_that_finds_no_place_is_waited_for_as_long() -> None:
    story = Story(executors=(4,))
    story.look()
    (copy,) = story.run.open
    story.look(100, copies={copy.namespace: replace(RUNS, driver_made=None, driver_since=None)})
    waits = {copy.namespace: replace(RUNS, driver_made=story.now, driver_since=None)}
    story.look(PATIENCE.total_seconds() - 1, copies=waits)
    assert story.open == [4]
    story.look(1, copies=waits)
    assert failed(story) is Reason.NO_CAPACITY


@pytest.mark.parametrize(
    "pulls", [replace(RUNS, registered=3), replace(RUNS, registered=None, driver_since=None)]
)
def test_pods_that_are_being_made_are_waited_for_until_the_deadline(pulls: CopySeen) -> None:
    story = Story(executors=(4,))
    story.look()
    (copy,) = story.run.open
    there = {copy.namespace: replace(pulls, driver_made=story.now, is_on_its_way=True)}
    deadline = story.profile.copy_deadline.total_seconds()
    story.look(deadline - 1, copies=there)
    assert story.open == [4]
    story.look(1, copies=there)
    assert failed(story) is Reason.COPY_FAILED
    assert story.run.problem is not None
    assert "their images are pulled" in story.run.problem.message


@pytest.mark.parametrize("there", [NOT_THERE, CopySeen(has_place=True, has_job=True)])
def test_an_operator_that_was_away_before_a_copy_had_pods_says_nothing_of_room(
    there: CopySeen,
) -> None:
    story = Story(executors=(4,))
    story.look()
    (copy,) = story.run.open
    story.look(PATIENCE.total_seconds() + 20, copies={copy.namespace: there})
    assert story.open == [4]
    assert story.measured(3900).phase is Phase.SUCCEEDED


def test_a_copy_that_has_no_driver_at_its_deadline_lacks_no_room() -> None:
    story = Story(executors=(4,))
    story.look()
    (copy,) = story.run.open
    late = story.profile.copy_deadline.total_seconds()
    story.look(late, copies={copy.namespace: NOT_THERE})
    assert failed(story) is Reason.COPY_FAILED


def test_a_copy_that_caught_up_before_it_was_measured_tells_that_history_is_short() -> None:
    story = Story(executors=(2,))
    story.look()
    (copy,) = story.run.open
    story.look(60, copies={copy.namespace: runs(copy, is_dry=True)})
    assert failed(story) is Reason.HISTORY_TOO_SHORT


def test_a_copy_that_caught_up_after_a_few_batches_gives_a_lower_bound() -> None:
    story = Story(executors=(2,))
    story.look()
    (copy,) = story.run.open
    few = reading(batches=4, is_dry=True, is_lower_bound=True)
    ended = story.look(60, copies={copy.namespace: runs(copy, is_dry=True, reading=few)})
    assert ended.phase is Phase.SUCCEEDED
    assert story.run.points[0].is_lower_bound


def test_at_its_deadline_a_copy_gives_what_it_has() -> None:
    story = Story(executors=(2,), copy_deadline=timedelta(minutes=5))
    story.look()
    (copy,) = story.run.open
    vague = {copy.namespace: runs(copy, reading=reading(error=0.3))}
    story.look(299, copies=vague)
    assert story.open == [2]
    assert story.look(2, copies=vague).phase is Phase.SUCCEEDED
    assert story.run.capacities[0].error == pytest.approx(300)


def test_the_deadline_of_a_copy_counts_from_when_an_operator_looks_after_it() -> None:
    story = Story(executors=(2,), copy_deadline=timedelta(minutes=5))
    story.look()
    (copy,) = story.run.open
    there = {copy.namespace: runs(copy)}
    taken_over = story.now + timedelta(minutes=20)
    story.look(1200, copies=there, since=taken_over)
    story.look(299, copies=there, since=taken_over)
    assert story.open == [2]
    story.look(1, copies=there, since=taken_over)
    assert failed(story) is Reason.COPY_FAILED


def test_a_plan_that_the_budget_does_not_cover_is_refused_before_anything_starts() -> None:
    story = Story(executors=(1, 100), allowance=allowance(core_seconds=3600))
    story.look()
    assert failed(story) is Reason.BUDGET_SPENT
    assert story.run.copies == ()
    assert story.run.problem is not None
    assert "spec.budget.coreHours" in story.run.problem.message
    assert "raise it in another profile" in story.run.problem.message


def test_no_copy_is_started_that_the_budget_does_not_cover() -> None:
    story = Story(allowance=allowance(core_seconds=700))
    story.look()
    assert story.open == [1]
    story.measured(1000)
    assert failed(story) is Reason.BUDGET_SPENT
    assert [one.executors for one in story.run.points] == [1]


@pytest.mark.parametrize("spent", [allowance(core_seconds=700), allowance(minutes=4)])
def test_when_the_budget_is_spent_what_runs_is_ended(spent: Allowance) -> None:
    story = Story(executors=(2,), allowance=spent)
    story.look()
    (copy,) = story.run.open
    there: dict[str, Any] = {copy.namespace: runs(copy)}
    story.look(200, copies=there)
    assert story.open == [2]
    story.look(200, copies=there)
    assert failed(story) is Reason.BUDGET_SPENT
    assert story.open == []


@pytest.mark.parametrize("spent", [allowance(core_seconds=700), allowance(minutes=4)])
def test_what_a_former_operator_has_begun_is_heard_before_it_ends_for_the_budget(
    spent: Allowance,
) -> None:
    story = Story(executors=(2,), allowance=spent)
    story.look()
    (copy,) = story.run.open
    taken_over = story.now + timedelta(minutes=20)
    unheard = {copy.namespace: replace(RUNS, is_unheard=True)}
    story.look(1200, copies=unheard, since=taken_over)
    assert story.open == [2]
    told = {copy.namespace: runs(copy, reading=reading(error=0.3))}
    assert story.look(5, copies=told, since=taken_over).phase is Phase.SUCCEEDED


def test_a_copy_of_its_own_is_not_waited_for_when_the_budget_is_spent() -> None:
    story = Story(executors=(2,), allowance=allowance(minutes=4))
    story.look()
    (copy,) = story.run.open
    story.look(240, copies={copy.namespace: replace(RUNS, is_unheard=True)})
    assert failed(story) is Reason.BUDGET_SPENT


def test_points_of_a_former_profile_are_not_measured_again() -> None:
    known = (point(1, 1000.0), point(4, 2500.0))
    story = Story()
    story.look(known=known)
    assert len(story.open) == 1
    assert 1 < story.open[0] < 4
    assert [one.executors for one in story.run.points] == [1, 4]


def test_declared_executors_are_measured_whatever_is_known() -> None:
    story = Story(executors=(1,))
    story.look(known=(point(1, 1000.0),))
    assert story.open == [1]
    assert story.run.points == ()


def test_namespaces_of_the_users_are_used_one_copy_at_a_time() -> None:
    story = Story(executors=(1, 2), namespaces=("lab",), parallel=2)
    story.look()
    assert [copy.namespace for copy in story.run.open] == ["lab"]
    (copy,) = story.run.open
    there = {"lab": runs(copy, reading=reading())}
    ended = story.look(60, copies=there)
    assert ended.steps == (EndCopy(story.run.copies[0]),)
    story.look(copies={"lab": CopySeen()})
    assert story.open == [2]


def test_namespaces_that_former_copies_do_not_leave_are_waited_for_and_told() -> None:
    story = Story(executors=(1,), namespaces=("lab",))
    taken = {"lab": CopySeen(has_place=True)}
    for _ in range(2):
        story.look(60, copies=taken)
        assert story.run.ended is None
        assert story.run.problem is not None
        assert "spec.namespaces: former copies in lab" in story.run.problem.message
    story.look(60)
    assert story.open == [1]
    assert story.run.problem is None


def test_a_profile_whose_time_is_over_says_that_it_has_waited_for_former_copies_to_go() -> None:
    story = Story(executors=(1,), namespaces=("lab",))
    taken = {"lab": CopySeen(has_place=True)}
    story.look(copies=taken)
    story.look(story.profile.allowance.wall.total_seconds(), copies=taken)
    assert failed(story) is Reason.BUDGET_SPENT
    assert story.run.problem is not None
    assert "for 1 executor; raise spec.budget in another profile" in story.run.problem.message
    assert "former copies in lab" in story.run.problem.message


def test_copies_have_namespaces_of_their_own_which_the_profile_is_known_by() -> None:
    story = Story(executors=(1, 2))
    story.look()
    assert [copy.namespace for copy in story.run.open] == ["clicks-1-x1-uid0f", "clicks-1-x2-uid0f"]


YIELDS = Problem(Reason.YIELDED, "pods of StreamJob shop/views find no room")


def test_copies_end_when_production_needs_their_room() -> None:
    story = Story(executors=(1, 2, 4), parallel=2)
    story.look()
    ended = story.look(30, yields=YIELDS)
    assert failed(story) is Reason.YIELDED
    assert [type(step) for step in ended.steps] == [EndCopy, EndCopy]


def test_what_is_certain_when_copies_must_end_stays() -> None:
    story = Story(executors=(1, 2), parallel=1)
    story.look()
    (copy,) = story.run.open
    story.look(60, copies={copy.namespace: runs(copy, reading=reading(1000))}, yields=YIELDS)
    assert failed(story) is Reason.YIELDED
    assert [one.rate for one in story.run.capacities] == [1000]
    assert story.open == []


def test_a_profile_of_which_all_is_measured_has_nothing_to_yield() -> None:
    story = Story(executors=(2,))
    story.look()
    (copy,) = story.run.open
    ended = story.look(60, copies={copy.namespace: runs(copy, reading=reading())}, yields=YIELDS)
    assert ended.phase is Phase.SUCCEEDED


def test_a_profile_waits_for_room_before_it_begins() -> None:
    story = Story(executors=(2,))
    waiting = story.look(yields=YIELDS)
    assert waiting.phase is Phase.PENDING
    assert waiting.steps == ()
    assert story.run.problem == YIELDS
    assert [type(step) for step in story.look(30).steps] == [MakeCopy]


def test_a_copy_whose_executors_were_all_there_may_be_without_one_for_a_while() -> None:
    story = Story(executors=(2,))
    story.look()
    (copy,) = story.run.open
    story.look(60, copies={copy.namespace: runs(copy)})
    story.look(PATIENCE.total_seconds(), copies={copy.namespace: replace(RUNS, registered=1)})
    story.look(5, copies={copy.namespace: replace(RUNS, registered=1)})
    assert story.open == [2]
    assert story.measured(1900).phase is Phase.SUCCEEDED


def test_a_copy_of_which_nothing_is_heard_just_now_goes_on() -> None:
    story = Story(executors=(2,))
    story.look()
    (copy,) = story.run.open
    story.look(60, copies={copy.namespace: runs(copy)})
    story.look(PATIENCE.total_seconds(), copies={copy.namespace: RUNS})
    assert story.open == [2]
    assert story.measured(1900).phase is Phase.SUCCEEDED


def test_what_a_copy_has_waited_for_is_forgotten_once_it_is_measured() -> None:
    story = Story(executors=(2,))
    story.look()
    (copy,) = story.run.open
    waits = replace(RUNS, obstacle=Problem(Reason.NO_CAPACITY, "0/3 nodes are available"))
    story.look(30, copies={copy.namespace: waits})
    assert story.measured(1900).phase is Phase.SUCCEEDED


def test_copies_of_the_live_stream_tell_their_latency_and_no_capacity() -> None:
    story = Story(start=Start.LATEST, executors=(2,))
    story.look()
    (copy,) = story.run.open
    ended = story.look(120, copies={copy.namespace: runs(copy, reading=live_reading())})
    assert ended.phase is Phase.SUCCEEDED
    (found,) = story.run.points
    assert isinstance(found, LivePoint)
    assert (found.latency.p95, found.arriving, found.keeps_up) == (1.4, 1200.0, True)
    assert story.run.capacities == ()


def test_a_copy_that_falls_behind_ends_with_that_as_its_result() -> None:
    story = Story(start=Start.LATEST, executors=(1, 2), parallel=1)
    story.look()
    (copy,) = story.run.open
    behind = live_reading(keeps_up=False, batches=3, seconds=40.0)
    story.look(60, copies={copy.namespace: runs(copy, reading=behind)})
    assert story.open == [2]
    assert story.run.problem is None
    (found,) = story.run.points
    assert isinstance(found, LivePoint)
    assert not found.keeps_up


def test_at_its_deadline_a_live_copy_gives_what_it_has() -> None:
    story = Story(start=Start.LATEST, executors=(2,), copy_deadline=timedelta(minutes=5))
    story.look()
    (copy,) = story.run.open
    few = {copy.namespace: runs(copy, reading=live_reading(batches=3, seconds=40.0))}
    story.look(299, copies=few)
    assert story.open == [2]
    assert story.look(2, copies=few).phase is Phase.SUCCEEDED


def test_too_few_live_batches_at_the_deadline_are_told_with_what_may_help() -> None:
    story = Story(start=Start.LATEST, executors=(2,))
    story.look()
    (copy,) = story.run.open
    story.look(600, copies={copy.namespace: runs(copy, reading=live_reading(batches=2, seconds=9))})
    assert failed(story) is Reason.COPY_FAILED
    assert "2 warm batches" in str(story.run.problem)
    assert "measure more executors" in str(story.run.problem)


def test_a_live_stream_is_waited_for_until_the_deadline_and_then_has_no_load() -> None:
    story = Story(start=Start.LATEST, executors=(1, 2, 4), parallel=2)
    story.look()
    dry = {copy.namespace: runs(copy, is_dry=True) for copy in story.run.open}
    story.look(599, copies=dry)
    assert story.open == [1, 2]
    story.look(2, copies=dry)
    assert failed(story) is Reason.NO_LOAD
    assert len(story.run.copies) == 2, "what one copy has not seen, no other would"
    assert "Earliest" in str(story.run.problem)


def test_live_copies_that_wait_for_executors_as_well_lack_room_first() -> None:
    story = Story(start=Start.LATEST, executors=(2,))
    story.look()
    (copy,) = story.run.open
    alone = {copy.namespace: replace(RUNS, registered=1, is_dry=True)}
    story.look(PATIENCE.total_seconds() + 1, copies=alone)
    assert failed(story) is Reason.NO_CAPACITY


def test_without_declared_executors_live_copies_are_spread_evenly_over_the_bounds() -> None:
    story = Story(start=Start.LATEST, parallel=16)
    story.look(known=())
    assert story.open == [1, 2, 3, 4]


def test_a_profile_whose_start_changes_meanwhile_is_superseded() -> None:
    story = Story(executors=(1, 2))
    story.look()
    story.profile = replace(story.profile, start=Start.LATEST)
    story.look(60)
    assert failed(story) is Reason.SUPERSEDED
    assert "spec.from" in str(story.run.problem)


def test_measurements_from_either_end_are_of_different_keys() -> None:
    assert key_of(JOB, Start.LATEST) != key_of(JOB, Start.EARLIEST) == key_of(JOB)
