"""The status: what is remembered reads back equal, and what is told is what was seen."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.api.v1alpha1.streamjob import StreamJobStatus
from sluice.core.application import JobKey
from sluice.core.changes import NO_CHANGE, Change, ChangeClass
from sluice.core.chosen import Chosen, Decided
from sluice.core.conditions import LONGEST_TEXT, Claim, Condition, Status
from sluice.core.deciding.decision import Decision, Veto
from sluice.core.drilling.records import Answer
from sluice.core.measurement import Attained
from sluice.core.modelling.rescaling import Path
from sluice.core.objectives.budget import Budget
from sluice.core.observations import Observed, ProfilingOutlook, WaitingExecutor
from sluice.core.proving import Good, Proving, Rollback, Trial
from sluice.core.quantities import CpuShare, Millicores
from sluice.core.record import Failure, Phase, Record
from sluice.core.recoveries import Cause, Recoveries, Recovery
from sluice.core.resizing import Resize
from sluice.core.series import NoData
from sluice.core.staffing import Fallback, Room, Staffing
from sluice.manifests.proving import last_good, read_last_good
from sluice.manifests.status import read_record, remembered, status_of
from tests.support.jobs import NOW, driver, job, query, report
from tests.support.texts import TOO_DEEP

KEY = JobKey("shop", "clicks")

numbers = st.integers(0, 10**6)
words = st.text(min_size=1, max_size=20)
cores = st.integers(1, 10**6).map(Millicores)
shares = st.builds(CpuShare, request=cores, limit=st.none() | cores)


def moments(step: timedelta) -> st.SearchStrategy[datetime]:
    """Times as fine as they are stored."""
    return st.integers(0, 10**6).map(lambda count: datetime(2026, 1, 1, tzinfo=UTC) + count * step)


millis = moments(timedelta(milliseconds=7))
seconds = moments(timedelta(seconds=1))
failures = st.builds(
    Failure,
    incarnation=numbers,
    generation=numbers,
    reason=words,
    message=st.text(),
    at=millis,
    exit_code=st.none() | st.integers(-1, 255),
)
changes = st.builds(
    Change,
    kind=st.sampled_from([ChangeClass.LIVE, ChangeClass.RESTART, ChangeClass.MIGRATION]),
    fields=st.lists(words, max_size=3).map(tuple),
)
claims = st.builds(
    Claim,
    type=st.sampled_from(Condition),
    status=st.sampled_from(Status),
    reason=words,
    message=st.text(),
    generation=numbers,
    since=seconds,
)
after = st.integers(0, 10**6).map(lambda count: timedelta(milliseconds=7 * count))


@st.composite
def recoveries(draw: st.DrawFn) -> Recovery:
    """A recovery with some of its moments."""
    began = draw(millis)
    reached = {
        moment: draw(st.none() | after)
        for moment in ("started", "connected", "committed", "calm_since", "caught_up")
    }
    return Recovery(
        cause=draw(st.sampled_from(Cause)),
        incarnation=draw(numbers),
        began=began,
        detected=began + draw(after),
        usual_lag=float(draw(numbers)),
        drilled=draw(numbers),
        **{moment: began + pause for moment, pause in reached.items() if pause is not None},
    )


fallbacks = st.none() | st.builds(Fallback, reason=words, message=st.text())
staffings = st.builds(
    Staffing,
    executors=numbers,
    former=numbers,
    incarnation=numbers,
    since=millis,
    came=st.none() | millis,
    used=st.none() | millis,
    fallback=fallbacks,
    futile=fallbacks,
)


@st.composite
def decisions(draw: st.DrawFn) -> Decided:
    """A decision as far as it is told, which is what it has come to and not what it was made from."""
    estimates = st.none() | numbers.map(float)
    decision = Decision(
        wanted=draw(numbers),
        executors=draw(numbers),
        reason=draw(words),
        veto=draw(st.none() | st.builds(Veto, guard=st.just("cool-down"), reason=st.text())),
        expected_latency=draw(estimates),
        expected_recovery=draw(estimates),
        smallest_recovery=draw(estimates),
    )
    return Decided(
        id=draw(words),
        at=draw(millis),
        before=decision.executors,
        incarnation=0,
        decision=decision,
        likely_recovery=draw(estimates),
        pending=draw(st.none() | words),
    )


chosen = st.builds(
    Chosen,
    executors=numbers,
    decision=words,
    at=millis,
    reason=words,
    path=st.sampled_from(Path),
    incarnation=numbers,
    undoes=st.none() | words,
    approval=st.none() | words,
)
rooms = st.builds(Room, executors=numbers, until=millis)
records = st.builds(
    Record,
    decided=st.none() | decisions(),
    chosen=st.none() | chosen,
    staffing=st.none() | staffings,
    room=st.none() | rooms,
    incarnation=numbers,
    failures=numbers,
    last_failure=st.none() | failures,
    next_start=st.none() | millis,
    stopping=st.none() | words,
    checkpoint=st.none() | words,
    last_batch=st.none() | numbers,
    last_commit=st.none() | millis,
    log_format=st.none() | words,
    pinned=st.dictionaries(words, st.text(), max_size=3),
    change=st.just(NO_CHANGE) | changes,
    gave_up=st.booleans(),
    ended=numbers,
    recoveries=st.builds(
        Recoveries,
        present=st.none() | recoveries(),
        past=st.lists(recoveries(), max_size=3).map(tuple),
        count=numbers,
        usual_lag=numbers.map(float),
    ),
    resize=st.none()
    | st.builds(Resize, incarnation=numbers, share=shares, refusal=words | st.just("")),
    drill=st.none()
    | st.builds(Answer, asked=words, refusal=words | st.just(""), done=st.booleans()),
    conditions=st.lists(claims, max_size=3, unique_by=lambda claim: claim.type).map(tuple),
)


OUTLOOK = ProfilingOutlook(
    profile="clicks-auto-1",
    phase="Succeeded",
    points="1: 1000",
    reason="Measured",
    message="All has been measured.",
    until=NOW,
)


@given(record=records, phase=st.sampled_from(Phase))
def test_what_is_remembered_reads_back_equal(record: Record, phase: Phase) -> None:
    assert read_record(remembered(KEY, 3, record, phase)) == record


@given(record=records, phase=st.sampled_from(Phase))
def test_each_field_of_a_status_is_in_the_schema(record: Record, phase: Phase) -> None:
    of = job()
    seen = Observed(driver=driver(of), report=report(query()))
    told = status_of(of, replace(record, profiling=OUTLOOK), phase, seen, NOW)
    StreamJobStatus.model_validate(told, extra="forbid")


def test_a_job_without_a_status_begins_at_the_beginning() -> None:
    assert read_record({}) == Record()


def test_a_condition_of_a_newer_operator_is_left_out() -> None:
    known = {"type": "Ready", "status": "True", "reason": "Running"}
    newer = {"type": "WithinBudget", "status": "True", "reason": "Cheap"}
    kept = read_record({"conditions": [newer, known]}).conditions
    assert [claim.type for claim in kept] == [Condition.READY]


def test_a_kind_of_change_of_a_newer_operator_counts_as_none() -> None:
    assert read_record({"change": {"kind": "InPlace", "fields": ["spec.x"]}}).change == NO_CHANGE


def test_how_a_job_is_profiled_reads_back_equal() -> None:
    told = status_of(job(), Record(profiling=OUTLOOK), Phase.RUNNING, Observed(), NOW)
    assert read_record(told).profiling == OUTLOOK


def test_what_is_attained_reads_back_as_it_was_told() -> None:
    of = job(slo={"objective": 0.99, "window": "1d"})
    account = Attained(share=0.9979, budget=Budget(allowed=14.4, bad=3), unknown=0.1)
    first = status_of(of, Record(attained=account), Phase.RUNNING, Observed(), NOW)
    assert first["slo"]["budgetLeft"] == 0.7917
    assert first["summary"]["slo"] == "99.79%/99%"
    assert status_of(of, read_record(first), Phase.RUNNING, Observed(), NOW) == first


@pytest.mark.parametrize("account", [None, NoData("no sample yet")])
def test_what_is_not_known_to_be_attained_is_absent(account: NoData | None) -> None:
    of = job(slo={"objective": 0.99, "window": "1d"})
    told = status_of(of, Record(attained=account), Phase.RUNNING, Observed(), NOW)
    assert set(told["slo"]) == {"objective", "window"}
    assert told["summary"]["slo"] == "?/99%"
    assert read_record(told).attained is None


def test_two_queries_are_one_stream_whose_worst_latency_counts() -> None:
    one = query(
        arrival_rate=100.5,
        backlog_rows=1200.0,
        backlog=timedelta(seconds=3),
        latency={"p50": 0.2, "p95": 1.5},
        state_rows=5,
    )
    other = query(
        name="b", arrival_rate=10.0, backlog_rows=40.0, latency={"p95": 0.75}, state_rows=7
    )
    of = job()
    seen = Observed(driver=driver(of), report=report(one, other), executors_running=2)
    told = status_of(of, Record(), Phase.RUNNING, seen, NOW)
    assert told["stream"] == {
        "arrivalRate": 110.5,
        "lagRows": 1240,
        "lagSeconds": 3.0,
        "latencyP50": 0.2,
        "latencyP95": 1.5,
        "stateRows": 12,
    }
    assert told["summary"]["latency"] == "1.5s"
    assert told["summary"]["lag"] == "1240 (3.0s)"
    assert told["summary"]["executors"] == "2/2"


def test_a_query_that_has_ended_is_no_part_of_the_stream() -> None:
    main = query(arrival_rate=100.0, backlog_rows=7.0, backlog=timedelta(seconds=2))
    ended = query(
        name="backfill", active=False, backlog_rows=58_000.0, backlog=timedelta(minutes=31)
    )
    seen = Observed(driver=driver(job()), report=report(main, ended))
    told = status_of(job(), Record(), Phase.RUNNING, seen, NOW)
    assert told["stream"] == {"arrivalRate": 100.0, "lagRows": 7, "lagSeconds": 2.0}
    assert told["summary"]["lag"] == "7 (2.0s)"


def test_a_number_that_is_not_known_is_absent() -> None:
    told = status_of(job(), Record(), Phase.PENDING, Observed(), NOW)
    assert "stream" not in told
    assert "driver" not in told
    assert told["summary"]["lag"] == told["summary"]["latency"] == ""


@pytest.mark.parametrize(("phase", "wanted"), [(Phase.RUNNING, 2), (Phase.SUSPENDED, 0)])
def test_a_suspended_job_wants_no_executors(phase: Phase, wanted: int) -> None:
    assert status_of(job(), Record(), phase, Observed(), NOW)["executors"]["wanted"] == wanted


def test_times_are_told_in_utc() -> None:
    record = Record(last_commit=NOW.astimezone(None))
    told = remembered(KEY, 1, record, Phase.RUNNING)
    assert told["checkpoint"]["committedAt"] == "2026-03-01T12:00:00.000Z"


def test_what_is_known_of_specs_reads_back_and_a_rollback_to_nothing_does_not() -> None:
    known = Proving(
        good=Good(generation=4, fingerprint="f", checkpoint="claim://shop/checkpoints/clicks"),
        trial=Trial(generation=6, since=NOW, failures=1, is_staffed=True),
        rollback=Rollback(generation=5, why="it failed", incarnation=7, fingerprint="g"),
    )
    told = remembered(KEY, 6, Record(proving=known), Phase.RUNNING)
    assert read_record(told).proving == known
    del told["proving"]["rollback"]["incarnation"], told["proving"]["rollback"]["fingerprint"]
    assert read_record(told).proving.rollback == Rollback(generation=5, why="it failed")
    del told["proving"]["good"]
    assert read_record(told).proving == Proving()


@pytest.mark.parametrize("moment", ["soon", "2026-03-01T12:00:00", "", "2026-13-01T12:00:00Z"])
def test_a_moment_that_somebody_has_written_is_one_or_none(moment: str) -> None:
    stored = {
        "failures": {"nextStart": moment, "at": moment},
        "decision": {"wanted": 3, "executors": 3, "at": moment},
        "chosen": {"executors": 3, "at": moment, "path": "Live"},
        "recoveries": {"present": {"cause": "DriverLoss", "began": moment}},
    }
    record = read_record(stored)
    known = (
        record.next_start,
        record.decided and record.decided.at,
        record.chosen and record.chosen.at,
        record.last_failure and record.last_failure.at,
    )
    assert all(at is None or at == NOW for at in known)


def test_a_condition_that_is_neither_true_nor_false_nor_unknown_is_left_out() -> None:
    wrong = {"type": "Ready", "status": "Perhaps", "reason": "Edited"}
    assert read_record({"conditions": [wrong]}).conditions == ()


def test_a_page_that_a_kubelet_passes_on_keeps_nothing_else_from_being_told() -> None:
    """A registry behind a login answers with one; the schema refuses a whole status for one text that is too long."""
    page = "error parsing HTTP 403 response body: " + "<div>" * LONGEST_TEXT
    waiting = WaitingExecutor(name="e-1", uid="u-1", created=NOW, obstacle=("ErrImagePull", page))
    failure = Failure(incarnation=1, generation=1, reason="CannotStart", message=page, at=NOW)
    claim = Claim(type=Condition.READY, status=Status.FALSE, reason="ErrImagePull", message=page)
    record = Record(last_failure=failure, conditions=(claim,))
    told = status_of(job(), record, Phase.PENDING, Observed(waiting=(waiting,)), NOW)
    for text in (
        told["executors"]["fault"],
        told["failures"]["message"],
        told["conditions"][0]["message"],
    ):
        assert len(text) == LONGEST_TEXT
        assert "error parsing HTTP 403" in text
        assert text.endswith("...")


@pytest.mark.parametrize("text", ["{", "[]", TOO_DEEP], ids=len)
def test_a_last_good_spec_that_somebody_has_damaged_is_none(text: str) -> None:
    kept = last_good(job())
    assert read_last_good(kept, job().uid) == job().document
    assert read_last_good({**kept, "data": {"spec.json": text}}, job().uid) is None
