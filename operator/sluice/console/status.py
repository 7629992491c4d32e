"""The page of one job: is it well, how does the stream flow, is the objective kept, what happened."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sluice.console import queries, words
from sluice.console.job import Job, Told
from sluice.console.page import Line, Page, Section, Tone, tone_of
from sluice.console.sight import Sight
from sluice.console.slo import alarming_rate, percentile, promise
from sluice.console.trends import Trend
from sluice.core.conditions import Condition, Status

_TONES: Mapping[str, Tone] = {
    Status.TRUE: Tone.GOOD,
    Status.FALSE: Tone.BAD,
    Status.UNKNOWN: Tone.ODD,
}

_UNDECLARED = frozenset({"NoObjective", "NoTarget", "Off", "Suspended"})
"""Reasons of conditions that are as their owner wants them."""

_NOTHING = Trend(())


def page(sight: Sight) -> Page:
    """The page."""
    lately = sight.lately
    span = f", last {words.long_span(lately.span)}" if lately.trends else ""
    return Page(
        title=f"{sight.job.namespace}/{sight.job.name}",
        sections=(
            Section("", tuple(_head(sight))),
            Section(f"Stream{span}", tuple(_flow(sight))),
            Section("", tuple(_progress(sight))),
            Section("Queries", tuple(_queries(sight))),
            Section("Objective", tuple(_objective(sight))),
            Section("Newest decision", tuple(_decision(sight))),
            Section("Conditions", tuple(_conditions(sight))),
            Section("Last failure", tuple(_failure(sight))),
            Section("Events", tuple(_events(sight))),
        ),
        notes=sight.notes,
    )


def _plain(name: str, text: str, tone: Tone = Tone.PLAIN) -> Line:
    return Line(cells=(name,), detail=text, tone=tone)


def _head(sight: Sight) -> Iterator[Line]:
    job, now = sight.job, sight.now
    yield _plain("Phase", _phase(sight), tone_of(job.is_fine))
    if not job.is_fine and job.why:
        yield _plain("Why", job.why)
    driver = job.part("driver")
    if driver:
        up = words.since(job.moment("driver", "startedAt"), now)
        where = f"{driver.get('pod')} on {driver.get('node') or 'no node yet'}"
        yield _plain("Driver", f"{where}, up {up}, incarnation {job.status.get('incarnation', 0)}")
    yield _plain("Executors", _executors(job))
    if "fault" in job.part("executors"):
        yield _plain("Fault", job.part("executors")["fault"], Tone.BAD)
    yield from _profiling(job)
    change = job.part("change")
    if change.get("kind", "None") != "None":
        fields = ", ".join(f"spec.{name}" for name in change.get("fields", ()))
        yield _plain("Change", f"{change['kind']}: {fields}", Tone.ODD)
    yield _plain("Age", words.since(job.created, now))


def _phase(sight: Sight) -> str:
    ready = sight.job.ready
    if ready is None:
        return sight.job.phase
    lasting = words.since(ready.since, sight.now)
    if sight.job.is_suspended:
        return f"{sight.job.phase} for {lasting}"
    return f"{sight.job.phase}, {'Ready' if ready.is_true else 'not Ready'} for {lasting}"


def _executors(job: Job) -> str:
    executors, bounds = job.part("executors"), job.spec.get("executors") or {}
    running, wanted = executors.get("running", 0), executors.get("wanted", 0)
    limits = [f"{name} {bounds[name]}" for name in ("min", "max") if name in bounds]
    return f"{running} of {wanted} running ({', '.join((*limits, f'scaling {job.mode}'))})"


def _profiling(job: Job) -> Iterator[Line]:
    """How it is profiled by itself, where that is enabled."""
    told = job.part("profiling")
    if not told:
        return
    newest = f"{told['profile']}: {told.get('phase', '')}; " if "profile" in told else ""
    known = f"; rows/s by executors: {told['points']}" if "points" in told else ""
    message = str(told.get("message", "")).rstrip(".")
    yield _plain("Profiling", f"{newest}{message}{known}")


def _flow(sight: Sight) -> Iterator[Line]:
    stream, share = sight.job.part("stream"), _share(sight.job)
    latency = stream.get(f"latency{share.upper()}")
    yield _curve(sight, "Arriving", "arriving", stream.get("arrivalRate"), words.rate)
    yield _curve(sight, "Processing", "processing", stream.get("processingRate"), words.rate)
    yield _curve(sight, f"Latency {share}", "latency", latency, words.span)
    yield _curve(sight, "Lag", "lag", stream.get("lagRows"), words.count)


def _share(job: Job) -> str:
    return f"p{percentile(job.spec) * 100:g}"


def _curve(
    sight: Sight,
    name: str,
    key: str,
    present: float | None,
    told: Callable[[float | None], str],
) -> Line:
    """The present number, as the status has it, and how it went."""
    trend = sight.lately.trends.get(key, _NOTHING)
    graph = words.sparkline(trend.values)
    most = f"max {told(trend.largest)}" if trend.largest is not None else ""
    return Line(cells=(name, told(present), graph, most), tone=Tone.TITLE)


def _progress(sight: Sight) -> Iterator[Line]:
    stream, checkpoint = sight.job.part("stream"), sight.job.part("checkpoint")
    if stream:
        told = (f"{one} {words.span(stream.get(f'latency{one.upper()}'))}" for one in _QUANTILES)
        yield _plain("Percentiles", ", ".join(told))
    if stream.get("lagSeconds"):
        yield _plain("Oldest row", f"waits for {words.span(stream['lagSeconds'])}")
    yield from queries.losses(sight.lately.queries)
    if "stateRows" in stream:
        yield _plain("State", _state(stream))
    if "lastBatch" in checkpoint and not sight.lately.has_several_queries:
        committed = sight.job.moment("checkpoint", "committedAt")
        when = f", committed {words.since(committed, sight.now)} ago" if committed else ""
        yield _plain("Last batch", f"{checkpoint['lastBatch']}{when}")
    if "location" in checkpoint:
        yield _plain("Checkpoint", checkpoint["location"])


_QUANTILES = ("p50", "p95", "p99")


def _queries(sight: Sight) -> Iterator[Line]:
    """Which of several queries is late, or has ended; of one, all is told above."""
    if sight.lately.has_several_queries:
        yield from queries.lines(sight.lately.queries, _share(sight.job), sight.now)


def _state(stream: Mapping[str, Any]) -> str:
    parts = [f"{words.count(stream['stateRows'])} rows"]
    if "stateBytes" in stream:
        parts.append(words.size(stream["stateBytes"]))
    if "statePartitions" in stream:
        parts.append(f"{stream['statePartitions']} partitions")
    if "stateStore" in stream:
        parts.append(str(stream["stateStore"]).rpartition(".")[2])
    return ", ".join(parts)


def _objective(sight: Sight) -> Iterator[Line]:
    promised, slo, rate = promise(sight.job.spec), sight.job.part("slo"), sight.lately.burn_rate
    if not promised:
        yield _plain("Promise", "none; spec.slo declares one", Tone.QUIET)
        return
    yield _plain("Promise", promised)
    yield _plain("Attained", _attained(slo))
    if "budgetLeft" in slo:
        left = slo["budgetLeft"]
        told = f"{words.percent(left)}{'' if left > 0 else ': overspent'}"
        yield _plain("Budget left", told, tone_of(left > 0))
    if rate is not None:
        told = f"{rate:.1f} times as fast as allowed, over the last hour"
        yield _plain("Burning", told, tone_of(rate < alarming_rate(sight.job.spec)))


def _attained(slo: Mapping[str, Any]) -> str:
    if "attainment" not in slo:
        return "not known; the condition ObjectivesMet says why"
    unknown = slo.get("unknown", 0.0)
    gaps = f"; {words.percent(unknown)} of them are unknown" if unknown else ""
    return f"in {words.percent(slo['attainment'])} of the minutes so far{gaps}"


def _decision(sight: Sight) -> Iterator[Line]:
    job, decision = sight.job, sight.job.part("decision")
    if not decision:
        return
    at = words.since(job.moment("decision", "at"), sight.now)
    yield _plain("Decided", f"{at} ago: {decision.get('id')}")
    yield _plain("Wanted", _wanted(decision))
    yield _plain("Because", decision.get("reason", ""))
    if "keptBy" in decision:
        yield _plain("Kept by", decision["keptBy"], Tone.ODD)
    if "pending" in decision:
        told = f"an approval: kubectl sluice approve {job.name} -n {job.namespace}"
        yield _plain("Waits for", told, Tone.ODD)
    expected = [
        f"{name} {words.span(decision[field])}"
        for name, field in _EXPECTED.items()
        if field in decision
    ]
    if expected:
        yield _plain("Expected", ", ".join(expected))


_EXPECTED = {
    "latency": "expectedLatency",
    "likely recovery of a lost driver": "likelyRecovery",
    "recovery at worst": "expectedRecovery",
    "smallest recovery target that can be kept": "smallestRecovery",
}


def _wanted(decision: Mapping[str, Any]) -> str:
    wanted, executors = decision.get("wanted", 0), decision.get("executors", 0)
    told = f"{wanted} executor{'' if wanted == 1 else 's'}"
    if wanted == executors:
        return told
    return f"{told}, {executors} {'is' if executors == 1 else 'are'} taken"


def _conditions(sight: Sight) -> Iterator[Line]:
    told: set[str] = set()
    for one in sight.job.conditions:
        lasting = words.since(one.since, sight.now)
        # What a condition says while all is as declared is no news, and Ready repeats what is in its way.
        is_calm = (one.is_true and not one.is_odd) or one.reason in _UNDECLARED
        detail = "" if is_calm or one.message in told else one.message
        told.add(one.message)
        cells = (one.type, one.status, one.reason, lasting)
        yield Line(cells=cells, detail=detail, tone=_tone(one))


def _tone(one: Told) -> Tone:
    if one.reason in _UNDECLARED:
        return Tone.QUIET
    if one.is_odd or (one.type == Condition.SPEC_IN_FORCE and not one.is_true):
        return Tone.ODD
    return _TONES.get(one.status, Tone.ODD)


def _failure(sight: Sight) -> Iterator[Line]:
    failures = sight.job.part("failures")
    if "reason" not in failures:
        return
    at = words.since(sight.job.moment("failures", "at"), sight.now)
    code = f", exit code {failures['exitCode']}" if "exitCode" in failures else ""
    told = f"{at} ago, incarnation {failures.get('incarnation', 0)}{code}"
    yield _plain(failures["reason"], told)
    if failures.get("message"):
        yield _plain("Message", failures["message"])
    if failures.get("inARow"):
        yield _plain("In a row", _in_a_row(sight, failures), Tone.BAD)


def _in_a_row(sight: Sight, failures: Mapping[str, Any]) -> str:
    if failures.get("gaveUp"):
        return f"{failures['inARow']}, and given up: change the spec to try again"
    start = sight.job.moment("failures", "nextStart")
    if start is None or start <= sight.now:
        return str(failures["inARow"])
    pause = words.span((start - sight.now).total_seconds())
    return f"{failures['inARow']}, next start in {pause}"


def _events(sight: Sight) -> Iterator[Line]:
    for one in sight.events:
        tone = Tone.ODD if one.is_warning else Tone.PLAIN
        yield Line(
            cells=(f"{words.since(one.at, sight.now)} ago", one.reason),
            detail=one.message,
            tone=tone,
        )
