"""What is kept of decisions for metrics: how many there were, and what was expected when a driver was lost."""

from dataclasses import replace
from datetime import timedelta

import pytest

from sluice.core.deciding.decision import Veto
from sluice.core.foreseen import Foreseen
from sluice.core.modelling.rescaling import Path
from sluice.core.record import Record
from sluice.core.recoveries import Cause, Recoveries
from tests.support.courses import course, decided
from tests.support.jobs import NOW, job

NOTHING = Foreseen()


def test_a_decision_is_counted_by_what_became_of_its_wish() -> None:
    seen = course()
    seen.has_decided(decided(2, 2), NOTHING)
    seen.has_decided(decided(2, 4), NOTHING)
    seen.has_decided(decided(4, 6, path=Path.RESTART), NOTHING)
    seen.has_decided(decided(6, 6, wanted=3, veto=Veto("cool-down", "so soon")), NOTHING)
    assert seen.tally.decisions == {
        ("held", ""): 1,
        ("changed", ""): 2,
        ("kept", "cool-down"): 1,
    }
    assert seen.tally.rescales == {Path.LIVE: 1, Path.RESTART: 1}


def test_what_has_not_happened_yet_is_told_as_none_so_that_its_first_time_counts() -> None:
    tally = course().tally
    assert tally.decisions == {("held", ""): 0, ("changed", ""): 0}
    assert tally.rescales == {Path.LIVE: 0, Path.RESTART: 0}
    assert set(tally.rescales) == set(Path)


@pytest.mark.parametrize(
    ("cause", "expected"),
    [(Cause.DRIVER_LOSS, 41.0), (Cause.NODE_LOSS, 41.0), (Cause.SPEC_CHANGE, None)],
)
def test_what_was_expected_of_a_recovery_is_kept_from_the_moment_of_the_loss(
    cause: Cause, expected: float | None
) -> None:
    seen, lost = course(), NOW + timedelta(minutes=5)
    seen.has_decided(decided(2, 2, expected_recovery=41.0), NOTHING)
    recoveries = Recoveries().begun(cause, 2, lost, lost)
    seen.follow(job(), replace(Record(), recoveries=recoveries), lost.timestamp())
    seen.has_decided(decided(2, 2, minutes=6, expected_recovery=99.0), NOTHING)
    seen.follow(job(), replace(Record(), recoveries=recoveries), lost.timestamp() + 60)
    assert seen.predicted_recovery == expected
