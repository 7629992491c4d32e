"""What is kept of decisions for metrics: how many there were, and what was expected when a driver was lost."""

from dataclasses import replace
from datetime import timedelta

import pytest

from sluice.core.autoscaling import pause_of
from sluice.core.deciding.decision import Veto
from sluice.core.deciding.harms import Harm
from sluice.core.deciding.judging import Growth, Reading, Trial
from sluice.core.foreseen import Foreseen
from sluice.core.learning.effects import Effects
from sluice.core.modelling.rescaling import Path
from sluice.core.quantities import CpuShare, Millicores
from sluice.core.record import Record
from sluice.core.recoveries import Cause, Recoveries
from sluice.core.resizing import Resize
from sluice.services.courses import Course
from tests.support.courses import course, decided
from tests.support.jobs import NOW, job, report, work

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


def test_a_job_whose_executors_have_other_cpu_forgets_harm() -> None:
    seen, of = rescaled(), job(executors={"initial": 4, "max": 8})
    seen.follow(of, Record(), NOW.timestamp())
    assert seen.watcher.effects.harms
    resize = Resize(incarnation=1, share=CpuShare(request=Millicores(500)))
    seen.follow(of, replace(Record(), resize=resize), NOW.timestamp())
    assert not seen.watcher.effects.harms
    seen.watcher.effects = rescaled().watcher.effects
    refused = replace(resize, refusal="the limit of a container that runs cannot be taken away")
    for told in (refused, None):
        seen.follow(of, replace(Record(), resize=told), NOW.timestamp())
    assert seen.watcher.effects.harms, "neither a refusal nor the next driver is other CPU"


def test_the_start_that_an_agent_tells_is_learned_and_one_that_tells_none_leaves_it() -> None:
    seen = course()
    seen.hear(job(), report(start=20.0))
    assert seen.watcher.experience.models.downtimes.start == 20.0
    seen.hear(job(), report(at=NOW + timedelta(minutes=1), incarnation=2))
    assert seen.watcher.experience.models.downtimes.start == 20.0
    seen.hear(job(), report(at=NOW + timedelta(minutes=2), incarnation=2, start=14.0))
    assert seen.watcher.experience.models.downtimes.start == 14.0


def seen_to_have(*staff: tuple[str, ...], asked: int = 2) -> Course:
    """A course that has looked each half minute, and saw these executors."""
    seen = course(executors=asked)
    for place, ids in enumerate(staff):
        at = NOW + timedelta(seconds=30 * place)
        told = tuple(work(id) for id in ids) if ids else None
        seen.hear(job(), report(at=at, registered=len(ids) or asked, work=told))
    return seen


@pytest.mark.parametrize(
    ("staff", "is_noticed"),
    [
        pytest.param([("1", "2"), ("1",)], True, id="one is missing"),
        pytest.param([("1", "2"), ("1", "3")], True, id="one was replaced between two looks"),
        pytest.param([("1", "2"), ("2", "1")], False, id="the same"),
        pytest.param([("1",), ("1", "2")], False, id="one has come that was asked for"),
        pytest.param([("1", "2", "3"), ("1", "3")], False, id="one has gone that was too many"),
        pytest.param([("1", "2"), ()], False, id="nobody tells"),
    ],
)
def test_an_executor_that_is_gone_without_being_asked_to_was_lost(
    staff: list[tuple[str, ...]], is_noticed: bool
) -> None:
    assert seen_to_have(*staff).watcher.recovering is is_noticed


def test_the_declared_pause_is_known_from_the_first_report_and_follows_the_spec() -> None:
    seen = course()
    for minutes, backoff in enumerate(["60s", "60s", "2s"]):
        of = job(restart={"initialBackoff": backoff})
        seen.hear(of, report(at=NOW + timedelta(minutes=minutes)))
        assert seen.watcher.experience.models.downtimes.pause == pause_of(of)


def rescaled() -> Course:
    """A course that has done harm an hour ago, and awaits the effect of a rescale a minute ago."""
    seen, now = course(executors=4), NOW.timestamp()
    reading = Reading(arrival=1000.0, latency=4.0, growth=Growth(low=0.0, high=0.0))
    harm = Harm(
        at=now - 3600, decision="d0", before=4, executors=2, arrival=900.0, reason="", undone=True
    )
    trial = Trial(at=now - 60, decision="d1", former=6, executors=4, before=reading)
    seen.watcher.effects = Effects(trial=trial, harms=(harm,))
    return seen


@pytest.mark.parametrize(
    ("cause", "is_remembered", "verdict"),
    [
        (Cause.SPEC_CHANGE, False, "the job was changed"),
        (Cause.RESCALE, True, None),
        (Cause.PLANNED_MOVE, True, "PlannedMove meanwhile"),
        (Cause.DRIVER_LOSS, True, "DriverLoss meanwhile"),
        (Cause.NODE_LOSS, True, "DriverLoss meanwhile"),
        (Cause.EXECUTOR_LOSS, True, "ExecutorLoss meanwhile"),
    ],
)
def test_a_changed_job_forgets_harm_and_any_other_absence_leaves_the_last_effect_unknown(
    cause: Cause, is_remembered: bool, verdict: str | None
) -> None:
    seen = rescaled()
    recoveries = Recoveries().begun(cause, 2, NOW, NOW)
    seen.follow(
        job(executors={"initial": 4, "max": 8}),
        replace(Record(), recoveries=recoveries),
        NOW.timestamp(),
    )
    told = [judged.verdict.reason for judged in seen.watcher.judge(NOW.timestamp() + 1)]
    assert bool(seen.watcher.effects.harms) is is_remembered
    assert told == ([] if verdict is None else [verdict])


@pytest.mark.parametrize(
    ("cause", "expected"),
    [(Cause.DRIVER_LOSS, 41.0), (Cause.NODE_LOSS, 41.0), (Cause.SPEC_CHANGE, None)],
)
def test_what_was_likely_of_a_recovery_is_kept_from_the_moment_of_the_loss(
    cause: Cause, expected: float | None
) -> None:
    seen, lost = course(), NOW + timedelta(minutes=5)
    seen.has_decided(replace(decided(2, 2), likely_recovery=41.0), NOTHING)
    recoveries = Recoveries().begun(cause, 2, lost, lost)
    seen.follow(job(), replace(Record(), recoveries=recoveries), lost.timestamp())
    seen.has_decided(replace(decided(2, 2, minutes=6), likely_recovery=99.0), NOTHING)
    seen.follow(job(), replace(Record(), recoveries=recoveries), lost.timestamp() + 60)
    assert seen.predicted_recovery == expected
