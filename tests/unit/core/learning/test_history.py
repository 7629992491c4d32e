"""What is remembered of a load: all of the last hour, and two weeks of what matters for a season."""

from itertools import pairwise

import pytest

from sluice.core.learning.history import COARSE, DAY, FINE, HOUR, LONGEST, MINUTE, History

LOOK = 15.0
NOW = 20 * DAY + 7.0


def lived(seconds: float, until: float = NOW) -> History:
    """A load that grows by a row per second each second, looked at until a moment."""
    history = History()
    for look in range(int(seconds / LOOK), -1, -1):
        at = until - look * LOOK
        history.add(at, at)
    return history


def spaces(history: History, since: float, until: float) -> set[float]:
    times = [at for at, _ in history.since(since) if at <= until]
    return {round(after - before, 3) for before, after in pairwise(times)}


def test_the_newer_a_load_is_the_finer_it_is_remembered() -> None:
    history = lived(4 * DAY)
    assert spaces(history, NOW - HOUR, NOW) == {LOOK}
    assert spaces(history, NOW - FINE, NOW - HOUR - MINUTE) == {MINUTE}
    assert spaces(history, NOW - 4 * DAY + COARSE, NOW - FINE - COARSE) == {COARSE}


def test_a_mean_is_that_of_its_time_and_no_time_is_missing() -> None:
    known = list(lived(3 * DAY).since(0))
    assert all(rate == pytest.approx(at) for at, rate in known)
    assert max(after - before for (before, _), (after, _) in pairwise(known)) <= COARSE


def test_fifteen_days_are_remembered_and_no_more() -> None:
    oldest, _ = next(lived(LONGEST + DAY).since(0))
    assert NOW - LONGEST <= oldest < NOW - LONGEST + COARSE


def test_two_weeks_are_a_few_thousand_numbers() -> None:
    assert sum(1 for _ in lived(LONGEST + DAY).since(0)) < 7000


def test_a_history_that_comes_in_minutes_is_the_same_as_one_that_was_lived() -> None:
    told = History()
    for minute in range(int(NOW // MINUTE) - 3 * 1440, int(NOW // MINUTE)):
        told.add(minute * MINUTE + 30, float(minute))
    assert spaces(told, NOW - FINE, NOW) == {MINUTE}
    assert spaces(told, NOW - 3 * DAY + COARSE, NOW - FINE - COARSE) == {COARSE}


def test_gaps_stay_gaps() -> None:
    history = lived(HOUR, until=NOW - DAY)
    history.add(NOW, 1.0)
    assert len([at for at, _ in history.since(NOW - DAY + 1)]) == 1


def test_a_clock_that_is_set_back_leaves_nothing_of_the_time_that_was_wrong() -> None:
    history = lived(3 * DAY)
    history.add(NOW - FINE - HOUR, 5.0)
    times = [at for at, _ in history.since(0)]
    assert times == sorted(times)
    assert times[-1] == NOW - FINE - HOUR
    assert spaces(history, NOW - 3 * DAY + COARSE, times[-1] - COARSE) == {COARSE}


def test_what_is_asked_for_begins_at_its_moment() -> None:
    history = lived(2 * HOUR)
    assert [at for at, _ in history.since(NOW - 2 * LOOK)] == [NOW - 2 * LOOK, NOW - LOOK, NOW]
    assert list(history.since(NOW + 1)) == []
