"""A decision for people: what the job was like, what was decided, and what spoke against each other candidate."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sluice.console import words
from sluice.console.decisions import Kept
from sluice.console.job import Job
from sluice.console.page import Line, Page, Section, Tone
from sluice.core.deciding.decision import Candidate, Decision, Policy
from sluice.core.deciding.explain import expectations, figures, left_out, outcome
from sluice.core.deciding.judging import Outcome, Verdict
from sluice.core.deciding.policies.named import name_of, parameters_of
from sluice.core.deciding.situation import Forecast, Situation
from sluice.core.deciding.storing import Record
from sluice.core.series import Measured, NoData
from sluice.ports import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A kept decision, and what another policy would have decided if one was asked."""

    job: Job
    kept: Kept
    other: Policy | None = None

    @property
    def record(self) -> Record:
        """What is decided from."""
        kept = self.kept.record
        if self.other is None:
            return kept
        return Record(situation=kept.situation, policy=self.other, settings=kept.settings)

    @property
    def decision(self) -> Decision:
        """What is decided."""
        return self.kept.decision if self.other is None else self.record.decided()


def page(explained: Explained, now: datetime) -> Page:
    """For people."""
    decision, situation = explained.decision, explained.record.situation
    return Page(
        title=f"{explained.job.namespace}/{explained.job.name}, decision {explained.kept.id}",
        sections=(
            Section("", tuple(_head(explained, now))),
            Section("Situation", tuple(_situation(situation))),
            Section("Decision", (*_decision(situation, decision), *_effect(explained))),
            Section("Candidates", tuple(_candidates(decision))),
        ),
    )


def data(explained: Explained) -> Json:
    """For scripts; `record` is what `sluice lab explain` reads."""
    record, decision = explained.record, explained.decision
    return {
        "namespace": explained.job.namespace,
        "name": explained.job.name,
        "id": explained.kept.id,
        "at": explained.kept.at.isoformat(),
        "policy": name_of(record.policy),
        "parameters": parameters_of(record.policy),
        "decision": decision_data(decision),
        "effect": effect_data(explained.kept.verdict),
        "candidates": [_candidate_data(one) for one in decision.candidates],
        "record": record.to_data(),
    }


def decision_data(decision: Decision) -> Json:
    """A decision, in the words of the status."""
    veto = decision.veto
    return {
        "wanted": decision.wanted,
        "executors": decision.executors,
        "path": str(decision.path),
        "reason": decision.reason,
        "keptBy": f"{veto.guard}: {veto.reason}" if veto is not None else None,
        "expectedLatency": decision.expected_latency,
        "expectedRecovery": decision.expected_recovery,
        "smallestRecovery": decision.smallest_recovery,
        "undoes": decision.undoes,
    }


def effect_data(verdict: Verdict | None) -> Json | None:
    """What became of a decision, if it was judged."""
    if verdict is None:
        return None
    return {"outcome": str(verdict.outcome), "reason": verdict.reason}


def _head(explained: Explained, now: datetime) -> Iterator[Line]:
    at = explained.kept.at
    yield _line("Made", f"{words.since(at, now)} ago, at {at:%Y-%m-%d %H:%M:%S} UTC")
    yield _line("Policy", _policy(explained.record.policy))
    if explained.other is not None:
        yield _line("Instead of", _policy(explained.kept.record.policy))


def _policy(policy: Policy) -> str:
    told = ",".join(f"{name}={value:g}" for name, value in parameters_of(policy).items())
    return f"{name_of(policy)}:{told}" if told else name_of(policy)


def _situation(situation: Situation) -> Iterator[Line]:
    seen, bounds = situation.observed, situation.bounds
    yield _line("Load", f"{_rate(seen.arrival)} arriving, {_rate(seen.processing)} processed")
    yield _line("Forecast", _forecast(situation.forecast))
    yield _line("Lag", f"{words.count(_known(seen.lag))} rows, latency {_span(seen.latency)}")
    allowed = f"{bounds.smallest} to {bounds.largest} allowed"
    told = f"{situation.executors} asked for, {situation.running} running, {allowed}"
    yield _line("Executors", told)
    yield _line("State", _state(situation))
    for harm in situation.harms:
        told = (
            f"{harm.before} -> {harm.executors} at {_rate(harm.arrival)}, decision {harm.decision}"
        )
        yield _line("Harmful", told)
    targets = situation.targets
    if targets.latency is not None or targets.recovery is not None:
        told = f"latency {words.span(targets.latency)}, recovery {words.span(targets.recovery)}"
        yield _line("Targets", told)


def _state(situation: Situation) -> str:
    since = situation.since_rescale
    rescaled = f", rescaled {words.span(since)} before" if since is not None else ""
    up = f", up {words.span(situation.uptime)}" if situation.uptime else ", before its first batch"
    return f"{situation.activity}, mode {situation.mode}{up}{rescaled}"


def _forecast(forecast: Forecast | NoData) -> str:
    if isinstance(forecast, NoData):
        return f"none: {forecast.reason}"
    most, above = max(forecast.rates), max(forecast.high)
    told = f"at most {_rate(most)}, {_rate(above)} at the upper edge,"
    note = f"; {forecast.note}" if forecast.note else ""
    return f"{told} in the next {words.span(forecast.times[-1])} (by {forecast.model}{note})"


def _decision(situation: Situation, decision: Decision) -> Iterator[Line]:
    yield _line("Outcome", outcome(situation, decision))
    yield _line("Because", decision.reason)
    if decision.veto is not None:
        told = f"{decision.veto.guard}: {decision.veto.reason}"
        yield _line("Kept by", told, Tone.ODD)
    if expectations(decision):
        yield _line("Expected", expectations(decision))
    if vain := left_out(situation, decision):
        yield _line("Left out", vain)


def _effect(explained: Explained) -> Iterator[Line]:
    """What became of what was decided in fact."""
    verdict = explained.kept.verdict
    if verdict is not None and explained.other is None:
        tone = Tone.ODD if verdict.outcome is Outcome.HARMFUL else Tone.PLAIN
        yield _line("Effect", f"{verdict.outcome}: {verdict.reason}", tone)


def _candidates(decision: Decision) -> Iterator[Line]:
    if decision.candidates:
        yield Line(cells=("EXECUTORS", "ROWS/S", "LATENCY", "RECOVERY"), detail="VERDICT")
    for one in decision.candidates:
        mark = " <-" if one.chosen else ""
        tone = Tone.GOOD if one.chosen else Tone.PLAIN
        cells = (f"{one.executors}{mark}", *figures(one))
        yield Line(cells=cells, detail=one.verdict, tone=tone, toned=len(cells))


def _candidate_data(candidate: Candidate) -> Mapping[str, Any]:
    return {
        "executors": candidate.executors,
        "capacity": _known(candidate.capacity),
        "latency": _known(candidate.latency),
        "recovery": _known(candidate.recovery),
        "verdict": candidate.verdict,
        "chosen": candidate.chosen,
    }


def _line(name: str, told: str, tone: Tone = Tone.PLAIN) -> Line:
    return Line(cells=(name,), detail=told, tone=tone)


def _rate(measured: Measured) -> str:
    return f"{words.count(_known(measured))}/s"


def _span(measured: Measured) -> str:
    return words.span(_known(measured))


def _known(measured: Measured) -> float | None:
    return None if isinstance(measured, NoData) else measured
