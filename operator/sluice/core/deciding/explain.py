"""A decision in words: what is done, why, what is expected of it, and what speaks against each other candidate."""

from collections.abc import Iterator

from sluice.core.deciding.decision import Candidate, Decision
from sluice.core.deciding.situation import Situation
from sluice.core.quantities import format_executors
from sluice.core.series import Measured, NoData

_MOST_NAMED = 8

HEADER = f"{'executors':>11}  {'rows/s':>12}  {'latency':>9}  {'recovery':>9}"


def explained(situation: Situation, decision: Decision) -> tuple[str, ...]:
    """The lines that explain a decision to its reader."""
    return tuple(_lines(situation, decision))


def _lines(situation: Situation, decision: Decision) -> Iterator[str]:
    yield f"{outcome(situation, decision)}: {decision.reason}"
    if decision.veto:
        yield f"kept from it by {decision.veto.guard}: {decision.veto.reason}"
    if expectations(decision):
        yield f"expected: {expectations(decision)}"
    if vain := left_out(situation, decision):
        yield f"left out: {vain}"
    if decision.candidates:
        yield HEADER
        yield from map(_row, decision.candidates)


def outcome(situation: Situation, decision: Decision) -> str:
    """What is done."""
    current, executors = situation.executors, decision.executors
    if executors == current:
        return f"stay at {format_executors(current)}"
    return f"from {current} to {format_executors(executors)}, {decision.path.value.lower()}"


def expectations(decision: Decision) -> str:
    """What is expected of it; empty where nothing can be predicted."""
    expected = (
        _told("latency", decision.expected_latency),
        _told(
            "recovery from a driver that is lost at the worst moment", decision.expected_recovery
        ),
        _told("smallest recovery target that can be kept", decision.smallest_recovery),
    )
    return ", ".join(filter(None, expected))


def left_out(situation: Situation, decision: Decision) -> str:
    """The allowed numbers of executors that are no candidates because they would shorten nothing (phoebe.md 4.3)."""
    bounds, slots = situation.bounds, situation.models.capacity.slots
    if slots.tasks is None or not decision.candidates:
        return ""
    shown = {candidate.executors for candidate in decision.candidates}
    vain = [
        executors
        for executors in range(bounds.smallest + 1, bounds.largest + 1)
        if slots.waves(executors) == slots.waves(executors - 1) and executors not in shown
    ]
    if not vain:
        return ""
    named = ", ".join(map(str, vain[:_MOST_NAMED])) + (", ..." if vain[_MOST_NAMED:] else "")
    return f"{named}, for the {slots.tasks} tasks of a stage go in as many waves on fewer"


def _told(name: str, seconds: float | None) -> str:
    return "" if seconds is None else f"{name} {seconds:.1f} s"


def figures(candidate: Candidate) -> tuple[str, str, str]:
    """Its capacity, latency and recovery; a dash for what cannot be told."""
    return (
        _number(candidate.capacity, ",.0f"),
        _number(candidate.latency, ".1f", " s"),
        _number(candidate.recovery, ".0f", " s"),
    )


def _row(candidate: Candidate) -> str:
    mark = "->" if candidate.chosen else "  "
    capacity, latency, recovery = figures(candidate)
    return (
        f"{mark} {candidate.executors:>8}  {capacity:>12}  {latency:>9}  {recovery:>9}  "
        f"{candidate.verdict}"
    )


def _number(measured: Measured, form: str, unit: str = "") -> str:
    return "-" if isinstance(measured, NoData) else f"{measured:{form}}{unit}"
