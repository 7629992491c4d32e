"""What the story promises: when it has come, when it is late, and when it is missing."""

from demo.expecting import Outcome, expectations, is_fine
from demo.numbers import Numbers
from demo.story import MINUTES, Story
from demo.summary import summary
from tests.demo.stories import MEASURED, chosen, grown, look, recovery, told, whole


def came(story: Story, word: str) -> float | None:
    """When the expectation with that word came."""
    (one,) = [one for one in expectations(story) if word in one.what]
    return one.came


def test_a_story_in_which_all_came_in_time_is_fine() -> None:
    story = whole()
    outcomes = [one.outcome(story.now.at) for one in expectations(story)]
    assert outcomes == [Outcome.CAME] * 5
    assert is_fine(story)


def test_what_does_not_come_is_missing_from_its_time_on_and_the_story_is_not_fine() -> None:
    waiting = told(look(0.0, numbers=Numbers()), look(359.0, numbers=Numbers()))
    assert is_fine(waiting)
    silent = waiting.with_look(look(361.0, numbers=Numbers()))
    missing = [one.told(361.0) for one in expectations(silent)][:2]
    assert missing[1] == "missing: the load is forecast, by 6:00"
    assert all(text.startswith("missing: ") for text in missing)
    assert not is_fine(silent)


def test_what_comes_too_late_is_told_so_and_the_story_is_not_fine() -> None:
    story = told(look(0.0), look(400.0, profile=MEASURED))
    measured = expectations(story)[0]
    assert measured.outcome(400.0) is Outcome.LATE
    times, rates = "6:40 instead of 6:00", "1 executor 118 rows/s, 2 executors 231 rows/s"
    assert measured.told(400.0).endswith(f"{times}: {rates}")
    assert not is_fine(story)


def test_a_rescale_has_come_when_the_executors_are_there() -> None:
    waiting = told(look(0.0), look(9.0, running=1, wanted=2, chosen=chosen("a", 2)))
    assert came(waiting, "added") is None
    assert came(waiting.with_look(look(30.0, 2, chosen=chosen("a", 2))), "added") == 30.0


def test_to_shrink_before_the_load_rose_is_no_answer_to_its_fall() -> None:
    shrunk = look(9.0, 1, chosen=chosen("a", 1))
    end = 60.0 * MINUTES
    assert came(told(look(0.0, 2), shrunk, limit=end), "taken away") is None
    regrown = look(60.0, 2, chosen=chosen("b", 2))
    assert came(told(look(0.0, 2), shrunk, regrown, limit=end), "taken away") is None
    assert came(whole(), "taken away") == 700.0


def test_a_recovery_beyond_its_target_is_late() -> None:
    ended = recovery(firstBatch=200.0, caughtUp=250.0)
    story = grown().with_failure().with_look(look(700.0, 3, recovered=(ended,)))
    assert came(story, "killed") == 680.0
    assert not is_fine(story)
    assert "the target of 4m is missed" in summary(story)


def test_a_job_that_was_never_ready_to_be_killed_is_told() -> None:
    story = told(look(0.0), look(545.0, is_ready=False))
    assert any("not Ready to be killed" in one.told(545.0) for one in expectations(story))
    assert not is_fine(story)


def test_a_short_story_expects_only_what_fits_into_it() -> None:
    assert expectations(told(look(0.0), limit=120.0)) == ()
    assert len(expectations(told(look(0.0), limit=360.0))) == 2
