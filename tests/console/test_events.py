"""What was told of a job, from the cluster's events."""

from datetime import timedelta

from sluice.console.sight import MOST_EVENTS, events_of
from tests.console.resources import Json
from tests.support.jobs import NOW


def event(minute: int, **changes: object) -> Json:
    """An event of that minute before NOW."""
    at = (NOW - timedelta(minutes=minute)).isoformat()
    return {
        "metadata": {"creationTimestamp": NOW.isoformat()},
        "lastTimestamp": at,
        "type": "Normal",
        "reason": "DriverStarting",
        "message": f"minute {minute}",
        **changes,
    }


def test_the_newest_events_are_kept_oldest_first() -> None:
    kept = events_of([event(minute) for minute in range(15)])
    minutes = [f"minute {minute}" for minute in reversed(range(MOST_EVENTS))]
    assert [one.message for one in kept] == minutes


def test_an_event_of_the_newer_api_has_its_own_time() -> None:
    at = NOW - timedelta(minutes=3)
    newer = event(0, lastTimestamp=None, eventTime=at.isoformat())
    assert [one.at for one in events_of([newer])] == [at]


def test_an_event_without_a_time_is_as_old_as_its_object() -> None:
    assert [one.at for one in events_of([event(9, lastTimestamp=None)])] == [NOW]


def test_an_event_may_say_nothing() -> None:
    (told,) = events_of([event(1, message=None, reason=None)])
    assert (told.reason, told.message) == ("", "")
