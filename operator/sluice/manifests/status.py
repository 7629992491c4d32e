"""The status of a StreamJob: what the core remembers and sees, as it is stored, and back."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sluice.core import executorfaults
from sluice.core.application import JobKey, StreamJob
from sluice.core.changes import NO_CHANGE, Change, ChangeClass
from sluice.core.chosen import wanted_executors
from sluice.core.conditions import Claim, Condition, Status
from sluice.core.drilling.records import Answer
from sluice.core.observations import Observed, QueryReport
from sluice.core.quantities import format_count, format_duration
from sluice.core.record import Failure, Phase, Record
from sluice.core.recoveries import Cause, Recoveries, Recovery
from sluice.manifests import attainment, decisions, names, proving, resizing, staffing
from sluice.manifests.moments import moment_text, read_moment
from sluice.manifests.omitting import acceptable
from sluice.manifests.profiling import outlook

Json = dict[str, Any]

_KNOWN_CONDITIONS = frozenset(Condition)
_KNOWN_STATUSES = frozenset(Status)
_KNOWN_CHANGES = frozenset(ChangeClass)


def status_of(job: StreamJob, record: Record, phase: Phase, seen: Observed, now: datetime) -> Json:
    """The whole status of a job, ready to be applied."""
    queries = seen.report.counting if seen.report is not None else ()
    wanted = 0 if phase is Phase.SUSPENDED else wanted_executors(job, record.chosen)
    told = {
        **remembered(job.key, job.generation, record, phase),
        "replicas": seen.executors_running,
        "driver": _driver(seen),
        "executors": {
            "wanted": wanted,
            "running": seen.executors_running,
            "fault": executorfaults.told(job, seen, now).strip() or None,
        },
        "stream": _stream(queries),
        "slo": attainment.told(job.objective, record.attained),
        "profiling": outlook.told(record.profiling),
        "summary": {
            "executors": f"{seen.executors_running}/{wanted}",
            "latency": _latency_text(queries),
            "slo": attainment.text(job.objective, record.attained),
            "lag": _lag_text(queries),
        },
    }
    return acceptable(told)


def remembered(key: JobKey, generation: int, record: Record, phase: Phase) -> Json:
    """The part of the status that the operator reads back."""
    return acceptable(
        {
            "observedGeneration": generation,
            "phase": str(phase),
            "incarnation": record.incarnation,
            "ended": record.ended,
            "stopping": record.stopping,
            "selector": names.executor_selector(key),
            "failures": _failures(record),
            "recoveries": _recoveries(record.recoveries),
            "resize": resizing.told(record.resize) if record.resize is not None else {},
            "drill": _drill(record.drill) if record.drill is not None else {},
            "decision": decisions.told(record.decided),
            "chosen": decisions.told_chosen(record.chosen),
            "staffing": staffing.told(record.staffing),
            "room": staffing.told_room(record.room),
            "proving": proving.told(record.proving),
            "change": {"kind": str(record.change.kind), "fields": list(record.change.fields)},
            "checkpoint": {
                "location": record.checkpoint,
                "lastBatch": record.last_batch,
                "committedAt": moment_text(record.last_commit),
                "formatVersion": record.log_format,
                "settings": dict(record.pinned),
            },
            "conditions": [_condition(claim) for claim in record.conditions],
        }
    )


def read_record(status: Mapping[str, Any]) -> Record:
    """What a stored status remembers; the beginning if there is none."""
    failures, checkpoint = status.get("failures", {}), status.get("checkpoint", {})
    return Record(
        incarnation=status.get("incarnation", 0),
        ended=status.get("ended", 0),
        failures=failures.get("inARow", 0),
        last_failure=_read_failure(failures),
        next_start=read_moment(failures.get("nextStart")),
        stopping=status.get("stopping"),
        checkpoint=checkpoint.get("location"),
        last_batch=checkpoint.get("lastBatch"),
        last_commit=read_moment(checkpoint.get("committedAt")),
        log_format=checkpoint.get("formatVersion"),
        pinned=checkpoint.get("settings", {}),
        change=_read_change(status.get("change", {})),
        recoveries=_read_recoveries(status.get("recoveries", {})),
        resize=resizing.read(status.get("resize", {})),
        drill=_read_drill(status.get("drill", {})),
        decided=decisions.read(status.get("decision", {})),
        attained=attainment.read(status.get("slo", {})),
        profiling=outlook.read(status.get("profiling", {})),
        chosen=decisions.read_chosen(status.get("chosen", {})),
        staffing=staffing.read(status.get("staffing", {})),
        room=staffing.read_room(status.get("room", {})),
        proving=proving.read(status.get("proving", {})),
        gave_up=failures.get("gaveUp", False),
        conditions=tuple(
            _read_condition(condition)
            for condition in status.get("conditions", ())
            # A newer operator may have written conditions that this one does not know.
            if condition["type"] in _KNOWN_CONDITIONS and condition["status"] in _KNOWN_STATUSES
        ),
    )


def _read_change(change: Mapping[str, Any]) -> Change:
    """The change that was told last; a kind of a newer operator counts as none, and is found again."""
    if change.get("kind") not in _KNOWN_CHANGES:
        return NO_CHANGE
    return Change(kind=ChangeClass(change["kind"]), fields=tuple(change.get("fields", ())))


def _drill(answer: Answer) -> Json:
    return {
        "asked": answer.asked,
        "accepted": not answer.refusal,
        "message": answer.refusal or None,
        "done": answer.done,
    }


def _read_drill(told: Mapping[str, Any]) -> Answer | None:
    if "asked" not in told:
        return None
    # One that was refused without a word must not be taken for an accepted one.
    refusal = told.get("message", "") or ("" if told.get("accepted") else "refused")
    return Answer(asked=told["asked"], refusal=refusal, done=told.get("done", False))


def _failures(record: Record) -> Json:
    last = record.last_failure
    told = {}
    if last is not None:
        told = {
            "reason": last.reason,
            "message": last.message,
            "exitCode": last.exit_code,
            "incarnation": last.incarnation,
            "generation": last.generation,
            "fingerprint": last.fingerprint or None,
            "at": moment_text(last.at),
        }
    return {
        "inARow": record.failures,
        "gaveUp": record.gave_up,
        "nextStart": moment_text(record.next_start),
        **told,
    }


def _read_failure(failures: Mapping[str, Any]) -> Failure | None:
    at = read_moment(failures.get("at"))
    if at is None:
        return None
    return Failure(
        incarnation=failures.get("incarnation", 0),
        generation=failures.get("generation", 0),
        reason=failures.get("reason", ""),
        message=failures.get("message", ""),
        at=at,
        exit_code=failures.get("exitCode"),
        # Releases that took each change for another try stored none.
        fingerprint=failures.get("fingerprint", ""),
    )


_STAGES = {
    "detection": "detected",
    "container": "started",
    "session": "connected",
    "firstBatch": "committed",
    "calm": "calm_since",
    "caughtUp": "caught_up",
}
"""Fields of a told recovery, in seconds since it began, and the moments that they tell of."""


def _recoveries(recoveries: Recoveries) -> Json:
    present = recoveries.present
    return {
        "count": recoveries.count,
        "usualLag": round(recoveries.usual_lag, 3),
        "present": _recovery(present) if present is not None else {},
        "past": [_recovery(recovery) for recovery in recoveries.past],
    }


def _recovery(recovery: Recovery) -> Json:
    told = {name: recovery.seconds(getattr(recovery, moment)) for name, moment in _STAGES.items()}
    return acceptable(
        {
            "cause": str(recovery.cause),
            "incarnation": recovery.incarnation,
            "drilled": recovery.drilled or None,
            "usualLag": round(recovery.usual_lag, 3) or None,
            "began": moment_text(recovery.began),
            **{name: round(value, 3) for name, value in told.items() if value is not None},
        }
    )


def _read_recoveries(told: Mapping[str, Any]) -> Recoveries:
    read = (_read_recovery(recovery) for recovery in told.get("past", ()))
    return Recoveries(
        count=told.get("count", 0),
        usual_lag=told.get("usualLag", 0.0),
        present=_read_recovery(told.get("present", {})),
        past=tuple(recovery for recovery in read if recovery is not None),
    )


def _read_recovery(told: Mapping[str, Any]) -> Recovery | None:
    """A recovery as it was told; a cause of a newer operator is forgotten."""
    began = read_moment(told.get("began"))
    if began is None or told.get("cause") not in frozenset(Cause):
        return None
    moments = {
        moment: began + timedelta(seconds=told[name])
        for name, moment in _STAGES.items()
        if name in told
    }
    moments.setdefault("detected", began)
    return Recovery(
        cause=Cause(told["cause"]),
        incarnation=told.get("incarnation", 0),
        drilled=told.get("drilled", 0),
        usual_lag=told.get("usualLag", 0.0),
        began=began,
        **moments,
    )


def _condition(claim: Claim) -> Json:
    return {
        "type": str(claim.type),
        "status": str(claim.status),
        "reason": str(claim.reason),
        "message": claim.message,
        "observedGeneration": claim.generation,
        "lastTransitionTime": moment_text(claim.since, timespec="seconds"),
    }


def _read_condition(condition: Mapping[str, Any]) -> Claim:
    return Claim(
        type=Condition(condition["type"]),
        status=Status(condition["status"]),
        reason=condition["reason"],
        message=condition.get("message", ""),
        generation=condition.get("observedGeneration", 0),
        since=read_moment(condition.get("lastTransitionTime")),
    )


def _driver(seen: Observed) -> Json:
    driver = seen.driver
    if driver is None:
        return {}
    started = moment_text(driver.started)
    return {"pod": driver.name, "uid": driver.uid, "node": driver.node, "startedAt": started}


def _stream(queries: tuple[QueryReport, ...]) -> Json:
    """Several queries of one program as one stream: rates add up, the worst latency counts."""
    waiting = _worst(
        query.backlog.total_seconds() for query in queries if query.backlog is not None
    )
    return {
        "arrivalRate": _total(query.arrival_rate for query in queries),
        "processingRate": _total(query.processing_rate for query in queries),
        "lagRows": _whole(_total(query.backlog_rows for query in queries)),
        "lagSeconds": waiting,
        "latencyP50": _worst(query.latency.get("p50") for query in queries),
        "latencyP95": _worst(query.latency.get("p95") for query in queries),
        "latencyP99": _worst(query.latency.get("p99") for query in queries),
        "stateRows": _whole(_total(query.state_rows for query in queries)),
        "stateBytes": _whole(_total(query.state_bytes for query in queries)),
        "statePartitions": _whole(_worst(query.state_partitions for query in queries)),
        "stateStore": next((query.state_store for query in queries if query.state_store), None),
    }


def _total(numbers: Any) -> float | None:
    known = [number for number in numbers if number is not None]
    return round(sum(known), 3) if known else None


def _worst(numbers: Any) -> float | None:
    known = [number for number in numbers if number is not None]
    return round(max(known), 3) if known else None


def _whole(number: float | None) -> int | None:
    return int(number) if number is not None else None


def _latency_text(queries: tuple[QueryReport, ...]) -> str:
    worst = _worst(query.latency.get("p95") for query in queries)
    return format_duration(timedelta(seconds=worst)) if worst is not None else ""


def _lag_text(queries: tuple[QueryReport, ...]) -> str:
    rows = _total(query.backlog_rows for query in queries)
    if rows is None:
        return ""
    waits = [query.backlog for query in queries if query.backlog is not None]
    return (
        f"{format_count(rows)} ({format_duration(max(waits))})"
        if waits and rows
        else format_count(rows)
    )
