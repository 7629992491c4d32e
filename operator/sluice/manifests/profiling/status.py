"""The status of a StreamProfile: what the core remembers of its run, as it is stored, and back."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar, assert_never

from sluice.core.profiling.records import (
    Copy,
    CopyPhase,
    Key,
    LivePoint,
    Percentiles,
    Phase,
    Plan,
    Point,
    Problem,
    Profile,
    Reason,
    Run,
    Start,
)
from sluice.core.quantities import format_count, format_duration
from sluice.errors import InvalidSpec
from sluice.manifests.moments import moment_text, read_moment
from sluice.manifests.omitting import acceptable

Json = dict[str, Any]

Claim = tuple[str, str, str, str]
"""A condition: its type, its status, the reason and the message."""

Part = TypeVar("Part")


def status_of(
    profile: Profile, run: Run, phase: Phase, spent: float, before: Mapping[str, Any], now: datetime
) -> Json:
    """The whole status of a valid profile; `spent` is in core-seconds, `before` is the status that is stored."""
    claims = (
        ("SpecValid", "True", "Valid", "The spec can be carried out."),
        ("Complete", *_complete(run, phase)),
    )
    allowed = profile.allowance.core_seconds / 3600
    told = {
        "observedGeneration": profile.generation,
        "phase": str(phase),
        "planned": _planned(run.plan),
        "spent": {"coreSeconds": round(spent, 1)},
        "copies": [_copy(copy) for copy in run.copies],
        "points": [_point(point) for point in run.points],
        "key": _key(run.key),
        "startedAt": moment_text(run.began),
        "endedAt": moment_text(run.ended),
        "summary": {
            "points": _points_text(run) or None,
            "spent": f"{spent / 3600:.2f}/{allowed:g}",
        },
        "conditions": _conditions(claims, profile.generation, before, now),
    }
    return acceptable(told)


def invalid(generation: int, error: InvalidSpec, before: Mapping[str, Any], now: datetime) -> Json:
    """The status of a profile whose spec cannot be carried out; one that has ended before has ended as it did."""
    complete = ("Complete", "False", "InvalidSpec", "The spec cannot be carried out.")
    phase = str(Phase.FAILED)
    if "endedAt" in before:
        complete, phase = _claimed("Complete", before) or complete, before.get("phase", phase)
    claims = (("SpecValid", "False", "InvalidSpec", str(error)), complete)
    kept = {name: part for name, part in before.items() if name not in ("conditions", "phase")}
    told = _conditions(claims, generation, before, now)
    if kept.get("copies"):
        kept["copies"] = [_given_up(copy, now) for copy in kept["copies"]]
    return {
        **kept,
        "observedGeneration": generation,
        "phase": phase,
        "conditions": told,
    }


def _claimed(kind: str, before: Mapping[str, Any]) -> Claim | None:
    """What a stored status says of a kind."""
    return next(
        (
            (kind, condition["status"], condition["reason"], condition.get("message", ""))
            for condition in before.get("conditions", ())
            if condition["type"] == kind
        ),
        None,
    )


def _given_up(copy: Json, now: datetime) -> Json:
    """A copy of a profile that nobody can read: it has ended, if it had not before."""
    if "endedAt" in copy:
        return copy
    told = "the profile's spec is not valid any more; correct it, or make another profile"
    return {
        **copy,
        "phase": str(CopyPhase.FAILED),
        "reason": str(Reason.REFUSED),
        "message": told,
        "endedAt": moment_text(now),
    }


def read_run(status: Mapping[str, Any]) -> Run:
    """What a stored status remembers; the beginning if there is none."""
    key, plan = status.get("key"), status.get("planned")
    return Run(
        key=next(_readable(_read_key, [key] if key else []), None),
        plan=plan
        and Plan(
            copies=plan.get("copies", 0),
            core_seconds=plan.get("coreSeconds", 0.0),
            wall_seconds=plan.get("wallSeconds", 0.0),
        ),
        began=read_moment(status.get("startedAt")),
        ended=read_moment(status.get("endedAt")),
        copies=tuple(_readable(_read_copy, status.get("copies", ()))),
        points=tuple(_readable(_read_point, status.get("points", ()))),
        problem=_read_problem(status),
    )


def _readable(read: Callable[[Json], Part], told: Iterable[Json]) -> Iterator[Part]:
    """Without what a newer operator or a person has written otherwise: a copy of which nobody knows is removed."""
    for part in told:
        try:
            yield read(part)
        except (KeyError, TypeError, ValueError):
            continue


def _complete(run: Run, phase: Phase) -> tuple[str, str, str]:
    if phase is Phase.SUCCEEDED:
        unit = " rows/s" if run.capacities else ""
        return "True", "Measured", f"{_points_text(run)}{unit}.{_remarks(run)}"
    if run.problem is not None:
        return "False", str(run.problem.reason), run.problem.message
    sizes = ", ".join(str(copy.executors) for copy in run.open) or "none yet"
    waits = "".join(
        f" The one of {copy.executors} waits: {copy.problem.message.rstrip('.')}."
        for copy in run.open
        if copy.problem is not None
    )
    return "False", "Measuring", f"Copies run with so many executors: {sizes}.{waits}"


def _remarks(run: Run) -> str:
    lower = ", ".join(str(point.executors) for point in run.points if point.is_lower_bound)
    upper = ", ".join(str(point.executors) for point in run.capacities if point.is_upper_bound)
    text = f" The truth may be higher at {lower} executors." if lower else ""
    if upper:
        text += f" The truth may be lower at {upper}: work in foreachBatch is left out."
    return text


def _points_text(run: Run) -> str:
    return ", ".join(f"{point.executors}: {_point_text(point)}" for point in run.points)


def _point_text(point: Point | LivePoint) -> str:
    match point:
        case Point():
            return format_count(point.rate)
        case LivePoint(keeps_up=False):
            return "falls behind"
        case LivePoint():
            return f"p95 {format_duration(timedelta(seconds=point.latency.p95))}"
        case _:
            assert_never(point)


def _key(key: Key | None) -> Json | None:
    if key is None:
        return None
    told = {
        "image": key.image,
        "digest": key.digest,
        "configuration": key.configuration,
        "from": str(key.start),
    }
    return acceptable(told)


def _read_key(told: Mapping[str, Any]) -> Key:
    return Key(
        image=told["image"],
        configuration=told["configuration"],
        start=Start(told.get("from", Start.EARLIEST)),
        digest=told.get("digest"),
    )


def _planned(plan: Plan | None) -> Json | None:
    if plan is None:
        return None
    return {
        "copies": plan.copies,
        "coreSeconds": round(plan.core_seconds, 1),
        "wallSeconds": round(plan.wall_seconds, 1),
    }


def _copy(copy: Copy) -> Json:
    problem = copy.problem
    return acceptable(
        {
            "namespace": copy.namespace,
            "executors": copy.executors,
            "phase": str(copy.phase),
            "reason": problem and str(problem.reason),
            "message": problem and problem.message,
            "startedAt": moment_text(copy.began),
            "endedAt": moment_text(copy.ended),
        }
    )


def _read_copy(told: Mapping[str, Any]) -> Copy:
    began = read_moment(told.get("startedAt"))
    if began is None:
        raise ValueError("nobody knows when it began")
    return Copy(
        executors=told["executors"],
        namespace=told["namespace"],
        began=began,
        phase=CopyPhase(told["phase"]),
        ended=read_moment(told.get("endedAt")),
        problem=_problem(told.get("reason"), told.get("message", "")),
    )


def _point(point: Point | LivePoint) -> Json:
    if isinstance(point, LivePoint):
        return _live_point(point)
    return {
        "executors": point.executors,
        "rowsPerSecond": round(point.rate, 3),
        "errorRowsPerSecond": round(point.error, 3),
        "batches": point.batches,
        "overheadSeconds": round(point.overhead, 4),
        "lowerBound": point.is_lower_bound,
        "upperBound": point.is_upper_bound,
        "measuredAt": moment_text(point.at),
    }


def _live_point(point: LivePoint) -> Json:
    latency = point.latency
    return {
        "executors": point.executors,
        "latency": {
            "p50Seconds": round(latency.p50, 3),
            "p95Seconds": round(latency.p95, 3),
            "p99Seconds": round(latency.p99, 3),
            "arrivingRowsPerSecond": round(point.arriving, 3),
            "keepsUp": point.keeps_up,
        },
        "batches": point.batches,
        "lowerBound": point.is_lower_bound,
        "measuredAt": moment_text(point.at),
    }


def _read_point(told: Mapping[str, Any]) -> Point | LivePoint:
    at = read_moment(told.get("measuredAt"))
    if at is None:
        raise ValueError("nobody knows when it was measured")
    if "latency" in told:
        return _read_live_point(told, at)
    return Point(
        executors=told["executors"],
        rate=float(told["rowsPerSecond"]),
        error=float(told["errorRowsPerSecond"]),
        batches=told.get("batches", 0),
        overhead=float(told.get("overheadSeconds", 0.0)),
        at=at,
        is_lower_bound=told.get("lowerBound", False),
        is_upper_bound=told.get("upperBound", False),
    )


def _read_live_point(told: Mapping[str, Any], at: datetime) -> LivePoint:
    latency = told["latency"]
    return LivePoint(
        executors=told["executors"],
        latency=Percentiles(
            p50=float(latency["p50Seconds"]),
            p95=float(latency["p95Seconds"]),
            p99=float(latency["p99Seconds"]),
        ),
        arriving=float(latency["arrivingRowsPerSecond"]),
        batches=told.get("batches", 0),
        keeps_up=latency["keepsUp"],
        at=at,
        is_lower_bound=told.get("lowerBound", False),
    )


def _read_problem(status: Mapping[str, Any]) -> Problem | None:
    for condition in status.get("conditions", ()):
        if condition["type"] == "Complete" and condition["status"] == "False":
            return _problem(condition["reason"], condition.get("message", ""))
    return None


def _problem(reason: str | None, message: str) -> Problem | None:
    """A problem as it was told; that everything is well, or goes on, is none."""
    return Problem(Reason(reason), message) if reason in frozenset(Reason) else None


def _conditions(
    claims: tuple[Claim, ...],
    generation: int,
    before: Mapping[str, Any],
    now: datetime,
) -> list[Json]:
    known = {condition["type"]: condition for condition in before.get("conditions", ())}
    stamp = moment_text(now, timespec="seconds")
    return [
        {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "observedGeneration": generation,
            "lastTransitionTime": known[kind]["lastTransitionTime"]
            if known.get(kind, {}).get("status") == status
            else stamp,
        }
        for kind, status, reason, message in claims
    ]
