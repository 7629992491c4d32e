"""What the demo makes of its looks: rescales, acts, the moment of the failure, its end."""

from dataclasses import replace
from typing import Any

import pytest

from demo import looks
from demo.acts import Act, act, scene
from demo.diary import LONGEST, entries, opening
from demo.looks import Profile
from demo.numbers import Numbers
from demo.story import FAIL_BY, LET_BY, failure_is_due, scaling_is_due
from demo.summary import summary
from tests.demo.stories import (
    MEASURED,
    PROMISE,
    chosen,
    event,
    grown,
    look,
    recovered,
    recovery,
    told,
    whole,
)


def test_each_new_choice_of_another_number_is_a_rescale() -> None:
    story = told(
        look(0.0, 1),
        look(3.0, running=1, wanted=2, chosen=chosen("a", 2)),
        look(6.0, 2, chosen=chosen("a", 2)),
        look(9.0, running=2, wanted=4, chosen=chosen("b", 4, "Restart")),
    )
    assert [(one.at, one.before, one.executors, one.path) for one in story.rescales] == [
        (3.0, 1, 2, "Live"),
        (9.0, 2, 4, "Restart"),
    ]


def test_what_was_chosen_before_the_story_is_none_of_its_rescales() -> None:
    story = told(look(0.0, 2, chosen=chosen("a", 2)), look(3.0, 2, chosen=chosen("a", 2)))
    assert story.rescales == ()


def test_the_acts_follow_from_what_is_seen() -> None:
    assert act(told(look(0.0))) is Act.MEASURE
    assert act(told(look(0.0), look(150.0, profile=MEASURED)).with_scaling()) is Act.FORESEE
    assert act(grown()) is Act.GROW
    assert act(grown().with_failure()) is Act.RECOVER
    assert act(recovered()) is Act.SHRINK


def test_the_operator_is_let_scale_the_job_when_that_is_measured_once() -> None:
    begun = told(look(0.0), look(99.0, profile=Profile(phase="Profiling")))
    assert not scaling_is_due(begun)
    measured = begun.with_look(look(150.0, profile=MEASURED))
    assert scaling_is_due(measured)
    assert not scaling_is_due(measured.with_scaling())


def test_a_profile_that_fails_or_takes_long_holds_up_no_scaling() -> None:
    assert scaling_is_due(told(look(0.0), look(99.0, profile=Profile(phase="Failed"))))
    assert scaling_is_due(told(look(0.0), look(LET_BY, profile=Profile(phase="Profiling"))))


def test_the_scenes_name_all_that_was_promised() -> None:
    words = " ".join(f"{scene(one, PROMISE).now} {scene(one, PROMISE).look}" for one in Act)
    assert all(text in words for text in ("10s", "3m", "15s", "4m"))


def test_the_driver_is_killed_after_the_peak_when_the_job_is_calm() -> None:
    assert failure_is_due(grown())


@pytest.mark.parametrize(
    "changed",
    [
        {"at": 400.0},
        {"wanted": 4},
        {"recovering": recovery()},
        {"is_ready": False},
        {"profile": Profile(phase="Profiling")},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_the_driver_is_not_killed_while_something_else_goes_on(changed: dict[str, Any]) -> None:
    assert not failure_is_due(grown(**changed))


def test_in_the_end_the_driver_is_killed_even_during_a_rescale() -> None:
    assert failure_is_due(grown(at=FAIL_BY, wanted=4))


def test_nothing_is_killed_twice_or_shortly_before_the_end() -> None:
    assert not failure_is_due(grown().with_failure())
    assert not failure_is_due(replace(grown(), limit=500.0))


def test_an_earlier_recovery_is_not_taken_for_that_of_the_failure() -> None:
    old = recovery("11:00", caughtUp=30.0)
    story = told(look(0.0, recovered=(old,))).with_failure()
    story = story.with_look(look(3.0, recovered=(old,)))
    assert story.recovery is None
    present = recovery("12:00", detection=0.4)
    story = story.with_look(look(6.0, recovered=(old,), recovering=present))
    assert story.recovery is present
    assert not story.has_recovered


def test_the_story_ends_at_its_limit_but_waits_for_a_recovery_as_long_as_its_target() -> None:
    assert whole().is_over
    failing = grown(at=600.0).with_failure()
    assert not failing.with_look(look(725.0)).is_over
    assert failing.with_look(look(841.0)).is_over


def test_the_share_of_records_is_of_those_since_the_beginning() -> None:
    first = look(0.0, numbers=Numbers(within=100.0, records=1000.0))
    story = told(first, look(3.0, numbers=Numbers(within=1000.0, records=2000.0)))
    assert story.within == pytest.approx(0.9)
    assert told(first).within is None


def test_the_diary_tells_what_is_new_and_nothing_twice() -> None:
    rescaled, failed = (event(reason, at=at) for at, reason in enumerate(("Rescaling", "Failed")))
    before = grown(events=looks.read([rescaled], Numbers(), 0.0).events)
    after = before.with_failure().with_look(
        replace(recovered().now, events=looks.read([rescaled, failed], Numbers(), 0.0).events)
    )
    texts = [entry.text for entry in entries(before, after)]
    assert texts[:2] == [
        "Failed: so it is",
        "The demo kills the driver. Recovery: 131 s predicted, target 4m.",
    ]
    assert any("47 s, 131 s predicted" in text for text in texts)
    assert any(text.startswith("Act 5 of 5: Shrink.") for text in texts)
    assert entries(after, after) == ()


def test_the_tail_of_a_log_in_an_event_is_cut() -> None:
    listed = [event("DriverFailed", "exit code 137: " + "WARN " * 200)]
    story = told(look(0.0), look(3.0, events=looks.read(listed, Numbers(), 3.0).events))
    (entry,) = entries(told(look(0.0)), story)
    assert len(entry.text) == LONGEST
    assert entry.text.startswith("DriverFailed: exit code 137: WARN")


def test_what_is_missing_is_told_loudly_once() -> None:
    before = told(look(0.0), look(359.0))
    after = before.with_look(look(362.0))
    assert [str(one) for one in entries(before, after)] == [
        " 6:02  MISSING: THE PROFILE HAS MEASURED THE JOB WITH 1 AND WITH 2 EXECUTORS, BY 6:00"
    ]
    assert entries(after, after.with_look(look(365.0))) == ()


def test_the_diary_opens_with_the_first_act() -> None:
    assert opening(told(look(0.0)))[0].text.startswith("Act 1 of 5: Measure.")


def test_the_summary_compares_prediction_and_measurement() -> None:
    text = summary(whole())
    assert "2 rescales (2 live): executors 1 -> 3 -> 1" in text
    assert "131 s predicted, 47 s measured (31 s without a batch); the target of 4m is kept" in text
    assert "100,000 processed, 98.0 % of them within the bound of 15s" in text
