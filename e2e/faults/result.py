"""What a campaign has shown, in figures and in a table of the kinds of faults."""

import statistics
from collections.abc import Iterable, Sequence

from bench.report import Figure
from e2e.faults.campaign import Outcome
from e2e.support.api import Json

_HEAD = (
    "| fault | times | new drivers | healthy after, median | longest | recovery on record, median | longest |\n"
    "|---|---|---|---|---|---|---|"
)


def figures(outcomes: Sequence[Outcome], account: Json, *, asked: int) -> list[Figure]:
    """Of all faults together; a campaign ends at the first that the job does not get over by itself."""
    recovered = [outcome.recovered for outcome in outcomes]
    return [
        Figure(name="faults", value=len(outcomes), unit=""),
        Figure(name="faults not got over", value=asked - len(outcomes), unit="", goal="<= 0"),
        Figure(name="records", value=account["expected"], unit=""),
        Figure(name="records missing", value=account["missing"], unit="", goal="<= 0"),
        Figure(name="records twice", value=account["duplicates"], unit=""),
        Figure(name="new drivers", value=sum(outcome.drivers for outcome in outcomes), unit=""),
        Figure(name="healthy after its cure, p50", value=statistics.median(recovered), unit="s"),
        Figure(name="healthy after its cure, longest", value=max(recovered), unit="s"),
    ]


def table(outcomes: Iterable[Outcome]) -> str:
    """One line for each kind of fault, in Markdown; all times in seconds."""
    kinds: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        kinds.setdefault(outcome.fault, []).append(outcome)
    return "\n".join([_HEAD, *(_line(kind, kinds[kind]) for kind in sorted(kinds))])


def _line(kind: str, outcomes: Sequence[Outcome]) -> str:
    drivers = sum(outcome.drivers for outcome in outcomes)
    recovered = [outcome.recovered for outcome in outcomes]
    on_record = [outcome.measured for outcome in outcomes if outcome.measured is not None]
    cells = (kind, str(len(outcomes)), str(drivers), *_spread(recovered), *_spread(on_record))
    return f"| {' | '.join(cells)} |"


def _spread(seconds: Sequence[float]) -> tuple[str, str]:
    if not seconds:
        return "", ""
    return f"{statistics.median(seconds):.0f}", f"{max(seconds):.0f}"
