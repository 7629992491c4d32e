"""What every benchmark's result says: the machine, the versions, and figures with their units.

The readable page is made from the same record as the JSON file, so the two cannot disagree.
"""

import json
import os
import platform
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

Json = dict[str, Any]

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured number. `goal` is a bound that it should keep, such as ">= 1000"."""

    name: str
    value: float
    unit: str
    goal: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the value keeps its goal; without one, it does."""
        relation, _, bound = self.goal.partition(" ")
        match relation:
            case ">=":
                return self.value >= float(bound)
            case "<=":
                return self.value <= float(bound)
            case _:
                return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """All that a benchmark found: figures for each of its runs, which all have the same names."""

    name: str
    title: str
    method: str
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    runs: Mapping[str, Sequence[Figure]]
    are_repeats: bool = True
    """Whether the runs measure the same thing, so that their median means something."""
    notes: str = ""
    """What else the page says below its table, in Markdown."""

    def medians(self) -> list[Figure]:
        """The median of each figure over all runs."""
        return [
            Figure(
                name=one.name,
                value=statistics.median(figure.value for figure in same),
                unit=one.unit,
                goal=one.goal,
            )
            for same in zip(*self.runs.values(), strict=True)
            for one in same[:1]
        ]


def write(result: Result, *, save_as: str = "") -> Path:
    """Write the record and its page; the path of the page."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    record = _record(result)
    stem = save_as or result.name
    (RESULTS / f"{stem}.json").write_text(json.dumps(record, indent=1) + "\n")
    page = RESULTS / f"{stem}.md"
    page.write_text(_page(result, record))
    return page


def machine() -> Json:
    """What was measured on."""
    return {
        "cpu": _first_value(Path("/proc/cpuinfo"), "model name"),
        "cores": os.cpu_count(),
        "memoryBytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
    }


def versions(*packages: str) -> dict[str, str]:
    """Python's, those of installed packages, and the commit of this tree."""
    found = {package: metadata.version(package) for package in packages}
    return {"python": platform.python_version(), **found, "sluice": _commit()}


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of all values does not exceed (nearest rank)."""
    ordered = sorted(values)
    rank = max(1, -int(-share * len(ordered) // 1))
    return ordered[rank - 1]


def _record(result: Result) -> Json:
    record: Json = {
        "benchmark": result.name,
        "taken": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": dict(result.versions),
        "settings": dict(result.settings),
        "runs": {label: _figures(figures) for label, figures in result.runs.items()},
    }
    if result.are_repeats:
        record["medians"] = _figures(result.medians())
    return record


def _figures(figures: Sequence[Figure]) -> Json:
    return {
        figure.name: {"value": round(figure.value, 4), "unit": figure.unit}
        | ({"goal": figure.goal, "met": figure.is_met} if figure.goal else {})
        for figure in figures
    }


def _page(result: Result, record: Json) -> str:
    host, made_by = record["machine"], record["versions"]
    software = ", ".join(f"{name} {version}" for name, version in made_by.items())
    settings = ", ".join(f"{name} {value}" for name, value in result.settings.items())
    where = (
        f"{host['cpu']}, {host['cores']} cores, {host['memoryBytes'] / 2**30:.1f} GiB, "
        f"Linux {host['kernel']}"
    )
    return (
        f"# {result.title}\n\n{result.method}\n\n{_table(result)}\n\n{_notes(result)}"
        f"Settings: {settings}.\n\nTaken {record['taken']} on {where}; {software}.\n"
    )


def _notes(result: Result) -> str:
    return f"{result.notes}\n\n" if result.notes else ""


def _table(result: Result) -> str:
    columns = dict(result.runs)
    if result.are_repeats and len(columns) > 1:
        columns["median"] = result.medians()
    head = ["figure", *columns, "unit", "goal"]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for row in zip(*columns.values(), strict=True):
        cells = [_number(figure.value) for figure in row]
        last = row[-1]
        verdict = _verdict(row[-1:] if result.are_repeats else row)
        lines.append(f"| {' | '.join([last.name, *cells, last.unit, verdict])} |")
    return "\n".join(lines)


def _verdict(figures: Sequence[Figure]) -> str:
    """Whether all keep the goal that have it."""
    goals = [figure for figure in figures if figure.goal]
    if not goals:
        return ""
    return f"{goals[0].goal}: {'met' if all(one.is_met for one in goals) else 'missed'}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _first_value(path: Path, key: str) -> str:
    for line in path.read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return "unknown"


def _commit() -> str:
    """The commit, and whether the operator's code differs from it."""
    commit = _git("rev-parse", "--short=12", "HEAD")
    return f"{commit} with changes" if _git("status", "--short", "operator") else commit


def _git(*words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=RESULTS.parent, text=True, capture_output=True, check=True
    )
    return done.stdout.strip()
