"""All results as one HTML file that needs nothing else: tables, pictures, and how to read them."""

import html
from collections.abc import Sequence

from sluice import __version__
from sluice.lab.cases import Json
from sluice.lab.plots import pictures
from sluice.lab.results import Row, by_scene
from sluice.lab.table import CHANGE_HEADINGS, MEASURES, cells, change_cells, headings, title
from sluice.lab.verdicts import Change, gaps

STYLE = """
:root { color-scheme: light dark; --ink: #1c2733; --paper: #fff; --faint: #d5dce3; --soft: #66727f;
  --blue: #1f6fb2; --orange: #c8660a; --green: #2c8a4b; --red: #c02942; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e9ef; --paper: #14191f; --faint: #343e49; --soft: #97a4b1;
  --blue: #62b0ee; --orange: #f3a055; --green: #6cca8b; --red: #f2778b; } }
body { font: 14px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 1360px; margin: 2rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; } h3 { font-size: .95rem; margin: 0 0 .3rem; }
p { max-width: 46rem; color: var(--soft); } .wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid var(--faint); white-space: nowrap; }
th { color: var(--soft); font-weight: 600; } th:first-child, td:first-child { text-align: left; }
tr.sluice td { font-weight: 600; }
.runs { display: grid; grid-template-columns: repeat(auto-fill, minmax(420px, 1fr)); gap: 1.5rem; margin-top: 1rem; }
svg { display: block; width: 100%; height: auto; margin-bottom: 2px; }
svg text { font: 10px system-ui, sans-serif; fill: var(--soft); }
svg .number, svg .before { text-anchor: end; } svg .hour { text-anchor: middle; } svg .title { fill: var(--ink); }
svg path { fill: none; stroke-width: 1.3; }
svg .grid { stroke: var(--faint); stroke-width: .6; } svg .failure { stroke: var(--red); stroke-dasharray: 2 3; }
svg .load, svg .asked { stroke: var(--ink); } svg .asked { stroke-dasharray: 3 2; stroke-width: 1; }
svg .capacity, svg .working { stroke: var(--blue); } svg .latency { stroke: var(--orange); }
svg .bound { stroke: var(--green); stroke-width: .9; }
.key span { margin-right: 1.2rem; } .key b { display: inline-block; width: 1.4rem; height: 2px; vertical-align: middle;
  margin-right: .4rem; }
"""

KEY = (
    ("load, and executors asked for (dashed)", "ink"),
    ("capacity, and executors at work", "blue"),
    ("latency, 95th percentile", "orange"),
    ("the bound of latency", "green"),
    ("a failure", "red"),
)


def page(
    found: Sequence[Row],
    outcomes: Sequence[Json],
    notes: Sequence[str] = (),
    changes: Sequence[Change] = (),
) -> str:
    """The whole report."""
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Policies compared</title><style>{STYLE}</style></head><body>",
        "<h1>Policies compared</h1>",
        f"<p>Simulated jobs, decided by sluice {__version__}. {html.escape(MEASURES)}</p>",
        *_notes(notes),
        *(_changes(changes) if changes else ()),
        _key(),
        *_scenes(found, outcomes),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _notes(notes: Sequence[str]) -> list[str]:
    return ["<ul>", *(f"<li>{html.escape(note)}</li>" for note in notes), "</ul>"] if notes else []


def _key() -> str:
    words = "".join(
        f'<span><b style="background: var(--{colour})"></b>{html.escape(words)}</span>'
        for words, colour in KEY
    )
    return f'<p class="key">{words}</p>'


def _changes(changes: Sequence[Change]) -> list[str]:
    body = [(change.present.policy, change_cells(change)) for change in changes]
    return ["<h2>Since the former result</h2>", _table(CHANGE_HEADINGS, body)]


def _scenes(found: Sequence[Row], outcomes: Sequence[Json]) -> list[str]:
    known, parts = gaps(found), []
    for (plant, trace), scene in by_scene(found).items():
        parts.append(f"<h2>{html.escape(title(scene))}</h2>")
        body = [(row.policy, cells(row, known.get(row.key))) for row in scene]
        parts.append(_table(headings(), body))
        drawn = [
            f"<div><h3>{html.escape(outcome['policy'])}</h3>{pictures(outcome)}</div>"
            for outcome in outcomes
            if (outcome["plant"], outcome["trace"]) == (plant, trace) and "timeline" in outcome
        ]
        parts.append(f'<div class="runs">{"".join(drawn)}</div>')
    return parts


def _table(heads: Sequence[str], body: Sequence[tuple[str, Sequence[str]]]) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in heads)
    lines = "".join(
        f'<tr class="{html.escape(policy)}">'
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in line)
        + "</tr>"
        for policy, line in body
    )
    return f'<div class="wide"><table><tr>{head}</tr>{lines}</table></div>'
