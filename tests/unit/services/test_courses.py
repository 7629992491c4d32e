"""What is kept of decisions for metrics: how many there were, and what was expected when a driver was lost."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from sluice.core.autoscaling import pause_of
from sluice.core.chosen import Chosen
from sluice.core.deciding.decision import Veto
from sluice.core.deciding.harms import Harm
from sluice.core.deciding.judging import Growth, Reading, Trial
from sluice.core.deciding.situation import Activity
from sluice.core.foreseen import Foreseen
from sluice.core.learning.batches import BatchReport
from sluice.core.learning.effects import Effects
from sluice.core.learning.remembering import recalled
from sluice.core.modelling.capacity import CapacityModel
from sluice.core.modelling.downtime import Cause as Learned
from sluice.core.modelling.fetching import Fetching
from sluice.core.modelling.rescaling import Path
from sluice.core.modelling.shapes import Slots
from sluice.core.observations import AgentReport, QueryReport
from sluice.core.profiling.keys import running_key
from sluice.core.profiling.records import Point
from sluice.core.quantities import CpuShare, Millicores
from sluice.core.record import Record
from sluice.core.recoveries import Cause, Recoveries
from sluice.core.resizing import Resize
from sluice.services.courses import PROFILES, Course, program
from tests.support.courses import course, decided
from tests.support.jobs import NOW, application, driver, job, query, report, work

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


def test_bounds_and_promises_are_those_of_now_also_while_no_agent_tells_anything() -> None:
    seen = course()
    seen.hear(job(), report())
    other = job(executors={"min": 1, "max": 3}, recovery={"target": "90s"})
    seen.follow(other, Record(), NOW.timestamp())
    situation = seen.watcher.situation(NOW.timestamp())
    assert situation.bounds.largest == 3
    assert situation.targets.recovery == 90.0


def test_the_partitions_of_all_state_count_if_all_queries_that_count_have_some() -> None:
    seen = course()
    experience = seen.watcher.experience
    model = CapacityModel(points=((2, 90.0),), floors=((1, 50.0),))
    seen.watcher.experience = replace(experience, models=replace(experience.models, capacity=model))
    main, ended = query(state_partitions=4), query(name="old", state_partitions=200, active=False)
    stateless, other = query(name="stateless"), query(name="other", state_partitions=8)
    cases: list[tuple[tuple[QueryReport, ...], int | None]] = [
        ((main, ended), 4),
        ((main, other), 12),
        ((main, stateless), None),
        ((ended,), 200),
    ]
    for queries, tasks in cases:
        seen.hear(job(), report(*queries))
        learned = seen.watcher.experience.models.capacity
        assert learned == replace(model, slots=replace(model.slots, tasks=tasks))


def test_a_driver_that_has_just_started_does_not_put_in_doubt_how_many_tasks_a_stage_has() -> None:
    seen = course()
    reads = query(fetching=Fetching(partitions=6, longest=0.5))
    seen.hear(job(), report(reads, work=(work("1", batches=20, of_all=120),)))
    seen.hear(job(), report(replace(reads, committed_at=None), work=(work("1"),)))
    assert seen.watcher.experience.models.capacity.slots == Slots(cores=1, tasks=6)


def test_an_executor_has_the_slots_that_its_tasks_leave_it() -> None:
    seen = course()
    pairs = job(
        executors={"cores": 4},
        application=application(sparkConf={"spark.task.cpus": "2"}),
    )
    seen.hear(pairs, report(query(state_partitions=8)))
    assert seen.watcher.experience.models.capacity.slots == Slots(cores=2, tasks=8)


def test_executors_have_the_cores_of_the_driver_that_runs_whatever_is_declared() -> None:
    seen, runs = course(), job(executors={"max": 8, "cores": 1})
    declared = job(executors={"max": 8, "cores": 16})
    seen.hear(runs, report(), driver(runs))
    seen.learn({"p1": (point(4, 4000.0),)}, 0.95)
    for place, of in enumerate((runs, declared)):
        # Two executors of one core each work for three quarters of the time.
        at = NOW + timedelta(minutes=1 + place)
        told = report(at=at, executor_seconds=90.0 * place, waiting_tasks=16)
        seen.hear(of, told, driver(runs))
    assert seen.watcher.experience.models.capacity.slots.cores == 1
    assert seen.watcher.experience.models.capacity.points == ((4, 4000.0),)
    assert seen.sight is not None
    assert (seen.sight.scrape.cpu, seen.sight.scrape.queued) == (0.75, 16.0)


def test_the_start_that_an_agent_tells_is_learned_and_one_that_tells_none_leaves_it() -> None:
    seen = course()
    seen.hear(job(), report(start=20.0, running_at=NOW))
    assert seen.watcher.experience.models.downtimes.start == 20.0
    seen.hear(job(), report(at=NOW + timedelta(minutes=1), incarnation=2))
    assert seen.watcher.experience.models.downtimes.start == 20.0
    later = NOW + timedelta(minutes=2)
    seen.hear(job(), report(at=later, incarnation=2, start=14.0, running_at=later))
    assert seen.watcher.experience.models.downtimes.start == 14.0


def started(minutes: float, *, cold: float) -> AgentReport:
    """What an agent tells twenty minutes after the first query of its driver: a cold batch, and warm ones."""
    running_at, at = NOW + timedelta(minutes=minutes), NOW + timedelta(minutes=minutes + 20)
    sizes = [4000.0 * (1 + place % 3) for place in range(60)]
    batches = [
        BatchReport(
            start=running_at.timestamp() + 20 * place,
            seconds=0.5 + rows / 1000 + (cold if place == 0 else 0.0),
            rows=rows,
            executors=2,
            cold=place == 0,
        )
        for place, rows in enumerate(sizes)
    ]
    told = query(batches=tuple(batches))
    return report(told, at=at, start=20.0, running_at=running_at)


def foreseen_excess(seen: Course) -> float | None:
    """What decisions are made from."""
    now = seen.watcher.scrapes[-1].at
    return seen.watcher.situation(now).models.downtimes.excess


def test_what_the_first_batch_of_a_job_took_longer_is_foreseen_once_its_capacity_is_known() -> None:
    seen, told = course(), started(0, cold=15.0)
    beginning = replace(told.queries[0], batches=told.queries[0].batches[:1])
    seen.hear(job(), replace(told, at=NOW + timedelta(minutes=1), queries=(beginning,)))
    assert foreseen_excess(seen) is None
    seen.hear(job(), told)
    assert foreseen_excess(seen) == pytest.approx(15, rel=0.05)


def test_an_operator_that_takes_over_knows_the_first_batch_though_no_agent_tells_it_any_more() -> (
    None
):
    before, told = course(), started(0, cold=15.0)
    before.hear(job(), told)
    after = course()
    after.watcher = recalled(before.memory(), before.watcher.terms, 2, told.at.timestamp())
    recent = replace(told.queries[0], batches=told.queries[0].batches[5:])
    after.hear(job(), replace(told, at=told.at + timedelta(minutes=1), queries=(recent,)))
    assert foreseen_excess(after) == pytest.approx(15, rel=0.05)


def test_another_driver_that_was_slower_at_first_is_foreseen_again() -> None:
    seen = course()
    for minutes, cold in ((0, 15.0), (60, 40.0)):
        seen.hear(job(), replace(started(minutes, cold=cold), incarnation=minutes + 1))
        assert foreseen_excess(seen) == pytest.approx(cold, rel=0.05)


@pytest.mark.parametrize(
    ("seconds", "is_news"), [(0, False), (14, False), (15, True), (-1, True), (-3600, True)]
)
def test_a_report_is_news_after_a_while_and_when_the_clock_was_set_back(
    seconds: float, is_news: bool
) -> None:
    seen = course()
    assert seen.is_news(report())
    seen.hear(job(), report())
    assert seen.is_news(report(at=NOW + timedelta(seconds=seconds))) is is_news


AHEAD = NOW + timedelta(hours=1)
"""By a clock that is set back to NOW afterwards."""


def test_nothing_that_a_clock_told_before_it_was_set_back_is_waited_for() -> None:
    seen, later = course(executors=4), NOW + timedelta(minutes=5)
    seen.hear(job(), report(query(arrival_rate=700.0), at=AHEAD, registered=4))
    seen.watcher.rescaled(2, Path.LIVE, AHEAD.timestamp())
    seen.hear(job(), report(query(arrival_rate=5000.0), at=NOW))
    situation = seen.watcher.situation(later.timestamp() - 270)
    assert situation.observed.arrival == 5000.0
    assert seen.watcher.situation(later.timestamp()).since_rescale == 300.0
    assert seen.watcher.experience.outage is None
    assert seen.watcher.experience.models.latency.observed == ()
    for minutes in range(1, 8):
        told = query(arrival_rate=5000.0, latency={"p95": 2.0})
        seen.hear(job(), report(told, at=NOW + timedelta(minutes=minutes)))
    assert seen.watcher.experience.models.latency.observed


def test_a_job_that_ran_before_the_clock_was_set_back_is_not_taken_to_start_until_then() -> None:
    seen, later = course(), NOW + timedelta(minutes=5)
    first = BatchReport(start=AHEAD.timestamp(), seconds=2.0, rows=100, executors=2)
    seen.hear(job(), report(query(batches=(first,)), at=AHEAD + timedelta(seconds=5)))
    seen.hear(job(), report(query(batches=(first,)), at=NOW))
    situation = seen.watcher.situation(later.timestamp())
    assert (situation.uptime, situation.activity) == (300.0, Activity.STEADY)


def test_the_effect_of_a_rescale_is_unknown_if_the_clock_was_set_back_meanwhile() -> None:
    seen = rescaled()
    seen.hear(job(), report())
    seen.hear(job(), report(at=NOW - timedelta(hours=1)))
    (judged,) = seen.watcher.judge(NOW.timestamp())
    assert judged.verdict.reason == "the clock was set back meanwhile"


def test_a_driver_that_is_lost_after_the_clock_was_set_back_is_noticed_and_no_former_one_again() -> (
    None
):
    seen, record = course(), Record(recoveries=Recoveries().begun(Cause.NODE_LOSS, 2, AHEAD, AHEAD))
    seen.follow(job(), record, AHEAD.timestamp())
    assert seen.watcher.changed_at == AHEAD.timestamp()
    seen.hear(job(), report(at=AHEAD))
    seen.hear(job(), report(at=NOW))
    seen.follow(job(), record, NOW.timestamp())
    assert seen.watcher.changed_at == NOW.timestamp()
    present, lost = record.recoveries.present, NOW + timedelta(minutes=5)
    assert present is not None
    again = Recoveries(past=(present,)).begun(Cause.NODE_LOSS, 3, lost, lost)
    seen.follow(job(), replace(record, recoveries=again), lost.timestamp())
    assert seen.watcher.changed_at == lost.timestamp()


@pytest.mark.parametrize(
    ("minutes", "decision", "executors"),
    [
        pytest.param(0, "d1", 4, id="the choice before it"),
        pytest.param(60, "d1", 4, id="the choice before it, by a clock that was set back since"),
        pytest.param(6, "d1", 2, id="a choice that was taken back since"),
        pytest.param(
            5 - 1e-5, "20260301T120500Z", 2, id="its own, at the millisecond of the status"
        ),
    ],
)
def test_a_decision_holds_until_the_record_has_it_or_something_newer(
    minutes: float, decision: str, executors: int
) -> None:
    seen, now = course(executors=4), NOW + timedelta(minutes=6)
    seen.has_decided(decided(2, 4, minutes=5), NOTHING)
    at = NOW + timedelta(minutes=minutes)
    chosen = Chosen(executors=2, decision=decision, at=at, reason="because")
    of = job(scaling={"mode": "Auto"})
    seen.follow(of, replace(Record(), chosen=chosen), now.timestamp())
    assert seen.watcher.executors == executors


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


def point(executors: int, rate: float) -> Point:
    """What a profile has measured."""
    return Point(executors=executors, rate=rate, error=1.0, batches=9, overhead=0.5, at=NOW)


@pytest.mark.parametrize(
    ("changes", "is_other"),
    [
        ({}, False),
        ({"restart": {"initialBackoff": "2s"}, "executors": {"max": 9}}, False),
        ({"application": {"image": "shop/clicks:2", "mainFile": "/opt/clicks.py"}}, True),
        ({"executors": {"max": 8, "cores": 4}}, True),
    ],
)
def test_what_was_learned_of_another_program_is_dropped_with_what_profiles_taught(
    changes: dict[str, Any], is_other: bool
) -> None:
    before, after, seen = job(), job(**changes), course()
    seen.hear(before, report(), driver(before))
    seen.learn({"p1": (point(4, 4000.0),)}, 0.95)
    later = report(at=NOW + timedelta(minutes=1), incarnation=2)
    seen.hear(after, later, driver(after, incarnation=2))
    assert (seen.watcher.experience.models.capacity.points == ()) is is_other
    seen.learn({"p1": (point(4, 16_000.0),)}, 0.95)
    rate = 16_000.0 if is_other else 4000.0
    assert seen.watcher.experience.models.capacity.points == ((4, rate),)


def test_each_of_many_profiles_teaches_once_as_long_as_it_is_there() -> None:
    there = {f"p{number}": (point(4, 4000.0),) for number in range(2 * PROFILES)}
    seen = course()
    seen.learn(there, 0.95)
    learned = seen.watcher.experience
    capacity = learned.models.capacity.with_observation(4, 2000.0)
    known = replace(learned, models=replace(learned.models, capacity=capacity))
    seen.watcher.experience = known
    for number in range(2 * PROFILES):
        seen.learn({**there, f"other-{number}": ()}, 0.95)
    for profiles in (there, {}, there):
        seen.learn(profiles, 0.95)
    assert seen.watcher.experience == known


def test_of_profiles_that_are_gone_few_are_remembered() -> None:
    seen = course()
    for number in range(3 * PROFILES):
        seen.learn({f"uid-{number}": ()}, 0.95)
    assert len(seen.taught) == PROFILES + 1, "and the one that is there"


def test_a_spec_that_is_declared_and_not_running_yet_makes_no_other_program() -> None:
    before, seen = job(), course()
    seen.hear(before, report(), driver(before))
    seen.learn({"p1": (point(4, 4000.0),)}, 0.95)
    declared = job(application={"image": "shop/clicks:2", "mainFile": "/opt/clicks.py"})
    seen.hear(declared, report(at=NOW + timedelta(minutes=1)), driver(before))
    assert seen.watcher.experience.models.capacity.points


@pytest.mark.parametrize(
    "document", [None, {}, {"application": 7}, {"application": {"image": "a"}}]
)
def test_a_driver_whose_document_says_little_runs_what_is_declared(
    document: dict[str, object] | None,
) -> None:
    of, seen = job(), course()
    seen.hear(of, report(), driver(of, document=document))
    assert seen.key == running_key(of, driver(of))


def test_one_tag_with_another_digest_is_another_program_whoever_leads() -> None:
    of, seen = job(), course()
    for digest in (None, "sha256:1", None):
        seen.hear(of, report(), driver(of, digest=digest))
    seen.learn({"p1": (point(4, 4000.0),)}, 0.95)
    known = program(seen.memory())
    assert known is not None
    assert known.digest == "sha256:1"
    seen.hear(of, report(incarnation=2), driver(of, digest="sha256:2"))
    assert not seen.watcher.experience.models.capacity.points


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


def lost_for(minutes: int, *, losses: int = 1, suspended: bool = False) -> Course:
    """A driver is lost, and so many of its successors before the last one commits a batch after so long."""
    seen, end = course(), NOW + timedelta(minutes=minutes)
    seen.hear(job(), report(at=NOW))
    known = Recoveries()
    for incarnation in range(2, 2 + losses):
        known = known.begun(Cause.DRIVER_LOSS, incarnation, NOW, NOW)
        seen.follow(job(), replace(Record(), recoveries=known), NOW.timestamp() + incarnation)
    if suspended:
        seen.follow(job(), replace(Record(), recoveries=known.dropped()), NOW.timestamp() + 9)
    at = end.timestamp()
    warm = BatchReport(start=at + 20, seconds=1.0, rows=10, executors=1)
    for batch in (replace(warm, start=at, cold=True), warm):
        moment = end + timedelta(seconds=batch.start - at + 5)
        told = report(query(batches=(batch,)), at=moment, incarnation=1 + losses)
        seen.hear(job(), told)
    return seen


def losses_known(seen: Course) -> tuple[float, ...]:
    causes = seen.watcher.experience.models.downtimes.causes
    return causes[Learned.DRIVER_LOSS].observed


def test_how_long_a_lost_driver_was_away_is_learned() -> None:
    assert losses_known(lost_for(2)) == pytest.approx((120.0,))


def test_a_crash_loop_or_a_suspension_is_no_downtime_of_a_lost_driver() -> None:
    """Two such times of hours would ask for many executors, to recover sooner from what never takes so long."""
    assert losses_known(lost_for(180, losses=3)) == ()
    assert losses_known(lost_for(180, suspended=True)) == ()


def test_after_a_driver_that_nobody_lost_latencies_are_not_those_of_a_calm_job() -> None:
    seen, resumed = course(), NOW + timedelta(hours=9)
    seen.watcher.disturbed_at = 0.0
    seen.hear(job(), report(at=NOW))
    seen.hear(job(), report(at=resumed, incarnation=2))
    assert seen.watcher.disturbed_at == resumed.timestamp()
    assert seen.watcher.recovering
